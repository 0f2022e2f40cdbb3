"""Unsupervised disentanglement ranking. Duan et al. 2020, https://arxiv.org/abs/1905.12614.

Models that disentangle agree with each other up to the order and sign of their latents; models that
do not disagree in their own way each. So the best of several models is found without labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.metrics.mcc import ranks
from vaescope.metrics.rows import Representation, mean_or_sample
from vaescope.metrics.sap_continuous import correlations
from vaescope.metrics.score import Protocol, Score
from vaescope.types import Floats

__all__ = ["UDR", "relative_strength", "udr_lasso", "udr_spearman"]


@dataclass(frozen=True, eq=False)
class UDR:
    """Scores of several models by how well they agree."""

    scores: tuple[Score, ...]  # of each model: the median over the others
    pairwise: NDArray[np.float64]  # (model that explains, model that is explained)
    similarity: tuple[tuple[NDArray[np.float64], ...], ...]  # the matrices behind them

    @property
    def best(self) -> int:
        """The model that the others agree with most."""
        return int(np.argmax([score.value for score in self.scores]))

    def summary(self) -> str:
        values = ", ".join(f"{score.value:.3g}" for score in self.scores)
        return f"UDR {values}; best: model {self.best} of {len(self.scores)}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "scores": [score.to_dict() for score in self.scores],
            "pairwise": self.pairwise.tolist(),
            "best": self.best,
        }


def udr_lasso(
    models: Sequence[Codes],
    *,
    penalty: float = 0.1,
    least_kl: float = 0.01,
    on: Representation = "mean",
) -> UDR:
    """UDR by the weights of a lasso from the latents of one model to those of another.

    `models` are codes of the same rows. Latents with a mean KL of at most `least_kl` nats are left
    out. All lassos are solved together on the matrix of covariances.
    """
    z, used = _prepared(models, least_kl, on)
    n, everything = len(z[0]), np.hstack(z)
    moments = everything.T @ everything / n
    ends = np.cumsum([part.shape[1] for part in z])
    similarity = []
    for part, end in zip(z, ends, strict=True):
        own = slice(end - part.shape[1], end)
        weights = _lasso(moments[own, own], moments[own], penalty)
        similarity.append(tuple(np.abs(w) for w in np.split(weights, ends[:-1], axis=1)))
    return _scored(models, tuple(similarity), used, f"lasso, penalty {penalty:g}", least_kl, on)


def udr_spearman(
    models: Sequence[Codes], *, least_kl: float = 0.01, on: Representation = "mean"
) -> UDR:
    """UDR by |rank correlation|: ranks are taken once, all correlations are one product."""
    z, used = _prepared(models, least_kl, on)
    ranked = ranks(np.hstack(z))
    matrix = np.abs(correlations(ranked, ranked))
    ends = np.cumsum([part.shape[1] for part in z])[:-1]
    similarity = tuple(
        tuple(np.split(rows, ends, axis=1)) for rows in np.split(matrix, ends, axis=0)
    )
    return _scored(models, similarity, used, "spearman", least_kl, on)


def relative_strength(similarity: Floats) -> float:
    """Mean over columns, and over rows, of max^2 / sum; a column of zeros counts 0.

    >>> relative_strength(np.eye(3))
    1.0
    """
    if not similarity.size:
        return 0.0
    halves = []
    for axis in (0, 1):
        total = similarity.sum(axis=axis)
        share = np.square(similarity.max(axis=axis)) / np.where(total > 0, total, 1.0)
        halves.append(float(share.mean()))
    return 0.5 * (halves[0] + halves[1])


def _prepared(
    models: Sequence[Codes], least_kl: float, on: Representation
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.bool_]]]:
    """Standardised codes, those of unused latents 0, and which are used."""
    from vaescope.latents.kl import kl  # it brings scipy.special

    if len(models) < 2:
        raise ShapeError(
            f"udr compares models; got {len(models)}.", "Give the codes of at least two."
        )
    rows = sorted({codes.n for codes in models})
    if len(rows) > 1:
        raise ShapeError(
            f"udr compares codes of the same rows; got sets of {rows} rows.",
            "Encode the same examples with each model.",
        )
    z, used = [], []
    for codes in models:
        values = mean_or_sample(codes, on).astype(np.float64)
        scale = values.std(axis=0)
        known = (kl(codes).nats > least_kl) & (scale > 0)
        centred = (values - values.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
        z.append(np.where(known, centred, 0.0))
        used.append(known)
    return z, used


def _lasso(gram: Floats, target: Floats, penalty: float) -> NDArray[np.float64]:
    """Weights (feature, target) that minimise 1/2n |y - X w|^2 + penalty |w|_1, by coordinates."""
    weights = np.zeros(target.shape)
    for _ in range(1000):
        largest = 0.0
        for j in range(len(gram)):
            if gram[j, j] <= 0:
                continue
            slope = target[j] - gram[j] @ weights + gram[j, j] * weights[j]
            new = np.sign(slope) * np.maximum(np.abs(slope) - penalty, 0.0) / gram[j, j]
            largest = max(largest, float(np.abs(new - weights[j]).max()))
            weights[j] = new
        if largest < 1e-10:
            break
    return weights


def _scored(
    models: Sequence[Codes],
    similarity: tuple[tuple[NDArray[np.float64], ...], ...],
    used: list[NDArray[np.bool_]],
    estimator: str,
    least_kl: float,
    on: Representation,
) -> UDR:
    m = len(models)
    pairwise = np.zeros((m, m))
    for i in range(m):
        for j in range(m):
            if i != j:
                pairwise[i, j] = relative_strength(similarity[i][j][np.ix_(used[i], used[j])])
    settings = {"estimator": estimator, "least_kl_nats": least_kl, "models": m}
    scores = tuple(
        Score(
            float(np.median(np.delete(pairwise[:, j], j))),
            Protocol("default", codes.n, settings, on, codes.supervised),
            {"pairwise": np.delete(pairwise[:, j], j), "used": used[j]},
        )
        for j, codes in enumerate(models)
    )
    return UDR(scores, pairwise, similarity)
