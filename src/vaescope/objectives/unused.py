"""What a latent that ignores x becomes: the constant posterior that costs least.

It is the minimiser, over N(m, diag(v)), of the objective's terms without the distortion
(`terms.Pull`). Only under the ELBO with a Gaussian prior is it the prior: mathieu2019 Corollary 1
has beta times its variance, and of other priors it is the Gaussian of least KL(N || p), which still
costs that KL, the floor.
"""

import copy
import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from vaescope.distributions import DiagonalGaussian, Reparameterised
from vaescope.errors import UsageError
from vaescope.objectives.terms import Objective, Pull
from vaescope.prior_density.subspaces import group_floor, least_ratio
from vaescope.priors import ConditionalPrior
from vaescope.priors.mixture import GaussianMixture
from vaescope.priors.sparse import SpikeAndSlab
from vaescope.priors.subspaces import Subspaces
from vaescope.types import Vector
from vaescope.vae import Prior

__all__ = ["UnusedPosterior", "rate_law", "unused_posterior"]


_LOG_2PI_E = math.log(2.0 * math.pi * math.e)


@dataclass(frozen=True, eq=False)
class UnusedPosterior:
    """The posterior of a latent that ignores x.

    `variance` (d,) is None where there is none (`minima` 0; `why` says why) and where it differs
    from example to example, being `factor` times the variance of p(z|u) (`minima` 1). `units` are
    what posterior variances are compared with: the variance, or where there is none what the ELBO
    would make of it, or else the prior's; None where they differ from example to example.
    """

    variance: Vector | None
    minima: int  # number of minima of equal cost; 0: there is none
    floor_nats: Vector  # (d,) rate of each such latent; NaN where the prior is no product
    floor: float  # rate of all such latents together
    units: Vector | None
    factor: float = 1.0  # factor of the prior's variance, if that depends on u
    spread: Vector | None = None  # see `vaescope.latent_types.types_of`; for a prior with a spike
    why: str = ""

    @property
    def says(self) -> str:
        """One phrase, e.g. `variance 0.0028 at 0.189 nats`."""
        if not self.minima:
            return f"none: {self.why}"
        if self.variance is None:
            return f"{self.factor:g} times the variance of p(z|u)"
        low, high = float(self.variance.min()), float(self.variance.max())
        variance = f"{low:.3g}" if np.isclose(low, high) else f"{low:.3g} to {high:.3g}"
        each = self.floor_nats if np.isfinite(self.floor_nats).all() else np.zeros(1)
        cost = f" at {each.mean():.3g} nats" if each.any() else ""
        if self.minima > 1:
            cost = f" at any of {self.minima} modes, at {self.floor:.3g} nats for all latents"
        return f"variance {variance}{cost}"


def unused_posterior(
    objective: Objective, prior: Prior, *, step: float = math.inf
) -> UnusedPosterior:
    """What a latent that ignores x becomes under the objective as it is at `step`.

    Args:
        objective: an objective.
        prior: a prior.
        step: training step; infinity is the end.

    Returns:
        `UnusedPosterior`: the posterior of a latent that ignores x.

    Example:
        >>> import vaescope as vs
        >>> prior = vs.priors.StandardNormal(2)
        >>> vs.objectives.unused_posterior(vs.objectives.BetaVAE(), prior).variance.tolist()
        [1.0, 1.0]
    """
    return _under(objective.pull(step), prior)


def rate_law(
    objective: Objective, prior: Prior, *, step: float = math.inf
) -> tuple[float | None, str]:
    """The weight in the law of posterior variances (`terms.Pull`), or None and why there is none:
    beside the objective's own reasons, the result holds for Gaussian priors only.

    Args:
        objective: an objective.
        prior: a prior.
        step: training step; infinity is the end.

    Returns:
        The weight of the rate, or None, and why there is none.

    Example:
        >>> import vaescope as vs
        >>> vs.objectives.rate_law(vs.objectives.BetaVAE(), vs.priors.StandardNormal(2))
        (1.0, '')
    """
    pull = objective.pull(step)
    if pull.weight is None:
        return None, pull.no_weight
    if isinstance(prior, ConditionalPrior):
        standard = False
    else:
        try:
            p = prior()
        except UsageError as error:
            return None, error.message
        if not isinstance(p, DiagonalGaussian):
            return None, "the result holds for Gaussian priors only"
        standard = bool((p.log_variance == 0.0).all())
    if pull.spread and not standard:
        return None, "the penalty draws variances to 1, but the prior has other variances"
    return pull.weight, ""


