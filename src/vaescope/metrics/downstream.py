"""Downstream accuracy: logistic regression from the whole code to each factor.

Locatello et al. 2019, https://arxiv.org/abs/1811.12359; bonheme2023.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vaescope.codes import Codes
from vaescope.metrics.logistic import Classifier, cross_validated, standardised_multinomial
from vaescope.metrics.rows import Representation, RowSplit, split
from vaescope.metrics.score import Protocol, Score
from vaescope.types import Double

__all__ = ["Readout", "downstream", "downstream_of", "read_out"]


@dataclass(frozen=True, eq=False)
class Readout:
    """One classifier per factor, and the rows that it learnt from and is judged by."""

    classifiers: tuple[Classifier, ...]
    rows: RowSplit
    seed: int

    def protocol(self) -> Protocol:
        rows = self.rows
        settings = {
            "estimator": self.classifiers[0].name, "train": rows.train.n, "test": rows.test.n,
            "seed": self.seed, "factors": list(rows.train.names),
        }  # fmt: skip
        codes = rows.train.codes
        return Protocol("default", rows.n, settings, rows.train.representation, codes.supervised)


def read_out(rows: RowSplit, fit: Callable[..., Classifier], *, seed: int) -> Readout:
    """A classifier of each factor, by `fit(codes, classes, seed=...)`."""
    train = rows.train
    return Readout(tuple(fit(train.z, y, seed=seed) for y in train.factors.T), rows, seed)


def downstream(
    codes: Codes,
    *,
    folds: bool = False,
    on: Representation = "mean",
    train: int | None = None,
    test: int | None = None,
    seed: int = 0,
) -> Score:
    """Mean test accuracy over factors of logistic regression from all latents.

    By default hardly penalised and on standardised codes; `folds` chooses the penalty by
    cross-validation on raw codes, as disentanglement_lib and bonheme2023 do, at ten times the cost.
    Not adjusted for chance: `chance` in the details is the accuracy of the commonest class. A
    rotation of the latents leaves it nearly unchanged: it measures which factors are encoded, not
    how.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        folds: whether the penalty is chosen by cross-validation, on codes as they are.
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
        >>> round(vs.metrics.downstream(codes).value, 2)
        1.0
    """
    rows = split(codes, "downstream", on=on, train=train, test=test, seed=seed)
    fit = cross_validated if folds else standardised_multinomial
    return downstream_of(read_out(rows, fit, seed=seed))


def downstream_of(readout: Readout) -> Score:
    """Accuracy of classifiers that may be shared with explicitness."""
    test = readout.rows.test
    accuracy = np.array(
        [
            np.mean(classifier.predict(test.z) == y)
            for classifier, y in zip(readout.classifiers, test.factors.T, strict=True)
        ]
    )
    chance: Double = np.array(
        [
            np.mean(y == np.bincount(own).argmax())
            for own, y in zip(readout.rows.train.factors.T, test.factors.T, strict=True)
        ]
    )
    return Score(
        float(accuracy.mean()), readout.protocol(), {"accuracy": accuracy, "chance": chance}
    )
