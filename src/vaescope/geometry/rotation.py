"""Rotations of the latent space: what stays and what changes.

zietlow2022 Propositions 2 and 3, mathieu2019 Theorem 2: with a rotationally symmetric prior and
full covariance the ELBO does not see a rotation; the diagonal family cannot hold the rotated
posterior, and pays for it. bhowal2024 Lemma 5: at a fixed stochastic loss the rate is least where
the decoder's columns are orthogonal.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from vaescope.codes import Codes
from vaescope.distributions import Distribution, FullGaussian
from vaescope.errors import ShapeError
from vaescope.estimates import interval_of_mean
from vaescope.geometry.result import GeometryMeasure, measure_of
from vaescope.geometry.space import Decode, LikelihoodOf
from vaescope.prior_density import GaussianDensity
from vaescope.seeds import derive, rng
from vaescope.types import Floats, Matrix

__all__ = [
    "ElboUnderRotation",
    "RateUnderRotation",
    "ScoreUnderRotation",
    "elbo_under_rotation",
    "plane_rotation",
    "random_rotations",
    "rate_under_rotation",
    "rotated",
    "score_under_rotation",
]


def plane_rotation(d: int, angle: float, *, plane: tuple[int, int] = (0, 1)) -> Matrix:
    """The rotation of d-space by `angle` (radians) in the plane of two latents.

    Args:
        d: number of dimensions.
        angle: in radians.
        plane: the two axes.

    Returns:
        (d, d) orthogonal matrix.

    Example:
        >>> import numpy as np
        >>> import vaescope as vs
        >>> vs.geometry.plane_rotation(2, np.pi / 2).round(1).tolist()
        [[0.0, -1.0], [1.0, 0.0]]
    """
    turn = np.eye(d)
    i, j = plane
    turn[[i, i, j, j], [i, j, i, j]] = (
        np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle),
    )  # fmt: skip
    return turn


def random_rotations(d: int, count: int, *, seed: int = 0) -> Matrix:
    """Haar-random rotations: shape (count, d, d), determinant 1.

    Args:
        d: number of dimensions.
        count: number of rotations.
        seed: seed of all random draws.

    Returns:
        (count, d, d) orthogonal matrices.

    Example:
        >>> import vaescope as vs
        >>> vs.geometry.random_rotations(3, 5).shape
        (5, 3, 3)
    """
    gauss = rng(seed, "rotations", d).standard_normal((count, d, d))
    q, r = np.linalg.qr(gauss)
    q = q * np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :]
    q[:, :, 0] *= np.linalg.det(q)[:, None]
    return np.asarray(q)


def _covariance(codes: Codes) -> Matrix:
    if codes.covariance is not None:
        return codes.covariance.astype(np.float64)
    variance = codes.variance.astype(np.float64)
    return np.asarray(variance[:, :, None] * np.eye(codes.d))


def rotated(codes: Codes, rotation: Floats) -> Codes:
    """The codes of the encoder followed by z -> R z: means, samples and covariances are rotated.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        rotation: (d, d) orthogonal matrix.

    Returns:
        `Codes`: posterior of each row, one sample of it, and the ground truth where it is known.

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import numpy as np
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> vs.geometry.rotated(codes, vs.geometry.plane_rotation(5, np.pi / 4)).d
        5
    """
    r = np.asarray(rotation, dtype=np.float64)
    if r.shape != (codes.d, codes.d) or not np.allclose(r @ r.T, np.eye(codes.d), atol=1e-6):
        raise ShapeError(
            f"The rotation has shape {r.shape}; wanted an orthogonal matrix of {codes.d} x "
            f"{codes.d}.",
            "Use plane_rotation(d, angle) or random_rotations(d, count).",
        )
    covariance = r @ _covariance(codes) @ r.T
    variance = np.diagonal(covariance, axis1=1, axis2=2).copy()
    prior = codes.prior
    if not isinstance(prior, GaussianDensity) or np.ptp(prior.variance, axis=-1).max() > 0:
        raise ShapeError(
            f"The prior is {prior.says}, which is not the same in all directions.",
            "Rotate codes whose prior is an isotropic Gaussian.",
        )
    return replace(
        codes, mean=codes.mean @ r.T, sample=codes.sample @ r.T, variance=variance,
        covariance=covariance, prior=replace(prior, mean=prior.mean @ r.T),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class ElboUnderRotation(GeometryMeasure):
    """The value is the loss of ELBO, nats per example, when the rotated posterior is squeezed
    back into the diagonal family; n counts rotations."""

    elbo: float  # ELBO of the unrotated model
    full: GeometryMeasure  # change of the ELBO with full covariance, due to rounding only
    diagonal: GeometryMeasure  # change of the ELBO with the nearest diagonal posterior
    beta: float

    def summary(self) -> str:
        return (
            f"ELBO {self.elbo:.3f} nats; rotations change it by {self.full.value:+.2g} with full "
            f"covariance and by {self.diagonal.value:+.3g} with diagonal ({self.n} rotations)"
        )


def _kl(mean: Tensor, covariance: Tensor) -> Tensor:
    d = mean.shape[1]
    trace = covariance.diagonal(dim1=-2, dim2=-1).sum(-1)
    log_det: Tensor = torch.linalg.slogdet(covariance)[1]
    return 0.5 * ((mean**2).sum(1) + trace - log_det - d)


@torch.no_grad()
def elbo_under_rotation(
    decode: Decode,
    x: Floats | Tensor,
    codes: Codes,
    *,
    rotations: Floats,
    likelihood: LikelihoodOf | None = None,
    beta: float = 1.0,
    draws: int = 16,
    seed: int = 0,
) -> ElboUnderRotation:
    """ELBO of (encoder, then R; R' then decoder) for each rotation R, prior N(0, I).

    `decode` returns a distribution, or `likelihood` makes one of its outputs. The same noise is
    used throughout. Full covariance: R S R', whose square root R L rotates the noise too.
    Diagonal: the member of the family with the least KL(q || N(., R S R')), whose variances are
    the conditional variances of each latent given the others. If S was the exact posterior, that KL
    is the loss.

    Args:
        decode: the decoder: a function of a tensor (n, latent).
        x: rows of the data that were encoded.
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        rotations: (k, d, d) orthogonal matrices.
        likelihood: turns what `decode` returns into a distribution.
        beta: weight of the rate.
        draws: number of samples for each row.
        seed: seed of all random draws.

    Returns:
        `ElboUnderRotation`: the value is the loss of ELBO, nats per example, when the rotated
        posterior is squeezed back into the diagonal family; n counts rotations.

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import numpy as np
        >>> import torch
        >>> import vaescope as vs
        >>> x = vs.known.signals()
        >>> model = vs.known.linear_vae(x, latent=3)
        >>> codes = vs.encode(model, x)
        >>> turn = vs.geometry.plane_rotation(3, np.pi / 4)[None]
        >>> noise = torch.full((8,), 0.09).log()
        >>> decode = lambda z: vs.distributions.DiagonalGaussian(model.decode(z).mean, noise)
        >>> vs.geometry.elbo_under_rotation(decode, x, codes, rotations=turn).diagonal.value < 0
        True
    """
    target = x if isinstance(x, Tensor) else torch.as_tensor(x, dtype=torch.float32)
    mean = torch.from_numpy(codes.mean.astype(np.float64))
    covariance = torch.from_numpy(_covariance(codes))
    noise = torch.randn(
        (draws, *mean.shape),
        generator=torch.Generator().manual_seed(derive(seed, "rotation")),
        dtype=torch.float64,
    )

    def elbo(turn: Tensor, turned: Tensor, root: Tensor) -> float:
        """Of the model turned by R with posterior N(R mean, turned), root root' = turned."""
        centre = mean @ turn.T
        total = -beta * _kl(centre, turned)
        for one in noise:
            z = (FullGaussian(centre, root).at(one) @ turn).to(target.dtype)  # R' z
            output = decode(z) if likelihood is None else likelihood(_tensor(decode(z)))
            if not isinstance(output, Distribution):
                raise ShapeError(
                    "The decoder returned a tensor, which has no density.",
                    "Pass likelihood=..., e.g. vaescope.nets.SquaredErrorLikelihood().",
                )
            total = total + output.log_prob(target).double() / draws
        return float(total.mean())

    root = torch.linalg.cholesky(covariance)
    eye = torch.eye(codes.d, dtype=torch.float64)
    base = elbo(eye, covariance, root)
    full, diagonal = [], []
    for rotation in np.asarray(rotations, dtype=np.float64).reshape(-1, codes.d, codes.d):
        turn = torch.from_numpy(rotation)
        turned = turn @ covariance @ turn.T
        # R L is a square root of R S R' too, and maps the same noise to the same point.
        full.append(elbo(turn, turned, turn @ root) - base)
        own = 1.0 / torch.linalg.inv(turned).diagonal(dim1=-2, dim2=-1)
        diagonal.append(elbo(turn, torch.diag_embed(own), torch.diag_embed(own.sqrt())) - base)
    changes = np.array(diagonal)
    return ElboUnderRotation(
        float(-changes.mean()), interval_of_mean(-changes), len(changes), "latent", base,
        measure_of(np.array(full), "latent"), measure_of(changes, "latent"), beta,
    )  # fmt: skip


def _tensor(output: Tensor | Distribution) -> Tensor:
    return output.mean if isinstance(output, Distribution) else output


@dataclass(frozen=True, eq=False)
class ScoreUnderRotation(GeometryMeasure):
    """The value is the score without rotation; n counts rotations."""

    rotated: GeometryMeasure  # scores after random rotations
    share_below: float  # share of rotations that score lower: 0.5 if the axes mean nothing

    def summary(self) -> str:
        return (
            f"score {self.value:.3f}; after {self.n} random rotations {self.rotated.value:.3f}, "
            f"{self.share_below:.0%} of them lower"
        )


def score_under_rotation(
    codes: Codes, score: Callable[[Codes], float], *, rotations: int = 20, seed: int = 0
) -> ScoreUnderRotation:
    """A metric of the codes against the same metric of randomly rotated codes.

    `score` is e.g. `lambda codes: mig(codes).value`. The score of a representation whose axes carry
    meaning falls after rotation; if the axes carry no meaning it does not.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        score: a function of codes.
        rotations: random rotations.
        seed: seed of all random draws.

    Returns:
        `ScoreUnderRotation`: the value is the score without rotation; n counts rotations.

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> score = lambda one: vs.metrics.mig(one, resamples=0).value
        >>> scores = vs.geometry.score_under_rotation(codes, score, rotations=5)
        >>> scores.share_below
        1.0
    """
    value = score(codes)
    turns = random_rotations(codes.d, rotations, seed=seed)
    others = np.array([score(rotated(codes, turn)) for turn in turns])
    return ScoreUnderRotation(
        value, None, rotations, "latent", measure_of(others, "latent"),
        float((others < value).mean()),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class RateUnderRotation(GeometryMeasure):
    """The value is the least rate over the rotations, relative to the optimum over all of them,
    in nats: 0 if one of them makes the columns orthogonal; n counts rotations."""

    rate_nats: Matrix  # (rotations,) relative to the optimum
    cosine: Matrix  # (rotations,) mean |cosine| between the columns

    def summary(self) -> str:
        best = int(self.rate_nats.argmin())
        return (
            f"at fixed stochastic loss the lowest of {self.n} rates is {self.value:.3g} nats above "
            f"the optimum, where the mean |cosine| is {self.cosine[best]:.3f}"
        )


def rate_under_rotation(
    gram: Floats, rotations: Floats, *, stochastic_loss: float = 1.0, space: str = "output"
) -> RateUnderRotation:
    """The rate that M V costs for each rotation V when its stochastic loss is held fixed.

    The optimal noise at loss L is sigma_j^2 = L / (d ||c_j||^2), so the only part of the rate that
    a rotation changes is sum_j -log sigma_j^2 / 2 = sum_j log ||c_j|| + d log(d / L) / 2. Its lower
    bound over rotations, log det(M'M) / 2 + the same constant, is reached at orthogonal columns
    (Hadamard). The difference does not depend on L.

    Args:
        gram: (d, d) J'J of a decoder.
        rotations: (k, d, d) orthogonal matrices.
        stochastic_loss: the loss that is kept fixed.
        space: space of the outputs.

    Returns:
        `RateUnderRotation`: the value is the least rate over the rotations, relative to the
        optimum over all of them, in nats: 0 if one of them makes the columns orthogonal; n counts
        rotations.

    Example:
        >>> import numpy as np
        >>> import vaescope as vs
        >>> turns = vs.geometry.random_rotations(2, 4)
        >>> vs.geometry.rate_under_rotation(np.diag([4.0, 1.0]), turns).rate_nats.shape
        (4,)
    """
    g = np.asarray(gram, dtype=np.float64)
    turns = np.asarray(rotations, dtype=np.float64).reshape(-1, *g.shape)
    turned = np.swapaxes(turns, 1, 2) @ g @ turns
    squares = np.diagonal(turned, axis1=1, axis2=2)
    d = len(g)
    noise = stochastic_loss / (d * squares)
    rate = -0.5 * np.log(noise).sum(axis=1)
    least = 0.5 * (np.linalg.slogdet(g)[1] + d * np.log(d / stochastic_loss))
    cosines = np.abs(turned) / np.sqrt(squares[:, :, None] * squares[:, None, :])
    upper = np.triu_indices(d, 1)
    excess = rate - least
    cosine = cosines[:, upper[0], upper[1]].mean(axis=1) if d > 1 else np.zeros(len(turns))
    return RateUnderRotation(float(excess.min()), None, len(turns), space, excess, cosine)
