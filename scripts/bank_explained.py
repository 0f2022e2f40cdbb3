"""Measures on models of the bank of bonheme2023 what its pages say of why figures differ from the
paper's. Writes docs/results/bank-explained.json: the first 16 units of each study and medians of
them, by cell. No claim is registered on them.

    python scripts/studies.py --again bonheme2023 --out DIR      # trains the models, or
    python scripts/bank_explained.py --out DIR                   # trains those that it needs
"""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from vaescope.latents.correlation import measures_of
from vaescope.latents.pairwise import pairwise
from vaescope.runs import Run
from vaescope.seeds import rng
from vaescope.studies.bonheme2023.bank import Halves, arm, halves
from vaescope.studies.bonheme2023.questions import features_of
from vaescope.studies.bonheme2023.traces import STRONG, correlations_of, passive_and_active
from vaescope.studies.catalogue import find
from vaescope.studies.measuring import distortion
from vaescope.studies.registry import read_registry
from vaescope.studies.sampling import FIRST_BATCH
from vaescope.studies.study import Cell
from vaescope.sweeps.driver import sweep
from vaescope.sweeps.engine import make_engine
from vaescope.sweeps.grid import plan
from vaescope.types import Floats, Integers

RESULT = Path("docs/results/bank-explained.json")
Found = Mapping[str, float | None]
#: The paper's weight of an annealed VAE's rate; at laptop scale it is 20.
GAMMA = 1_000.0
#: Units of models that no study has: they never vote.
OWN = range(500, 508)


def values(of: Halves) -> tuple[Floats, Floats]:
    """Means, and one sample of each posterior."""
    mean = of.codes.mean.astype(np.float64)
    noise = rng(0, "samples").standard_normal(mean.shape)
    return mean, mean + np.sqrt(of.codes.variance.astype(np.float64)) * noise


def blocks(of: Halves) -> Iterator[tuple[str, Integers, Integers]]:
    """Pairs of kinds of latents."""
    active, passive = of.kinds.active, of.kinds.passive
    yield from (
        ("active_active", active, active),
        ("active_passive", active, passive),
        ("passive_passive", passive, passive),
    )


def between(matrix: Floats, rows: Integers, columns: Integers) -> Floats:
    """Entries of a matrix, a latent with itself aside."""
    return np.array([matrix[i, j] for i in rows for j in columns if i != j])


def middle(found: Floats) -> float | None:
    return float(np.mean(found)) if len(found) else None


def peak(run: Run) -> Found:
    """Figure 4: how many means and samples of mixed latents are within a tenth of their standard
    deviation of 0; of a normal variable 0.080 are."""
    of = halves(run)
    found = {
        name: np.array([np.mean(np.abs(x[:, j]) < 0.1 * x[:, j].std()) for j in of.kinds.mixed])
        for name, x in zip(("means", "samples"), values(of), strict=True)
    }
    return {f"near_zero_{name}": middle(share) for name, share in found.items()}


def information(run: Run) -> Found:
    """Figure 9: information of pairs by their kind, less that of latents permuted apart."""
    of = halves(run)
    found: dict[str, float | None] = {}
    for name, x in zip(("means", "samples"), values(of), strict=True):
        chance = pairwise(rng(0, "apart").permuted(x, axis=0)).mutual_information
        left = pairwise(x).mutual_information - chance
        found |= {f"{name}_{kind}": middle(between(left, *sets)) for kind, *sets in blocks(of)}
    return found


def strongest(run: Run) -> Found:
    """Figure 11: the strongest correlation with any other latent, and the pairs above 0.2."""
    of = halves(run)
    size = np.abs(np.corrcoef(values(of)[0], rowvar=False))
    off = np.where(np.eye(len(size), dtype=bool), 0.0, size)
    top = off.max(axis=1)
    found: dict[str, float | None] = {
        f"strongest_{kind}": middle(top[which])
        for kind, which in (("active", of.kinds.active), ("passive", of.kinds.passive))
    }
    return found | {
        f"above_{kind}": middle(between(size, *sets) > STRONG) for kind, *sets in blocks(of)
    }


def pairs(run: Run) -> Found:
    """Figure 12 by pairs: the share of others and snapshots with which a latent has a correlation
    above 0.2, by its type at the end."""
    rows = list(run.read_correlations())
    size = np.abs(correlations_of(rows))
    passive, active = passive_and_active(rows)
    d = size.shape[1]
    often = (np.where(np.eye(d, dtype=bool), 0.0, size) > STRONG).mean(axis=(0, 2)) * d / (d - 1)
    return {"passive": middle(often[passive]), "active": middle(often[active])}


def noise(run: Run) -> Found:
    """Active latents: the smallest eigenvalue of the correlation of their means, and the share that
    the posterior's noise has of their variance."""
    of = halves(run)
    mean, active = values(of)[0][:, of.kinds.active], of.kinds.active
    if len(active) < 2:
        return {"smallest_eigenvalue": None, "noise": None}
    added = of.codes.variance[:, active].astype(np.float64).mean(axis=0)
    return {
        "smallest_eigenvalue": float(np.linalg.eigvalsh(np.corrcoef(mean, rowvar=False))[0]),
        "noise": float(np.mean(added / mean.var(axis=0))),
    }


