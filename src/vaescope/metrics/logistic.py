"""Logistic regressions as scikit-learn's, with nothing left to its changing defaults.

Its default was one class against the rest by liblinear up to 0.21 and is multinomial by lbfgs
since: disentanglement_lib's published numbers are of the former.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from vaescope.errors import ShapeError
from vaescope.metrics.multinomial import fit_multinomial
from vaescope.seeds import derive
from vaescope.types import Double, Floats, Integers, Long

__all__ = [
    "Classifier",
    "cross_validated",
    "one_against_rest",
    "standardised_multinomial",
]

#: Weights up to which Newton's matrix is affordable: 40 classes of 24 latents.
_NEWTON = 1_000


@dataclass(frozen=True, eq=False)
class Classifier:
    """A fitted model on codes that are moved and scaled as the training rows were."""

    name: str
    model: Any
    mean: Double
    scale: Double

    @property
    def classes(self) -> Long:
        return np.asarray(self.model.classes_, dtype=np.int64)

    def predict(self, x: Floats) -> Long:
        return np.asarray(self.model.predict((x - self.mean) / self.scale), dtype=np.int64)

    def probabilities(self, x: Floats) -> Double:
        """Of each class: (n, classes)."""
        return np.asarray(self.model.predict_proba((x - self.mean) / self.scale))


def _units(x: Floats) -> tuple[Double, Double]:
    """Mean and standard deviation of each column, 1 where it is constant."""
    scale = x.std(axis=0)
    return x.mean(axis=0), np.where(scale > 0, scale, 1.0)


def _fit(name: str, model: Any, x: Floats, y: Integers, *, standardise: bool) -> Classifier:
    mean, scale = _units(x) if standardise else (np.zeros(x.shape[1]), np.ones(x.shape[1]))
    with warnings.catch_warnings():
        # Of separable classes the weights grow without end: where the solver stops changes no
        # prediction that counts, and its warnings would reach the user.
        warnings.simplefilter("ignore")
        try:
            model.fit((x - mean) / scale, y)
        except ValueError as error:  # e.g. fewer rows than folds, or a fold of one class
            raise ShapeError(
                f"{name} cannot be fitted to {len(x)} rows: {str(error).splitlines()[0]}",
                "Encode more rows, or use the protocol default.",
            ) from error
    return Classifier(name, model, mean, scale)


def standardised_multinomial(x: Floats, y: Integers, *, seed: int = 0) -> Classifier:
    """Multinomial, on standardised codes, hardly penalised (C = 10,000): the default.

    Thirty-two positions along one latent need steep lines: on real codes of dSprites C = 1 reads
    the position right in 32% of cases, C = 10,000 in 63%. Newton's method takes ten steps where
    lbfgs takes a thousand, but its matrix grows with the square of the weights: with many of them
    300 steps of lbfgs are taken, and the name says so.
    """
    name, classes = "multinomial logistic regression, standardised", len(np.unique(y))
    newton = classes * (x.shape[1] + 1) <= _NEWTON
    if newton and classes > 2:
        mean, scale = _units(x)
        return Classifier(name, fit_multinomial((x - mean) / scale, y, strength=1e4), mean, scale)
    from sklearn.linear_model import LogisticRegression

    if newton:  # two classes have one line: half the weights, twice the penalty
        model = LogisticRegression(C=1e4, solver="newton-cholesky", max_iter=50)
    else:
        model, name = LogisticRegression(C=1e4, solver="lbfgs", max_iter=300), f"{name}, lbfgs"
    return _fit(name, model, x, y, standardise=True)


def one_against_rest(
    x: Floats, y: Integers, *, seed: int = 0, standardise: bool = False
) -> Classifier:
    """One class against the rest by liblinear, C = 1: scikit-learn's default of 2019."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    single = LogisticRegression(
        C=1.0, solver="liblinear", max_iter=100, random_state=derive(seed, "liblinear") % 2**32
    )
    model = single if len(np.unique(y)) == 2 else OneVsRestClassifier(single)
    name = f"one-against-rest logistic regression{', standardised' if standardise else ''}"
    return _fit(name, model, x, y, standardise=standardise)


def cross_validated(x: Floats, y: Integers, *, seed: int = 0) -> Classifier:
    """One strength of ten, by five folds in order, on raw codes: disentanglement_lib's task.

    Classes that are missing from a fold are predicted as never; folds are not shuffled, as there.
    """
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.model_selection import KFold

    model = LogisticRegressionCV(
        Cs=10, cv=KFold(5), solver="lbfgs", max_iter=100, l1_ratios=(0.0,),
        use_legacy_attributes=False, scoring="accuracy",
    )  # fmt: skip
    return _fit("logistic regression, 5-fold, 10 strengths", model, x, y, standardise=False)
