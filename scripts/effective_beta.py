"""Does `vs.effective_beta` find the weight that a model was trained with? Writes
docs/results/effective_beta.md.

Sixty runs, all combinations of CELLS, fixed before the first was trained together with the rules:

- Truth is the beta of the objective. The estimate is read from the finished weights on training
  rows, 1,000 of them, with the settings that a user gets.
- A run is at rest where the estimate moved by less than REST over the last quarter of its steps.
- Excluded and counted: runs without an estimate (the reason is given), and runs not converged.
- Wanted: estimate / truth within BAND in 90% of the runs that remain, the truth within the 95%
  interval in 85%. Runs of which it says "no single weight" count as wrong if outside the band.

Images are sums of smooth waves through a sigmoid, 16 pixels a side: latents stay in use at beta 8
under either likelihood, which they do not at this size for digits or sprites. A line per run is
kept in a file as it ends; the same command again goes on from there.
"""

import argparse
import itertools
import json
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import vaescope as vs
from vaescope.data import Dataset
from vaescope.geometry.effective_beta import effective_beta_of
from vaescope.nets.likelihoods import BernoulliLikelihood, SquaredErrorLikelihood
from vaescope.nets.posteriors import DiagonalPosterior
from vaescope.objectives import BetaVAE
from vaescope.opening import open_vae
from vaescope.priors import AnisotropicPrior, StandardNormal, StudentTPrior
from vaescope.priors.anisotropic import log_principal_variances
from vaescope.schedules import Constant
from vaescope.types import Floats
from vaescope.user_data import as_dataset
from vaescope.vae import VAE, Batch, Decoder, Encoder

CELLS = {
    "net": ("mlp", "conv"),
    "likelihood": ("bernoulli", "squared-error"),
    "prior": ("normal", "anisotropic", "student-t"),
    "beta": (0.05, 0.25, 1.0, 3.0, 8.0),
}
BAND = (0.85, 1.18)
REST = 0.05
SIZE, LATENT, IMAGES = 16, 8, 4_000
STEPS, BATCH, RATE = 2_500, 64, 2e-3


def waves(n: int, seed: int = 0) -> Floats:
    """Images (n, 1, SIZE, SIZE) in [0, 1] of six normal factors, the later ones weaker."""
    x = (np.arange(SIZE) + 0.5) / SIZE
    patterns = np.stack([
        2 * np.outer(np.cos(np.pi * i * x), np.cos(np.pi * j * x))
        for i, j in ((0, 1), (1, 0), (1, 1), (0, 2), (2, 0), (2, 1))
    ])  # fmt: skip
    strengths = np.array([1.5, 1.3, 1.0, 0.8, 0.6, 0.4])
    factors = np.random.default_rng(seed).standard_normal((n, 6)) * strengths
    logits = np.einsum("nk,kij->nij", factors, patterns)
    return np.asarray(1 / (1 + np.exp(-logits)), dtype=np.float32)[:, None]


