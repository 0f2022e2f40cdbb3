"""Are two models the same? Encode with A, map, decode with B, and price it in nats per image.

The maps are nested: identity, signed permutation, orthogonal, affine; each acts on posterior means
in units of each latent's standard deviation in the aggregate posterior, so that scale and shift are
never what tells two models apart. Each is fitted by least squares on half of the images, where a
smaller class that costs less is kept, and priced on the other half, beside B's own reconstruction,
the mean image, and an affine map fitted on shuffled pairs. Axes are what zietlow2022 says that a
VAE fixes, rotations are what mathieu2019 (Theorem 2) says that an objective may leave free; the
former holds locally, so that neither promises the answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vaescope.errors import ShapeError, UsageError
from vaescope.image_cost import cost_of, cost_of_constant
from vaescope.latent_maps import LatentMap, Standardised, Translation, fit_maps
from vaescope.latents.types import types
from vaescope.models import OpenModel
from vaescope.opening import open_model
from vaescope.seeds import rng
from vaescope.types import Integers, Matrix, Vector
from vaescope.wording import listed

__all__ = [
    "CLASSES",
    "Exchange",
    "Exchanges",
    "LatentMap",
    "exchange",
    "exchange_opened",
    "translate",
]


#: Classes of maps, each within the next, and what holds where one suffices.
CLASSES = {
    "identity": "the same space",
    "permutation": "the same space up to the order and sign of axes",
    "orthogonal": "the same space up to a rotation",
    "affine": "the same space up to an affine map",
}
_WORDS = {
    "identity": "the identity", "permutation": "a signed permutation",
    "orthogonal": "a rotation", "affine": "an affine map",
}  # fmt: skip
#: Share of (mean image - own reconstruction) that a class must recover to suffice.
SUFFICES = 0.9
#: A larger class is named beside the one that suffices where it recovers so much more.
MORE = 0.03
#: A latent of A whose variance the affine map from B explains by less is one that B lacks.
LACKING = 0.5
#: Images that are too few to price a map by.
FEW = 30
ROWS = 2_000
RESAMPLES = 1_000


@dataclass(frozen=True, eq=False)
class Exchange:
    """What images cost when A encodes and B decodes, nats per image, under each class of maps."""

    a: str
    b: str
    costs: dict[str, float | None]  # of CLASSES; None where it does not apply
    own: float  # B decodes its own codes
    mean_image: float  # every image as the mean image
    null: float  # the affine map fitted on shuffled pairs
    recovered: dict[str, float | None]  # share of mean_image - own
    intervals: dict[str, tuple[float, float] | None]  # 95%, over images
    says: str
    lacking: tuple[int, ...]  # used latents of A that are no affine function of B's
    maps: dict[str, LatentMap]
    n: int  # images that were priced
    reference: str = "mean image"  # or "mean code", where a likelihood has no mean image

    @property
    def sufficient(self) -> str | None:
        """The smallest class that recovers 90%."""
        return _sufficient(self.recovered)

    def summary(self) -> str:
        lines = [f"{self.a} to {self.b}: {self.says}"]
        for name, cost in self.costs.items():
            share, interval = self.recovered[name], self.intervals[name]
            if cost is None or share is None or interval is None:
                continue
            lines.append(
                f"  {name:<12}{cost:10.1f} nats per image, recovers {share:.0%} "
                f"({interval[0]:.0%} to {interval[1]:.0%})"
            )
        lines.append(
            f"  {self.b}'s own reconstruction {self.own:.1f}, {self.reference} "
            f"{self.mean_image:.1f}, shuffled pairs {self.null:.1f}; {self.n} images."
        )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        return {
            "a": self.a,
            "b": self.b,
            "costs": self.costs,
            "own": self.own,
            "mean_image": self.mean_image,
            "reference": self.reference,
            "null": self.null,
            "recovered": self.recovered,
            "intervals": {k: None if v is None else list(v) for k, v in self.intervals.items()},
            "says": self.says,
            "lacking": list(self.lacking),
            "maps": {
                name: {"matrix": one.matrix.tolist(), "shift": one.shift.tolist()}
                for name, one in self.maps.items()
            },
            "n": self.n,
        }


@dataclass(frozen=True, eq=False)
class Exchanges:
    """Every pair of several models: row i encodes, column j decodes."""

    names: tuple[str, ...]
    pairs: dict[tuple[int, int], Exchange]

    def recovered(self, name: str) -> Matrix:
        """Shares of one class; NaN where it does not apply, 1 on the diagonal."""
        shares = np.eye(len(self.names))
        for place, one in self.pairs.items():
            share = one.recovered[name]
            shares[place] = np.nan if share is None else share
        return shares

    def summary(self) -> str:
        return "\n".join(f"{one.a} to {one.b}: {one.says}" for one in self.pairs.values())

    def to_dict(self) -> dict[str, Any]:
        return {
            "names": list(self.names),
            "pairs": [one.to_dict() for one in self.pairs.values()],
        }


def exchange(
    a: Any, b: Any = None, data: Any = None, *, rows: int = ROWS, seed: int = 0, **reading: Any
) -> Any:
    """How well B can decode the codes of A.

    Args:
        a: anything that `vs.open_model` opens, or a list of such models, of which every pair is
            exchanged.
        b: the other model; leave it out if `a` is a list.
        data: images that both models encode; a run knows its own.
        rows: number of rows; half of them are used to fit the maps, the others to measure their
            cost.
        seed: seed of the halves, the shuffled pairs and the resampling.
        reading: further arguments of `vs.open_model`, used for both models.

    Returns:
        An `Exchange`; for a list `Exchanges`, a matrix over all pairs.

    Raises:
        UsageError: B cannot decode and score.
        ShapeError: the latents of one are maps of another size than the other's.

    Example:
        >>> import vaescope as vs
        >>> x = vs.known.signals()
        >>> model = vs.known.linear_vae(x)
        >>> vs.exchange(model, vs.known.linear_vae(x, latent=4), x, rows=400).sufficient
        'permutation'
    """
    if isinstance(a, list | tuple):
        if b is not None and data is None:
            data = b
        if len(a) < 2:
            raise UsageError(f"Got {len(a)} model.", "Give at least two.")
        opened = _opened(list(a), data, rows, reading)
        names = _names(opened)
        return Exchanges(names, {
            (i, j): exchange_opened(
                opened[i], opened[j], (names[i], names[j]), rows=rows, seed=seed
            )
            for i in range(len(opened)) for j in range(len(opened)) if i != j
        })  # fmt: skip
    if b is None:
        raise UsageError("Got one model.", "Give two: vs.exchange(a, b, images).")
    first, second = _opened([a, b], data, rows, reading)
    names = _names([first, second])
    return exchange_opened(first, second, (names[0], names[1]), rows=rows, seed=seed)


def translate(
    a: Any, b: Any, data: Any = None, *, by: str | None = None, rows: int = ROWS, **reading: Any
) -> Translation:
    """A module that turns latents of A into latents of B.

    Args:
        by: a class of `CLASSES`; by default the smallest that recovers 90%, else the one that
            recovers most.
        a, b, data, rows, reading: as for `vs.exchange`.

    Returns:
        `Translation`: latents of A -> latents of B, (n, d) or maps (n, d, ...).

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> x = vs.known.signals()
        >>> model = vs.known.linear_vae(x)
        >>> to_other = vs.translate(model, vs.known.linear_vae(x, latent=4), x, rows=400)
        >>> to_other(torch.from_numpy(vs.encode(model, x).mean[:2])).shape
        torch.Size([2, 4])
    """
    found: Exchange = exchange(a, b, data, rows=rows, **reading)
    if by is not None and by not in found.maps:
        raise UsageError(
            f"There is no map {by!r} from {found.a} to {found.b}.",
            f"Give one of {', '.join(found.maps)}.",
        )
    shares = {name: share for name, share in found.recovered.items() if share is not None}
    if by is None and not shares:
        raise UsageError(
            found.says, f"Train {found.b}, or give by=, one of {', '.join(found.maps)}."
        )
    best = max(shares, key=shares.__getitem__, default="")
    return Translation(found.maps[by or found.sufficient or best])


def _opened(
    models: Sequence[Any], data: Any, rows: int, reading: dict[str, Any]
) -> list[OpenModel]:
    """All on the same examples."""
    first = open_model(models[0], data, rows=rows, **reading)
    shared = data if data is not None else first.data
    opened = [first]
    for one in models[1:]:
        alone = isinstance(one, OpenModel) and data is None
        opened.append(one if alone else open_model(one, shared, rows=rows, **reading))
    values = first.data.rows(first.rows)
    for one in opened[1:]:
        if not np.array_equal(values, one.data.rows(one.rows)):
            raise UsageError(
                f"{first.name} is open on {first.data!r}, {one.name} on {one.data!r}: the "
                "examples or their values differ.",
                "Open both on the same data, or pass both models and the data of both.",
            )
    if len(first.rows) < 4:
        raise UsageError(f"Got {len(first.rows)} images.", "Give at least 4, better 1,000.")
    return opened


def _names(opened: Sequence[OpenModel]) -> tuple[str, ...]:
    names = [one.name for one in opened]
    if len(set(names)) == len(names):
        return tuple(names)
    return tuple(f"{name} ({place + 1})" for place, name in enumerate(names))


def exchange_opened(
    a: OpenModel, b: OpenModel, names: tuple[str, str], *, rows: int = ROWS, seed: int = 0
) -> Exchange:
    """`exchange` of two models that are open on the same rows."""
    if b.undecoded:
        raise UsageError(f"{names[1]} cannot decode: {b.undecoded}.", "Decode with another model.")
    order = rng(seed, "exchange").permutation(len(a.rows))[:rows]
    fitted, priced = np.sort(order[::2]), np.sort(order[1::2])
    za, zb = Standardised.of(a, fitted), Standardised.of(b, fitted)
    if za.z.shape[2:] != zb.z.shape[2:]:
        raise ShapeError(
            f"Latents are {za.z.shape[1:]} of {names[0]} and {zb.z.shape[1:]} of {names[1]}.",
            "Maps are exchanged by channel and must have the same size.",
        )
    maps = _nested(b, fitted, za, fit_maps(za, zb))
    shuffled = rng(seed, "shuffled pairs").permutation(len(fitted))
    # Of few latents, a signed permutation or a rotation of shuffled pairs may be the right one.
    chance = fit_maps(za.taken(shuffled), zb)["affine"]
    own = cost_of(b, priced, b.latents(priced))
    coded = np.asarray(a.latents(priced), dtype=np.float64)
    nats = {name: cost_of(b, priced, by(coded)) for name, by in maps.items()}
    null = float(cost_of(b, priced, chance(coded)).mean())
    reference, mean_nats = cost_of_constant(b, fitted, priced)
    recovered, intervals = _recovered(nats, own, mean_nats, seed)
    lacking = _lacking(a, b, fitted, priced)
    says = _says(
        recovered, float(own.mean()), float(mean_nats.mean()), null, reference, names, lacking
    )
    if len(priced) < FEW:
        says += f" Only {len(priced)} images were measured: this may be chance."
    return Exchange(
        a=names[0], b=names[1],
        costs={name: float(nats[name].mean()) if name in nats else None for name in CLASSES},
        own=float(own.mean()), mean_image=float(mean_nats.mean()), null=null,
        recovered=recovered, intervals=intervals,
        says=says, lacking=lacking, maps=maps, n=len(priced), reference=reference,
    )  # fmt: skip


def _nested(
    b: OpenModel, fitted: Integers, za: Standardised, maps: dict[str, LatentMap]
) -> dict[str, LatentMap]:
    """Least squares may prefer a map that costs more nats: each class keeps the map of the class
    within it where that one is cheaper on the images of the fit."""
    found: dict[str, LatentMap] = {}
    best: tuple[float, LatentMap] | None = None
    for name, by in maps.items():
        cost = float(cost_of(b, fitted, by(za.z)).mean())
        best = (cost, by) if best is None or cost < best[0] else best
        found[name] = best[1]
    return found


def _recovered(
    nats: dict[str, Vector], own: Vector, mean: Vector, seed: int
) -> tuple[dict[str, float | None], dict[str, tuple[float, float] | None]]:
    """Shares of mean image minus own, and their intervals over images."""
    gap = float(mean.mean() - own.mean())
    shares: dict[str, float | None] = dict.fromkeys(CLASSES)
    intervals: dict[str, tuple[float, float] | None] = dict.fromkeys(CLASSES)
    if gap <= 0:
        return shares, intervals
    draws = rng(seed, "images").integers(len(own), size=(RESAMPLES, len(own)))
    means, owns = mean[draws].mean(1), own[draws].mean(1)
    for name, cost in nats.items():
        shares[name] = float(mean.mean() - cost.mean()) / gap
        each = (means - cost[draws].mean(1)) / np.maximum(means - owns, 1e-12)
        low, high = np.quantile(each, [0.025, 0.975])
        intervals[name] = float(low), float(high)
    return shares, intervals


def _lacking(a: OpenModel, b: OpenModel, fitted: Integers, priced: Integers) -> tuple[int, ...]:
    """Used latents of A of which an affine map from B explains less than half, on other images."""
    if a.maps is not None or b.maps is not None:
        return ()
    kinds = types(a.codes)
    back = fit_maps(Standardised.of(b, fitted), Standardised.of(a, fitted))["affine"]
    z = a.codes.mean[priced].astype(np.float64)
    error = z - back(b.codes.mean[priced].astype(np.float64))
    used = sorted({*kinds.active.tolist(), *kinds.mixed.tolist()})
    return tuple(j for j in used if error[:, j].var() > (1 - LACKING) * z[:, j].var())


def _sufficient(recovered: dict[str, float | None]) -> str | None:
    return next((name for name in CLASSES if (recovered[name] or 0.0) >= SUFFICES), None)


def _says(
    recovered: dict[str, float | None], own: float, mean: float, null: float, reference: str,
    names: tuple[str, str], lacking: tuple[int, ...],
) -> str:  # fmt: skip
    if own >= mean:
        return f"{names[1]} reconstructs no better than the {reference}: nothing can be exchanged."
    shares = {name: share for name, share in recovered.items() if share is not None}
    largest = max(shares, key=shares.__getitem__)
    smallest = _sufficient(recovered)
    if shares[largest] <= 0:
        words = f"incompatible: no map does better than the {reference}."
    elif shares[largest] <= (mean - null) / (mean - own) + MORE:
        # A decoder that ignores its latents reconstructs as well from anybody's codes.
        words = (
            f"incompatible: codes of {names[0]} are no more useful to {names[1]} than the codes "
            f"of other images."
        )
    elif smallest is None:
        # The smallest class that explains as much.
        named = next(name for name in shares if shares[name] > shares[largest] - MORE)
        words = f"partly the same: {_WORDS[named]} explains {shares[named]:.0%}."
    else:
        words = f"{CLASSES[smallest]} ({shares[smallest]:.0%})."
        if shares[largest] > shares[smallest] + MORE:
            words = f"{words[:-1]}; {_WORDS[largest]} recovers {shares[largest]:.0%}."
    if lacking:
        plural, verb = ("", "is") if len(lacking) == 1 else ("s", "are")
        words += f" Latent{plural} {listed(lacking)} of {names[0]} {verb} not found in {names[1]}."
    return words
