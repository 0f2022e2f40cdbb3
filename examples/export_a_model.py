"""Export: a folder for the Hugging Face hub, loaded again.

Guide: docs/guides/export.md.
Run it: python examples/export_a_model.py [--steps 300] [--picture FILE]
"""

import argparse
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import vaescope as vs

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=300)
parser.add_argument("--picture", type=Path, default=Path("export_a_model.png"))
arguments = parser.parse_args()

data = vs.known.signals()
run = vs.train("beta-vae", data, beta=1.0, latent=3, lr=1e-2, steps=arguments.steps,
               net={"name": "linear"})  # fmt: skip
folder = Path(tempfile.mkdtemp()) / "exported"
vs.save_pretrained(run, folder, data, licence="apache-2.0")
again = vs.load_pretrained(folder)
before, after = vs.encode(run, data).mean, vs.encode(again, data).mean
print("files:", ", ".join(sorted(path.name for path in folder.iterdir())))
print("largest difference:", np.abs(before - after).max())

figure, axes = plt.subplots(figsize=(3, 3))
axes.plot(before.ravel(), after.ravel(), ".", markersize=2)
axes.set(xlabel="means of the run", ylabel="means of the loaded export")

figure.savefig(arguments.picture, dpi=90, bbox_inches="tight")
print(f"Open {arguments.picture}")
