"""Judge a model: the rate of each latent, coloured by its type.

Guide: docs/guides/judge.md.
Run it: python examples/judge_a_model.py [--steps 800] [--picture FILE]
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt

import vaescope as vs

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=800)
parser.add_argument("--picture", type=Path, default=Path("judge_a_model.png"))
arguments = parser.parse_args()

data = vs.load_dataset("digits")
net = {"name": "mlp", "encoder": [64], "decoder": [64]}
run = vs.train("beta-vae", data, beta=0.3, latent=8, lr=3e-3, steps=arguments.steps, net=net)
inspection = vs.inspect(run, effort="latents")
print(inspection.summary())

latents = sorted(inspection.latents, key=lambda one: one.index)
colours = {"active": "tab:blue", "mixed": "tab:orange", "passive": "lightgrey"}
figure, axes = plt.subplots(figsize=(5, 2.6))
axes.bar([str(one.index) for one in latents], [one.kl_nats for one in latents],
         color=[colours[one.type] for one in latents])  # fmt: skip
axes.set(xlabel="latent", ylabel="rate, nats", title="blue: active, orange: mixed, grey: passive")

figure.savefig(arguments.picture, dpi=90, bbox_inches="tight")
print(f"Open {arguments.picture}")
