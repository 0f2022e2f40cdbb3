"""Looks whether the bank of bonheme2023 shows the same with convolutions as with small MLPs.

Beta-VAEs on the bank's 2,592 sprites at 32 pixels, at three betas, with the convolutional pair and
with the bank's MLP of 64-64; scores as in figures 7 to 9. Writes docs/results/bank-nets.json. No
claim is registered on it: it is a look with few seeds, which 53 s of one processor for each
convolutional run make so.

    python scripts/bank_nets.py --seeds 1 --out runs/bank-nets
"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vaescope.runs import Run
from vaescope.studies.bonheme2023.bank import arm
from vaescope.studies.bonheme2023.scores import scores
from vaescope.sweeps.driver import sweep
from vaescope.sweeps.grid import plan
from vaescope.sweeps.worker import InlineEngine

#: The bank's 1/4, 1 and 2 at 16 pixels: four times the pixels, four times the weight.
BETAS = (1.0, 4.0, 8.0)
NETS: Mapping[str, Mapping[str, Any]] = {
    "convolutions": {"net.name": "conv"},
    "MLP of 64-64": {"net.name": "mlp", "net.encoder": [64, 64], "net.decoder": [64, 64]},
}
KEPT = (
    "active", "mixed", "passive", "distortion", "tc_mean", "tc_sample", "tc_gap",
    "tc_share_without_passive", "tc_share_lot", "tc_gap_lots_below", "mi_mean", "mi_sample",
)  # fmt: skip
RESULT = Path("docs/results/bank-nets.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("runs/bank-nets"))
    arguments = parser.parse_args()
    asked = []
    for seed in range(arguments.seeds):
        for cell in arm("laptop", "beta-vae", "dsprites", strengths=BETAS):
            if cell.columns["seed"] != 0:
                continue
            plain = {k: v for k, v in cell.settings.items() if not k.startswith("net.")}
            for net, own in NETS.items():
                settings = {**plain, **own, "data.size": 32, "seed": seed}
                asked.append(
                    ({"net": net, "beta": cell.labels["strength"], "seed": seed}, settings)
                )
    rows = []
    for labels, settings in asked:
        specs = plan([settings], where="The look")
        for _ in sweep(specs, arguments.out, InlineEngine(lambda: 0), stop=lambda: 0):
            pass
        found = scores(Run(arguments.out / specs.names[0]))
        rows.append({**labels, **{name: found[name] for name in KEPT}})
        RESULT.write_text(json.dumps({"rows": rows}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
