"""Which latents together encode which factors, and how they are rotated.

A VAE under N(0, I) does not fix its axes: where two factors change the image equally much, any
rotation of their latents does as well (zietlow2022 section 3.3.4; mathieu2019 Theorem 2, for a
posterior that may be rotated too). Then no latent has a name, but the pair has.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.latents.factor_fits import direction, polynomials_of
from vaescope.latents.factor_search import (
    CLOSE,
    GAIN,
    HELD,
    WEAK,
    FactorFit,
    Rows,
    explained,
    fit_of,
    is_usual,
    thirds,
)  # fmt: skip
from vaescope.latents.group_results import FactorShare, LatentGroup, LatentGroups
from vaescope.latents.types import Types, types
from vaescope.seeds import rng
from vaescope.types import Matrix
from vaescope.wording import listed

__all__ = ["CLOSE", "GAIN", "HELD", "LEAST_ROWS", "WEAK", "groups", "groups_if_known"]


#: Half-samples that an answer must survive.
HALVES = 10
ROWS, LEAST_ROWS = 10_000, 200


def groups_if_known(codes: Codes, kinds: Types) -> LatentGroups | None:
    """The groups; None where no factor varies or too few rows are there to find them."""
    known = codes.factors if codes.factors is not None else codes.factor_values
    if known is None or codes.n < LEAST_ROWS or not np.ptp(known, axis=0).any():
        return None
    return groups(codes, kinds=kinds)


def groups(codes: Codes, *, kinds: Types | None = None, seed: int = 0) -> LatentGroups:
    """Which set of used latents encodes which factors, and how it is rotated.

    Half of the rows fit each factor from each latent, each pair and all together, by polynomials
    of degree three; a quarter chooses the set; the last quarter gives its share of the factor's
    variance. A set encodes a factor if its share is at least 0.5, and a latent is added only if the
    share rises by 0.05. Sets that overlap are one group; its rotation is the orthogonal matrix
    nearest to the directions of its factors, and counts only where each factor keeps its share on
    its own axis. So rotations by less than about 13 degrees are not detected. An answer that more
    than two in ten random halves of the rows contradict is borderline: the weaker answer is given,
    with the other beside it. Shares are measured on the means; passive latents are left out.
    Factors that are correlated in the data share their information, and `notes` says so.

    Args:
        codes: with factors, at least 200 rows.
        kinds: types of the latents where they are known already.
        seed: of the split of the rows.

    Raises:
        ShapeError: there are no factors, or too few rows.

    Returns:
        `LatentGroups`: groups of latents, what they encode of each factor, and the rotation that
            gives each factor its axis.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> len(vs.latents.groups(codes).groups)
        3
    """
    names, values, sizes = _factors(codes)
    if codes.n < LEAST_ROWS:
        raise ShapeError(
            f"groups needs at least {LEAST_ROWS} rows; got {codes.n}.", "Encode more examples."
        )
    kinds = types(codes) if kinds is None else kinds
    stream = rng(seed, "groups")
    rows = stream.permutation(codes.n)[:ROWS]
    z, values = codes.mean[rows].astype(np.float64), values[rows]
    varies = z.std(axis=0) > 1e-12 * np.abs(z).max()
    used = tuple(j for j in range(codes.d) if kinds.names[j] != "passive" and varies[j])
    nothing = FactorShare("", "ordered", "none", (), 0.0, (0.0, 0.0), 0.0, 0.0, 0.0, None)
    if not used:
        none = tuple(FactorShare(**{**asdict(nothing), "name": name}) for name in names)
        return LatentGroups((), none, np.eye(codes.d), (), len(rows), seed)
    samples = _samples(len(rows), stream)
    polynomials = polynomials_of(z, used, samples[0][0], values.astype(np.float64))
    designs = [(parts, polynomials.on(parts)) for parts in samples]
    fits = [
        fit_of(name, column, size, designs, stream)
        for name, column, size in zip(names, values.T, sizes, strict=True)
    ]
    found, standing, rotation, axes = _grouped(fits, z, samples, codes.d)
    factors = tuple(
        FactorShare(**{**asdict(fit.share), **standing.get(fit.name, {})}) for fit in fits
    )
    notes = _correlated(names, values)
    return LatentGroups(found, factors, rotation, used, len(rows), seed, notes, axes)


def _factors(codes: Codes) -> tuple[tuple[str, ...], NDArray[np.number], tuple[int | None, ...]]:
    """Names, values and numbers of classes of the factors that vary."""
    whole: NDArray[np.number]
    sizes: list[int | None]
    if codes.factors is None and codes.factor_values is not None:
        whole, sizes = codes.factor_values, [None] * codes.factor_values.shape[1]
    else:
        whole = codes.require_factors("groups")
        sizes = list(codes.factor_sizes or (whole.max(axis=0) + 1).tolist())
    varies = np.flatnonzero(np.ptp(whole, axis=0)).tolist()
    given = codes.factor_names
    names = tuple(given[k] if given else f"factor {k}" for k in varies)
    return names, whole[:, varies], tuple(sizes[k] for k in varies)


def _samples(n: int, stream: np.random.Generator) -> list[Rows]:
    """All rows, and `HALVES` halves of them, each cut in three."""
    size = max(n // 2, min(n, LEAST_ROWS))
    halves = [stream.permutation(n)[:size] for _ in range(HALVES)]
    return [thirds(np.arange(n)), *map(thirds, halves)]


def _grouped(
    fits: Sequence[FactorFit], z: Matrix, samples: Sequence[Rows], d: int
) -> tuple[tuple[LatentGroup, ...], dict[str, dict[str, Any]], Matrix, dict[int, str]]:
    """Groups, what they change in the factors' entries, the rotation of all of them, and which
    factor each rotated axis has."""
    held = [fit for fit in fits if fit.share.standing == "held"]
    found: list[LatentGroup] = []
    changed: dict[str, dict[str, Any]] = {}
    rotation, owners = np.eye(d), dict[int, str]()
    waiting = [(*own, "") for own in _components(held)]
    while waiting:
        latents, members, doubt = waiting.pop()
        named, perhaps = _surely_named(members, len(latents))
        turn, angle = _rotated(named, z[:, latents], samples[0]), None
        if turn is not None:
            angle, doubt = _sure_angle(turn, named, z[:, latents], samples, doubt)
        alone = [fit for fit in members if len(fit.latents) == 1]
        if angle is None and len(latents) > 1 and alone:
            # No rotation joins them: a factor that needs one latent has it, the others share it.
            apart = [*_components(alone), *_components([f for f in members if f not in alone])]
            waiting += [(*own, doubt) for own in apart]
            continue
        for fit in members:
            if fit not in named:
                changed[fit.name] = {"standing": "unnamed"}
                if fit in perhaps:
                    changed[fit.name]["otherwise"] = f"the name of {listed(latents)}"
        if not named:
            continue
        if turn is not None and angle is not None:
            rotation[np.ix_(latents, latents)] = turn.block
            owners |= {latents[place]: name for name, place in turn.places.items()}
        changed |= {name: {"rotated": s} for name, s in (turn.shares if turn else {}).items()}
        found.append(
            LatentGroup(
                tuple(latents), tuple(fit.name for fit in named), angle,
                float(np.mean([fit.share.share for fit in named])),
                named[0].target.kind if len(named) == 1 else "ordered", _doubts(named, doubt),
            )
        )  # fmt: skip
    return tuple(sorted(found, key=lambda group: group.latents)), changed, rotation, owners


def _doubts(named: Sequence[FactorFit], doubt: str) -> tuple[str, ...]:
    """What other halves of the rows say of a group."""
    own = [
        fit.share.otherwise if len(named) == 1 else f"{fit.name} {fit.share.otherwise}"
        for fit in named
        if fit.share.otherwise
    ]
    return (*own, *([doubt] if doubt else []))


def _components(fits: Sequence[FactorFit]) -> list[tuple[list[int], list[FactorFit]]]:
    """Factors whose sets of latents overlap, directly or through others."""
    found: list[tuple[set[int], list[FactorFit]]] = []
    for fit in fits:
        joined = [one for one in found if one[0] & fit.latents]
        found = [one for one in found if not one[0] & fit.latents]
        latents = set(fit.latents).union(*(one[0] for one in joined))
        found.append((latents, [*(fit for one in joined for fit in one[1]), fit]))
    return [(sorted(latents), sorted(own, key=lambda f: f.name)) for latents, own in found]


def _surely_named(
    members: Sequence[FactorFit], room: int
) -> tuple[list[FactorFit], list[FactorFit]]:
    """The factors that a group is named after, and those that only some rows name it after."""
    named = _named(members, [fit.share.share for fit in members], room)
    halves = [
        _named(members, shares, room)
        for shares in zip(*(fit.half_shares for fit in members), strict=True)
    ]
    sure, perhaps = [], []
    for fit in members:
        times = [fit in own for own in halves]
        if fit in named and is_usual(times):
            sure.append(fit)
        elif fit in named or not is_usual([not own for own in times]):
            perhaps.append(fit)
    return sure, perhaps


def _named(members: Sequence[FactorFit], shares: Sequence[float], room: int) -> list[FactorFit]:
    """The best known factors that fit on the axes. Where the next is nearly as well known, the two
    are alike and neither is a name."""
    ranked = sorted(zip(members, shares, strict=True), key=lambda pair: -pair[1])
    kept: list[tuple[FactorFit, float]] = []
    for fit, share in ranked:
        if sum(own.target.axes for own, _ in kept) + fit.target.axes <= room:
            kept.append((fit, share))
            continue
        kept = [pair for pair in kept if pair[1] - share >= CLOSE]
        break
    return [fit for fit in members if any(fit is own for own, _ in kept)]


@dataclass(frozen=True, eq=False)
class _Turn:
    """The rotation of a group's latents that is nearest to the directions of its factors."""

    degrees: float
    block: Matrix
    shares: dict[str, float]  # of each factor on its axis
    places: dict[str, int]  # of that axis

    def keeps(self, shares: Mapping[str, float]) -> bool:
        """Whether each factor has nearly as much on its axis as in all latents."""
        return all(self.shares[name] >= shares[name] - GAIN for name in self.shares)