def bodies(net: str) -> tuple[nn.Module, int, nn.Module]:
    """Encoder, the width of its features, decoder."""
    if net == "mlp":
        pixels = SIZE * SIZE
        return (
            nn.Sequential(nn.Flatten(), nn.Linear(pixels, 64), nn.ReLU()),
            64,
            nn.Sequential(
                nn.Linear(LATENT, 64), nn.ReLU(), nn.Linear(64, pixels),
                nn.Unflatten(-1, (1, SIZE, SIZE)),
            ),
        )  # fmt: skip
    return (
        nn.Sequential(
            nn.Conv2d(1, 8, 4, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 4, 2, 1), nn.ReLU(), nn.Flatten()
        ),
        256,
        nn.Sequential(
            nn.Linear(LATENT, 256), nn.ReLU(), nn.Unflatten(-1, (16, 4, 4)),
            nn.ConvTranspose2d(16, 8, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(8, 1, 4, 2, 1),
        ),
    )  # fmt: skip


def model(cell: dict[str, Any], data: Dataset) -> VAE:
    prior = {
        "normal": lambda: StandardNormal(LATENT),
        "anisotropic": lambda: AnisotropicPrior(log_principal_variances(data, LATENT)),
        "student-t": lambda: StudentTPrior(LATENT, 10.0),
    }[cell["prior"]]()
    encoder, width, decoder = bodies(cell["net"])
    likelihood = (
        BernoulliLikelihood() if cell["likelihood"] == "bernoulli" else SquaredErrorLikelihood()
    )
    return VAE(
        Encoder(encoder, DiagonalPosterior(width, LATENT)), Decoder(decoder, likelihood), prior
    )


def trained(cell: dict[str, Any], data: Dataset, seed: int) -> dict[str, Any]:
    """The estimate after three quarters of the steps and at the end."""
    torch.manual_seed(seed)
    vae, objective = model(cell, data), BetaVAE(Constant(cell["beta"]))
    images = torch.from_numpy(data.rows(np.arange(len(data))))
    optimiser = torch.optim.Adam(vae.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, STEPS)
    generator = torch.Generator().manual_seed(seed)
    start, estimates = time.process_time(), []
    for step in range(1, STEPS + 1):
        rows = torch.randint(len(images), (BATCH,), generator=generator)
        noise = torch.randn(1, BATCH, LATENT, generator=generator)
        batch = Batch(images[rows], rows, len(images))
        terms = objective(vae, batch, torch.tensor(float(step)), noise)
        optimiser.zero_grad()
        terms.loss.backward()
        optimiser.step()
        schedule.step()
        if step in (3 * STEPS // 4, STEPS):
            estimates.append(effective_beta_of(open_vae(vae, data, rows=2_000), rows=1_000))
    before, found = estimates
    return {
        **cell, "seed": seed, "before": before.value, "found": found.to_dict(),
        "loss": terms.loss.item(), "seconds": time.process_time() - start,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kept", type=Path, default=Path("runs/effective_beta.jsonl"))
    parser.add_argument("--out", type=Path, default=Path("docs/results/effective_beta.md"))
    parser.add_argument("--picture", type=Path, default=Path("docs/pictures/effective-beta.svg"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--page-only", action="store_true", help="Of the runs that are kept.")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.kept.parent.mkdir(parents=True, exist_ok=True)
    data = as_dataset(waves(IMAGES))
    cells = [dict(zip(CELLS, values, strict=True)) for values in itertools.product(*CELLS.values())]
    runs = _kept(arguments.kept)
    if arguments.page_only:
        write(runs, len(cells), arguments.out, arguments.picture)
        return
    done = [{key: run[key] for key in CELLS} for run in runs]
    # In strides: whatever has run by some hour is spread over all nets, likelihoods and priors.
    for cell in sorted(cells, key=lambda cell: cells.index(cell) * 7 % len(cells)):
        if cell in done:
            continue
        run = trained(cell, data, arguments.seed)
        with arguments.kept.open("a") as file:
            file.write(json.dumps(run) + "\n")
    write(_kept(arguments.kept), len(cells), arguments.out, arguments.picture)


def write(runs: list[dict[str, Any]], cells: int, out: Path, picture: Path) -> None:
    """The page and the picture of the runs that there are."""
    out.write_text("\n".join(page(runs, cells)) + "\n")
    draw(runs, picture)


def draw(runs: list[dict[str, Any]], path: Path) -> None:
    """Estimates with their intervals against the truth, both on logarithmic axes."""
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "effective-beta"
    figure, axes = plt.subplots(figsize=(5, 4), layout="constrained")
    shown = [run for run in runs if run["found"]["value"] is not None]
    styles = {("mlp", "bernoulli"): "C0o", ("mlp", "squared-error"): "C1s",
              ("conv", "bernoulli"): "C2^", ("conv", "squared-error"): "C3D"}  # fmt: skip
    for k, ((net, likelihood), style) in enumerate(styles.items()):
        own = [run for run in shown if (run["net"], run["likelihood"]) == (net, likelihood)]
        values = np.array([run["found"]["value"] for run in own])
        ends = np.array([run["found"]["interval"] for run in own]).reshape(-1, 2).T
        places = [run["beta"] * 1.06 ** (k - 1.5) for run in own]  # side by side, not on each other
        axes.errorbar(places, values, [values - ends[0], ends[1] - values], fmt=style, ms=4,
                      label=f"{net}, {likelihood}")  # fmt: skip
    axes.plot([0.04, 10], [0.04, 10], color="0.6", lw=1)
    axes.set(xscale="log", yscale="log", xlabel="beta of the training", ylabel="effective beta")
    axes.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})


def _kept(path: Path) -> list[dict[str, Any]]:
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def outcome(run: dict[str, Any]) -> str:
    """Why a run is excluded, or whether the estimate is within the band."""
    found, before = run["found"], run["before"]
    if found["value"] is None:
        return f"excluded: {found['reason']}"
    if before is None or abs(found["value"] / before - 1) > REST:
        return "excluded: not converged"
    ratio = found["value"] / run["beta"]
    return "within" if BAND[0] <= ratio <= BAND[1] else "outside"


def covered(run: dict[str, Any]) -> bool:
    low, high = run["found"]["interval"]
    return bool(low <= run["beta"] <= high)


def share(flags: list[bool]) -> str:
    return f"{sum(flags)} of {len(flags)} ({np.mean(flags):.0%})" if flags else "none of 0"


def page(runs: list[dict[str, Any]], cells: int) -> list[str]:
    runs = sorted(runs, key=lambda run: [CELLS[key].index(run[key]) for key in CELLS])
    judged = [run for run in runs if not outcome(run).startswith("excluded")]
    within = [outcome(run) == "within" for run in judged]
    ratios = [run["found"]["value"] / run["beta"] for run in judged]
    unreadable = [run for run in runs if run["found"]["value"] is None]
    single = [run["found"]["single_weight"] for run in judged]
    lines = [
        "# Effective beta over a grid of runs",
        "",
        f"Made by `python scripts/effective_beta.py`; the rules are at its head and were committed "
        f"before the first run. {len(runs)} of {cells} runs, {STEPS:,} steps each on {IMAGES:,} "
        f"images of {SIZE} pixels a side, seed {runs[0]['seed']}; torch {version('torch')}, "
        f"vaescope {vs.__version__}, {sum(run['seconds'] for run in runs) / 60:.0f} minutes of one "
        "core.",
        "",
        *(
            [f"**Not finished**: {cells - len(runs)} of the registered runs are to come.", ""]
            if len(runs) < cells
            else []
        ),
        f"- Excluded: {len(unreadable)} without an estimate, "
        f"{len(runs) - len(judged) - len(unreadable)} not converged.",
        f"- Estimate over truth within {BAND[0]} and {BAND[1]} (wanted: 90%): {share(within)}; "
        f"least {min(ratios):.3f}, median {np.median(ratios):.3f}, greatest {max(ratios):.3f}.",
        f"- The 95% interval covers the truth (wanted: 85%): "
        f"{share([covered(run) for run in judged])}. Where all are covered, intervals are wider "
        "than they need be, or runs of one seed err alike.",
        f"- It says that one weight explains the model of {share([s is True for s in single])}, "
        f"that none does of {sum(s is False for s in single)}, and leaves it open of "
        f"{sum(s is None for s in single)}. The truth is one weight for all.",
        "",
        "| net | likelihood | prior | beta | estimate | interval | over truth | latents | spread "
        "| one weight | moved | |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    return lines + [_row(run) for run in runs]


def _row(run: dict[str, Any]) -> str:
    found, cell = run["found"], f"| {run['net']} | {run['likelihood']} | {run['prior']} "
    if found["value"] is None:
        return f"{cell}| {run['beta']:g} | | | | | | | | {outcome(run)} |"
    low, high = found["interval"]
    spread = "" if found["spread"] is None else f"{found['spread']:.0%}"
    one = {True: "yes", False: "no", None: "open"}[found["single_weight"]]
    moved = "" if run["before"] is None else f"{found['value'] / run['before'] - 1:+.1%}"
    mark = outcome(run) + ("" if covered(run) else ", interval misses")
    return (
        f"{cell}| {run['beta']:g} | {found['value']:.3g} | {low:.3g} to {high:.3g} | "
        f"{found['value'] / run['beta']:.3f} | {len(found['per_latent'])} | {spread} | {one} | "
        f"{moved} | {mark} |"
    )


if __name__ == "__main__":
    main()
