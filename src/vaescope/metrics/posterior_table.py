"""Information from the posteriors themselves: no bins, the density of z is a known mixture.

Chen et al. 2018, https://arxiv.org/abs/1802.04942, appendix; paper 003's MIG and MIG-sup.
"""

import numpy as np
from numpy.typing import NDArray

from vaescope.codes import Codes
from vaescope.errors import RangeError, ShapeError
from vaescope.metrics.rows import labelled
from vaescope.metrics.score import Protocol
from vaescope.metrics.table import Table
from vaescope.seeds import rng
from vaescope.types import Floats

__all__ = ["from_posteriors"]


def from_posteriors(
    codes: Codes,
    what: str,
    *,
    samples: int = 10_000,
    components: int = 10_000,
    leave_out: tuple[str, ...] = ("shape",),
    seed: int = 0,
) -> Table:
    """I(z_j; v_k) = H(z_j) - H(z_j | v_k) of samples, with q(z_j) the mean over rows of q(z_j | x).

    Entropies are means of -log q over at most `samples` samples; q is the exact mixture of at most
    `components` rows, drawn at random where there are more. Factors named in `leave_out` are left
    out, as in the original, and entropies of factors are logarithms of their number of values.
    """
    seen = labelled(codes, what, on="sample")
    if not codes.stochastic:
        raise RangeError(
            f"{what} by posteriors needs positive variances; got {codes.variance.min():g}.",
            "A point has no density: use the protocol default or dlib.",
        )
    kept = np.array([name not in leave_out for name in seen.names])
    if not kept.any():
        raise ShapeError(
            f"{what} leaves out {', '.join(leave_out)}; no other factor varies.",
            "Use the protocol default or dlib.",
        )
    rows = np.arange(codes.n)
    if len(rows) > components:
        rows = rng(seed, "posterior-rows").permutation(codes.n)[:components]
    factors = seen.factors[rows][:, kept]
    mean, variance = (a[rows].astype(np.float64) for a in (codes.mean, codes.variance))
    z = codes.sample[rows].astype(np.float64)
    stream = rng(seed, "posterior-samples")
    information = np.zeros((codes.d, factors.shape[1]))
    for j in range(codes.d):
        total = _entropy(z[:, j], mean[:, j], variance[:, j], samples, stream)
        for k, values in enumerate(factors.T):
            within = 0.0
            for value, count in zip(*np.unique(values, return_counts=True), strict=True):
                members = values == value
                part = _entropy(
                    z[members, j], mean[members, j], variance[members, j], samples, stream
                )
                within += count / len(values) * part
            information[j, k] = max(total - within, 0.0)
    names = [name for name, keep in zip(seen.names, kept, strict=True) if keep]
    settings = {
        "estimator": "posterior mixture", "samples": min(samples, len(rows)),
        "components": len(rows), "seed": seed, "factors": names,
    }  # fmt: skip
    sizes = [len(np.unique(values)) for values in seen.factors[:, kept].T]
    active = codes.mean.astype(np.float64).var(axis=0) > 0.01
    return Table(
        information, np.log(sizes), active, None,
        Protocol("default", codes.n, settings, "sample", codes.supervised),
    )  # fmt: skip


def _entropy(
    z: Floats, mean: Floats, variance: Floats, samples: int, rng: np.random.Generator
) -> float:
    """Mean of -log q over samples z of the mixture of these Gaussians."""
    if len(z) > samples:
        z = z[rng.permutation(len(z))[:samples]]
    scale = 1.0 / np.sqrt(variance)
    log_norm = np.log(scale) - 0.5 * np.log(2.0 * np.pi) - np.log(len(mean))
    total = 0.0
    at_once = max(1, 2**17 // len(mean))  # a chunk stays in cache
    for start in range(0, len(z), at_once):
        total += float(_log_density(z[start : start + at_once], mean, scale, log_norm).sum())
    return -total / len(z)


def _log_density(z: Floats, mean: Floats, scale: Floats, log_norm: Floats) -> NDArray[np.float64]:
    terms = np.square((z[:, None] - mean) * scale)
    terms *= -0.5
    terms += log_norm
    # log-sum-exp over the rows: in the tails all terms underflow
    highest = terms.max(axis=1, keepdims=True)
    terms -= highest
    np.exp(terms, out=terms)
    return np.asarray(np.log(terms.sum(axis=1)) + highest[:, 0])
