"""Are the margins of `vs.effective_beta` right? Models are trained at a beta, at half of it and at
twice it. Writes docs/results/latent_margins.md.

Fixed before the first run: MLPs of 12 latents on the waves of scripts/effective_beta.py, its steps
and its learning rate, Bernoulli and squared error, betas 0.5 to 32 by factors of two, seed 0. Of a
model at beta it is predicted how many latents are used at beta / 2 (those in use and
`margins.more_at_half`, at most all) and at 2 beta (those of which `margins.collapse` is above it);
right is what the model has that was trained there. Wanted: within one.

    python scripts/latent_margins.py [--kept runs/latent_margins.jsonl]
"""

import argparse
import json
from pathlib import Path
from typing import Any

import effective_beta as grid
import numpy as np
import torch

from vaescope.geometry.effective_beta import effective_beta_of
from vaescope.latents.types import types
from vaescope.objectives import BetaVAE
from vaescope.opening import open_vae
from vaescope.schedules import Constant
from vaescope.user_data import as_dataset
from vaescope.vae import Batch

LATENT = 12
BETAS = tuple(0.5 * 2**k for k in range(7))


def trained(likelihood: str, beta: float) -> dict[str, Any]:
    grid.LATENT = LATENT
    data = as_dataset(grid.waves(grid.IMAGES))
    torch.manual_seed(0)
    cell = {"net": "mlp", "likelihood": likelihood, "prior": "normal", "beta": beta}
    vae, objective = grid.model(cell, data), BetaVAE(Constant(beta))
    images = torch.from_numpy(data.rows(np.arange(len(data))))
    optimiser = torch.optim.Adam(vae.parameters(), lr=grid.RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, grid.STEPS)
    generator = torch.Generator().manual_seed(0)
    for step in range(1, grid.STEPS + 1):
        rows = torch.randint(len(images), (grid.BATCH,), generator=generator)
        noise = torch.randn(1, grid.BATCH, LATENT, generator=generator)
        batch = Batch(images[rows], rows, len(images))
        optimiser.zero_grad()
        objective(vae, batch, torch.tensor(float(step)), noise).loss.backward()
        optimiser.step()
        schedule.step()
    opened = open_vae(vae, data, rows=2_000)
    kinds = types(opened.codes)
    found = effective_beta_of(opened)
    return {
        "likelihood": likelihood, "beta": beta, "used": len(kinds.of("active", "mixed")),
        "found": found.to_dict(),
    }  # fmt: skip


def page(runs: list[dict[str, Any]]) -> list[str]:
    used = {(run["likelihood"], run["beta"]): run["used"] for run in runs}
    rows, off = [], {"half": [], "twice": []}  # type: ignore[var-annotated]
    for run in runs:
        margins, key = run["found"]["margins"], run["likelihood"]
        cells = [key, f"{run['beta']:g}", str(run["used"])]
        if margins is None:
            reason = run["found"]["reason"]
            rows.append([*cells, f"no margins: {reason}", "", "", ""])
            continue
        half = min(LATENT, run["used"] + margins["more_at_half"])
        # Latents nearly as wide as the prior were not read: they are the first to die.
        twice = sum(beta > 2 * run["beta"] for beta in margins["collapse"].values())
        for name, told, at in (("half", half, run["beta"] / 2), ("twice", twice, 2 * run["beta"])):
            true = used.get((key, at))
            cells += [str(told), "-" if true is None else str(true)]
            if true is not None:
                off[name].append(abs(told - true) <= 1)
        rows.append(cells)
    return [
        "# What another beta would do: predicted and trained",
        "",
        "Made by `python scripts/latent_margins.py`; cases and rules are at its head and were "
        "committed before the first run.",
        "",
        f"- Used at half of the beta, within one: {sum(off['half'])} of {len(off['half'])}.",
        f"- Used at twice the beta, within one: {sum(off['twice'])} of {len(off['twice'])}.",
        "",
        "| likelihood | beta | used | at half: predicted | trained | at twice: predicted "
        "| trained |",
        "|---|---|---|---|---|---|---|",
        *[f"| {' | '.join(cells)} |" for cells in rows],
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kept", type=Path, default=Path("runs/latent_margins.jsonl"))
    parser.add_argument("--out", type=Path, default=Path("docs/results/latent_margins.md"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.kept.parent.mkdir(parents=True, exist_ok=True)
    lines = arguments.kept.read_text().splitlines() if arguments.kept.exists() else []
    runs = [json.loads(line) for line in lines]
    done = {(run["likelihood"], run["beta"]) for run in runs}
    for beta in BETAS:
        for likelihood in ("bernoulli", "squared-error"):
            if (likelihood, beta) not in done:
                runs.append(trained(likelihood, beta))
                with arguments.kept.open("a") as file:
                    file.write(json.dumps(runs[-1]) + "\n")
    runs.sort(key=lambda run: (run["likelihood"], run["beta"]))
    arguments.out.write_text("\n".join(page(runs)) + "\n")


if __name__ == "__main__":
    main()
