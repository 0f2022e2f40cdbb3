"""The effective beta of other people's models. Writes docs/results/effective_beta_others.md: the
nine models of YannDubs/disentangling-vae, whose weights are in their `specs.json`.

Settings are those that a user gets (500 rows, 8 antithetic pairs). Rows are drawn from what the
models were trained on: all of dSprites (re-rendered), the first 2,000 training digits of MNIST.

    python scripts/effective_beta_others.py ../shared/data [--only NAME]
"""

import argparse
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent.parent))  # the models are rebuilt by the tests

from tests.adapters.pretrained import NAMES, digits, rebuilt

import vaescope as vs
from vaescope.data.dsprites import dsprites

#: The weight that the objective has, where it has one.
TRUE = {"VAE": 1.0, "betaH": 4.0}
OTHER = {"btcvae": "total correlation 6, the rest of the rate 1", "betaB": "capacity of 25 nats"}
ROWS = 2_000


def measured(name: str, folder: Path) -> dict[str, Any]:
    if name.endswith("mnist"):
        images = digits(ROWS, lambda path: folder / path)
    else:
        data = dsprites()
        images = torch.from_numpy(data.rows(data.sample(ROWS, seed=0)))
    found = vs.effective_beta(rebuilt(name, lambda path: folder / path), images)
    return {"name": name, **found.to_dict(), "says": found.summary()}


def row(one: dict[str, Any]) -> str:
    kind = one["name"].split("_")[0]
    true = f"{TRUE[kind]:g}" if kind in TRUE else OTHER[kind]
    if one["value"] is None:
        return f"| {one['name']} | {true} | not readable | | | | | |"
    off = f"{one['value'] / TRUE[kind] - 1:+.1%}" if kind in TRUE else ""
    low, high = one["interval"]
    means = one["of_means"]
    fisher = "" if one["fisher"] is None else f"{one['fisher']:.3g}"
    of_means = "" if means is None else f"{means[0]:.3g} to {means[1]:.3g}"
    single = {True: "yes", False: "no", None: "open"}[one["single_weight"]]
    return (
        f"| {one['name']} | {true} | {one['value']:.3g} ({low:.3g} to {high:.3g}) | {off} | "
        f"{one['spread']:.0%} | {single} | {fisher} | {of_means} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="The folder with pretrained/ and mnist/.")
    parser.add_argument("--kept", type=Path, default=Path("runs/effective_beta_others.jsonl"))
    parser.add_argument("--out", type=Path, default=Path("docs/results/effective_beta_others.md"))
    parser.add_argument("--only", choices=NAMES, action="append")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.kept.parent.mkdir(parents=True, exist_ok=True)
    lines = arguments.kept.read_text().splitlines() if arguments.kept.exists() else []
    found = {one["name"]: one for one in map(json.loads, lines)}
    for name in arguments.only or NAMES:
        if name not in found:
            found[name] = measured(name, arguments.data)
            with arguments.kept.open("a") as file:
                file.write(json.dumps(found[name]) + "\n")
    page = [
        "# Effective beta of other people's models",
        "",
        "Made by `python scripts/effective_beta_others.py ../shared/data`: models of "
        "YannDubs/disentangling-vae at the settings that a user gets (500 rows, 8 antithetic "
        "pairs), on rows drawn from what they were trained on. torch "
        f"{version('torch')}, vaescope {vs.__version__}.",
        "",
        "| model | weight of its loss | estimate | off | spread of latents | one weight "
        "| Fisher form | weight that means obey |",
        "|---|---|---|---|---|---|---|---|",
        *[row(found[name]) for name in NAMES if name in found],
        "",
        *[f"- {name}: {found[name]['says']}" for name in NAMES if name in found],
    ]
    arguments.out.write_text("\n".join(page) + "\n")


if __name__ == "__main__":
    main()
