"""Which latents together hold which factors, and how they are rotated.

A VAE under N(0, I) does not know its axes: where two factors move the image equally much, any
rotation of their latents does as well (zietlow2022 section 3.3.4; mathieu2019 Theorem 2, for a
posterior that may be rotated too). Then no latent has a name, but the pair has.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.estimates import bootstrap_interval
from vaescope.latents.factor_fits import Design, FactorTarget, design_of, direction, targets_of
from vaescope.latents.group_results import FactorShare, LatentGroup, LatentGroups, Standing
from vaescope.latents.types import Types, types
from vaescope.seeds import rng

__all__ = ["CLOSE", "GAIN", "HELD", "LEAST_ROWS", "WEAK", "groups", "groups_if_known"]

Matrix = NDArray[np.float64]

#: Share of a factor's variance from which a set of latents holds it: the larger half.
HELD = 0.5
#: Below it a factor counts as unknown.
WEAK = 0.1
#: What one more latent must add to a share; a rotation by 13 degrees adds as much.
GAIN = 0.05
#: Two factors whose shares differ by less are alike, and neither names the latents; another reading
#: of a factor than by its order must be better by as much.
CLOSE = 0.1
#: Latents that a factor may need before it counts as spread over all.
MOST = 4
ROWS, LEAST_ROWS = 10_000, 200
PERMUTATIONS, RESAMPLES = 20, 200


@dataclass(frozen=True, eq=False)
class _Fit:
    """One factor while sets are sought for it."""

    name: str
    target: FactorTarget
    parts: tuple[Matrix, Matrix, Matrix]
    latents: frozenset[int]
    share: FactorShare


def groups_if_known(codes: Codes, kinds: Types) -> LatentGroups | None:
    """The groups; None where no factor varies or too few rows are there to find them."""
    known = codes.factors if codes.factors is not None else codes.factor_values
    if known is None or codes.n < LEAST_ROWS or not np.ptp(known, axis=0).any():
        return None
    return groups(codes, kinds=kinds)


def groups(codes: Codes, *, kinds: Types | None = None, seed: int = 0) -> LatentGroups:
    """Which set of the used latents holds which factors, and how it is rotated.

    Half of the rows fit each factor from each latent, each pair and all together, by polynomials
    of degree three; a quarter chooses the set; the last quarter gives its share of the factor's
    variance. A set holds a factor from a share of 0.5, and takes one more latent only for a gain of
    0.05. Sets that overlap are one group; its rotation is the orthogonal matrix nearest to the
    directions of its factors, and counts only where each factor keeps its share on its own axis. So
    a rotation by less than about 13 degrees is not told from none.

    Shares are of the means' knowledge; passive latents are left out. Factors that are correlated
    in the data share what is known of them, which `notes` says.

    Args:
        codes: with factors, at least 200 rows.
        kinds: types of the latents where they are known already.
        seed: of the split of the rows.

    Raises:
        ShapeError: there are no factors, or too few rows.

    Returns:
        `LatentGroups`: groups of latents, what is known of each factor, and the rotation that
        gives each its axis.

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
    half, quarter = len(rows) // 2, 3 * len(rows) // 4
    places = np.arange(len(rows))
    parts = (places[:half], places[half:quarter], places[quarter:])
    design = design_of(z, used, parts, values.astype(np.float64))
    fits = []
    for name, column, size in zip(names, values.T, sizes, strict=True):
        target = _reading(design, targets_of(column, size), parts)
        fits.append(_fit(name, design, target, parts, stream))
    found, standing, rotation, axes = _grouped(fits, z, parts, codes.d)
    factors = tuple(
        FactorShare(**{**asdict(fit.share), **standing.get(fit.name, {})}) for fit in fits
    )
    notes = _correlated(names, values)
    return LatentGroups(found, factors, rotation, used, len(rows), seed, notes, axes)


def _factors(
    codes: Codes,
) -> tuple[tuple[str, ...], NDArray[np.number], tuple[int | None, ...]]:
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


def _cut(columns: Matrix, parts: Sequence[NDArray[np.int64]]) -> tuple[Matrix, Matrix, Matrix]:
    fit, choose, report = (columns[part] for part in parts)
    return fit, choose, report


def _explained(residuals: Matrix, target: Matrix) -> float:
    deviation = float(np.square(target - target.mean(axis=0)).sum())
    return 1.0 - float(np.square(residuals).sum()) / deviation if deviation > 0 else 0.0


def _reading(
    design: Design, targets: Sequence[FactorTarget], parts: Sequence[NDArray[np.int64]]
) -> FactorTarget:
    """By its order, unless all latents together know another reading clearly better."""
    shares = []
    for target in targets:
        cut = _cut(target.columns, parts)
        shares.append(_explained(design.residuals(design.joint, cut, 1), cut[1]))
    best = int(np.argmax(shares))
    return targets[best] if shares[best] >= shares[0] + CLOSE else targets[0]


