"""Is bf16 training as good as float32? Writes docs/results/precision.md.

Five seeds each of the demo, whole: at its end every latent has settled as active or passive, and
a type that differs is the arithmetic's doing. (At 1,000 steps of beta 4 one latent was still on its
way in four of five seeds, so that types told which run had got further.) On a machine without bf16
instructions `auto` is float32; bf16 is then forced, emulated: the same arithmetic, only slower.
"""

import argparse
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch

from vaescope.build import build_data
from vaescope.latents import types
from vaescope.metrics import mig
from vaescope.opening import encode
from vaescope.settings import from_command_line
from vaescope.training.loop import new_state, steps
from vaescope.training.precision import Precision, choose

SEEDS = range(5)


def train(precision: Precision, seed: int) -> dict[str, float | str]:
    experiment = from_command_line("demo", [f"seed={seed}"])
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
    arguments = parser.parse_args()
    demo = from_command_line("demo", [])
    vae = new_state(demo, torch.device("cpu")).vae
    auto = choose("auto", torch.device("cpu"), vae)
    lines = [
        "# bf16 against float32",
        "",
        "Made by `python scripts/precision.py`: the preset `demo` as it is (beta from 32 to 4,",
        f"{demo.steps:,} steps, decision 0008), seeds 0-{SEEDS[-1]}, {torch.get_num_threads()} "
        f"thread(s); torch {version('torch')}, vaescope {version('vaescope')}.",
        f"`auto` resolves to {auto} on the machine that made this page; bf16 ran "
        + ("emulated in software." if auto == "fp32" else "in hardware."),
        "Codes are encoded in float32 in either case. Types: active / mixed / passive.",
        "",
        "| precision | seed | types | distortion | rate | passive means, std | MIG |",
        "|---|---|---|---|---|---|---|",
    ]
    results: dict[Precision, list[dict[str, float | str]]] = {"fp32": [], "bf16": []}
    for seed in SEEDS:
        for precision, rows in results.items():
            rows.append(train(precision, seed))
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
    pairs = zip(results["fp32"], results["bf16"], strict=True)
    same = sum(a["types"] == b["types"] for a, b in pairs)
    lines += ["", f"Types are equal in {same} of {len(SEEDS)} seeds.", ""]
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
