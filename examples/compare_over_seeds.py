"""Compare two settings over seeds.

Guide: docs/guides/compare.md.
Run it: python examples/compare_over_seeds.py [--steps 300] [--picture FILE]
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt

import vaescope as vs

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=300)
parser.add_argument("--picture", type=Path, default=Path("compare_over_seeds.png"))
arguments = parser.parse_args()

data = vs.load_dataset("digits")
net = {"name": "mlp", "encoder": [64], "decoder": [64]}
runs = {
    beta: [
        vs.train(
            "beta-vae",
            data,
            beta=beta,
            latent=6,
            lr=3e-3,
            steps=arguments.steps,
            seed=seed,
            net=net,
        )
        for seed in range(3)
    ]
    for beta in (0.5, 4.0)
}
print(vs.compare([*runs[0.5], *runs[4.0]], images=False).summary())

figure, axes = plt.subplots(figsize=(4, 2.8))
for beta, own in runs.items():
    last = [run.records()[-1] for run in own]
    axes.plot([one["rate"] for one in last], [one["distortion"] for one in last], "o",
              label=f"beta {beta:g}")  # fmt: skip
axes.set(xlabel="rate, nats", ylabel="distortion, nats")
axes.legend()

figure.savefig(arguments.picture, dpi=90, bbox_inches="tight")
print(f"Open {arguments.picture}")
