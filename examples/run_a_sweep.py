"""Run a sweep: many models, one table.

Guide: docs/guides/cluster.md.
Run it: python examples/run_a_sweep.py [--steps 300] [--picture FILE]
"""

import argparse
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

from vaescope.sweeps import make_engine, plan, product, sweep
from vaescope.tables import read_table

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=300)
parser.add_argument("--picture", type=Path, default=Path("run_a_sweep.png"))
arguments = parser.parse_args()

cells = product({
    "objective.beta": [0.001, 0.01, 0.1], "seed": [0, 1], "data.name": ["synth-linear"],
    "steps": [arguments.steps], "optimiser.lr": [0.01],
})  # fmt: skip
out = Path(tempfile.mkdtemp())
for status in sweep(plan(cells, preset_name="beta-vae"), out, make_engine("local", out, workers=1)):
    print(status.done, "of", status.total)
rows = list(read_table(out).rows())

figure, axes = plt.subplots(figsize=(4, 2.8))
points = axes.scatter([row["rate"] for row in rows], [row["distortion"] for row in rows],
                      c=[str(row["objective.beta"]) == "0.1" for row in rows])  # fmt: skip
axes.set(xlabel="rate, nats", ylabel="distortion, nats", title="yellow: beta 0.1")

figure.savefig(arguments.picture, dpi=90, bbox_inches="tight")
print(f"Open {arguments.picture}")
