"""Models of which everything is known: codes, decoders, histories and factors made by hand."""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray

from vaescope.codes import Codes
from vaescope.encoding import Maps
from vaescope.geometry.columns import column_cosine_of, column_norm_of
from vaescope.geometry.jacobian import grams
from vaescope.geometry.orthogonality import distance_of
from vaescope.geometry.overview import Overview
from vaescope.inspection import Inspection, Subject, Training
from vaescope.inspection.codes import describe_codes, judged
from vaescope.latents import groups, mean_against_sample
from vaescope.measures import Measures
from vaescope.models import Inference
from vaescope.prior_density import GaussianDensity
from vaescope.pruning.price import Loss, Price
from vaescope.traversals import traverse

N = 400
SUBJECT = Subject("run", "data", N, N, "A model.")

Made = tuple[NDArray[np.float64], NDArray[np.float64]]  # mean and variance of one latent


def active(rng: np.random.Generator) -> Made:
    return rng.normal(size=N), np.full(N, 0.01)


def passive(rng: np.random.Generator) -> Made:
    return 0.01 * rng.normal(size=N), np.ones(N)


def some(rng: np.random.Generator) -> Made:
    """Active on half of the examples, passive on the others."""
    on = np.arange(N) % 2 == 0
    return np.where(on, 1.4 * rng.normal(size=N), 0.0), np.where(on, 0.005, 1.0)


def every(rng: np.random.Generator) -> Made:
    return np.sqrt(0.5) * rng.normal(size=N), np.full(N, 0.5)


def constant(rng: np.random.Generator) -> Made:
    return 0.01 * rng.normal(size=N), np.full(N, 0.4)


def more(rng: np.random.Generator) -> Made:
    """Certain on half of the examples, half certain on the others: used for all."""
    on = np.arange(N) % 2 == 0
    return rng.normal(size=N), np.where(on, 0.01, 0.5)


def wide(rng: np.random.Generator) -> Made:
    """Certain on half of the examples; on the others as wide as the prior, but the means move."""
    on = np.arange(N) % 2 == 0
    return np.where(on, rng.normal(size=N), 3.0 * rng.normal(size=N)), np.where(on, 0.005, 1.0)


def rare(rng: np.random.Generator) -> Made:
    """Passive by the rule, but used for one example in forty."""
    on = np.arange(N) % 40 == 0
    return np.where(on, np.where(np.arange(N) % 80 == 0, 1.2, -1.2), 0.0), np.where(on, 0.01, 1.0)


def edge(rng: np.random.Generator) -> Made:
    """Mixed, by a twentieth of the threshold."""
    return rng.normal(size=N), np.full(N, 0.105)


KINDS = {
    one.__name__: one for one in (active, passive, some, every, constant, more, wide, rare, edge)
}
#: What the rule calls each.
TYPES = dict.fromkeys(KINDS, "mixed") | {
    "active": "active", "passive": "passive", "rare": "passive",
}  # fmt: skip
MIXED = tuple(kind for kind, name in TYPES.items() if name == "mixed")


#: Factors that are sums of the first two latents: at 45 and at 20 degrees, and at no right angle.
SUMS = {
    "rotated": ((1.0, 1.0), (1.0, -1.0)),
    "leaning": ((1.0, 0.36), (-0.36, 1.0)),
    "joined": ((1.0, 0.36), (0.36, 1.0)),
}


