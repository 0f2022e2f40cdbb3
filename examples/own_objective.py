"""Add an objective: a regulariser of your own, swept.

Guide: docs/guides/objective.md.
Run it: python examples/own_objective.py [--steps 300] [--picture FILE]
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import torch

import vaescope as vs

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=300)
parser.add_argument("--picture", type=Path, default=Path("own_objective.png"))
arguments = parser.parse_args()


def decorrelated(vae, batch, step, noise, *, weight=1.0):
    elbo = vs.objectives.BetaVAE()(vae, batch, step, noise)
    covariance = torch.cov(elbo.posterior.mean.T)
    penalty = (covariance - torch.diag(torch.diagonal(covariance))).square().sum()
    parts = {**elbo.parts, "penalty": penalty}
    return vs.Terms(elbo.loss + weight * penalty, parts, elbo.posterior)


data = vs.load_dataset("digits")
net = {"name": "mlp", "encoder": [64], "decoder": [64]}
weights = [0.0, 1.0, 10.0, 100.0]
penalties = []
for weight in weights:
    run = vs.train("vae", data, objective={"name": decorrelated, "weight": weight}, latent=5,
                   lr=3e-3, steps=arguments.steps, net=net)  # fmt: skip
    penalties.append(run.records()[-1]["penalty"])
    print(f"weight {weight:g}: penalty {penalties[-1]:.3g}")

figure, axes = plt.subplots(figsize=(4, 2.6))
axes.semilogy([f"{weight:g}" for weight in weights], penalties, "o-")
axes.set(xlabel="weight", ylabel="penalty after training")

figure.savefig(arguments.picture, dpi=90, bbox_inches="tight")
print(f"Open {arguments.picture}")
