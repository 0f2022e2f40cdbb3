"""Disentanglement score by nearest neighbours. zietlow2022, section 3.3, eq. 3.32."""

from collections.abc import Sequence

import numpy as np

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.estimates import bootstrap_interval
from vaescope.metrics.rows import Representation, mean_or_sample, numbers, points
from vaescope.metrics.sap import top_two
from vaescope.metrics.score import Protocol, Score
from vaescope.metrics.table import RESAMPLES
from vaescope.seeds import rng
from vaescope.types import Booleans, Double, Floats, Integers, Long

__all__ = ["NOMINAL", "knn_score", "neighbours_in"]

#: Factors whose values have no order, by name: they are classified, all others are regressed.
NOMINAL = ("shape", "class", "category", "person", "segment", "identity", "object", "instance")


def knn_score(
    codes: Codes,
    *,
    neighbours: int = 5,
    nominal: Sequence[str] = NOMINAL,
    legacy: bool = False,
    on: Representation = "mean",
    limit: int | None = 10_000,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Score:
    """How much better the best single latent predicts a factor than the second best.

    Mean over factors of (A_1 - A_2) / M with A the skill of five nearest neighbours on one latent,
    learnt on 80% of the rows and judged on the rest. Regression: A = std - rmse, M = std.
    Classification: A = accuracy less that of the commonest class, M = 1 less that accuracy; both
    not below 0. `legacy` is the thesis's text: A = accuracy and M = that of the commonest class,
    where a summand can exceed 1, and nothing is clipped. Unlike MIG it works for continuous
    factors.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        neighbours: number of nearest neighbours.
        nominal: names of factors without an order.
        legacy: whether it is computed as in the thesis's text.
        on: `mean` or `sample`: the representation that is scored.
        limit: largest number of rows; None takes all.
        resamples: bootstrap resamples behind the interval.
        seed: seed of all random draws.

    Returns:
        A `Score`: `value`, `interval`, `chance`, `protocol`, `details` (the arrays behind it).

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> round(vs.metrics.knn_score(codes).value, 2)
        0.97
    """
    if codes.d < 2:
        raise ShapeError(
            f"knn_score compares 2 latents; got {codes.d}.", "Use a model with more latents."
        )
    values, source = numbers(codes, "knn_score")
    rows = points(codes, limit, seed)
    order = rng(seed, "knn-split").permutation(len(rows))
    n_train = int(0.8 * len(rows))
    if n_train < neighbours or n_train == len(rows):
        raise ShapeError(
            f"knn_score needs {neighbours} training rows, 80% of all; got {n_train} of "
            f"{len(rows)}.",
            "Encode more rows.",
        )
    train, test = rows[order[:n_train]], rows[order[n_train:]]
    z = mean_or_sample(codes, on)
    y, y_test = values[train].astype(np.float64), values[test].astype(np.float64)
    varies = np.flatnonzero((np.ptp(y, axis=0) > 0) & (np.ptp(y_test, axis=0) > 0))
    if not len(varies):
        raise ShapeError("All factors are constant.", "Give factors that vary.")
    y, y_test = y[:, varies], y_test[:, varies]
    given = codes.factor_names if source == "classes" else ()
    names = [given[k] if given else f"factor {k}" for k in varies]
    classified = np.array([source == "classes" and name in nominal for name in names])
    errors = np.stack(
        [
            _errors(z[train, j].astype(np.float64), y, z[test, j].astype(np.float64), y_test,
                    classified, neighbours)
            for j in range(codes.d)
        ]
    )  # fmt: skip
    constant = _constant(y, y_test, classified)  # (test, factor) errors of the best constant
    stream = rng(seed, "knn-bootstrap")
    drawn = stream.multinomial(len(test), np.full(len(test), 1 / len(test)), size=resamples)
    weights = np.concatenate([np.ones((1, len(test))), drawn]) / len(test)
    gaps, skill = _gaps(errors, constant, weights, classified, legacy)
    value = float(gaps[0].mean())
    settings = {
        "estimator": f"{neighbours} nearest neighbours", "legacy": legacy, "train": n_train,
        "test": len(test), "factors_as": source, "seed": seed, "factors": names,
        "classified": [name for name, own in zip(names, classified, strict=True) if own],
    }  # fmt: skip
    protocol = Protocol("default", len(rows), settings, on, codes.supervised)
    spread = bootstrap_interval(value, gaps[1:].mean(axis=1)) if resamples else None
    return Score(value, protocol, {"skill": skill, "gaps": gaps[0]}, spread)


def neighbours_in(x: Floats, queries: Floats, k: int) -> Long:
    """Rows of the k values of `x` nearest to each query: (queries, k)."""
    order = np.argsort(x, kind="stable")
    ascending = x[order]
    place = np.searchsorted(ascending, queries)
    window = np.clip(place[:, None] + np.arange(-k, k), -1, len(x))  # 2k candidates
    outside = (window < 0) | (window >= len(x))
    window = np.clip(window, 0, len(x) - 1)
    distance = np.where(outside, np.inf, np.abs(ascending[window] - queries[:, None]))
    nearest = np.argsort(distance, axis=1, kind="stable")[:, :k]
    return np.asarray(order[np.take_along_axis(window, nearest, axis=1)])


def _errors(
    x: Floats, y: Floats, x_test: Floats, y_test: Floats, classified: Booleans, k: int
) -> Double:
    """Squared errors, or 1 for a wrong class, of each test row and factor."""
    near = y[neighbours_in(x, x_test, k)]  # (test, k, factor)
    predicted = near.mean(axis=1)
    for column in np.flatnonzero(classified):
        predicted[:, column] = _mode(near[:, :, column].astype(np.int64))
    wrong = (predicted != y_test).astype(np.float64)
    return np.asarray(np.where(classified, wrong, np.square(predicted - y_test)))


def _mode(classes: Integers) -> Long:
    """The commonest class of each row, the smallest of equals."""
    votes = (classes[:, :, None] == classes[:, None, :]).sum(axis=2)
    best = votes.max(axis=1, keepdims=True)
    return np.asarray(np.where(votes == best, classes, np.iinfo(np.int64).max).min(axis=1))


def _constant(y: Floats, y_test: Floats, classified: Booleans) -> Double:
    errors = np.square(y_test - y_test.mean(axis=0))
    for column in np.flatnonzero(classified):
        commonest = np.bincount(y[:, column].astype(np.int64)).argmax()
        errors[:, column] = y_test[:, column] != commonest
    return np.asarray(errors)


def _gaps(
    errors: Floats, constant: Floats, weights: Floats, classified: Booleans, legacy: bool
) -> tuple[Double, Double]:
    """Gaps (resample, factor), and the skill / M (latent, factor) of the rows as they are."""
    mean = np.einsum("bt,jtk->bjk", weights, errors, optimize=True)
    best = np.einsum("bt,tk->bk", weights, constant, optimize=True)[:, None]
    deviation = np.sqrt(best)
    if legacy:
        skill = np.where(classified, 1.0 - mean, deviation - np.sqrt(mean))
        norm = np.where(classified, 1.0 - best, deviation)
    else:
        skill = np.maximum(np.where(classified, best - mean, deviation - np.sqrt(mean)), 0.0)
        norm = np.where(classified, best, deviation)
    relative = np.where(norm > 0, skill / np.where(norm > 0, norm, 1.0), 0.0)
    return top_two(relative), relative[0]
