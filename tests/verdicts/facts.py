"""Facts about situations, by how they were made and by NumPy, never by the functions that judge."""

import re
from collections.abc import Callable
from functools import cache
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kstest
from tests.verdicts.situations import NOISY, N, Situation, codes_of, jacobian


def named(text: str) -> set[int]:
    return {int(number) for number in re.findall(r"\d+", text)}


def lists(pattern: str, *kinds: str) -> Callable[[Situation, str], bool]:
    """The latents that a clause names are of these kinds, and all of them."""

    def holds(what: Situation, says: str) -> bool:
        found = re.search(rf"([\d, and]+) {pattern}", says)
        return found is not None and named(found[1]) == what.indices(*kinds) - set(what.untyped)

    return holds


def heard(what: Situation) -> set[int]:
    return set(what.loud) & what.passive


def quarters(what: Situation) -> tuple[float, float]:
    quarter = len(what.losses) // 4
    return float(np.mean(what.losses[-2 * quarter : -quarter])), float(
        np.mean(what.losses[-quarter:])
    )


def settled(what: Situation) -> bool | None:
    if not what.losses or what.losses == NOISY:
        return None
    before, last = quarters(what)
    return bool(abs(before - last) < 0.05 * before)


def best_known(what: Situation, says: str) -> bool:
    return not {int(j) for j in re.findall(r"in latent (\d+)", says)} & what.passive


def cosine(what: Situation) -> float:
    """Largest |cosine| of two columns."""
    columns = jacobian(what)
    columns = columns / np.linalg.norm(columns, axis=0)
    return float(np.abs(columns.T @ columns - np.eye(columns.shape[1])).max())


def _off_axes(what: Situation) -> float:
    """Distance of the right singular vectors to the nearest signed permutation, by trying all."""
    v = np.abs(np.linalg.svd(jacobian(what))[2])
    d = len(v)
    if d > 5:
        return 0.0 if what.axes in ("own", "equal", "skewed") else np.nan
    best = max(sum(v[i, p[i]] for i in range(d)) for p in permutations(range(d)))
    return float(np.sqrt(max(0.0, 2 * d - 2 * best)))


@cache
def _random_axes(d: int) -> float:
    rng = np.random.default_rng(0)
    far = []
    for _ in range(500):
        v = np.abs(np.linalg.qr(rng.normal(size=(d, d)))[0])
        best = max(sum(v[i, p[i]] for i in range(d)) for p in permutations(range(d)))
        far.append(np.sqrt(max(0.0, 2 * d - 2 * best)))
    return float(np.mean(far))


def axes(low: float, high: float) -> Callable[[Situation, str], bool]:
    """The axes are this far from the principal components, in units of random ones."""

    def holds(what: Situation, _: str) -> bool:
        d = len(what.columns)
        far = _off_axes(what)
        # Of many columns all matrices cannot be tried; equal lengths have no components.
        return d > 5 or what.axes == "equal" or low <= far / _random_axes(d) <= high

    return holds


def equal_pairs(what: Situation, says: str) -> bool:
    columns, lengths = what.columns, np.linalg.norm(jacobian(what), axis=0)
    pairs = re.findall(r"(\d+) with (\d+)", says)
    places = [(columns.index(int(i)), columns.index(int(j))) for i, j in pairs]
    return bool(pairs) and all(
        abs(lengths[i] - lengths[j]) <= 0.05 * max(lengths[i], lengths[j]) for i, j in places
    )


def _total_correlation(values: NDArray[np.float64]) -> float:
    if values.shape[1] < 2:
        return 0.0
    return float(-0.5 * np.linalg.slogdet(np.corrcoef(values.T))[1])


@cache
def by_lot(what: Situation) -> float:
    """Mean total correlation of as many independent latents."""
    rng = np.random.default_rng(0)
    drawn = [rng.normal(size=(N, len(what.latents))) for _ in range(200)]
    return float(np.mean([_total_correlation(values) for values in drawn]))


def correlated(what: Situation) -> bool:
    """Whether passive means make up total correlation, by the determinant."""
    mean = codes_of(what).mean
    used = [j for j in range(mean.shape[1]) if j not in what.passive]
    return _total_correlation(mean) - _total_correlation(mean[:, used]) >= 0.1


def most_of_it(what: Situation) -> bool:
    """Whether means without the passive latents have less total correlation, by the threshold, than
    means without as many others: over all sets of latents."""
    mean = codes_of(what).mean
    d = mean.shape[1]
    used = [j for j in range(d) if j not in what.passive]
    if len(used) < 2:
        return True
    others = [_total_correlation(mean[:, kept]) for kept in combinations(range(d), len(used))]
    return float(np.mean(others)) - _total_correlation(mean[:, used]) >= 0.1


def used_correlated(what: Situation) -> bool:
    """Whether means of the used latents alone are correlated."""
    mean = codes_of(what).mean
    used = [j for j in range(mean.shape[1]) if j not in what.passive]
    return _total_correlation(mean[:, used]) >= 0.1


def known_factors(what: Situation) -> set[str]:
    """Factors that a latent of its own determines."""
    if what.factors != "used" or what.classes > N // 4:
        return set()
    return {"a", "b"} if len(what.indices("active")) > 1 else (
        {"a"} if what.indices("active") else set()
    )  # fmt: skip


def unheard(what: Situation) -> set[int]:
    mixed = set(range(len(what.latents))) - what.indices("active") - what.passive
    return mixed - what.indices("constant") - set(what.loud) - set(what.untyped)


def says_close(says: str) -> bool:
    """What is called close is: its number and its limit are in the sentence."""
    pairs = re.findall(
        r"([\d.]*\d)(?: nats|%)? (?:against |\(limit )(\d[\d.]*\d)(?: nats|%)?[.)]", says
    )
    return bool(pairs) and all(
        0 < abs(float(number) - float(limit)) <= 0.11 * float(limit) for number, limit in pairs
    )


def share_of_kl(what: Situation) -> float:
    codes = codes_of(what)
    scale = what.scale**2
    mean, variance = codes.mean**2 / scale, codes.variance / scale
    nats = 0.5 * (mean + variance - 1 - np.log(variance)).mean(axis=0)
    return float(nats[sorted(what.indices("active"))].sum() / nats.sum())


@cache
def other_shape(what: Situation) -> bool:
    """Whether SciPy's Kolmogorov test finds a used latent 0.05 and clearly off the prior."""
    codes = codes_of(what)
    used = [j for j in range(codes.d) if j not in what.passive]
    tests = [kstest(codes.sample[:, j] / what.scale, "norm") for j in used]
    far = [one.statistic for one in tests if one.pvalue < 0.02 / len(used)]
    return bool(far) and max(far) >= 0.05
