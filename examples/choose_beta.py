"""Choose beta: where latents become passive.

Guide: docs/guides/beta.md.
Run it: python examples/choose_beta.py [--steps 300] [--picture FILE]
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt

import vaescope as vs

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=300)
parser.add_argument("--picture", type=Path, default=Path("choose_beta.png"))
arguments = parser.parse_args()

data = vs.known.signals()
net = {"name": "linear"}
betas = [0.1, 0.5, 2.0, 8.0, 32.0, 128.0]
runs = [
    vs.train("beta-vae", data, beta=beta, latent=4, lr=1e-2, steps=arguments.steps, net=net)
    for beta in betas
]
variances = [vs.encode(run, data).variance.mean(axis=0) for run in runs]
# vs.tune_beta("beta-vae", data, latent=4) does this with a search and a check.

figure, axes = plt.subplots(figsize=(5, 2.8))
axes.semilogx(betas, [sorted(own) for own in variances], "o-")
axes.axhline(0.9, color="grey", linestyle=":")
axes.set(xlabel="beta", ylabel="posterior variance", title="passive above the dotted line")

figure.savefig(arguments.picture, dpi=90, bbox_inches="tight")
print(f"Open {arguments.picture}")
