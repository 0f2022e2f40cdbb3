"""Do FactorVAE and beta-TCVAE lower the total correlation at equal distortion? Writes a section of
docs/results/family.md.

Stronger penalties lower the total correlation of any method by making codes worse, so methods are
compared along their distortion curves: for each seed, total correlation is interpolated between the
strengths of a method and read off at the same distortions for both. The total correlation is that
of the exact mixture over all images of the grid, no minibatch estimate.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from scipy import stats

from vaescope.build import build_data
from vaescope.data import Dataset
from vaescope.divergences import exact
from vaescope.encoding import load_vae
from vaescope.runs import Run
from vaescope.seeds import rng
from vaescope.settings import from_command_line
from vaescope.training.run import train_run
from vaescope.vae import VAE, as_input

CPU = torch.device("cpu")
TITLE = "## Total correlation at equal distortion"
# Three shapes, three sizes and every other position: 2,304 images.
GRID = {
    "scale": [1, 3, 5],
    "orientation": [0],
    "x": list(range(0, 32, 2)),
    "y": list(range(0, 32, 2)),
}
COMMON = [
    "data.name=dsprites", "data.size=32", f"data.grid={json.dumps(GRID)}",
    "net.name=mlp", "net.encoder=[256, 256]", "net.decoder=[256, 256]", "latent=10",
    "optimiser.lr=5e-4", "batch=128", "logging.every=500",
]  # fmt: skip
#: Method -> preset, its strength's key and values. The VAE is where all the curves begin.
METHODS: Mapping[str, tuple[str, str, Sequence[float]]] = {
    "beta-VAE": ("beta-vae", "beta", (2, 4, 8, 16)),
    "beta-TCVAE": ("beta-tcvae", "beta", (2, 4, 8, 16)),
    "beta-TCVAE, stratified": ("beta-tcvae", "beta", (2, 4, 8, 16)),
    "FactorVAE": ("factor-vae", "gamma", (2, 5, 10, 20)),
}
EXTRA: Mapping[str, Sequence[str]] = {
    "beta-TCVAE, stratified": ["objective.estimator=stratified"],
    # A quarter of Kim and Mnih's width: a sixteenth of the time, for codes of one small grid.
    "FactorVAE": ["objective.critic_width=250", "objective.critic_lr=5e-4"],
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
    return build_data(from_command_line("vae", COMMON).data)


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


def train(case: tuple[str, float, int], steps: int, folder: Path) -> Point:
    """Trains one model, or finds it in the folder, and measures it."""
    torch.set_num_threads(1)
    method, strength, seed = case
    settings = [*COMMON, f"steps={steps}", f"seed={seed}"]
    if method == "VAE":
        name = "vae"
    else:
        name, key, _ = METHODS[method]
        settings += [*EXTRA.get(method, ()), f"objective.{key}={strength}"]
    spec = from_command_line(name, settings)
    run = Run.of(spec, name, folder)
    run.create(spec)
    for _ in train_run(run, run.open(), images(), device=CPU):
        pass
    return measure(load_vae(run), method, strength, seed)


def cases(seeds: int) -> Iterator[tuple[str, float, int]]:
    for seed in range(seeds):
        yield "VAE", 1.0, seed
        for method, (_, _, strengths) in METHODS.items():
            for strength in strengths:
                yield method, float(strength), seed


def curve(points: Sequence[Point], method: str, seed: int) -> tuple[list[float], list[float]]:
    """Distortions, ascending, and total correlations of one method and seed, the VAE included."""
    own = [p for p in points if p.seed == seed and p.method in (method, "VAE")]
    own.sort(key=lambda p: p.distortion)
    return [p.distortion for p in own], [p.total_correlation for p in own]


def difference(points: Sequence[Point], method: str, seed: int) -> float:
    """Mean over the distortions that both curves cover of TC(method) - TC(beta-VAE), nats."""
    theirs, ours = curve(points, "beta-VAE", seed), curve(points, method, seed)
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
    for method in list(METHODS)[1:]:
        found = np.array([difference(points, method, seed) for seed in range(seeds)])
        low, high = np.nan, np.nan
        if seeds > 1:
            half = stats.t.ppf(0.975, seeds - 1) * found.std(ddof=1) / np.sqrt(seeds)
            low, high = found.mean() - half, found.mean() + half
        verdict = "yes" if high < 0 else "no" if low > 0 else "undecided"
        lines.append(f"| {method} | {found.mean():.3f} | {low:.3f} to {high:.3f} | "
                     f"{(found < 0).sum()} of {seeds} | **{verdict}** |")  # fmt: skip
    return lines


def replace_section(path: Path, lines: Sequence[str]) -> None:
    """Writes this section into the page and leaves the others as they are."""
    text = path.read_text() if path.exists() else "# The family\n"
    before, found, after = text.partition(TITLE)
    _, next_title, rest = after.partition("\n## ") if found else ("", "", "")
    path.parent.mkdir(parents=True, exist_ok=True)
    tail = f"\n## {rest}" if next_title else ""
    path.write_text(before.rstrip("\n") + "\n\n" + "\n".join([TITLE, "", *lines, ""]) + tail)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results/family.md"))
    parser.add_argument("--runs", type=Path, default=Path("runs/family"), help="skips what is done")
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    started = perf_counter()
    todo = list(cases(options.seeds))
    work = partial(train, steps=options.steps, folder=options.runs)
    with ProcessPoolExecutor(options.processes) as pool:
        points = list(pool.map(work, todo))
    lines = [
        f"Made by `python scripts/family.py`: {len(images()):,} dSprites images of 32x32 pixels",
        "(three shapes, three sizes, 16 x 16 positions), fully connected nets of 256-256, 10",
        f"latents, Adam 5e-4, batch 128, {options.steps:,} steps, seeds 0-{options.seeds - 1}; the",
        f"critic has six layers of 250. torch {version('torch')}, vaescope {version('vaescope')},",
        "float32 in training, float64 in measuring. Mean ± standard deviation over seeds. Total",
        "correlation and index-code information are those of the exact mixture over all images at",
        "one sample each. At equal distortion: per seed, both curves from the VAE on are",
        "interpolated linearly, and their difference is averaged over the distortions that both",
        "cover; the interval is Student's over seeds.",
        "",
        *tables(points, options.seeds),
        "",
        f"{len(points)} models in {(perf_counter() - started) / 60:.0f} minutes.",
    ]
    replace_section(options.out, lines)


if __name__ == "__main__":
    main()
