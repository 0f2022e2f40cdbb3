"""Prune: which latents of a checkpoint are dead, and what dropping them changes.

Guide: docs/guides/prune.md.
Run it: python examples/prune_latents.py [--picture FILE]
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt

import vaescope as vs

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--picture", type=Path, default=Path("prune_latents.png"))
arguments = parser.parse_args()

data = vs.known.signals()
model = vs.known.linear_vae(data)  # stands for your checkpoint
result = vs.prune(model, data)
print(result.summary())

codes = vs.encode(model, data)
kinds = vs.latents.types(codes).names
figure, axes = plt.subplots(figsize=(5, 2.6))
axes.bar(range(codes.d), codes.variance.mean(axis=0),
         color=["lightgrey" if kind == "passive" else "tab:blue" for kind in kinds])  # fmt: skip
axes.set(xlabel="latent", ylabel="posterior variance", title=f"dropped: {result.dropped}")

figure.savefig(arguments.picture, dpi=90, bbox_inches="tight")
print(f"Open {arguments.picture}")