_ELBO = Pull(1.0, 1.0)


def _under(pull: Pull, prior: Prior) -> UnusedPosterior:
    if isinstance(prior, ConditionalPrior):
        return _of_conditional(cast(nn.Linear, prior.log_variance[-1]).out_features, pull)
    with torch.no_grad():
        try:
            p = copy.deepcopy(prior).cpu().double()()
        except UsageError as error:  # one of the user's own that depends on u
            return _none(0, error.message)
        unused = _of_density(p, pull)
        if not unused.minima:
            other = None if pull == _ELBO else _under(_ELBO, prior).variance
            units = p.variance[0].numpy() if other is None else other
            unused = replace(unused, units=units)
        if isinstance(p, SpikeAndSlab | GaussianMixture) and unused.units is not None:
            unused = replace(unused, spread=np.minimum(unused.units / p.variance[0].numpy(), 1.0))
    return unused


def _of_density(p: Reparameterised, pull: Pull) -> UnusedPosterior:
    gaussian = isinstance(p, DiagonalGaussian)
    if pull.factor is None or (pull.only_gaussian and not gaussian):
        return _none(p.mean.shape[-1], pull.no_unused)
    if gaussian:
        return _of_gaussian(p.variance[0].numpy(), pull)
    if isinstance(p, Subspaces) and bool((p.scale == p.scale[0, 0]).all()):
        return _of_subspaces(p, pull)
    tables = _tables(p)
    return _jointly(p, pull) if tables is None else _of_product(tables, pull)


def _of_conditional(latent: int, pull: Pull) -> UnusedPosterior:
    if pull.factor is None:
        return _none(latent, pull.no_unused)
    if pull.spread:
        why = "the penalty draws variances to 1, but those of the prior depend on u"
        return _none(latent, why)
    if pull.deviation:
        return _none(
            latent, "the transitions draw variances to one value, but those of the prior differ"
        )
    floor = np.full(latent, _gaussian_floor(pull.factor))
    return UnusedPosterior(None, 1, floor, float(floor.sum()), None, pull.factor)


def _none(latent: int, why: str) -> UnusedPosterior:
    return UnusedPosterior(None, 0, np.full(latent, math.nan), math.nan, None, why=why)


def _gaussian_floor(ratio: float | Vector) -> float | Vector:
    """KL(N(m, ratio s) || N(m, s))."""
    return 0.5 * (ratio - 1.0 - np.log(ratio))


def _of_gaussian(s: Vector, pull: Pull) -> UnusedPosterior:
    """factor s, or with a penalty the root of factor / v = 1 / s + 4 spread (v - 1), or, with one
    on the standard deviation, of 1 / v = 1 / (factor s) + deviation / sqrt(v)."""
    assert pull.factor is not None
    if pull.deviation:
        assert not pull.spread
        root = np.sqrt(pull.deviation**2 + 4.0 / (pull.factor * s))
        v = (2.0 / (pull.deviation + root)) ** 2
        floor = np.asarray(_gaussian_floor(v / s))
        return UnusedPosterior(v, 1, floor, float(floor.sum()), v)
    a, b = 4.0 * pull.spread, 1.0 / s - 4.0 * pull.spread
    root = np.sqrt(b * b + 4.0 * a * pull.factor)
    # Of the two forms of a quadratic's root the one that loses no digits where a is small.
    v = np.where(b > 0, 2.0 * pull.factor / (b + root), (root - b) / (2.0 * a if a else 1.0))
    floor = np.asarray(_gaussian_floor(v / s))
    return UnusedPosterior(v, 1, floor, float(floor.sum()), v)


_HEAVY = "the prior's tails are too heavy: a wider posterior always costs less"


def _of_subspaces(p: Subspaces, pull: Pull) -> UnusedPosterior:
    """Of groups that are unused as a whole, each N(0, v I); only groups of one have a floor of
    their own."""
    assert pull.factor is not None
    scale = float(p.scale[0, 0])
    ratios = [
        least_ratio(p.df, size, factor=pull.factor, spread=pull.spread, scale=scale)
        for size in p.sizes
    ]
    if np.isnan(ratios).any():
        return _none(sum(p.sizes), _HEAVY)
    floors = [group_floor(p.df, size, v) for size, v in zip(p.sizes, ratios, strict=True)]
    each = [f if size == 1 else math.nan for size, f in zip(p.sizes, floors, strict=True)]
    group = p.groups.numpy()
    variance = scale**2 * np.array(ratios)[group]
    return UnusedPosterior(variance, 1, np.array(each)[group], sum(floors), variance)


