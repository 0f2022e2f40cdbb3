"""Information from the posteriors themselves: no bins, the density of z is a known mixture.

Chen et al. 2018, https://arxiv.org/abs/1802.04942, appendix; MIG and MIG-sup of bhowal2024.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from vaescope.codes import Codes
from vaescope.errors import RangeError, ShapeError
from vaescope.metrics.rows import labelled
from vaescope.metrics.score import Protocol
from vaescope.metrics.table import InformationTable
from vaescope.seeds import rng
from vaescope.types import Double, Floats

__all__ = ["LEFT_OUT", "from_posteriors", "left_out"]


#: Factors that the released code leaves out, by the companions that tell their dataset: dSprites
#: has four factors there and Faces three; Shapes3D and MPI3D have all of theirs.
LEFT_OUT: Mapping[str, frozenset[str]] = {
    "shape": frozenset({"scale", "orientation", "x", "y"}),
    "identity": frozenset({"azimuth", "elevation", "lighting"}),
}


def left_out(names: Sequence[str]) -> tuple[str, ...]:
    """Which of a dataset's factors are left out, as in the released code.

    >>> left_out(("shape", "scale", "orientation", "x", "y"))
    ('shape',)
    >>> left_out(("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation"))
    ()
    """
    return tuple(
        name for name in names if name in LEFT_OUT and set(names) - {name} <= LEFT_OUT[name]
    )


def from_posteriors(
    codes: Codes,
    what: str,
    *,
    samples: int = 10_000,
    seed: int = 0,
) -> InformationTable:
    """I(z_j; v_k) = E log q(z_j | v_k) / q(z_j), with q(z_j) the mean over rows of q(z_j | x).

    The mean is over at most `samples` rows' samples. Both mixtures are over all rows: a mixture of
    some of them is narrower for v_k, which has fewer, than for all, and makes information of
    nothing where posteriors are narrow (mathieu2019 appendix C). Takes time of samples * n * d.

    Factors that the released code leaves out (`left_out`) are left out. Entropies of factors are
    logarithms of their number of values.
    """
    seen = labelled(codes, what, on="sample")
    if not codes.stochastic:
        raise RangeError(
            f"{what} by posteriors needs positive variances; got {codes.variance.min():g}.",
            "A point has no density: use the protocol default or dlib.",
        )
    omitted = left_out(codes.factor_names)
    kept = np.array([name not in omitted for name in seen.names])
    if not kept.any():
        raise ShapeError(
            f"{what} leaves out {', '.join(omitted)}; no other factor varies.",
            "Use the protocol default or dlib.",
        )
    factors = seen.factors[:, kept]
    mean, variance = (a.astype(np.float64) for a in (codes.mean, codes.variance))
    rows = np.arange(codes.n)
    if len(rows) > samples:
        rows = np.sort(rng(seed, "posterior-samples").permutation(codes.n)[:samples])
    z = codes.sample.astype(np.float64)
    information = np.zeros((codes.d, factors.shape[1]))
    for j in range(codes.d):
        log_q = _log_mixture(z[rows, j], mean[:, j], variance[:, j])
        for k, values in enumerate(factors.T):
            within = np.empty(len(rows))
            for value in np.unique(values[rows]):
                members, drawn = values == value, values[rows] == value
                within[drawn] = _log_mixture(
                    z[rows[drawn], j], mean[members, j], variance[members, j]
                )
            information[j, k] = max(float((within - log_q).mean()), 0.0)
    names = [name for name, keep in zip(seen.names, kept, strict=True) if keep]
    settings = {
        "estimator": "posterior mixture", "samples": len(rows), "components": codes.n,
        "seed": seed, "factors": names,
    }  # fmt: skip
    sizes = [len(np.unique(values)) for values in factors.T]
    active = codes.mean.astype(np.float64).var(axis=0) > 0.01
    return InformationTable(
        information, np.log(sizes), active, None,
        Protocol("default", codes.n, settings, "sample", codes.supervised),
    )  # fmt: skip


def _log_mixture(z: Floats, mean: Floats, variance: Floats) -> Double:
    """log q of the mixture of these Gaussians at each z."""
    scale = 1.0 / np.sqrt(variance)
    log_norm = np.log(scale) - 0.5 * np.log(2.0 * np.pi) - np.log(len(mean))
    at_once = max(1, 2**17 // len(mean))  # a chunk stays in cache
    chunks = range(0, len(z), at_once)
    return np.concatenate(
        [_log_density(z[start : start + at_once], mean, scale, log_norm) for start in chunks]
    )


def _log_density(z: Floats, mean: Floats, scale: Floats, log_norm: Floats) -> Double:
    terms = np.square((z[:, None] - mean) * scale)
    terms *= -0.5
    terms += log_norm
    # log-sum-exp over the rows: in the tails all terms underflow
    highest = terms.max(axis=1, keepdims=True)
    terms -= highest
    np.exp(terms, out=terms)
    return np.asarray(np.log(terms.sum(axis=1)) + highest[:, 0])