def _weighed(shares: Matrix, target: Matrix) -> Matrix:
    """Shares of a target's columns, (..., columns), as one share of all its variance."""
    variance = target.var(axis=0)
    return np.asarray(
        shares @ variance / variance.sum() if variance.sum() > 0 else shares @ variance
    )


def _fit(
    name: str, design: Design, target: FactorTarget, parts: Sequence[NDArray[np.int64]],
    stream: np.random.Generator,
) -> _Fit:  # fmt: skip
    """The fewest latents that hold a factor, its share and what chance gives."""
    cut = _cut(target.columns, parts)
    singles = [frozenset({j}) for j in design.latents]
    pairs = [frozenset(pair) for pair in combinations(design.latents, 2)]

    def shares(sets: Sequence[frozenset[int]], at: int) -> Matrix:
        return _weighed(design.shares(sets, cut, at), cut[at])

    chosen = singles[int(np.argmax(alone := shares(singles, 1)))]
    so_far, single = float(alone.max()), float(shares([chosen], 2)[0])
    pair = None
    if pairs:
        two = pairs[int(np.argmax(together := shares(pairs, 1)))]
        pair = float(shares([two], 2)[0])
        if together.max() >= so_far + GAIN:
            chosen, so_far = two, float(together.max())
            while len(chosen) < min(MOST, len(design.latents)):
                more = [chosen | {j} for j in design.latents if j not in chosen]
                gained = shares(more, 1)
                if gained.max() < so_far + GAIN:
                    break
                chosen, so_far = more[int(np.argmax(gained))], float(gained.max())
    # Latents that hold it once more by themselves.
    again = {j for j, own in zip(design.latents, alone, strict=True) if own >= HELD} - chosen
    columns = design.columns(chosen)
    residuals = design.residuals(columns, cut, 2)
    share = _explained(residuals, cut[2])
    joint = _explained(design.residuals(design.joint, cut, 2), cut[2])
    chance = _chance(design, cut, target.axes, stream)
    spread = _resampled(residuals, cut[2], stream)
    low, high = bootstrap_interval(share, spread, most=1.0)
    standing: Standing = "none"
    if low > chance and share >= HELD:
        standing = "held"
    elif joint >= HELD and joint > chance:
        standing = "spread"
    elif low > chance and share >= WEAK:
        standing = "weak"
    latents = tuple(sorted(chosen | again)) if standing == "held" else tuple(sorted(chosen))
    shown = FactorShare(
        name, target.kind, standing, () if standing in ("none", "spread") else latents,
        max(share, 0.0), (max(low, 0.0), max(high, 0.0)), max(chance, 0.0), max(joint, 0.0),
        max(single, 0.0), None if pair is None else max(pair, 0.0), symmetry=target.symmetry,
    )  # fmt: skip
    return _Fit(name, target, cut, frozenset(shown.latents), shown)


def _chance(
    design: Design, cut: tuple[Matrix, Matrix, Matrix], axes: int, stream: np.random.Generator
) -> float:
    """The largest share that the best set of that size has of the factor in another order."""
    sets = [frozenset(one) for one in combinations(design.latents, min(axes, len(design.latents)))]
    shuffled = [[part[stream.permutation(len(part))] for part in cut] for _ in range(PERMUTATIONS)]
    stacked = [np.concatenate([draw[at] for draw in shuffled], axis=1) for at in range(3)]
    width = cut[0].shape[1]
    choose, report = (
        _weighed(design.shares(sets, stacked, at).reshape(len(sets), PERMUTATIONS, width), cut[at])
        for at in (1, 2)
    )
    return float(report[choose.argmax(axis=0), np.arange(PERMUTATIONS)].max())


def _resampled(residuals: Matrix, target: Matrix, stream: np.random.Generator) -> Matrix:
    """Shares over resamples of the rows that report it."""
    n = len(target)
    drawn = stream.integers(n, size=(RESAMPLES, n)) + n * np.arange(RESAMPLES)[:, None]
    weights = np.bincount(drawn.ravel(), minlength=n * RESAMPLES).reshape(RESAMPLES, n) / n
    missed = weights @ np.square(residuals).sum(axis=1)
    deviation = weights @ np.square(target) - np.square(weights @ target)
    return np.asarray(1.0 - missed / np.maximum(deviation.sum(axis=1), 1e-300))


