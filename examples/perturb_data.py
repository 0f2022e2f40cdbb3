"""Perturb a dataset: how strongly data hand over the axes.

Guide: docs/guides/perturb.md.
Run it: python examples/perturb_data.py [--picture FILE]
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import vaescope as vs

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--picture", type=Path, default=Path("perturb_data.png"))
arguments = parser.parse_args()

factors = np.stack(np.meshgrid(*3 * [np.arange(8)]), axis=-1).reshape(-1, 3)
ratios = [1.0, 1.5, 3.0]
angles = []
for ratio in ratios:
    x = factors * np.array([1.0, ratio, ratio**2])
    turn = vs.geometry.random_rotations(3, 1)[0]
    bias = vs.geometry.data_bias(x @ turn.T, factors, points=10, neighbours=100)
    print(f"ratio {ratio:g}: {bias.summary()}")
    angles.append(bias.value)

figure, axes = plt.subplots(figsize=(4, 2.6))
axes.bar([f"{ratio:g}" for ratio in ratios], angles)
axes.set(xlabel="ratio of the factors' lengths", ylabel="angle to principal directions, degrees")

figure.savefig(arguments.picture, dpi=90, bbox_inches="tight")
print(f"Open {arguments.picture}")
