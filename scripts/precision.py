"""Is bf16 training as good as float32? Writes docs/results/precision.md.

Five seeds each on small sprites. On a machine without bf16 instructions `auto` is float32; bf16 is
then forced, emulated: the arithmetic is the same, only slower.
"""

import argparse
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch

from vaescope.build import build_data
from vaescope.encoding import encode
from vaescope.latents import types
from vaescope.metrics import mig
from vaescope.settings import from_command_line
from vaescope.training.loop import new_state, steps
from vaescope.training.precision import Precision, choose


def train(precision: Precision, seed: int, length: int) -> dict[str, float | str]:
    experiment = from_command_line("demo", [f"seed={seed}", f"steps={length}", "objective.beta=4"])
    data = build_data(experiment.data)
    state = new_state(experiment, torch.device("cpu"))
    last = None
    for record in steps(state, experiment, data, precision):
        last = record or last
    assert last is not None
    codes = encode(state.vae, data)
    kinds = types(codes)
    passive = codes.mean[:, kinds.passive]
    return {
        "types": f"{len(kinds.active)} / {len(kinds.mixed)} / {len(kinds.passive)}",
        "distortion": last.parts["distortion"],
        "rate": last.parts["rate"],
        "passive means, std": float(passive.std(axis=0).mean()),
        "MIG": mig(codes).value,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results/precision.md"))
    parser.add_argument("--steps", type=int, default=1000)
    arguments = parser.parse_args()
    vae = new_state(from_command_line("demo", []), torch.device("cpu")).vae
    auto = choose("auto", torch.device("cpu"), vae)
    lines = [
        "# bf16 against float32",
        "",
        "Made by `python scripts/precision.py`: the demo's data and nets, beta 4,",
        f"{arguments.steps:,} steps, seeds 0-4, {torch.get_num_threads()} thread(s); torch "
        f"{version('torch')}, vaescope {version('vaescope')}. `auto`",
        f"resolves to {auto} on the machine that made this page; bf16 rows were forced"
        + (", emulated in software." if auto == "fp32" else "."),
        "Codes are encoded in float32 in either case. Types: active / mixed / passive.",
        "",
        "| precision | seed | types | distortion | rate | passive means, std | MIG |",
        "|---|---|---|---|---|---|---|",
    ]
    results: dict[str, list[dict[str, float | str]]] = {"fp32": [], "bf16": []}
    for seed in range(5):
        results["fp32"].append(train("fp32", seed, arguments.steps))
        results["bf16"].append(train("bf16", seed, arguments.steps))
    for precision, rows in results.items():
        for seed, row in enumerate(rows):
            cells = [v if isinstance(v, str) else f"{v:.4f}" for v in row.values()]
            lines.append(f"| {precision} | {seed} | {' | '.join(cells)} |")
    lines += ["", "| quantity | fp32: mean, spread over seeds | bf16: mean | difference |",
              "|---|---|---|---|"]  # fmt: skip
    for key in ("distortion", "rate", "passive means, std", "MIG"):
        a, b = (np.array([row[key] for row in results[p]], float) for p in ("fp32", "bf16"))
        spread = a.max() - a.min()
        inside = "within" if abs(a.mean() - b.mean()) <= spread else "outside"
        lines.append(
            f"| {key} | {a.mean():.4f}, {spread:.4f} | {b.mean():.4f} "
            f"| {b.mean() - a.mean():+.4f}, {inside} the seeds' spread |"
        )
    same = [row["types"] for row in results["fp32"]] == [row["types"] for row in results["bf16"]]
    lines += ["", f"Types are {'equal' if same else 'not equal'} for every seed.", ""]
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
