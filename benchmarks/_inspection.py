"""Seconds of `vaescope inspect` by part, on an untrained 64x64 convolutional beta-VAE and 10,000
images of dSprites: python benchmarks/inspect.py [--json] [--effort default].

Untrained weights cost what trained ones do; a model whose latents are all passive would skip the
geometry, so the heads are scaled until all latents count as used. One round: a dissection takes
long enough that its parts differ by little between rounds, and no ratio is quoted.
"""

import argparse
import json
import resource
import tempfile
from itertools import pairwise
from pathlib import Path
from time import perf_counter

import torch

from vaescope.allocator import keep_freed_memory
from vaescope.build import build_vae
from vaescope.inspection import PARTS, inspect
from vaescope.runs import Run, strict_json
from vaescope.settings import from_command_line
from vaescope.training.checkpoint import weights_bytes


def a_run(folder: Path) -> Run:
    """A finished run without the training: means that vary and small variances."""
    spec = from_command_line("beta-vae", ["steps=1"])
    run = Run.of(spec, "beta-vae", folder)
    run.create(spec)
    torch.manual_seed(0)
    vae = build_vae(spec)
    with torch.no_grad():
        last = [p for name, p in vae.encoder.named_parameters() if "posterior" in name]
        for parameter in last:
            parameter.mul_(20.0)
        for name, parameter in vae.encoder.posterior.named_parameters():
            if name.endswith("bias"):
                parameter[len(parameter) // 2 :] -= 4.0
    run.weights.write_bytes(weights_bytes(vae))
    row = {"step": 1, "loss": 5.0, "distortion": 4.0, "rate": 1.0}
    run.history.write_text(strict_json({**row, "active": 10, "mixed": 0, "passive": 0}) + "\n")
    run.finish({})
    return run


def measure(effort: str) -> dict[str, float]:
    """Seconds of each part; the report's writing is a part."""
    times: list[tuple[str, float]] = []

    def note(part: str) -> None:
        times.append((part, perf_counter()))

    with tempfile.TemporaryDirectory() as folder:
        run = a_run(Path(folder))
        note("start")
        found = inspect(run, effort=effort, progress=note)
        note("report")
        found.save(Path(folder) / "report.html")
        note("end")
    used = sum(latent.type != "passive" for latent in found.latents)
    spent = {name: after - at for (name, at), (_, after) in pairwise(times)}
    return {"total": times[-1][1] - times[0][1], **spent, "used_latents": float(used)}


def main() -> None:
    """Print the seconds as text, or as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--effort", default="default")
    options = parser.parse_args()
    keep_freed_memory()
    seconds = measure(options.effort)
    used = seconds.pop("used_latents")
    content = {
        "seconds": {k: round(v, 2) for k, v in seconds.items()},
        "parts": list(PARTS),
        "used_latents": int(used),
        "gigabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2, 3),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }
    if options.json:
        print(json.dumps(content))
    else:
        for name, value in seconds.items():
            print(f"{name:10} {value:6.1f} s")


if __name__ == "__main__":
    main()
