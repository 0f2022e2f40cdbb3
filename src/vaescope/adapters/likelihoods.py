"""p(x|z) of other people's models, in nats of the images that they are trained on."""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor, distributions

from vaescope.adapters.output_format import UNIT, Decoded, Range, pixels
from vaescope.distributions import (
    Bernoulli,
    Categorical,
    DiagonalGaussian,
    Distribution,
    Laplace,
    sum_event,
)
from vaescope.errors import UsageError

__all__ = ["Counted", "ModelLikelihood", "SoftmaxCounts", "family_of"]


@dataclass(frozen=True, eq=False)
class InUnits(Distribution):
    """A density of images in the model's own range, asked with images in [0, 1]. Nats are those of
    the model's own images, the ones of its loss."""

    inner: Distribution
    units: Range

    @property
    def mean(self) -> Tensor:
        low, high = self.units
        return (self.inner.mean - low) / (high - low)

    def log_prob(self, x: Tensor) -> Tensor:
        low, high = self.units
        return self.inner.log_prob(low + (high - low) * x)


@dataclass(frozen=True, eq=False)
class Foreign(Distribution):
    """A distribution of torch over images of another shape, or with axes of its own."""

    inner: distributions.Distribution
    image: Tensor  # its mean in the shape of the data

    @property
    def mean(self) -> Tensor:
        return self.image

    def each(self, x: Tensor) -> Tensor:
        """The log-density of each value, in the shape of x."""
        base = _base(self.inner)
        if base.event_shape:
            raise UsageError(
                f"The values of a {type(base).__name__} are not independent, so none of them can "
                "be left out.",
                "Leave lengths= and scored= out, or pass a likelihood= whose values are "
                "independent.",
            )
        shape = tuple(base.batch_shape)
        last = x.ndim > 2 and shape == tuple(x.movedim(1, -1).shape) != tuple(x.shape)
        moved = x.movedim(1, -1) if last else x
        found: Tensor = base.log_prob(moved.reshape(shape))
        return found.movedim(-1, 1) if last else found.reshape(x.shape)

    def log_prob(self, x: Tensor) -> Tensor:
        shape = (*self.inner.batch_shape, *self.inner.event_shape)
        moved = x.movedim(1, -1) if tuple(x.movedim(1, -1).shape) == tuple(shape) else x
        try:
            return sum_event(self.inner.log_prob(moved.reshape(shape)))
        except ValueError:  # torch's own check: images of another range lie outside its support
            return torch.full((len(x),), -math.inf, dtype=x.dtype, device=x.device)


@dataclass(frozen=True, eq=False)
class Levels(Distribution):
    """Each pixel takes one of some levels between 0 and 1."""

    logits: Tensor  # (batch, *event, level)
    image: Tensor

    @property
    def mean(self) -> Tensor:
        return self.image

    def log_prob(self, x: Tensor) -> Tensor:
        k = self.logits.shape[-1]
        level = (x * (k - 1)).round().long().clamp(0, k - 1)
        chosen = self.logits.log_softmax(-1).gather(-1, level.unsqueeze(-1))
        return sum_event(chosen.squeeze(-1))


@dataclass(frozen=True, eq=False)
class SoftmaxCounts(Distribution):
    """Counts by a softmax over all values: the log-density of what was counted, one after the
    other. The mean has `total` counts."""

    logits: Tensor
    total: float

    @property
    def mean(self) -> Tensor:
        return self.total * self.logits.flatten(1).softmax(1).reshape(self.logits.shape)

    def log_prob(self, x: Tensor) -> Tensor:
        return (x.flatten(1) * self.logits.flatten(1).log_softmax(1)).sum(1)


@dataclass(frozen=True, eq=False)
class Counted(Distribution):
    """Independent values of which only some are scored: not padding, nor what a mask leaves out."""

    inner: Distribution
    counted: Callable[[Tensor], Tensor]  # of x: true where scored, (batch, ...) as far as it goes

    @property
    def mean(self) -> Tensor:
        return self.inner.mean

    def log_prob(self, x: Tensor) -> Tensor:
        counted = self.counted(x)
        return (self._each(x, counted.ndim) * counted).flatten(1).sum(1)

    def _each(self, x: Tensor, axes: int) -> Tensor:
        """Log-densities along the first axes of x, each step or value as an example of its own."""
        if isinstance(self.inner, Foreign):
            return self.inner.each(x).flatten(axes).sum(-1) if axes < x.ndim else self.inner.each(x)
        whole = self.mean.shape
        flat = {
            entry.name: value.expand(whole).flatten(0, axes - 1)
            for entry in fields(self.inner)  # type: ignore[arg-type]
            if isinstance(value := getattr(self.inner, entry.name), Tensor)
        }
        one = replace(self.inner, **flat)  # type: ignore[type-var]
        return one.log_prob(x.flatten(0, axes - 1)).reshape(x.shape[:axes])