# Priors that are products of densities, each symmetric and falling outwards: the best mean is their
# centre (Anderson 1955), so that one number per latent is sought.

#: Places at which a density is tabulated: sinh of these, in units of its scale.
_PLACES = np.linspace(-20.0, 20.0, 8001)
_NOISE = np.linspace(-10.0, 10.0, 4001)
_WEIGHT = np.exp(-0.5 * _NOISE**2) / np.exp(-0.5 * _NOISE**2).sum()
#: Logarithms of the standard deviations that are tried, in units of the scale.
_DEVIATIONS = np.linspace(math.log(1e-5), math.log(1e6), 200)


@dataclass(frozen=True)
class _Table:
    """log p of one latent at `scale` sinh(_PLACES) from its centre, less log p there."""

    scale: float
    log_density: bytes


def _tables(p: Reparameterised) -> list[_Table] | None:
    """One per latent; None unless the prior is a product of symmetric densities that fall."""
    centre = p.mean[:1]
    d = centre.shape[-1]
    generator = torch.Generator().manual_seed(0)
    z = p.at(torch.randn(1001, d, generator=generator, dtype=torch.float64))
    scales = (z - centre).abs().median(0).values
    z = z[:32]
    apart = p.log_prob(centre) + sum(
        p.log_prob(_moved(centre, j, z[:, j])) - p.log_prob(centre) for j in range(d)
    )
    if not torch.allclose(p.log_prob(z), torch.as_tensor(apart), rtol=1e-6, atol=1e-6):
        return None
    # A product that is the same with its latents shifted by one has the same density for each.
    alike = torch.allclose(p.log_prob(z.roll(1, 1)), p.log_prob(z), rtol=1e-9, atol=1e-9)
    tables = []
    for j, scale in enumerate(scales.tolist()[: 1 if alike else d]):
        places = torch.from_numpy(scale * np.sinh(_PLACES)) + centre[0, j]
        log_density = p.log_prob(_moved(centre, j, places)).numpy()
        half = len(_PLACES) // 2
        log_density = log_density - log_density[half]
        right, left = log_density[half:], log_density[half::-1]
        # Rounding of the sum over many latents shows in flat places.
        falls = np.all(np.diff(right) <= 1e-9) and np.isfinite(log_density).all()
        if not (falls and np.allclose(right, left, rtol=1e-6, atol=1e-6)):
            return None
        tables.append(_Table(scale, log_density.tobytes()))
    return tables * d if alike else tables


def _moved(centre: Tensor, latent: int, values: Tensor) -> Tensor:
    z = centre.repeat(len(values), 1)
    z[:, latent] = values
    return z


def _of_product(tables: list[_Table], pull: Pull) -> UnusedPosterior:
    assert pull.factor is not None
    nearest = [_nearest(table, pull.factor, pull.spread) for table in tables]
    if any(one is None for one in nearest):
        return _none(len(tables), _HEAVY)
    variance, floor = np.array(nearest, dtype=np.float64).T
    return UnusedPosterior(variance, 1, floor, float(floor.sum()), variance)


@lru_cache(maxsize=64)
def _nearest(table: _Table, factor: float, spread: float) -> tuple[float, float] | None:
    """The variance that costs least and its KL(N || p), of one latent; None if none does."""
    from scipy import interpolate, optimize  # half a second, and few priors need it

    values = np.frombuffer(table.log_density)
    mass = np.exp(values) @ np.cosh(_PLACES) * table.scale * (_PLACES[1] - _PLACES[0])
    log_density = interpolate.CubicSpline(_PLACES, values - math.log(mass))

    def expected(log_deviation: float) -> float:  # E log p
        return float(_WEIGHT @ log_density(np.arcsinh(np.exp(log_deviation) * _NOISE)))

    def cost(log_deviation: float) -> float:
        penalty = spread * (math.exp(2.0 * log_deviation) * table.scale**2 - 1.0) ** 2
        return -expected(log_deviation) - factor * log_deviation + penalty

    costs = [cost(deviation) for deviation in _DEVIATIONS]
    best = int(np.argmin(costs))
    if best in (0, len(costs) - 1):
        return None
    ends = (_DEVIATIONS[best - 1], _DEVIATIONS[best + 1])
    least = optimize.minimize_scalar(cost, bounds=ends, method="bounded", options={"xatol": 1e-9})
    variance = math.exp(2.0 * least.x) * table.scale**2
    floor = -0.5 * (_LOG_2PI_E + math.log(variance)) - expected(least.x)
    return variance, max(floor, 0.0)