def _sure_angle(
    turn: _Turn, named: Sequence[FactorFit], z: Matrix, samples: Sequence[Rows], doubt: str
) -> tuple[float | None, str]:
    """The angle where the rotation separates the factors, and what is in doubt of it."""
    separates = turn.keeps({fit.name: fit.share.share for fit in named})
    if not turn.shares:  # a single latent
        return turn.degrees, doubt
    halves = []
    for place, parts in enumerate(samples[1:]):
        own = _rotated(named, z, parts)
        shares = {fit.name: fit.half_shares[place] for fit in named}
        halves.append(own is not None and own.keeps(shares))
    if separates and is_usual(halves):
        return turn.degrees, doubt
    if len(named) < 2 or not (separates or not is_usual([not own for own in halves])):
        return None, doubt
    words = f"rotated by about {turn.degrees:.0f} degrees"
    return None, f"{listed([fit.name for fit in named])} {words}" if doubt else words


def _rotated(named: Sequence[FactorFit], z: Matrix, parts: Rows) -> _Turn | None:
    """None where a factor is no direction."""
    if z.shape[1] == 1:
        return _Turn(0.0, np.eye(1), {}, {})
    ordered = [fit for fit in named if fit.target.kind == "ordered"]
    if not ordered or len(ordered) < len(named):
        return None
    train, report = z[parts[0]], z[parts[2]]
    columns = [[fit.target.columns[parts[at]] for at in (0, 2)] for fit in ordered]
    directions = np.stack([direction(train, own[0][:, 0]) for own in columns])
    u, _, v = np.linalg.svd(directions, full_matrices=True)
    nearest = u @ v[: len(ordered)]  # orthonormal rows nearest to the directions
    axes = np.concatenate([nearest, v[len(ordered) :]])
    shares = {
        fit.name: max(_along(train @ axis, report @ axis, *own), 0.0)
        for fit, axis, own in zip(ordered, nearest, columns, strict=True)
    }
    # Each axis takes the place of the latent that it is nearest to, with its sign.
    rows, places = linear_sum_assignment(-np.square(axes))
    block = np.empty_like(axes)
    block[places] = axes[rows] * np.where(axes[rows, places] < 0, -1.0, 1.0)[:, None]
    # An axis that no factor has may lie anywhere: only those of factors have an angle.
    cosines = np.abs(np.diag(block))[places[: len(ordered)]]
    owners = {fit.name: int(place) for fit, place in zip(ordered, places, strict=False)}
    degrees = float(np.degrees(np.arccos(np.clip(cosines.min(), 0.0, 1.0))))
    return _Turn(degrees, block, shares, owners)


def _along(train: Matrix, report: Matrix, fitted: Matrix, wanted: Matrix) -> float:
    """Share of a factor that a cubic of one axis explains."""
    centre, spread = train.mean(), max(float(train.std()), 1e-300)
    x, held = (np.vander(np.clip((a - centre) / spread, -3, 3), 4) for a in (train, report))
    weights = np.linalg.lstsq(x, fitted, rcond=None)[0]
    return explained(wanted - held @ weights, wanted)


def _correlated(names: Sequence[str], values: NDArray[np.number]) -> tuple[str, ...]:
    """Pairs of factors that are correlated in the data."""
    if len(names) < 2:
        return ()
    table = np.abs(np.corrcoef(values.T.astype(np.float64)))
    return tuple(
        f"{names[i]} and {names[j]} are correlated in the data ({table[i, j]:.2f}): a latent that "
        "encodes one encodes the other"
        for i, j in combinations(range(len(names)), 2)
        if table[i, j] >= 0.3
    )
