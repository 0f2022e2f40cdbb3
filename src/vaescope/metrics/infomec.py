"""InfoMEC: modularity, compactness and explicitness by information. Hsu et al. 2023,
https://arxiv.org/abs/2305.18378, section 4."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from vaescope.codes import Codes
from vaescope.errors import ShapeError, UsageError
from vaescope.estimates import bootstrap, bootstrap_interval
from vaescope.information.discrete import entropy
from vaescope.information.nearest import nearest_information
from vaescope.metrics.rows import Labelled, Representation, labelled
from vaescope.metrics.score import Protocol, Score
from vaescope.metrics.table import RESAMPLES
from vaescope.seeds import rng
from vaescope.types import Array, Booleans, Double, Floats, Integers

__all__ = ["InfoMEC", "Pruning", "compactness", "infoe", "infomec", "modularity_ratio"]

Pruning = Literal["types", "range"]

#: Rows looked at: the authors' number.
ROWS = 10_000
#: Of the largest range, below which the authors leave a latent out.
_RANGE = 1 / 20


@dataclass(frozen=True, eq=False)
class InfoMEC:
    """The table of normalised information; InfoM and InfoC are available by name."""

    information: Double  # (latent, factor), each column over its factor's entropy
    chance: Double  # the same with the rows of the factors permuted
    kept: Booleans  # (latent,)
    protocol: Protocol

    @property
    def modularity(self) -> Score:
        """InfoM: how far each latent that is kept knows one factor only."""
        if self.information.shape[1] < 2:
            raise ShapeError(
                "infom compares factors; got one that varies.", "Use data with more factors."
            )
        return self._score(modularity_ratio)

    @property
    def compactness(self) -> Score:
        """InfoC: how far each factor is in one latent only; undefined for a single latent."""
        if int(self.kept.sum()) == 1:
            raise ShapeError(
                "infoc compares latents; one is left of those that vary.",
                "Use a model with more latents.",
            )
        return self._score(compactness)

    def _score(self, ratio: Callable[[Floats], float]) -> Score:
        kept = self.information[self.kept]
        value = ratio(kept) if len(kept) else 0.0
        chance = ratio(self.chance[self.kept]) if len(kept) else 0.0
        details: Mapping[str, Array] = {"nmi": self.information, "kept": self.kept}
        return Score(value, self.protocol, details, None, chance)


def infomec(
    codes: Codes,
    *,
    pruning: Pruning = "types",
    neighbours: int = 10,
    on: Representation = "mean",
    limit: int | None = ROWS,
    seed: int = 0,
) -> InfoMEC:
    """The table behind InfoM and InfoC.

    NMI[j, k] = I(z_j; v_k) / H(v_k), I by `neighbours` nearest neighbours on standardised codes.
    InfoM is the mean over kept latents of max_k NMI / sum_k NMI, rescaled from [1/K, 1] to [0, 1];
    InfoC the mean over factors of max_j NMI / sum_j NMI, rescaled from 1 / kept latents. Both are
    ratios, so a latent with hardly any information counts as much as one that encodes a factor
    fully, and noise in its information decides its share. `chance` has both scores for permuted
    factors; it is not 0.

    Args:
        pruning: `range` as published, latents whose range is above 1/20 of the largest; `types`
            those that are not passive, which does not depend on the latents' scales.
        limit: largest number of rows; the first ones are used, as for all metrics.
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        neighbours: number of nearest neighbours.
        on: `mean` or `sample`: the representation that is scored.
        seed: seed of all random draws.

    Returns:
        `InfoMEC`: the table of normalised information; InfoM and InfoC are available by name.

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> round(vs.metrics.infomec(codes).modularity.value, 2)
        0.98
    """
    if pruning not in ("types", "range"):
        raise UsageError(f"There is no pruning {pruning!r}.", "Use types or range.")
    rows = labelled(codes, "infomec", on=on, limit=limit, seed=seed)
    kept = _kept(rows, pruning)
    entropies = entropy(rows.factors)
    shuffled = rows.factors[rng(seed, "infomec-chance").permutation(rows.n)]
    information, chance = (
        nearest_information(rows.z, factors, neighbours=neighbours, seed=seed) / entropies
        for factors in (rows.factors, shuffled)
    )
    settings = {
        "estimator": f"{neighbours} nearest neighbours", "pruning": pruning, "seed": seed,
        "latents": np.flatnonzero(kept).tolist(), "factors": list(rows.names),
    }  # fmt: skip
    protocol = Protocol("default", rows.n, settings, on, codes.supervised)
    return InfoMEC(information, chance, kept, protocol)


def _kept(rows: Labelled, pruning: Pruning) -> Booleans:
    if pruning == "range":
        ranges = np.ptp(rows.z, axis=0)
        return np.asarray(ranges > ranges.max() * _RANGE)
    from vaescope.latents.types import types

    kept = np.zeros(rows.codes.d, dtype=bool)
    kept[types(rows.codes).of("active", "mixed")] = True
    return np.asarray(kept & (np.ptp(rows.z, axis=0) > 0))


def modularity_ratio(information: Floats) -> float:
    """InfoM of a table (latent, factor).

    >>> modularity_ratio(np.eye(3)), round(modularity_ratio(np.ones((3, 2))), 6)
    (1.0, 0.0)
    """
    return _rescaled(information, axis=1)


def compactness(information: Floats) -> float:
    """InfoC of a table (latent, factor).

    >>> compactness(np.eye(3)), round(compactness(np.array([[1.0, 0.0], [1.0, 1.0]])), 6)
    (1.0, 0.5)
    """
    return _rescaled(information, axis=0)


def _rescaled(information: Floats, *, axis: int) -> float:
    """Mean of max / sum along an axis, from [1 / size, 1] to [0, 1]; rows of nothing count 0."""
    size = information.shape[axis]
    total = information.sum(axis=axis)
    share = np.where(total > 0, information.max(axis=axis) / np.where(total > 0, total, 1.0), 0.0)
    mean = float(np.where(total > 0, share, 1.0 / size).mean())
    return max(0.0, float((mean - 1.0 / size) / (1.0 - 1.0 / size)))


def infoe(
    codes: Codes,
    *,
    on: Representation = "mean",
    limit: int | None = ROWS,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Score:
    """InfoE: the share of each factor's entropy that a linear classifier removes.

    Mean over factors of (H0 - H) / H0: H the cross-entropy, on the rows that it learnt from, of an
    unpenalised multinomial logistic regression with balanced classes on all latents, standardised;
    H0 the cross-entropy of the same model without latents, which is log(number of values). The
    optimiser stops after 100 steps of lbfgs, as published. Fitting d (values - 1) weights
    to n rows without information removes d (values - 1) / 2n nats (Wilks), which is `chance`.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
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
        >>> round(vs.metrics.infoe(codes).value, 2)
        1.0
    """
    rows = labelled(codes, "infoe", on=on, limit=limit, seed=seed)
    deviation = rows.z.std(axis=0)
    z = (rows.z - rows.z.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    sizes = np.array([len(np.unique(column)) for column in rows.factors.T])
    lost = np.stack([_cross_entropies(z, y) for y in rows.factors.T], axis=1)  # (n, factor)

    def share(drawn: Integers) -> float:
        return float((1.0 - lost[drawn].mean(axis=0) / np.log(sizes)).mean())

    value = share(np.arange(rows.n))
    weights = np.linalg.matrix_rank(z) * (sizes - 1.0)
    chance = float(np.minimum(weights / (2.0 * rows.n) / np.log(sizes), 1.0).mean())
    settings = {
        "estimator": "multinomial logistic regression, balanced, no penalty", "seed": seed,
        "factors": list(rows.names),
    }  # fmt: skip
    interval = None
    if resamples:
        draws = bootstrap(share, rows.n, resamples=resamples, rng=rng(seed, "infoe-bootstrap"))
        interval = bootstrap_interval(value, draws, most=1.0)
    return Score(
        value,
        replace(Protocol("default", rows.n, settings, on), supervised=codes.supervised),
        {"per_factor": 1.0 - lost.mean(axis=0) / np.log(sizes)},
        interval,
        chance,
    )


def _cross_entropies(z: Floats, y: Integers) -> Double:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(
        C=np.inf, tol=1e-4, class_weight="balanced", solver="lbfgs", max_iter=100
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it stops after 100 steps is the definition
        model.fit(z, y)
        probability = model.predict_proba(z)
    at = np.searchsorted(model.classes_, y)
    least = np.finfo(np.float64).eps  # as scikit-learn's log_loss
    return np.asarray(-np.log(np.clip(probability[np.arange(len(y)), at], least, 1.0)))
