"""Do FactorVAE and beta-TCVAE lower the total correlation at equal distortion? Writes a section of
docs/results/family.md.

Stronger penalties lower the total correlation of any method by making codes worse, so methods are
compared along their distortion curves: for each seed, total correlation is interpolated between the
strengths of a method and read off at the same distortions for both. The total correlation is that
of the exact mixture over all images of the grid, no minibatch estimate.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from scipy import stats

from vaescope.aggregate_posterior import exact
from vaescope.build import data_settings
from vaescope.data import Dataset
from vaescope.data.dsprites import dsprites
from vaescope.data.in_memory import from_arrays
from vaescope.encoding import load_vae
from vaescope.runs import Run
from vaescope.seeds import rng
from vaescope.settings import experiment, preset, start
from vaescope.specs import Experiment
from vaescope.training.group import train_group
from vaescope.training.run import train_run
from vaescope.vae import VAE, as_input

CPU = torch.device("cpu")
TITLE = "## Total correlation at equal distortion"
# One ellipse in four sizes at all positions: 4,096 images. Positions are closer together than codes
# are wide, so that dependence between latents is not one of a lattice, which no critic could see.
GRID = {"shape": [1], "scale": [0, 2, 4, 5], "orientation": [0]}
HIDDEN, LATENT, BATCH, RATE = 64, 10, 64, 1e-3
CRITIC = {"critic_lr": RATE, "critic_width": 256, "critic_layers": 3}


@dataclass(frozen=True)
class Method:
    """A preset, the key of its strength and the strengths of its curve."""

    preset: str
    key: str
    strengths: Sequence[float]
    #: Whether all strengths and seeds are trained as one stack; a critic cannot be stacked.
    stacked: bool = True
    settings: Mapping[str, object] = field(default_factory=dict)


BASE = "beta-VAE"
#: The base with beta 1 is the VAE, where all curves begin. Total correlation is convex in the
#: distortion, so chords lie above it: the curve that the others are compared with is the densest.
METHODS: Mapping[str, Method] = {
    BASE: Method("beta-vae", "beta", (1, 1.25, 1.5, 2, 3, 4, 8, 16)),
    "beta-TCVAE": Method("beta-tcvae", "beta", (2, 4, 8, 16)),
    # The critic learns as fast as the VAE, as in disentanglement_lib.
    "FactorVAE": Method("factor-vae", "gamma", (5, 15, 40), stacked=False, settings=CRITIC),
    "beta-TCVAE, stratified": Method(
        "beta-tcvae", "beta", (2, 4, 8, 16), settings={"estimator": "stratified"}
    ),
}


@dataclass(frozen=True)
class Point:
    """One trained model. Nats; distortion at one sample per image."""

    method: str
    strength: float
    seed: int
    distortion: float
    rate: float
    total_correlation: float
    information: float


@cache
def images() -> Dataset:
    """The grid at 16x16: means of 2x2 pixels of the 32x32 drawings."""
    large = dsprites(size=32, grid=GRID)
    x = large.rows(np.arange(len(large)))
    return from_arrays(x.reshape(len(x), 1, 16, 2, 16, 2).mean((3, 5)))


def measure(vae: VAE, method: str, strength: float, seed: int) -> Point:
    """All images at once, in float64: distortion, rate and the exact mixture's parts."""
    data = images()
    with torch.no_grad():
        x = as_input(data.rows(np.arange(len(data))), CPU).double()
        vae = vae.double()
        q = vae.encoder(x)
        noise = rng(seed, "family").standard_normal(q.mean.shape)
        z = q.at(torch.from_numpy(noise))
        prior = vae.prior().log_prob(z)
        found = exact(q, z)
        return Point(
            method,
            strength,
            seed,
            distortion=-vae.decoder(z).log_prob(x).mean().item(),
            rate=(found.conditional - prior).mean().item(),
            total_correlation=found.total_correlation.item(),
            information=found.index_code_information.item(),
        )


def spec_of(method: str, strength: float, seed: int, steps: int) -> Experiment:
    own = METHODS[method]
    settings: dict[str, object] = {
        "data": dict(data_settings(images())),
        "net": {"name": "mlp", "encoder": [HIDDEN] * 2, "decoder": [HIDDEN] * 2},
        "latent": LATENT, "optimiser.lr": RATE, "batch": BATCH, "seed": seed, "steps": steps,
        "logging.every": 500,
        **{f"objective.{key}": value for key, value in own.settings.items()},
        f"objective.{own.key}": float(strength),
    }  # fmt: skip
    changes = [(key.split("."), value) for key, value in settings.items()]
    return experiment(start(preset(own.preset), changes))


def train(method: str, seeds: int, steps: int, folder: Path) -> list[Point]:
    """All strengths and seeds of a method, or what the folder has of them, measured."""
    own = METHODS[method]
    cases = [(float(strength), seed) for strength in own.strengths for seed in range(seeds)]
    specs = [spec_of(method, strength, seed, steps) for strength, seed in cases]
    runs = [Run.of(spec, own.preset, folder) for spec in specs]
    for run, spec in zip(runs, specs, strict=True):
        run.create(spec)
    if own.stacked:
        for _ in train_group(runs, [run.open() for run in runs], images()):
            pass
    else:
        for run in runs:
            for _ in train_run(run, run.open(), images(), device=CPU):
                pass
    return [
        measure(load_vae(run), method, strength, seed)
        for run, (strength, seed) in zip(runs, cases, strict=True)
    ]