@dataclass(frozen=True)
class Situation:
    """A model of which everything is known."""

    latents: tuple[str, ...]  # names of `KINDS`
    scale: float = 1.0  # of prior and codes together
    shift: float = 0.0  # of the first latent's samples from the prior
    correlated: bool = False  # passive means copy the first latent's
    faintly: bool = False  # passive means follow the first latent's a little
    tied: bool = False  # the second latent's means copy the first latent's
    loud: tuple[int, ...] = ()  # latents that the decoder uses; empty: it has no traversals
    deaf: bool = False  # the decoder uses none
    losses: tuple[float, ...] = ()
    factors: str = ""  # "used", "weak", "passive", "shared", "none", or a name of `SUMS`: who knows
    supervised: bool = False
    price: tuple[bool, bool] | None = None  # what linear models and neighbours lose matters
    axes: str = ""  # "own", "equal", "skewed", "between", "turned" or "free": the decoder's columns
    maps: str = ""  # "plain", "right", "shifted", "wrong", "flat", "places", "channels" or "off"
    unexplained: float | None = None
    read: bool = False  # somebody else's model
    assumed: bool = False  # nobody said the prior
    untyped: tuple[int, ...] = ()  # latents of which no unused variance is known
    classes: int = 8  # of each factor
    sure: float = 0.5  # share of examples on which a weak factor follows its latent
    gaps: bool = False  # the first latent's samples have two modes, and the prior's moments

    def indices(self, *kinds: str) -> set[int]:
        return {j for j, kind in enumerate(self.latents) if kind in kinds}

    @property
    def passive(self) -> set[int]:
        return self.indices("passive", "rare") - set(self.untyped)

    @property
    def columns(self) -> list[int]:
        """Latents that the geometry is about."""
        return [j for j in range(len(self.latents)) if j not in self.passive]


def jacobian(what: Situation) -> NDArray[np.float64]:
    """(outputs, used latents) By construction: J = S V' with V as the word says."""
    d = len(what.columns)
    lengths = np.geomspace(1.0, 3.0**d, d)
    if what.axes == "own":
        return np.diag(lengths)
    if what.axes == "equal":
        return np.eye(d)
    if what.axes == "free":  # orthogonal but for a thousandth, which decides the components
        noise = np.random.default_rng(5).normal(size=(d, d))
        return np.eye(d) + 0.01 * (noise + noise.T)
    if what.axes == "skewed":  # V is off by two degrees, and one length 100 times the other
        turn = np.eye(d)
        cos, sin = np.cos(np.pi / 90), np.sin(np.pi / 90)
        turn[:2, :2] = [[cos, sin], [-sin, cos]]
        return np.diag(100.0 ** np.arange(d)[::-1]) @ turn
    angle = {"between": 0.25, "turned": np.pi / 4}[what.axes]
    turn = np.eye(d)
    for i in range(d - 1):
        step = np.eye(d)
        cos, sin = np.cos(angle), np.sin(angle)
        step[i : i + 2, i : i + 2] = [[cos, sin], [-sin, cos]]
        turn = turn @ step
    return np.diag(lengths) @ turn


