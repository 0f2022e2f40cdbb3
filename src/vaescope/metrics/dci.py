"""Disentanglement, completeness, informativeness. Eastwood and Williams 2018,
https://openreview.net/forum?id=By-7dz-AZ, section 2."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.metrics.engines import learn
from vaescope.metrics.rows import Representation, split
from vaescope.metrics.score import Protocol, Score
from vaescope.types import Array, Double, Floats

__all__ = ["DCI", "completeness", "dci", "disentanglement"]

#: disentanglement_lib's, so that latents and factors of no importance have an entropy.
_TINY = 1e-11


@dataclass(frozen=True, eq=False)
class DCI:
    """The result of the result of one fit; each of the three scores is available by name."""

    importance: Double  # (latent, factor)
    train_accuracy: Double  # (factor,)
    test_accuracy: Double  # of each factor
    protocol: Protocol

    @property
    def disentanglement(self) -> Score:
        """How far each latent is important for one factor only."""
        if self.importance.shape[1] < 2:
            raise ShapeError(
                "dci_disentanglement compares factors; got one that varies.",
                "Use data with more factors, or ask for dci_completeness.",
            )
        per_latent = 1.0 - _entropy(self.importance + _TINY, axis=1)
        return self._score(disentanglement(self.importance), {"per_latent": per_latent}, {})

    @property
    def completeness(self) -> Score:
        """How far each factor is in one latent only."""
        if len(self.importance) < 2:
            raise ShapeError(
                "dci_completeness compares latents; got one.", "Use a model with more latents."
            )
        per_factor = 1.0 - _entropy(self.importance + _TINY, axis=0)
        return self._score(completeness(self.importance), {"per_factor": per_factor}, {})

    @property
    def informativeness(self) -> Score:
        """Mean accuracy on the test rows; not an error, and not adjusted for chance."""
        return self._score(
            float(self.test_accuracy.mean()),
            {"per_factor": self.test_accuracy},
            {"train_accuracy": float(self.train_accuracy.mean())},
        )

    def _score(
        self, value: float, details: Mapping[str, Array], settings: Mapping[str, Any]
    ) -> Score:
        protocol = replace(self.protocol, settings={**self.protocol.settings, **settings})
        return Score(value, protocol, {"importance": self.importance, **details})


def dci(
    codes: Codes,
    *,
    engine: str = "first-order",
    on: Representation = "mean",
    train: int | None = None,
    test: int | None = None,
    seed: int = 0,
) -> DCI:
    """Three scores from classifiers of the factors and the importance they give to the latents.

    R_jk is the share of latent j in what the classifier of factor k uses. D is the mean over
    latents of 1 - H(R_j. / sum), weighted by their share of all importance, with the entropy in
    base number of factors; C likewise over factors in base number of latents; I is the mean test
    accuracy. The values depend on the engine: compare only scores of the same one. With few rows
    of a factor of many classes importance is mostly noise, and D and C go to 0.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        engine: `first-order`, `gradient-boosting`, `lightgbm` or `random-forest`.
        on: `mean` or `sample`: the representation that is scored.
        train: number of training rows of the classifiers; None takes the protocol's.
        test: number of test rows; None takes the protocol's.
        seed: seed of all random draws.

    Returns:
        `DCI`: the result of one fit; each of the three scores is available by name.

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> round(vs.metrics.dci(codes).disentanglement.value, 2)
        1.0
    """
    rows = split(codes, "dci", on=on, train=train, test=test, seed=seed)
    learnt = learn(
        engine, rows.train.z, rows.train.factors, rows.test.z, rows.test.factors, seed=seed
    )
    settings = {
        "estimator": engine, "train": rows.train.n, "test": rows.test.n, "seed": seed,
        "factors": list(rows.train.names),
    }  # fmt: skip
    return DCI(
        learnt.importance,
        learnt.train_accuracy,
        learnt.test_accuracy,
        Protocol("default", rows.n, settings, on, codes.supervised),
    )


def _entropy(weights: Floats, *, axis: int) -> Double:
    """In base size of the axis."""
    share = weights / weights.sum(axis=axis, keepdims=True)
    return np.asarray(-(share * np.log(share)).sum(axis=axis) / np.log(weights.shape[axis]))


def _weighted(importance: Floats, *, axis: int) -> float:
    scores = 1.0 - _entropy(importance + _TINY, axis=axis)
    weights = importance.sum(axis=axis)
    if not weights.any():
        weights = np.ones_like(weights)
    # An entropy may exceed its maximum by rounding.
    return max(0.0, float((scores * weights).sum() / weights.sum()))


def disentanglement(importance: Floats) -> float:
    """D of a matrix (latent, factor).

    >>> round(disentanglement(np.eye(3)), 6)
    1.0
    """
    return _weighted(importance, axis=1)


def completeness(importance: Floats) -> float:
    """C of a matrix (latent, factor).

    >>> round(completeness(np.array([[1.0], [1.0]])), 6)
    0.0
    """
    return _weighted(importance, axis=0)