# All other priors: all latents together, from many starts.

#: Draws from a prior whose modes are not known.
_STARTS = 48


def _starts(p: Reparameterised) -> tuple[Tensor, Tensor]:
    """Means and log-variances to begin with: (starts, latent) each."""
    width = torch.where(p.variance.isfinite(), p.variance, 1.0)[:1].log()
    if isinstance(p, GaussianMixture):
        return torch.cat([p.loc, p.mean]), torch.cat([p.log_variance, width])
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(_STARTS, width.shape[-1], generator=generator, dtype=torch.float64)
    mean = torch.cat([p.at(noise), p.mean[:1]])
    return mean, (width - math.log(10.0)).expand_as(mean)


@torch.enable_grad()
def _jointly(p: Reparameterised, pull: Pull) -> UnusedPosterior:
    """The modes of least cost of a prior that is no product, e.g. a mixture."""
    from scipy import optimize

    assert pull.factor is not None
    factor = pull.factor
    d = p.mean.shape[-1]
    nodes, weights = _quadrature(d, seed=0)

    def expected(place: Tensor, nodes: Tensor = nodes, weights: Tensor = weights) -> Tensor:
        mean, log_variance = place.view(2, d)
        return weights @ p.log_prob(mean + (0.5 * log_variance).exp() * nodes)  # E log p

    def cost(place: Vector) -> tuple[float, Vector]:
        at = torch.from_numpy(place).requires_grad_()
        log_variance = at[d:]
        penalty = pull.spread * ((log_variance.exp() - 1.0) ** 2).sum()
        value = penalty - expected(at) - 0.5 * factor * log_variance.sum()
        return value.item(), torch.autograd.grad(value, at)[0].numpy()

    minima = [
        optimize.minimize(cost, torch.cat(start).numpy(), jac=True, method="L-BFGS-B")
        for start in zip(*_starts(p), strict=True)
    ]
    least = min(one.fun for one in minima)
    alike = 1e-3 if d <= 3 else 0.05  # nats, and shares of a variance: what the quadrature can tell
    if not math.isfinite(least):
        return _none(d, "the search for the posterior of least cost did not converge")
    modes: list[Vector] = []
    for one in sorted(minima, key=lambda one: float(one.fun)):
        near = 0.1 * np.exp(0.5 * one.x[d:])
        apart = all(np.any(np.abs(one.x - mode)[:d] > near) for mode in modes)
        if one.fun < least + alike and apart:
            modes.append(one.x)
    variances = np.exp(np.stack(modes)[:, d:])
    variance = variances.mean(axis=0)
    if not np.allclose(variances, variance, rtol=max(alike, 0.01)):
        return _none(d, "modes that cost the same differ in their variances")
    best = torch.from_numpy(modes[0])
    seen = float(expected(best))
    if abs(seen - float(expected(best, *_quadrature(d, seed=1)))) > alike:
        return _none(d, "it cannot be computed accurately for this prior in this many dimensions")
    rate = -seen - 0.5 * (modes[0][d:] + _LOG_2PI_E).sum()
    return UnusedPosterior(variance, len(modes), np.full(d, math.nan), float(rate), variance)


def _quadrature(d: int, seed: int) -> tuple[Tensor, Tensor]:
    """Nodes (n, d) and weights of a standard normal: Gauss and Hermite's, or from four dimensions
    on quasi-random ones. (Few nodes on rays are no way out: the search finds the gaps.)"""
    if d > 3:
        from scipy import special
        from scipy.stats import qmc

        uniform = qmc.Sobol(d, seed=seed).random(2048 if d <= 8 else 512)
        nodes = special.ndtri(np.concatenate([uniform, 1.0 - uniform]))
        nodes /= nodes.std(axis=0)
        return torch.from_numpy(nodes), torch.full((len(nodes),), 1.0 / len(nodes)).double()
    points, weights = np.polynomial.hermite_e.hermegauss(24)
    nodes = np.stack(np.meshgrid(*[points] * d, indexing="ij"), -1).reshape(-1, d)
    shares = np.prod(np.meshgrid(*[weights] * d, indexing="ij"), axis=0).ravel()
    return torch.from_numpy(nodes), torch.from_numpy(shares / shares.sum())
