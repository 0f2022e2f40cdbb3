"""Unsupervised disentanglement ranking. Duan et al. 2020, https://arxiv.org/abs/1905.12614.

Models that disentangle agree with each other up to the order and sign of their latents; models that
do not disagree in their own way each. So the best of several models is found without labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.metrics.mcc import ranks
from vaescope.metrics.rows import Representation, mean_or_sample
from vaescope.metrics.sap_continuous import correlations
from vaescope.metrics.score import Protocol, Score
from vaescope.notebook_card import bars_of, card_of
from vaescope.types import Booleans, Double, Floats, Long

__all__ = ["UDR", "udr_lasso", "udr_spearman"]

#: Of a constant's variance to its square: float64 leaves 1e-32.
_ROUNDING = 1e-24


@dataclass(frozen=True, eq=False)
class UDR:
    """Scores of several models by how well they agree."""

    scores: tuple[Score, ...]  # score of each model: the median over the others
    pairwise: Double  # (model that explains, model that is explained)
    similarity: tuple[tuple[Double, ...], ...]  # the matrices behind them

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

    def _repr_html_(self) -> str:
        values = {f"model {place}": own.value for place, own in enumerate(self.scores)}
        return card_of(self, bars_of(values, full=1.0))


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

    Args:
        models: codes of the same rows, one for each seed.
        penalty: penalty of the lasso.
        least_kl: nats above which a latent counts.
        on: `mean` or `sample`: the representation that is scored.

    Returns:
        `UDR`: scores of several models by how well they agree.

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> models = [vs.known.codes(seed=0), vs.known.codes(seed=0)]
        >>> vs.metrics.udr_lasso(models).best
        0
    """
    values, known, starts = _gathered(models, least_kl, on)
    mean = values.mean(axis=0)
    values -= mean
    covariance = values.T @ values / len(values)
    variance = np.diag(covariance).copy()
    used = known & (variance > _ROUNDING * np.square(mean)) & (variance > 0)
    unit = np.where(used, 1.0 / np.sqrt(np.where(used, variance, 1.0)), 0.0)
    moments = covariance * unit * unit[:, None]  # of standardised codes, unused ones 0
    parts = np.split(moments, starts[1:])
    similarity = np.vstack(
        [
            np.abs(_lasso(rows[:, start : start + len(rows)], rows, penalty))
            for rows, start in zip(parts, starts, strict=True)
        ]
    )
    return _scored(models, similarity, used, starts, f"lasso, penalty {penalty:g}", least_kl, on)


def udr_spearman(
    models: Sequence[Codes], *, least_kl: float = 0.01, on: Representation = "mean"
) -> UDR:
    """UDR by |rank correlation|: ranks are computed once, and all correlations are one matrix
    product.

    Args:
        models: codes of the same rows, one for each seed.
        least_kl: nats above which a latent counts.
        on: `mean` or `sample`: the representation that is scored.

    Returns:
        `UDR`: scores of several models by how well they agree.

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> models = [vs.known.codes(seed=0), vs.known.codes(seed=0)]
        >>> vs.metrics.udr_spearman(models).best
        0
    """
    values, known, starts = _gathered(models, least_kl, on)
    used = known & (np.ptp(values, axis=0) > 0)
    ranked = ranks(values)
    similarity = np.abs(correlations(ranked, ranked))
    return _scored(models, similarity, used, starts, "spearman", least_kl, on)


def _gathered(
    models: Sequence[Codes], least_kl: float, on: Representation
) -> tuple[Double, Booleans, Long]:
    """The latents of all models side by side, those that carry information, and the starts."""
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
    sizes = [codes.d for codes in models]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    values = np.empty((rows[0], sum(sizes)))
    for codes, start in zip(models, starts, strict=True):
        values[:, start : start + codes.d] = mean_or_sample(codes, on)
    known = np.concatenate([kl(codes).nats > least_kl for codes in models])
    return values, known, starts


def _lasso(gram: Floats, target: Floats, penalty: float) -> Double:
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


def _strengths(similarity: Floats, used: Booleans, starts: Long) -> Double:
    """Of each pair of models: the mean over columns, and over rows, of max^2 / sum of their
    similarities, at the latents that are used; a column of zeros counts 0."""
    kept = np.where(used & used[:, None], similarity, 0.0)
    count = np.maximum(np.add.reduceat(used.astype(np.float64), starts), 1.0)

    def half(matrix: Floats) -> Floats:
        """(model whose maxima are taken, model whose columns are averaged)."""
        total = np.add.reduceat(matrix, starts, axis=0)
        most = np.maximum.reduceat(matrix, starts, axis=0)
        share = np.square(most) / np.where(total > 0, total, 1.0)
        return np.asarray(np.add.reduceat(share, starts, axis=1) / count)

    return np.asarray(0.5 * (half(kept) + half(kept.T).T))


def _scored(
    models: Sequence[Codes],
    similarity: Double,
    used: Booleans,
    starts: Long,
    estimator: str,
    least_kl: float,
    on: Representation,
) -> UDR:
    m, ends = len(models), starts[1:]
    pairwise = _strengths(similarity, used, starts)
    np.fill_diagonal(pairwise, 0.0)
    settings = {"estimator": estimator, "least_kl_nats": least_kl, "models": m}
    scores = tuple(
        Score(
            float(np.median(np.delete(pairwise[:, j], j))),
            Protocol("default", codes.n, settings, on, codes.supervised),
            {"pairwise": np.delete(pairwise[:, j], j), "used": own},
        )
        for j, (codes, own) in enumerate(zip(models, np.split(used, ends), strict=True))
    )
    blocks = tuple(tuple(np.split(rows, ends, axis=1)) for rows in np.split(similarity, ends))
    return UDR(scores, pairwise, blocks)
