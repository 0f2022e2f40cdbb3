"""Do trained VAEs under a prior of independent subspaces learn the groups? mathieu2019, abstract.

`subspaces.py` has the rotation that the prior likes best, without networks. Here encoder and
decoder are trained from one start, on the same data.
"""

from collections.abc import Mapping
from itertools import permutations
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy import stats

from vaescope.opening import encode
from vaescope.seeds import rng
from vaescope.studies.claims import Claim, Control
from vaescope.studies.effects import Gap, Level
from vaescope.studies.mathieu2019.subspaces import DF, SIZE, SOURCES, Matrix, grouped
from vaescope.studies.panels import Dots
from vaescope.studies.study import Computed, Measured, Scale, Study, cells
from vaescope.training.api import train

__all__ = ["STUDY", "compute", "dependence", "within_groups"]

ROWS, NOISE = 4000, 0.3
_SUBSPACES = {"name": "subspaces", "size": SIZE, "df": DF}
_PRIORS: Mapping[str, Mapping[str, Any]] = {
    "subspaces": _SUBSPACES, "normal prior": {"name": "normal"},
    "factorial prior": {"name": "student-t", "df": DF},
}  # fmt: skip
#: Prior, and size of the groups of the data.
ARMS: Mapping[str, tuple[str, int]] = {
    "subspaces": ("subspaces", SIZE), "normal prior": ("normal prior", SIZE),
    "factorial prior": ("factorial prior", SIZE), "subspaces, no groups": ("subspaces", 1),
    "normal prior, no groups": ("normal prior", 1),
}  # fmt: skip


