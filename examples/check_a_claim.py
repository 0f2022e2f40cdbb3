"""Check a claim: a higher beta leaves fewer latents in use.

Guide: docs/guides/claim.md.
Run it: python examples/check_a_claim.py [--steps 300] [--picture FILE]
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt

import vaescope as vs

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=300)
parser.add_argument("--picture", type=Path, default=Path("check_a_claim.png"))
arguments = parser.parse_args()

data = vs.known.signals()
used = {}
for seed in range(3):
    for beta in (0.2, 20.0):
        run = vs.train("beta-vae", data, beta=beta, latent=4, lr=1e-2, steps=arguments.steps,
                       seed=seed, net={"name": "linear"})  # fmt: skip
        used[beta, seed] = 4 - len(vs.latents.types(vs.encode(run, data)).passive)
votes = sum(used[20.0, seed] < used[0.2, seed] for seed in range(3))
print(f"{votes} of 3 seeds for it; three seeds decide nothing: docs/studies.md says how many do")

figure, axes = plt.subplots(figsize=(3.4, 2.6))
for seed in range(3):
    axes.plot([0, 1], [used[0.2, seed], used[20.0, seed]], "o-")
axes.set(xticks=[0, 1], xticklabels=["beta 0.2", "beta 20"], ylabel="latents in use")

figure.savefig(arguments.picture, dpi=90, bbox_inches="tight")
print(f"Open {arguments.picture}")