def curve(points: Sequence[Point], method: str, seed: int) -> tuple[list[float], list[float]]:
    """Distortions, ascending, and total correlations of one method and seed, the VAE included."""
    own = [
        p for p in points
        if p.seed == seed and (p.method == method or (p.method, p.strength) == (BASE, 1.0))
    ]  # fmt: skip
    own.sort(key=lambda p: p.distortion)
    return [p.distortion for p in own], [p.total_correlation for p in own]


def difference(points: Sequence[Point], method: str, seed: int) -> float:
    """Mean over the distortions that both curves cover of TC(method) - TC(beta-VAE), nats."""
    theirs, ours = curve(points, BASE, seed), curve(points, method, seed)
    low, high = max(theirs[0][0], ours[0][0]), min(theirs[0][-1], ours[0][-1])
    at = np.linspace(low, high, 101)
    return float(np.mean(np.interp(at, *ours) - np.interp(at, *theirs)))


def tables(points: Sequence[Point], seeds: int) -> list[str]:
    lines = ["| method | strength | distortion | rate | total correlation | information |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    names = ("distortion", "rate", "total_correlation", "information")
    for method, strength in dict.fromkeys((p.method, p.strength) for p in points):
        chosen = [asdict(p) for p in points if (p.method, p.strength) == (method, strength)]
        cells = [[row[name] for row in chosen] for name in names]
        shown = [f"{np.mean(c):.2f} ± {np.std(c, ddof=min(1, len(c) - 1)):.2f}" for c in cells]
        lines.append(f"| {method} | {strength:g} | {' | '.join(shown)} |")
    lines += ["", "Against the beta-VAE at equal distortion, nats (negative: less correlated):", "",
              "| method | mean difference | 95% interval | seeds below 0 | lower |",
              "|---|---|---|---|---|"]  # fmt: skip
    measured = {p.method for p in points}
    for method in (name for name in METHODS if name != BASE and name in measured):
        found = np.array([difference(points, method, seed) for seed in range(seeds)])
        low, high = np.nan, np.nan
        if seeds > 1:
            half = stats.t.ppf(0.975, seeds - 1) * found.std(ddof=1) / np.sqrt(seeds)
            low, high = found.mean() - half, found.mean() + half
        verdict = "yes" if high < 0 else "no" if low > 0 else "undecided"
        lines.append(f"| {method} | {found.mean():.3f} | {low:.3f} to {high:.3f} | "
                     f"{(found < 0).sum()} of {seeds} | **{verdict}** |")  # fmt: skip
    return lines


def replace_section(path: Path, title: str, lines: Sequence[str]) -> None:
    """Writes one section into the page and leaves the others as they are."""
    text = path.read_text() if path.exists() else "# The family\n"
    before, found, after = text.partition(f"{title}\n")
    _, next_title, rest = after.partition("\n## ") if found else ("", "", "")
    path.parent.mkdir(parents=True, exist_ok=True)
    tail = f"\n## {rest}" if next_title else ""
    path.write_text(before.rstrip("\n") + "\n\n" + "\n".join([title, "", *lines, ""]) + tail)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results/family.md"))
    parser.add_argument("--runs", type=Path, default=Path("runs/family"), help="skips what is done")
    parser.add_argument("--steps", type=int, default=4_000)
    parser.add_argument("--seeds", type=int, default=5)
    others = [name for name in METHODS if name != BASE]
    parser.add_argument(
        "--methods", nargs="+", choices=others, default=others, metavar="NAME",
        help="some of them, beside the beta-VAE, in a section of their own",
    )  # fmt: skip
    options = parser.parse_args()
    torch.set_num_threads(1)
    title = TITLE if options.methods == others else f"{TITLE}: {', '.join(options.methods)}"
    points: list[Point] = []
    for method in (BASE, *options.methods):
        points += train(method, options.seeds, options.steps, options.runs)
        lines = [
            f"Made by `python scripts/family.py`: {len(images()):,} dSprites images (an ellipse in",
            "four sizes, 32 x 32 positions) of 16x16 pixels, means of 2x2: small enough for many",
            f"models in little time. Fully connected nets of {HIDDEN}-{HIDDEN}, {LATENT} latents,",
            f"Adam {RATE:g}, batch {BATCH}, {options.steps:,} steps, seeds 0 to "
            f"{options.seeds - 1}; FactorVAE's critic has",
            f"{CRITIC['critic_layers']} layers of {CRITIC['critic_width']} instead of 6 of 1000 "
            "and the VAE's learning rate.",
            f"torch {version('torch')}, vaescope {version('vaescope')}, float32 in training, "
            "float64 in measuring.",
            "Mean ± standard deviation over seeds. Total correlation and index-code information",
            "are those of the exact mixture over all images at one sample each. At equal",
            "distortion: per seed, both curves from the VAE (beta 1) on are interpolated linearly,",
            "and their difference is averaged over the distortions that both cover; the interval",
            "is Student's over seeds.",
            "",
            *tables(points, options.seeds),
        ]
        replace_section(options.out, title, lines)


if __name__ == "__main__":
    main()