def _factors(what: Situation, mean: NDArray[np.float64]) -> NDArray[np.int64]:
    """Classes of two factors, by the latents of a kind in turn, or by nobody."""
    rng = np.random.default_rng(7)
    classes = rng.integers(0, what.classes, (N, 2))
    wanted = {"used": "active", "weak": "active", "shared": "active", "passive": "passive"}
    which = sorted(what.indices(wanted.get(what.factors, "")))[:2]
    if what.factors == "shared":
        which = which[:1] * 2
    if what.factors in SUMS:
        for k, weights in enumerate(SUMS[what.factors]):
            ranks = (mean[:, :2] @ weights).argsort().argsort()
            classes[:, k] = ranks * what.classes // N
    for k, j in enumerate(which):
        rank = mean[:, j].argsort().argsort()
        sure = np.ones(N, dtype=bool) if what.factors != "weak" else rng.random(N) < what.sure
        classes[sure, k] = (rank * what.classes // N)[sure]
    return classes


def _price(matters: tuple[bool, bool]) -> Price:
    losses = [Loss(0.8, 0.5 if one else 0.8, 0.4, 0.01) for one in matters]
    return Price(losses[0], losses[1], 400, 200, ("a", "b"))


def _maps(what: Situation) -> Maps:
    d = len(what.latents)
    places = np.full(d, 2.0 if what.maps == "places" else 0.0)
    scaling = np.inf if what.maps == "flat" else 0.2
    configured = {"right": 0.201, "shifted": 0.201, "wrong": 0.5}.get(what.maps)
    shift = 0.1 if what.maps == "shifted" else None
    channels = None
    if what.maps in ("channels", "off"):
        std = np.full(d, 5.02)
        std[-1] = 8.0 if what.maps == "off" else 5.05
        channels = (np.zeros(d), std)
    return Maps(
        (4, 4), np.zeros(d), np.full(d, 5.0), places, scaling, configured, configured_shift=shift,
        configured_channels=channels,
    )  # fmt: skip


def codes_of(what: Situation) -> Codes:
    rng = np.random.default_rng(3)
    parts = [KINDS[kind](rng) for kind in what.latents]
    mean, variance = (np.stack(columns, axis=1) for columns in zip(*parts, strict=True))
    if what.tied:
        mean[:, 1] = mean[:, 0] + 1e-3 * rng.normal(size=N)
    if what.faintly:
        for j in what.indices("passive"):
            mean[:, j] = 0.01 * (mean[:, 0] + 2.7 * rng.normal(size=N))
    if what.correlated:
        for j in what.indices("passive"):
            mean[:, j] = 0.01 * mean[:, 0] + 1e-4 * rng.normal(size=N)
    sample = mean + np.sqrt(variance) * rng.normal(size=mean.shape)
    sample[:, 0] += what.shift
    if what.gaps:
        sample[:, 0] = np.where(rng.random(N) < 0.5, -0.95, 0.95) + 0.3 * rng.normal(size=N)
    c, d = what.scale, len(what.latents)
    unused = None
    if what.untyped:
        unused = np.full(d, c**2)
        unused[list(what.untyped)] = np.nan
    return Codes(
        c * mean, c**2 * variance, c * sample,
        prior=None if what.assumed else GaussianDensity(np.zeros(d), np.full(d, c**2)),
        supervised=what.supervised, unused=unused,
        unused_why="its objective has no best posterior" if what.untyped else "",
        factors=_factors(what, mean) if what.factors else None,
        factor_names=("a", "b") if what.factors else (),
    )  # fmt: skip


@cache
def inspected(what: Situation) -> Inspection:
    codes, d = codes_of(what), len(what.latents)
    found = describe_codes(codes, SUBJECT, measured=False)
    assert found.types is not None
    correlation = mean_against_sample(codes, kinds=found.types)
    # Verdicts ask measures for nothing else.
    measures = Measures(N, d, {}, {}, found.types, correlation, None)  # type: ignore[arg-type]
    found = replace(found, measures=measures, unexplained=what.unexplained)
    if what.factors:
        found = replace(found, groups=groups(codes, kinds=found.types))
    if what.loud or what.deaf:
        weights = torch.zeros(d, d)
        for j in what.loud:
            weights[j, j] = 1.0
        scale = np.full(d, what.scale)
        found = replace(found, traversals=traverse(lambda z: z @ weights, np.zeros(d), scale=scale))
    if what.losses:
        loss = np.array(what.losses)
        step = np.arange(1, len(loss) + 1) * 10
        none = np.zeros(len(loss), dtype=np.int64)
        found = replace(found, training=Training(step, loss, loss, loss, none, none, none))
    if what.axes:
        columns = torch.from_numpy(jacobian(what))
        used = what.columns
        seen = grams(lambda z: z[..., used] @ columns.T.to(z), codes.mean[:2], columns=used)
        dto = distance_of(seen)
        parts = {"dto": dto, "dto_haar": dto.haar, "column_norm": column_norm_of(seen),
                 "column_cosine": column_cosine_of(seen)}  # fmt: skip
        found = replace(found, geometry=Overview(parts, {}, seen.columns, seen.method, ()))
    if what.maps:
        found = replace(found, maps=_maps(what))
    if what.read:
        read = Inference("posterior", "pair,logvar", "it says so")
        found = replace(found, inferred=(read,))
    return judged(replace(found, price=None if what.price is None else _price(what.price)))


FLAT, FALLING, RISING = (9.0,) * 12, tuple(range(24, 12, -1)), tuple(range(12, 24))
NOISY = tuple(float(10 + 9 * (-1) ** k) for k in range(16))
MODELS = (
    ("active", "passive"), ("active", "active", "passive"), ("active", "active"), ("active",),
    ("passive", "passive"), ("passive",), ("passive", "rare"), ("active", "some", "passive"),
    ("active", "every", "passive"), ("some", "some"), ("every", "some", "active"),
    ("active", "constant", "passive"), ("active", "passive", "passive", "every"),
    ("constant", "every", "some", "active"), ("more", "active", "passive"), ("wide", "active"),
    ("active", "active", "rare"), ("edge", "active", "passive"),
    ("active",) * 10 + ("passive",) * 2, ("constant", "constant", "active"),
    ("every", "every"), ("more", "more"),
)  # fmt: skip


def situations() -> list[Situation]:
    """Mixtures of kinds, each with what a decoder, a history and factors may add to it."""
    rng = np.random.default_rng(11)
    made = []
    for latents in MODELS:
        d = len(latents)
        made.append(Situation(latents))
        for _ in range(12):
            loud = tuple(np.flatnonzero(rng.random(d) < 0.7).tolist())
            axes = rng.choice(["", "own", "equal", "skewed", "between", "turned", "free"])
            untyped = rng.random() < 0.15
            whole = latents.count("passive") + latents.count("rare") < d - 1
            made.append(
                Situation(
                    latents,
                    scale=float(rng.choice([1.0, 0.05, 3.0])),
                    shift=float(rng.choice([0.0, 1.5])),
                    correlated=bool(rng.random() < 0.5) and latents[0] == "active",
                    loud=loud,
                    deaf=not loud,
                    losses=[(), FLAT, FALLING, RISING, NOISY][int(rng.integers(5))],
                    factors=""
                    if d < 2
                    else str(rng.choice(["", "used", "weak", "passive", "shared", "none"])),
                    supervised=bool(rng.random() < 0.2),
                    price=[None, (True, False), (False, False)][int(rng.integers(3))]
                    if 0 < latents.count("passive") < d
                    else None,
                    axes=str(axes) if whole and not untyped else "",
                    maps=str(rng.choice(["plain", "right", "wrong", "flat", "places"]))
                    if rng.random() < 0.2
                    else "",
                    unexplained=[None, 0.3, 0.96, 1.4, np.nan][int(rng.integers(5))],
                    read=bool(rng.random() < 0.5),
                    untyped=tuple(range(int(rng.integers(1, d + 1)))) if untyped else (),
                    classes=300 if rng.random() < 0.1 else 8,
                )
            )
    pair = ("active", "active")
    made += [
        Situation(pair, factors="used", axes=axes) for axes in ("turned", "own", "skewed", "free")
    ]
    made += [Situation((*pair, "passive"), factors="passive", correlated=c) for c in (True, False)]
    made += [Situation((*pair, "passive"), correlated=c, tied=True) for c in (True, False)]
    made += [Situation(("active",) * 3 + ("passive",) * 7, faintly=True)]
    made += [Situation(kinds, factors=f) for kinds in (pair, (*pair, "passive")) for f in SUMS]
    made += [Situation((*pair, "passive"), factors="passive", loud=(0, 1))]
    made += [Situation(pair, maps=maps) for maps in ("shifted", "channels", "off")]
    made += [Situation(pair, unexplained=0.954, read=read) for read in (True, False)]
    made += [Situation(pair, factors="weak", sure=sure) for sure in (0.3, 0.6)]
    made += [Situation(kinds, gaps=True) for kinds in (pair, (*pair, "passive"))]
    made += [replace(one, assumed=True) for one in made if one.scale == 1.0][::3]
    return made


ALL = situations()
