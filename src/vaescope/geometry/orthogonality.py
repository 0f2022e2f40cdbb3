"""Distance to orthogonality: how far V of J = U S V' is from a signed permutation.

zietlow2022 eq. (3.25), and Rolinek et al. 2019, https://arxiv.org/abs/1812.06775. The thesis solves
a mixed-integer program per point. As |V_ij| <= 1, taking sign(V_ij) for entry ij instead of 0
lowers its L1 cost by 2 |V_ij| - 1, so the nearest signed permutation maximises the sum of the
|V_ij| it selects: a linear assignment, the same for L1 and Frobenius distance.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import linear_sum_assignment
from torch import Tensor, nn

from vaescope.estimates import Interval, interval_of_mean
from vaescope.geometry.jacobian import Grams, grams
from vaescope.geometry.result import GeometryMeasure
from vaescope.geometry.space import Decode, LikelihoodOf, Space
from vaescope.seeds import rng
from vaescope.types import Array, Booleans, Floats, Matrix

__all__ = [
    "DEGENERATE",
    "Orthogonality",
    "degeneracy_warning",
    "degenerate",
    "distance_of",
    "distance_to_orthogonality",
    "distances",
    "haar_baseline",
    "nearest_signed_permutation",
    "random_decoder_baseline",
]


#: Singular values whose ratio is above this cannot be told apart: V may turn in their plane.
DEGENERATE = 0.9


def nearest_signed_permutation(v: Matrix) -> Matrix:
    """The signed permutation matrix nearest to a matrix with entries in [-1, 1].

    >>> nearest_signed_permutation(np.array([[0.1, -0.9], [0.8, 0.2]]))
    array([[ 0., -1.],
           [ 1.,  0.]])

    Args:
        v: (..., d, d) orthogonal matrices.

    Returns:
        (..., d, d) signed permutations.
    """
    rows, columns = linear_sum_assignment(np.abs(v), maximize=True)
    p = np.zeros_like(v)
    p[rows, columns] = np.where(v[rows, columns] < 0, -1.0, 1.0)
    return p


def distances(v: Matrix) -> Matrix:
    """||V - P(V)||_F of each orthogonal matrix of a stack: shape (n,)."""
    rest = np.abs(v)
    if v.shape[-1] == 2:  # two candidates: no assignment needed
        crossed = rest[:, 0, 1] + rest[:, 1, 0] > rest[:, 0, 0] + rest[:, 1, 1]
        rest[crossed] = rest[crossed][:, :, ::-1]
        chosen = np.arange(2)
        rest[:, chosen, chosen] = 1.0 - rest[:, chosen, chosen]
    else:
        for one in rest:
            entry = linear_sum_assignment(one, maximize=True)
            one[entry] = 1.0 - one[entry]
    # sqrt(2d - 2 sum of the selected |V_ij|) is the same, with half of the digits near 0.
    return np.asarray(np.linalg.norm(rest, axis=(1, 2)))


@lru_cache(maxsize=64)
def haar_baseline(d: int, *, draws: int | None = None, seed: int = 0) -> GeometryMeasure:
    """Mean distance of Haar-random orthogonal matrices, the value for axes without meaning.

    Exact for d = 2: (16 sqrt 2 / pi) (1 - cos(pi / 8)); n is the number of draws, 0 if exact.
    By default there are 10,000 draws, or 1,000 above d = 20, where draws are slow and hardly
    differ.

    >>> round(haar_baseline(2).value, 4)
    0.5483

    Args:
        d: number of dimensions.
        draws: number of random rotations; None takes 10,000, or 1,000 above 20 dimensions.
        seed: seed of all random draws.

    Returns:
        A `GeometryMeasure`: `value`, `interval`, `n`, `space`.
    """
    if d <= 2:
        exact = 16.0 * math.sqrt(2.0) / math.pi * (1.0 - math.cos(math.pi / 8.0))
        value = exact if d == 2 else 0.0
        return GeometryMeasure(value, (value, value), 0, "Haar")
    if draws is None:
        draws = 10_000 if d <= 20 else 1_000
    generator = rng(seed, "haar", d)
    parts = []
    block = max(1, 2**22 // d**2)  # 32 MB
    for start in range(0, draws, block):
        gauss = generator.standard_normal((min(block, draws - start), d, d))
        # The signs of R's diagonal only flip columns of Q, which the distance does not see.
        parts.append(distances(np.linalg.qr(gauss)[0]))
    values = np.concatenate(parts)
    return GeometryMeasure(float(values.mean()), interval_of_mean(values), draws, "Haar")


def degenerate(singular: Matrix, *, ratio: float = DEGENERATE) -> Booleans:
    """Points with two singular values closer than `ratio`, or with two that vanish.

    There V is arbitrary in a plane, for PCA as for a VAE (zietlow2022 section 3.3.4): the distance
    then measures nothing. Singular values descend, shape (n, d).
    """
    larger, smaller = singular[:, :-1], singular[:, 1:]
    vanishes = larger <= 1e-6 * singular[:, :1]
    return np.asarray(((smaller > ratio * larger) | vanishes).any(axis=1))


def degeneracy_warning(share: float) -> str:
    """What is wrong where V may turn freely at this share of the points; empty below half."""
    if share < 0.5:
        return ""
    return (
        f"at {share:.0%} of the points two singular values are within "
        f"{1.0 - DEGENERATE:.0%} of each other, so V may rotate freely there"
    )


@dataclass(frozen=True, eq=False)
class Orthogonality(GeometryMeasure):
    """DtO, 0 for orthogonal columns of distinct norms, with its baselines."""

    per_point: Matrix
    haar: GeometryMeasure  # DtO of randomly rotated axes
    random_decoder: GeometryMeasure | None  # DtO of untrained decoders; n counts decoders
    degenerate_share: float  # share of points with two nearly equal singular values
    columns: tuple[int, ...]
    method: str

    @property
    def warning(self) -> str:
        """Empty, or why the distance may mean nothing."""
        return degeneracy_warning(self.degenerate_share)

    def summary(self) -> str:
        between = "" if self.interval is None else " ({:.3f} to {:.3f})".format(*self.interval)
        untrained = (
            "" if self.random_decoder is None else f", untrained {self.random_decoder.value:.3f}"
        )
        return (
            f"DtO {self.value:.3f}{between} over {self.n} points in {self.space} space; "
            f"Haar {self.haar.value:.3f}{untrained}" + (f"; {self.warning}" if self.warning else "")
        )


def distance_of(grams: Grams, *, random_decoder: GeometryMeasure | None = None) -> Orthogonality:
    """DtO of known Gram matrices.

    Args:
        grams: Gram matrices of Jacobians, from `grams` or `grams_of`.
        random_decoder: DtO of untrained decoders, as a baseline.

    Returns:
        `Orthogonality`: DtO, 0 for orthogonal columns of distinct norms, with its baselines.

    Example:
        >>> import numpy as np
        >>> import vaescope as vs
        >>> grams = vs.geometry.grams_of(np.array([[[2.0, 0.5], [0.0, 1.0]]]))
        >>> round(vs.geometry.distance_of(grams).value, 2)
        0.44
    """
    singular, v = grams.singular()
    per_point = distances(v)
    interval: Interval | None = interval_of_mean(per_point)
    return Orthogonality(
        float(per_point.mean()), interval, grams.n, grams.space, per_point,
        haar_baseline(len(grams.columns)), random_decoder,
        float(degenerate(singular).mean()), grams.columns, grams.method,
    )  # fmt: skip


def distance_to_orthogonality(
    decode: Decode,
    points: Floats | Tensor,
    *,
    space: Space | None = None,
    likelihood: LikelihoodOf | None = None,
    columns: Sequence[int] | Array | None = None,
    untrained: Callable[[int], Decode] | None = None,
) -> Orthogonality:
    """DtO = mean over points of ||V - P(V)||_F, J = U S V' the decoder's Jacobian there.

    Take `points` at posterior means and `columns` without the passive latents: two columns of
    nearly 0 make V arbitrary. `untrained` gives the decoder freshly initialised with a seed, for
    the baseline of five of them. Do not trust the value if `.warning` is not empty.

    >>> import torch
    >>> stretch = torch.tensor([[0.0, 2.0], [-1.0, 0.0], [0.0, 0.0]])
    >>> distance_to_orthogonality(lambda z: z @ stretch.T, torch.zeros(3, 2)).value
    0.0

    Args:
        decode: the decoder: a function of a tensor (n, latent).
        points: (n, latent) codes at which the decoder is measured.
        space: `output`, `logit` or `likelihood`; None chooses by the likelihood.
        likelihood: turns what `decode` returns into a distribution.
        columns: latents to measure; None takes all.
        untrained: function of a seed that makes a decoder with fresh weights.

    Returns:
        `Orthogonality`: DtO, 0 for orthogonal columns of distinct norms, with its baselines.

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.
    """
    found = grams(decode, points, space=space, likelihood=likelihood, columns=columns)
    baseline = None
    if untrained is not None:
        baseline = random_decoder_baseline(
            untrained, points, space=space, likelihood=likelihood, columns=columns
        )
    return distance_of(found, random_decoder=baseline)


def random_decoder_baseline(
    untrained: Callable[[int], Decode],
    points: Floats | Tensor,
    *,
    seeds: int = 5,
    space: Space | None = None,
    likelihood: LikelihoodOf | None = None,
    columns: Sequence[int] | Array | None = None,
) -> GeometryMeasure:
    """Mean DtO of decoders that were never trained, at the same codes; n counts decoders.

    Args:
        untrained: function of a seed that makes a decoder with fresh weights.
        points: (n, latent) codes at which the decoder is measured.
        seeds: number of untrained decoders.
        space: `output`, `logit` or `likelihood`; None chooses by the likelihood.
        likelihood: turns what `decode` returns into a distribution.
        columns: latents to measure; None takes all.

    Returns:
        A `GeometryMeasure`: `value`, `interval`, `n`, `space`.

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> untrained = lambda seed: vs.geometry.reinitialised(torch.nn.Linear(3, 8), seed)
        >>> vs.geometry.random_decoder_baseline(untrained, torch.zeros(2, 3), seeds=3).n
        3
    """
    values, name = [], ""
    for seed in range(seeds):
        fresh = untrained(seed)
        if isinstance(fresh, nn.Module):
            fresh.eval()  # nobody else has it
        found = grams(fresh, points, space=space, likelihood=likelihood, columns=columns)
        values.append(float(distances(found.singular()[1]).mean()))
        name = found.space
    each = np.array(values)
    return GeometryMeasure(float(each.mean()), interval_of_mean(each), seeds, name)
