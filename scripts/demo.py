"""Does the demo show a polarised regime with every seed? Writes docs/results/demo.md."""

import argparse
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch

import vaescope as vs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--out", type=Path, default=Path("docs/results/demo.md"))
    arguments = parser.parse_args()
    lines = [
        "# The demo over seeds",
        "",
        "Made by `python scripts/demo.py`: the preset `demo` (beta-VAE, beta from 32 down to 4",
        "over 1,800 of 2,500 steps, 10 latents; scale, x and y of one ellipse at 32 pixels: three",
        "scales, every other position, y over a third of x's range), seeds 0-4; all 288 images",
        f"encoded. torch {version('torch')}, vaescope {version('vaescope')},",
        f"{torch.get_num_threads()} thread(s).",
        "MIG: 20 equal-width bins on the means. Gaps are per factor. One seed is no evidence: the",
        "target is MIG of at least 0.3 and at most one mixed latent in at least four of five.",
        "",
        "| seed | active / mixed / passive | MIG | gap scale | gap x | gap y | distortion | rate |",
        "|---|---|---|---|---|---|---|---|",
    ]
    good = 0
    scores = []
    for seed in range(5):
        run = vs.train("demo", seed=seed, out=arguments.runs)
        codes = vs.encode(run)
        kinds, score = vs.latents.types(codes), vs.metrics.mig(codes)
        last = run.records()[-1]
        gaps = " | ".join(f"{gap:.3f}" for gap in np.asarray(score.details["gaps"]))
        lines.append(
            f"| {seed} | {len(kinds.active)} / {len(kinds.mixed)} / {len(kinds.passive)} "
            f"| {score.value:.3f} | {gaps} | {last['distortion']:.2f} | {last['rate']:.2f} |"
        )
        scores.append(score.value)
        good += score.value >= 0.3 and len(kinds.mixed) <= 1
    lines += [
        "",
        f"Target: **{'met' if good >= 4 else 'not met'}** ({good} of 5 seeds). MIG "
        f"{np.mean(scores):.3f} on average, {min(scores):.3f} to {max(scores):.3f}.",
        "",
    ]
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