@dataclass(frozen=True, eq=False)
class ModelLikelihood:
    """What a decoder's output means: its mean image, and the density of an image."""

    output: str  # a key of OUTPUTS
    output_range: Range
    units: Range  # of the images that go in
    family: str  # one of LIKELIHOODS; where the model has its own, the nearest of them
    number: float | None = None  # variance of a Gaussian, scale of a Laplace, in those units
    spread: str | None = None  # what a second output is: a function of SPREADS
    own: Callable[[Tensor], Distribution] | None = None  # of our own models

    def of_values(self, y: Tensor) -> Distribution:
        """Of an output in the shape of the data, with images in [0, 1]."""
        if self.own is not None:
            return self.own(y)
        if self.family == "tokens":
            return Categorical(y)
        if self.family == "multinomial":
            logits = y.clamp_min(1e-30).log() if self.output == "probabilities" else y
            return SoftmaxCounts(logits, self.number or 1.0)
        if self.family == "bernoulli" and self.output == "logits":
            return Bernoulli(y)
        mean = pixels(y, self.output, self.output_range)
        if self.family == "bernoulli":
            # float32 has lost the logit nearer to 0 and 1.
            return Bernoulli(torch.logit(mean, eps=1e-6))
        size = self.units[1] - self.units[0]
        if self.family == "laplace":
            scale = torch.tensor(math.log((self.number or 1.0) / size), device=y.device)
            return Laplace(mean, scale.to(y.dtype))
        # Squared error: a Gaussian of variance 1/2.
        variance = torch.tensor(math.log((self.number or 0.5) / size**2), device=y.device)
        return DiagonalGaussian(mean, variance.to(y.dtype))

    def of(self, output: Decoded) -> Distribution:
        """Of all that a decoder gave, in nats of the images that go in."""
        if self._plain:
            return self.of_values(output.values)
        if output.levels is not None:
            return Levels(output.levels, output.values)
        if output.distribution is not None and self.output == "own":
            return self._of_distribution(output.distribution, output.values)
        if output.spread is not None and self.spread is not None:
            variance = _VARIANCES[self.spread](output.spread)
            return self._in_units(DiagonalGaussian(output.values, variance.log()))
        density = self.of_values(output.values)
        if self.units == UNIT or isinstance(density, Bernoulli):
            return density
        low, high = self.units
        if isinstance(density, Laplace):
            return InUnits(
                Laplace(low + (high - low) * density.loc, density.log_scale + math.log(high - low)),
                self.units,
            )
        assert isinstance(density, DiagonalGaussian)
        return InUnits(
            DiagonalGaussian(
                low + (high - low) * density.loc, density.log_variance + 2 * math.log(high - low)
            ),
            self.units,
        )

    @property
    def exact(self) -> bool:
        """Whether its nats can be compared with a rate: it is a Bernoulli, or the model's own."""
        exact = ("bernoulli", "categorical", "tokens", "multinomial")
        return self.family in exact or self.output == "own"

    @property
    def _plain(self) -> bool:
        """Whether `of_values` says it all."""
        return (
            self.own is not None
            or self.family in ("tokens", "multinomial")
            or (
                self.output != "own"
                and self.spread is None
                and (self.units == UNIT or self.family == "bernoulli")
            )
        )

    def _of_distribution(self, inner: Any, values: Tensor) -> Distribution:
        base = _base(inner)
        if isinstance(base, distributions.Bernoulli):  # grey pixels are allowed, unlike there
            return Bernoulli(base.logits.reshape(values.shape))
        return self._in_units(Foreign(inner, values))

    def _in_units(self, density: Distribution) -> Distribution:
        return density if self.output_range == UNIT else InUnits(density, self.output_range)


_VARIANCES: dict[str, Callable[[Tensor], Tensor]] = {
    "logvar": torch.exp,
    "std": torch.square,
    "variance": lambda s: s,
    "logstd": lambda s: (2.0 * s).exp(),
}


def _base(inner: Any) -> Any:
    while isinstance(inner, distributions.Independent):
        inner = inner.base_dist
    return inner


def family_of(inner: distributions.Distribution) -> tuple[str, float | None, str]:
    """The family to which a distribution of torch comes nearest for Jacobians: its name, its
    number where one holds for all of x and z, and what it is in words."""
    base = _base(inner)
    name = type(base).__name__
    if isinstance(base, distributions.Bernoulli):
        return "bernoulli", None, "a Bernoulli"
    scale = getattr(base, "scale", None)
    if isinstance(scale, Tensor) and scale.numel() and float(scale.max()) == float(scale.min()):
        number = float(scale.max())
        if isinstance(base, distributions.Normal):
            return "gaussian", number**2, f"a Normal of scale {number:.3g}"
        if isinstance(base, distributions.Laplace):
            return "laplace", number, f"a Laplace of scale {number:.3g}"
    if isinstance(base, distributions.ContinuousBernoulli):
        return "bernoulli", None, "a ContinuousBernoulli"
    return "squared-error", None, f"a {name}"