def directions(run: Run) -> Found:
    """Readouts: how much of passive means, and of random readouts, a linear function of the active
    means tells; and how much of their variance is in the four leading directions of the features
    that the encoder's heads read."""
    of = halves(run)
    mean = values(of)[0]
    features = features_of(of, run)
    features = features - features.mean(axis=0)
    random = features @ rng(0, "readouts").standard_normal((features.shape[1], 20))
    scores, sizes, _ = np.linalg.svd(features, full_matrices=False)
    found: dict[str, float | None] = {
        "features_leading": float((sizes[:4] ** 2).sum() / (sizes**2).sum())
    }
    kept = mean[:, of.others(of.kinds.passive)]
    span, _ = np.linalg.qr(kept - kept.mean(axis=0))
    for name, x in (("passive", mean[:, of.kinds.passive]), ("readouts", random)):
        unit = (x - x.mean(axis=0)) / np.linalg.norm(x - x.mean(axis=0), axis=0)
        found[f"{name}_told"] = middle(((span.T @ unit) ** 2).sum(axis=0))
        found[f"{name}_leading"] = middle(((scores[:, :4].T @ unit) ** 2).sum(axis=0))
    return found


def rate(run: Run) -> Found:
    """Figure 14: the rate, how much of it passive latents have and what constant means cost, which
    tell nothing of an image; the distortion; and how many latents are passive and mixed."""
    of = halves(run)
    mean, variance = (x.astype(np.float64) for x in (of.codes.mean, of.codes.variance))
    nats = 0.5 * (mean**2 + variance - 1.0 - np.log(variance)).mean(axis=0)
    return {
        "passive": len(of.kinds.passive), "mixed": len(of.kinds.mixed),
        "rate": float(nats.sum()), "rate_of_passive": float(nats[of.kinds.passive].sum()),
        "rate_of_constants": float(0.5 * (mean.mean(axis=0) ** 2).sum()),
        "distortion": distortion(of.model),
    }  # fmt: skip


def ranks(run: Run) -> Found:
    """Figure 8: total correlation of normal scores, which has no share in latents' own shapes."""
    of = halves(run)
    found: dict[str, float | None] = {"passive": len(of.kinds.passive)}
    every = {"": np.arange(of.codes.d), "_without_passive": of.others(of.kinds.passive)}
    for name, x in zip(("mean", "sample"), values(of), strict=True):
        matrices = pairwise(x)
        for suffix, which in every.items():
            own = measures_of(matrices, which)
            found[f"{name}{suffix}"] = None if own is None else own.total_correlation_rank
    return found


def bank(study: str, **labels: object) -> tuple[Cell, ...]:
    """The cells of a study's first units that have these labels."""
    line = next(one for one in reversed(read_registry()) if one.study == study)
    work = find(study)[0].of_units("laptop", range(line.first, line.first + FIRST_BATCH))
    return tuple(
        cell for cell in work.cells if all(cell.labels[key] == v for key, v in labels.items())
    )


def heavy() -> tuple[Cell, ...]:
    """Annealed VAEs with the paper's gamma, in the steps that ours have."""
    cells = arm("laptop", "annealed-vae", "dsprites", strengths=[5.0, 25.0, 100.0])
    return tuple(
        replace(cell, settings={**cell.settings, "objective.gamma": GAMMA, "seed": seed})
        for seed in OWN
        for cell in cells
        if cell.settings["seed"] == 0
    )


LOOKS: Mapping[str, tuple[Callable[[], tuple[Cell, ...]], Callable[[Run], Found]]] = {
    "figure-4": (lambda: bank("bonheme2023/figure-4", arm="trained"), peak),
    "figure-8": (lambda: bank("bonheme2023/figure-8"), ranks),
    "figure-9": (lambda: bank("bonheme2023/figure-9"), information),
    "figure-11": (lambda: bank("bonheme2023/figure-11"), strongest),
    "figure-12": (lambda: bank("bonheme2023/figure-12"), pairs),
    "figure-14": (lambda: bank("bonheme2023/figure-14", data="dsprites"), rate),
    "figure-14-gamma-1000": (heavy, rate),
    "readouts": (lambda: bank("bonheme2023/readouts"), directions),
    "unpolarised": (lambda: bank("bonheme2023/unpolarised"), noise),
}


def look(name: str, out: Path) -> list[dict[str, object]]:
    """Units and their medians, by cell."""
    choose, measure = LOOKS[name]
    cells = choose()
    specs = plan([dict(cell.settings) for cell in cells], where="The look")
    for _ in sweep(specs, out, make_engine("local", out, 1)):
        pass
    found: dict[tuple[object, ...], list[Found]] = {}
    for cell, run in zip(cells, specs.names, strict=True):
        key = tuple(cell.labels[label] for label in ("family", "data", "strength"))
        found.setdefault(key, []).append(measure(Run(out / run)))
    return [
        {"family": family, "data": data, "strength": strength, "medians": medians(rows)}
        | {"units": {key: [short(row[key]) for row in rows] for key in rows[0]}}
        for (family, data, strength), rows in found.items()
    ]


def medians(rows: list[Found]) -> dict[str, float | None]:
    """Of the units that have a number."""
    known = {key: [v for row in rows if (v := row[key]) is not None] for key in rows[0]}
    return {key: short(float(np.median(v))) if v else None for key, v in known.items()}


def short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("looks", nargs="*", default=[], metavar="LOOK", help=", ".join(LOOKS))
    parser.add_argument("--out", type=Path, default=Path("studies"))
    arguments = parser.parse_args()
    found = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    for name in arguments.looks or LOOKS:
        found[name] = look(name, arguments.out / "runs")
        lines = (
            f"{json.dumps(key)}: [\n" + ",\n".join(map(json.dumps, found[key])) + "\n]"
            for key in LOOKS
            if key in found
        )
        RESULT.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