def _grouped(
    fits: Sequence[_Fit], z: Matrix, parts: Sequence[NDArray[np.int64]], d: int
) -> tuple[tuple[LatentGroup, ...], dict[str, dict[str, Any]], Matrix, dict[int, str]]:
    """Groups, what they change in the factors' entries, the rotation of all of them, and which
    factor each rotated axis has."""
    held = [fit for fit in fits if fit.share.standing == "held"]
    found: list[LatentGroup] = []
    changed: dict[str, dict[str, Any]] = {}
    rotation, owners = np.eye(d), dict[int, str]()
    waiting = _components(held)
    while waiting:
        latents, members = waiting.pop()
        named = _named(members, len(latents))
        angle, block, rotated, places = _rotated(named, z[:, latents], parts)
        alone = [fit for fit in members if len(fit.latents) == 1]
        if angle is None and len(latents) > 1 and alone:
            # No rotation joins them: a factor that needs one latent has it, the others share it.
            waiting += _components(alone)
            waiting += _components([fit for fit in members if fit not in alone])
            continue
        changed |= {fit.name: {"standing": "unnamed"} for fit in members if fit not in named}
        if not named:
            continue
        if angle is not None:
            rotation[np.ix_(latents, latents)] = block
            owners |= {latents[place]: name for name, place in places.items()}
        changed |= {name: {"rotated": share} for name, share in rotated.items()}
        found.append(
            LatentGroup(
                tuple(latents), tuple(fit.name for fit in named), angle,
                float(np.mean([fit.share.share for fit in named])),
                named[0].target.kind if len(named) == 1 else "ordered",
            )
        )  # fmt: skip
    return tuple(sorted(found, key=lambda group: group.latents)), changed, rotation, owners


def _components(fits: Sequence[_Fit]) -> list[tuple[list[int], list[_Fit]]]:
    """Factors whose sets of latents overlap, directly or through others."""
    found: list[tuple[set[int], list[_Fit]]] = []
    for fit in fits:
        joined = [one for one in found if one[0] & fit.latents]
        found = [one for one in found if not one[0] & fit.latents]
        latents = set(fit.latents).union(*(one[0] for one in joined))
        found.append((latents, [*(fit for one in joined for fit in one[1]), fit]))
    return [(sorted(latents), sorted(own, key=lambda f: f.name)) for latents, own in found]


def _named(members: Sequence[_Fit], room: int) -> list[_Fit]:
    """The factors that a group is named after: the best known that fit on its axes. Where the next
    is nearly as well known, the two are alike and neither is a name."""
    ranked = sorted(members, key=lambda fit: -fit.share.share)
    kept: list[_Fit] = []
    for fit in ranked:
        if sum(one.target.axes for one in kept) + fit.target.axes <= room:
            kept.append(fit)
            continue
        rest = fit.share.share
        kept = [one for one in kept if one.share.share - rest >= CLOSE]
        break
    return [fit for fit in members if fit in kept]


def _rotated(
    named: Sequence[_Fit], z: Matrix, parts: Sequence[NDArray[np.int64]]
) -> tuple[float | None, Matrix, dict[str, float], dict[str, int]]:
    """Degrees, the rotation of a group's latents, and the share of each factor on its axis and the
    place of that axis."""
    if z.shape[1] == 1:
        return 0.0, np.eye(1), {}, {}
    ordered = [fit for fit in named if fit.target.kind == "ordered"]
    if not ordered or len(ordered) < len(named):
        return None, np.eye(z.shape[1]), {}, {}
    train, report = z[parts[0]], z[parts[2]]
    directions = np.stack([direction(train, fit.parts[0][:, 0]) for fit in ordered])
    u, _, v = np.linalg.svd(directions, full_matrices=True)
    nearest = u @ v[: len(ordered)]  # orthonormal rows nearest to the directions
    axes = np.concatenate([nearest, v[len(ordered) :]])
    shares = {
        fit.name: max(_along(train @ axis, report @ axis, fit.parts[0], fit.parts[2]), 0.0)
        for fit, axis in zip(ordered, nearest, strict=True)
    }
    # Each axis takes the place of the latent that it is nearest to, with its sign.
    rows, places = linear_sum_assignment(-np.square(axes))
    block = np.empty_like(axes)
    block[places] = axes[rows] * np.where(axes[rows, places] < 0, -1.0, 1.0)[:, None]
    if any(shares[fit.name] < fit.share.share - GAIN for fit in ordered):
        return None, block, shares, {}
    # An axis that no factor has may lie anywhere: only those of factors have an angle.
    cosines = np.abs(np.diag(block))[places[: len(ordered)]]
    own = {fit.name: int(place) for fit, place in zip(ordered, places, strict=False)}
    return float(np.degrees(np.arccos(np.clip(cosines.min(), 0.0, 1.0)))), block, shares, own


def _along(train: Matrix, report: Matrix, fitted: Matrix, wanted: Matrix) -> float:
    """Share of a factor that a cubic of one axis explains."""
    centre, spread = train.mean(), max(float(train.std()), 1e-300)
    x, held = (np.vander(np.clip((a - centre) / spread, -3, 3), 4) for a in (train, report))
    weights = np.linalg.lstsq(x, fitted, rcond=None)[0]
    return _explained(wanted - held @ weights, wanted)


def _correlated(names: Sequence[str], values: NDArray[np.number]) -> tuple[str, ...]:
    """Pairs of factors that the data do not tell apart."""
    if len(names) < 2:
        return ()
    table = np.abs(np.corrcoef(values.T.astype(np.float64)))
    return tuple(
        f"{names[i]} and {names[j]} are correlated in the data ({table[i, j]:.2f}): what is known "
        "of one is known of the other"
        for i, j in combinations(range(len(names)), 2)
        if table[i, j] >= 0.3
    )
