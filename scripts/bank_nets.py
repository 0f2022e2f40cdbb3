"""Looks whether larger networks show the same as the bank of bonheme2023, in figures 7 to 9.

`nets`: beta-VAEs on the bank's 2,592 sprites at 32 pixels, at three betas, with the convolutional
pair and with the bank's MLP of 64-64. `critic`: FactorVAEs as in bonheme2023/factor-vae at three
gammas, with the bank's critic of 3 x 128 and with disentanglement_lib's of 6 x 1000. Writes
docs/results/bank-nets.json or bank-critic.json. No claim is registered on them: they are looks with
few seeds, which 53 s of one processor for a convolutional run, and 200 s for one with the large
critic, make so.

    python scripts/bank_nets.py nets --seeds 5 --out runs/bank-nets
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from vaescope.runs import Run
from vaescope.studies.bonheme2023.bank import arm
from vaescope.studies.bonheme2023.factor_vae import RATE
from vaescope.studies.bonheme2023.scores import scores
from vaescope.sweeps.driver import sweep
from vaescope.sweeps.grid import plan
from vaescope.sweeps.worker import InlineEngine

Settings = dict[str, Any]
#: The bank's 1/4, 1 and 2 at 16 pixels: four times the pixels, four times the weight.
BETAS = (1.0, 4.0, 8.0)
NETS: Mapping[str, Mapping[str, Any]] = {
    "convolutions": {"net.name": "conv"},
    "MLP of 64-64": {"net.name": "mlp", "net.encoder": [64, 64], "net.decoder": [64, 64]},
}
GAMMAS = (5.0, 20.0, 50.0)
CRITICS: Mapping[str, Mapping[str, Any]] = {
    "6 x 1000": {"objective.critic_layers": 6, "objective.critic_width": 1000},
    "3 x 128": {"objective.critic_layers": 3, "objective.critic_width": 128},
}
KEPT = (
    "active", "mixed", "passive", "distortion", "tc_mean", "tc_sample", "tc_gap",
    "tc_share_without_passive", "tc_share_active", "tc_share_lot", "tc_gap_lots_below", "mi_mean",
    "mi_sample",
)  # fmt: skip


def nets() -> Iterator[tuple[Settings, Settings]]:
    """Labels and settings of each cell of the first look."""
    for cell in arm("laptop", "beta-vae", "dsprites", strengths=BETAS):
        if cell.columns["seed"] == 0:
            plain = {k: v for k, v in cell.settings.items() if not k.startswith("net.")}
            for net, own in NETS.items():
                yield (
                    {"net": net, "beta": cell.labels["strength"]},
                    {**plain, **own, "data.size": 32},
                )


def critic() -> Iterator[tuple[Settings, Settings]]:
    """Of the second."""
    for cell in arm("laptop", "factor-vae", "dsprites", strengths=GAMMAS):
        if cell.columns["seed"] == 0:
            for name, own in CRITICS.items():
                yield (
                    {"critic": name, "gamma": cell.labels["strength"]},
                    {**cell.settings, **own, "objective.rate": RATE},
                )


LOOKS = {"nets": nets, "critic": critic}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("look", choices=sorted(LOOKS))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("runs/bank-nets"))
    arguments = parser.parse_args()
    result = Path(f"docs/results/bank-{arguments.look}.json")
    cells = list(LOOKS[arguments.look]())
    rows = []
    for seed in range(arguments.seeds):
        for labels, settings in cells:
            specs = plan([{**settings, "seed": seed}], where="The look")
            for _ in sweep(specs, arguments.out, InlineEngine(lambda: 0), stop=lambda: 0):
                pass
            found = scores(Run(arguments.out / specs.names[0]))
            rows.append({**labels, "seed": seed, **{name: found[name] for name in KEPT}})
            result.write_text(json.dumps({"rows": rows}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
