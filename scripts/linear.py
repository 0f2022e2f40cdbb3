"""Does a linear VAE find the principal axes from a random start? Writes docs/results/linear.md.

zietlow2022 Theorem 2 says where the optimum is; papers.md section 12 point 1 warns that the force
that aligns the axes is weak, of order beta. Angles are recorded against steps, over ten seeds.
"""

import argparse
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment

from vaescope.data.synthetic import principal_axes, synth_linear
from vaescope.settings import from_command_line
from vaescope.training.loop import new_state, steps
from vaescope.types import Floats

MARKS = (500, 1000, 2000, 4000, 8000, 12000)
SETTINGS = [
    "data.name=synth-linear", "latent=2", "batch=256", f"steps={MARKS[-1]}",
    f'optimiser.lr={{"name": "cosine", "start": 0.01, "stop": 0, "steps": {MARKS[-1]}}}',
]  # fmt: skip


def measures(columns: Floats, axes: Floats) -> tuple[float, float]:
    """Largest angle to the principal axes after matching, and |cosine| of the two columns."""
    units = columns / np.linalg.norm(columns, axis=0)
    cosines = np.abs(units.T @ axes)
    matched = cosines[linear_sum_assignment(-cosines)]
    angle = float(np.degrees(np.arccos(np.clip(matched, 0.0, 1.0))).max())
    return angle, float(abs(units[:, 0] @ units[:, 1]))


def train(beta: float, seed: int) -> Iterator[tuple[int, float, float, float]]:
    """(step, loss, largest angle, |cosine|) at each mark."""
    experiment = from_command_line("beta-vae", [*SETTINGS, f"objective.beta={beta}", f"seed={seed}",
                                                "logging.every=500"])  # fmt: skip
    data = synth_linear()
    axes = principal_axes(data.rows(np.arange(len(data))))[1][:, :2]
    state = new_state(experiment, torch.device("cpu"))
    for record in steps(state, experiment, data, "fp32"):
        if record is not None and record.step in MARKS:
            weight = state.vae.get_parameter("decoder.body.0.weight").detach().double().numpy()
            yield record.step, record.loss, *measures(weight, axes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results/linear.md"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    lines = [
        "# Linear VAEs and the principal axes",
        "",
        "Made by `python scripts/linear.py`: `synth-linear` (stretch 2, eigenvalues 1/3 and 1/12),",
        "linear encoder and decoder, summed squared error, Adam, learning rate 1e-2 with cosine",
        f"decay to 0 over {MARKS[-1]:,} steps, batch 256, seeds 0-9; torch {version('torch')},",
        f"vaescope {version('vaescope')}, float32, one thread.",
        "Angle: the larger of the two angles between decoder columns and principal axes after the",
        "best matching, degrees; median, least and greatest over the seeds. Random axes of a plane",
        "have median 22.5. Cosine: median of |cosine| between the two columns.",
        "",
    ]
    for beta in (0.01, 0.02, 0.05):
        rows = [list(train(beta, seed)) for seed in range(10)]
        table = np.array(rows)  # (seed, mark, column)
        lines += [f"## beta {beta}", "", "| steps | loss | angle | least | greatest | cosine |",
                  "|---|---|---|---|---|---|"]  # fmt: skip
        for m, step in enumerate(MARKS):
            loss, angle, cosine = (table[:, m, c] for c in (1, 2, 3))
            lines.append(
                f"| {step:,} | {np.median(loss):.4f} | {np.median(angle):.2f} | {angle.min():.2f} "
                f"| {angle.max():.2f} | {np.median(cosine):.4f} |"
            )
        final = float(np.median(table[:, -1, 2]))
        verdict = "met" if final <= 3.0 else "not met"
        lines += ["", f"Hoped-for median of 3 degrees: **{verdict}** ({final:.2f}). Per seed at "
                  f"the end: {', '.join(f'{a:.2f}' for a in table[:, -1, 2])}.", ""]  # fmt: skip
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