def within_groups(z: Matrix, sources: Matrix) -> float:
    """Share of the sources' variance that the latents of the matched group explain, by least
    squares: 1 if codes have the sources' groups."""
    groups = range(SOURCES // SIZE)
    found = np.zeros((len(groups), len(groups)))
    for g in groups:
        design = np.column_stack([z[:, SIZE * g : SIZE * (g + 1)], np.ones(len(z))])
        for h in groups:
            wanted = sources[:, SIZE * h : SIZE * (h + 1)]
            missed = wanted - design @ np.linalg.lstsq(design, wanted, rcond=None)[0]
            found[g, h] = 1.0 - float((missed.var(axis=0) / wanted.var(axis=0)).mean())
    return max(float(np.mean([found[g, h] for g, h in enumerate(o)])) for o in permutations(groups))


def dependence(z: Matrix) -> float:
    """Rank correlation of the sizes of two latents of one group of the prior, less that of two of
    different groups, means over pairs: 0 if they depend on each other alike."""
    ranks = np.asarray(stats.spearmanr(np.abs(z)).statistic)
    group = np.arange(SOURCES) // SIZE
    same = group[:, None] == group[None, :]
    inside = same & ~np.eye(SOURCES, dtype=bool)
    return float(ranks[inside].mean() - ranks[~same].mean())


def compute(columns: Mapping[str, Any]) -> Measured:
    """Trains one model and compares its groups of latents with those of the sources."""
    prior, size = ARMS[str(columns["arm"])]
    seed, steps = int(columns["seed"]), int(columns["steps"])
    sources = grouped(seed, size, ROWS)
    draw = rng(seed, "subspaces-trained")
    mixing = np.linalg.qr(draw.normal(size=(SOURCES, SOURCES)))[0]
    x = (sources @ mixing.T).astype(np.float32)
    with TemporaryDirectory() as folder:
        run = train(
            "vae", x, out=folder, latent=SOURCES, seed=seed, steps=steps, batch=128,
            prior=dict(_PRIORS[prior]), likelihood={"name": "gaussian", "scale": NOISE},
            net={"name": "mlp", "encoder": [64], "decoder": [64]},
            lr={"name": "cosine", "start": 3e-3, "stop": 0.0, "steps": steps},
        )  # fmt: skip
        codes = encode(run, x)
    mean, sample = codes.mean.astype(np.float64), codes.sample.astype(np.float64)
    all_pairs = np.asarray(np.corrcoef(np.column_stack([mean, sources]), rowvar=False))
    both = all_pairs[:SOURCES, SOURCES:] ** 2
    return {
        "groups": within_groups(mean, sources), "single": float(both.max(axis=0).mean()),
        "dependence": dependence(sample),
        "explained": float(1.0 - _missed(mean, sources)),
    }  # fmt: skip


def _missed(z: Matrix, sources: Matrix) -> float:
    """Share of the sources' variance that all latents leave."""
    design = np.column_stack([z, np.ones(len(z))])
    rest = sources - design @ np.linalg.lstsq(design, sources, rcond=None)[0]
    return float((rest.var(axis=0) / sources.var(axis=0)).mean())


def _work(scale: Scale) -> Computed:
    seeds, steps = {"smoke": (2, 20), "laptop": (16, 3000), "paper": (48, 20_000)}[scale]
    return Computed(
        "mathieu2019-subspaces-trained",
        tuple(
            cell
            for seed in range(seeds)
            for arm in ARMS
            for cell in cells([{"seed": seed}], arm=arm, steps=steps)
        ),
        compute,
    )


def _at(arm: str) -> dict[str, str]:
    return {"arm": arm}


_SUBS, _NORMAL = _at("subspaces"), _at("normal prior")
_WHERE = "mathieu2019 abstract"

STUDY = Study(
    "mathieu2019/subspaces-trained",
    "Independent-subspace priors: do trained VAEs learn the groups",
    _work,
    (
        Claim(
            "A prior of three independent subspaces makes trained codes have the sources' groups "
            "better than a normal one: matched groups explain over 0.05 more of the variance.",
            _WHERE, Gap("groups", _SUBS, _NORMAL), "above", 0.05, "named, without an experiment",
            primary=True,
            quote="other choices of prior can assist in producing different decompositions",
            control=Control(
                "sources without groups",
                Gap("groups", _at("subspaces, no groups"), _at("normal prior, no groups")),
            ),
        ),
        Claim(
            "Trained from one start they have all three groups: over 90% of the variance.",
            _WHERE, Level("groups", _SUBS), "above", 0.9, "named, without an experiment",
            control=Control("a normal prior", Level("groups", _NORMAL)),
        ),
        Claim(
            "Their samples have the prior's structure, whichever sources they hold: latents of a "
            "group depend on each other more than latents of two, by 0.05 of rank correlation.",
            _WHERE, Level("dependence", _SUBS), "above", 0.05, "to impose the structure", own=True,
            control=Control("a normal prior", Level("dependence", _NORMAL)),
        ),
        Claim(
            "Within a group axes stay arbitrary: the largest squared correlation of a source with "
            "a latent is below 0.95 in the mean.",
            _WHERE, Level("single", _SUBS), "below", 0.95, own=True,
            control=Control("a factorial prior", Level("single", _at("factorial prior"))),
        ),
    ),
    (
        Dots("Variance within the sources' groups", "groups", "arm", threshold=0.9),
        Dots("Dependence within groups less between", "dependence", "arm", threshold=0.05),
        Dots("Largest squared correlation of a source", "single", "arm", threshold=0.95),
        Dots("Variance that all latents explain", "explained", "arm"),
    ),
    ("mathieu2019 independent-subspace priors (abstract)",),
    "The data of mathieu2019/subspaces: six sources in three pairs, each pair a Student-t of two "
    "dimensions with 3 degrees of freedom, mixed by a rotation; 4,000 rows. VAEs with six latents, "
    "networks of 64 both ways, a Gaussian likelihood of deviation 0.3 and "
    "`prior.name=subspaces`, a product of Student-t or N(0, I), 3,000 steps of 128 with a learning "
    "rate from 3e-3 to 0, one start each. In two arms sources are independent and heavy-tailed, so "
    "that there is no group to find. Three exploratory seeds, which do not vote (100 and 101 "
    "with linear networks, 102 with these), had one group of three or none; a factorial prior "
    "gave as much, which is why the control has no groups.",
    "Trained from one start such VAEs have some of the groups, not all: matched groups explain "
    "59% of the variance, over 90% in one of 16 seeds at most, which contradicts the second "
    "sentence. The prior gains 0.09 over a normal one on average, but the threshold of 0.05 is "
    "passed in 9 of 16 seeds only, and as often where sources have no groups, so that the primary "
    "is undecided. What the prior imposes on samples is clearer: in 13 of 16 seeds latents of a "
    "group depend on each other more than latents of two by over 0.05, which a normal prior never "
    "shows.",
)  # fmt: skip
