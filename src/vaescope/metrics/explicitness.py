"""Explicitness. Ridgeway and Mozer 2018, https://arxiv.org/abs/1802.05312, section 3."""

from dataclasses import replace
from functools import partial

import numpy as np

from vaescope.codes import Codes
from vaescope.estimates import bootstrap_interval
from vaescope.metrics.downstream import Readout, read_out
from vaescope.metrics.logistic import one_against_rest, standardised_multinomial
from vaescope.metrics.rows import Representation, split
from vaescope.metrics.score import Score
from vaescope.seeds import rng
from vaescope.types import Double, Floats, Integers

__all__ = ["areas", "explicitness", "explicitness_of"]


def explicitness(
    codes: Codes,
    *,
    rescaled: bool = True,
    resamples: int = 100,
    on: Representation = "mean",
    train: int | None = None,
    test: int | None = None,
    seed: int = 0,
) -> Score:
    """How well logistic regression ranks rows by each value of each factor.

    Mean over factors and their values of the area under the ROC curve on the test rows, rescaled
    as 2 AUC - 1, so that chance is 0. disentanglement_lib does not rescale (`rescaled=False`: also
    one class against the rest, its classifier). Values that the test rows lack are left out. High
    for nearly any code that keeps the factors: it does not detect entanglement.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        rescaled: whether the area is rescaled so that chance is 0.
        resamples: bootstrap resamples behind the interval.
        on: `mean` or `sample`: the representation that is scored.
        train: number of training rows of the classifiers; None takes the protocol's.
        test: number of test rows; None takes the protocol's.
        seed: seed of all random draws.

    Returns:
        A `Score`: `value`, `interval`, `chance`, `protocol`, `details` (the arrays behind it).

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> round(vs.metrics.explicitness(codes).value, 2)
        1.0
    """
    rows = split(codes, "explicitness", on=on, train=train, test=test, seed=seed)
    fit = standardised_multinomial if rescaled else partial(one_against_rest, standardise=True)
    return explicitness_of(read_out(rows, fit, seed=seed), rescaled=rescaled, resamples=resamples)


def explicitness_of(readout: Readout, *, rescaled: bool, resamples: int) -> Score:
    """Explicitness of classifiers that may be shared with the downstream score."""
    test = readout.rows.test
    stream = rng(readout.seed, "explicitness-bootstrap")
    # Resamples of test rows, as weights; the first are the rows as they are.
    drawn = stream.multinomial(test.n, np.full(test.n, 1.0 / test.n), size=resamples)
    weights = np.concatenate([np.ones((1, test.n)), drawn])
    means = []
    for classifier, y in zip(readout.classifiers, test.factors.T, strict=True):
        probabilities = classifier.probabilities(test.z)
        means.append(areas(probabilities, classifier.classes, y, weights).mean(axis=1))
    per_factor = np.stack(means, axis=1)  # (1 + resamples, factor)
    if rescaled:
        per_factor = np.maximum(2.0 * per_factor - 1.0, 0.0)
    scores = per_factor.mean(axis=1)
    value = float(scores[0])
    protocol = readout.protocol()
    settings = {**protocol.settings, "rescaled": rescaled}
    return Score(
        value,
        replace(protocol, settings=settings),
        {"per_factor": per_factor[0]},
        bootstrap_interval(value, scores[1:], least=0.0, most=1.0) if resamples else None,
    )


def areas(scores: Floats, classes: Integers, y: Integers, weights: Floats) -> Double:
    """Area under the ROC curve of each class that some but not all rows have: (weights, class).

    The chance that a row of the class is ranked above one of the rest, ties counting half; 0.5 for
    resamples that lost a class.
    """
    found = []
    by_row = np.ascontiguousarray(weights.T)
    for column, own in zip(scores.T, classes, strict=True):
        is_own = y == own
        if not is_own.any() or is_own.all():
            continue
        order = np.argsort(column, kind="stable")
        ascending, ranked = column[order], is_own[order]
        positive = by_row[order[ranked]]  # (rows of the class, weights)
        everything, of_class = _running(by_row[order]), _running(positive)
        count = np.concatenate([[0], np.cumsum(ranked)])
        # Rows of the rest below each row of the class, and of those that tie with it, half.
        first, last = (
            np.searchsorted(ascending, ascending[ranked], side=side) for side in ("left", "right")
        )
        below = 0.5 * sum(everything[at] - of_class[count[at]] for at in (first, last))
        total = of_class[-1] * (everything[-1] - of_class[-1])
        won = (positive * below).sum(axis=0)
        found.append(np.where(total > 0, won / np.where(total > 0, total, 1.0), 0.5))
    if not found:
        return np.full((len(weights), 1), 0.5)
    return np.stack(found, axis=1)


def _running(rows: Floats) -> Double:
    """Sums of the first 0, 1, ... rows."""
    sums = np.zeros((len(rows) + 1, rows.shape[1]))
    np.cumsum(rows, axis=0, out=sums[1:])
    return sums
