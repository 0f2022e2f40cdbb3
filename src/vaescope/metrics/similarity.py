"""How alike two representations of the same rows are, up to rotation and scale.

CKA: Kornblith et al. 2019, https://arxiv.org/abs/1905.00414, section 3, linear kernel.
Procrustes: Ding et al. 2021, https://arxiv.org/abs/2108.01661, section 2, as a similarity.
"""

from collections.abc import Callable

import numpy as np

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.estimates import bootstrap, bootstrap_interval
from vaescope.metrics.rows import Representation, mean_or_sample
from vaescope.metrics.score import Protocol, Score
from vaescope.seeds import rng
from vaescope.types import Floats, Long, Matrix

__all__ = ["cka", "procrustes"]

_RESAMPLES, _PERMUTATIONS, _ROWS = 100, 20, 10_000


def cka(
    a: Codes,
    b: Codes,
    *,
    on: Representation = "mean",
    resamples: int = _RESAMPLES,
    seed: int = 0,
) -> Score:
    """||A'B||^2 / (||A'A|| ||B'B||), Frobenius norms of centred codes of the same rows.

    One if B is A rotated and scaled as a whole; 0 if uncorrelated. Directions count by the square
    of their variance, so it is about the largest ones: passive latents do not lower it, and two
    models that share only one of three directions can be similar by this measure. `chance` is the
    score for permuted rows.

    Args:
        a: codes of one model.
        b: codes of the same rows by another model.
        on: `mean` or `sample`: the representation that is scored.
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
        >>> round(vs.metrics.cka(codes, codes).value, 2)
        1.0
    """
    return _compared("cka", "linear CKA", _cka, a, b, on, resamples, seed)


def procrustes(
    a: Codes,
    b: Codes,
    *,
    on: Representation = "mean",
    resamples: int = _RESAMPLES,
    seed: int = 0,
) -> Score:
    """The largest sum of A times a rotated B, ||A'B||_* for centred codes of unit norm.

    1 - d^2 / 2 of the distance d that is left after the best rotation and scale: one if B is A
    rotated, reflected and scaled as a whole. Directions count by their deviation, so smaller ones
    weigh more than in `cka`. Codes of fewer latents are filled up by constants. `chance` is the
    score for permuted rows.

    Args:
        a: codes of one model.
        b: codes of the same rows by another model.
        on: `mean` or `sample`: the representation that is scored.
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
        >>> round(vs.metrics.procrustes(codes, codes).value, 2)
        1.0
    """
    return _compared("procrustes", "nuclear norm", _procrustes, a, b, on, resamples, seed)


def _cka(a: Matrix, b: Matrix) -> float:
    shared = np.square(a.T @ b).sum()
    return float(shared / (np.linalg.norm(a.T @ a) * np.linalg.norm(b.T @ b)))


def _procrustes(a: Matrix, b: Matrix) -> float:
    shared = np.linalg.norm(a.T @ b, ord="nuc")
    return float(shared / (np.linalg.norm(a) * np.linalg.norm(b)))


def _centred(z: Floats, name: str) -> Matrix:
    x = np.asarray(z, dtype=np.float64)
    x = x - x.mean(axis=0)
    largest = np.abs(x).max()
    if largest == 0:
        raise ShapeError(f"All latents of {name} are constant.", "Compare codes that vary.")
    return np.asarray(x / largest)


def _compared(
    what: str,
    estimator: str,
    law: Callable[[Matrix, Matrix], float],
    a: Codes,
    b: Codes,
    on: Representation,
    resamples: int,
    seed: int,
) -> Score:
    if a.n != b.n:
        raise ShapeError(
            f"{what} compares codes of the same rows; got {a.n} and {b.n}.",
            "Encode the same images with both models.",
        )
    if a.n < 3:
        raise ShapeError(f"{what} needs at least three rows; got {a.n}.", "Encode more rows.")
    left, right = (
        _centred(mean_or_sample(a, on), "the first"),
        _centred(mean_or_sample(b, on), "the second"),
    )
    stream = rng(seed, f"{what}-bootstrap")
    value = law(left, right)

    def resampled(rows: Long) -> float:
        x, y = left[rows], right[rows]
        x, y = x - x.mean(axis=0), y - y.mean(axis=0)
        return law(x, y) if x.any() and y.any() else 0.0

    permuted = [law(left, right[stream.permutation(a.n)]) for _ in range(_PERMUTATIONS)]
    interval = None
    if resamples:
        draws = bootstrap(resampled, a.n, resamples=resamples, rng=stream)
        interval = bootstrap_interval(value, draws, least=0.0, most=1.0)
    settings = {"estimator": estimator, "seed": seed}
    protocol = Protocol("default", a.n, settings, on, a.supervised or b.supervised)
    return Score(value, protocol, {}, interval, float(np.mean(permuted)))
