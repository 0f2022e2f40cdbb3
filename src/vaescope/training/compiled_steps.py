"""Steps of stacked models in C, for the models that most sweeps of small ones are made of.

Fully connected, a diagonal Gaussian posterior under N(0, I), a Bernoulli likelihood or a Gaussian
one of fixed variance, beta-VAE, beta-TCVAE, DIP-VAE, annealed VAE, FactorVAE or SlowVAE, or an
autoencoder, Adam. Everything else trains by torch in `many`.
"""

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vaescope.aggregate_posterior import weighted
from vaescope.native import library
from vaescope.nets.likelihoods import (
    BernoulliLikelihood,
    GaussianLikelihood,
    SquaredErrorLikelihood,
)
from vaescope.nets.posteriors import DiagonalPosterior, PointPosterior
from vaescope.objectives import (
    DIPI,
    DIPII,
    Autoencoder,
    BetaTCVAE,
    BetaVAE,
    CapacityVAE,
    FactorVAE,
    Objective,
    SlowVAE,
)
from vaescope.optimiser_specs import AdamSpec
from vaescope.priors import StandardNormal
from vaescope.schedules import Constant, Schedule
from vaescope.vae import VAE

__all__ = ["Critics", "Layers", "Moments", "Steps", "layers_of", "steps_of"]

#: Of the gradient, of its square, and the largest of the latter so far, which AMSGrad divides by.
Moments = tuple[Tensor, Tensor, Tensor]

_KINDS = {"none": 0, "tanh": 1, "relu": 2, "leaky": 3}  # of stack.c
_LEAK = 0.2  # of stack.c
_LANES = 16


@dataclass(frozen=True)
class Layers:
    """Widths from input to output, and the activation between them."""

    widths: tuple[int, ...]
    activation: str


def layers_of(modules: Sequence[nn.Module], tanh: type[nn.Module]) -> Layers | None:
    """Linear layers with one kind of activation between them, or None for anything else. `tanh` is
    what tanh was replaced by."""
    kinds = {tanh: "tanh", nn.Tanh: "tanh", nn.ReLU: "relu"}
    inner = [m for m in modules if type(m) not in (nn.Flatten, nn.Unflatten)]
    linear = [m for m in inner[::2] if type(m) is nn.Linear and m.bias is not None]
    used = {
        "leaky" if type(m) is nn.LeakyReLU and m.negative_slope == _LEAK else kinds.get(type(m), "")
        for m in inner[1::2]
    }
    if len(inner) != 2 * len(linear) - 1 or "" in used or len(used) > 1:
        return None
    widths = (linear[0].in_features, *(m.out_features for m in linear))
    return Layers(widths, used.pop() if used else "none")


class _Plan(ctypes.Structure):
    """`plan` of stack.c."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in (
            "steps", "models", "latent", "data", "encoder_layers", "decoder_layers",
            "critic_layers")),
        *((name, ctypes.c_void_p) for name in (
            "encoder_widths", "decoder_widths", "critic_widths")),
        *((name, ctypes.c_int64) for name in (
            "encoder_kind", "decoder_kind", "amsgrad", "bernoulli", "objective", "point")),
        *((name, ctypes.c_float) for name in (
            "first_decay", "second_decay", "epsilon", "precision", "constant",
            "critic_first_decay", "critic_second_decay", "critic_epsilon")),
        *((name, ctypes.c_void_p) for name in (
            "flat", "first", "second", "largest", "x", "index", "noise", "beta", "size", "one",
            "two", "root", "loss", "distortion", "rate", "more", "variance", "variance_squared",
            "mean", "mean_squared", "critic", "critic_first", "critic_second", "order",
            "critic_size", "critic_root")),
    )  # fmt: skip


@dataclass(frozen=True)
class Strengths:
    """What an objective adds to distortion and rate: its number in stack.c, schedules of tensors
    (K,), and the parts that it records."""

    kind: int
    beta: Schedule  # of the rate; of its distance from the capacity
    one: Schedule
    two: Schedule
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Difference:
    """One schedule less another."""

    of: Schedule
    less: Schedule

    def __call__(self, step: Tensor) -> Tensor:
        return self.of(step) - self.less(step)


def strengths_of(objective: Objective) -> Strengths | None:
    """The strengths of an objective that is written in C, or None."""
    one, nothing = Constant(1.0), Constant(0.0)
    match objective:
        case Autoencoder():
            return Strengths(0, nothing, nothing, nothing)
        case BetaVAE(beta):
            return Strengths(0, beta, nothing, nothing)
        case CapacityVAE(capacity, gamma):
            return Strengths(1, gamma, capacity, nothing)
        case DIPI(off, diagonal):
            return Strengths(2, one, off, diagonal, ("off_diagonal", "diagonal"))
        case DIPII(off, diagonal, rate):
            return Strengths(3, rate, off, diagonal, ("off_diagonal", "diagonal"))
        case BetaTCVAE(beta, estimator, rate) if estimator is weighted:
            names = ("index_code_information", "total_correlation", "dimension_wise_kl")
            return Strengths(4, rate, _Difference(beta, rate), nothing, names)
        case FactorVAE(_, gamma, rate):
            return Strengths(5, rate, gamma, nothing, ("total_correlation", "critic"))
        case SlowVAE(beta, gamma, rate, form):
            kind = {"released": 6, "consistent": 7}[form]
            return Strengths(kind, beta, gamma, rate, ("transition",))
        case _:
            return None


@dataclass(frozen=True)
class Critics:
    """The critics of stacked FactorVAEs and their moments, (K, parameters), changed in place."""

    flat: Tensor
    first: Tensor
    second: Tensor
    rate: Schedule  # of tensors (K,)
    adam: AdamSpec


@dataclass(frozen=True)
class Steps:
    """Advances stacked models as `_Stack.advance` of `many` does."""

    compiled: ctypes.CDLL
    encoder: Layers
    decoder: Layers
    latent: int
    precision: float | None  # 1 / variance of x; None for a Bernoulli
    objective: Strengths
    point: bool  # whether codes have no noise, and no rate
    rate: Schedule  # of tensors (K,)
    adam: AdamSpec
    critic: Layers | None = None
    critics: Critics | None = None

    def __call__(
        self,
        flat: Tensor,
        moments: Moments,
        x: Tensor,
        noise: Tensor,
        step: Tensor,
        index: Tensor | None = None,
    ) -> tuple[Tensor, Moments, dict[str, Tensor]]:
        """As many steps as noise has; flat and moments are changed in place. x is (steps, K, batch,
        ...), or with `index`, (steps, K, batch), all rows; of pairs the second images follow."""
        count, models, data = noise.shape[0], noise.shape[1], self.decoder.widths[-1]
        if index is None:
            index = torch.arange(count * models * x.shape[2])
        now = (step + torch.arange(count)).unsqueeze(1)

        def each(values: Tensor) -> Tensor:
            return values.expand(count, models).contiguous()

        def sizes(rate: Schedule, adam: AdamSpec) -> tuple[Tensor, Tensor]:
            """Of a step, and what second moments are multiplied with."""
            b1, b2 = adam.betas
            root = (1.0 / (1.0 - b2 ** (now + 1.0))).contiguous()
            return each(rate(now) / (1.0 - b1 ** (now + 1.0))), root

        own = self.objective
        size, root = sizes(self.rate, self.adam)
        seen = {name: torch.empty(count, models) for name in ("loss", "distortion", "rate")}
        more = torch.empty(3, count, models)
        seen |= {
            name: torch.empty(count, models, self.latent)
            for name in ("variance", "variance_squared", "mean", "mean_squared")
        }
        widths = [np.array(net.widths, dtype=np.int64) for net in (self.encoder, self.decoder)]
        second: dict[str, Tensor] = {}
        judge: dict[str, Any] = {}
        if self.critic is not None and self.critics is not None:
            critics, across = self.critics, np.array(self.critic.widths, dtype=np.int64)
            # Codes are permuted by the ranks of the second noise, as in `objectives.factor`.
            order = noise[:, :, 1].argsort(2).contiguous()
            noise = noise[:, :, 0].contiguous()
            second = {
                "critic": critics.flat, "critic_first": critics.first,
                "critic_second": critics.second,
            }  # fmt: skip
            second["critic_size"], second["critic_root"] = sizes(critics.rate, critics.adam)
            judge = {
                "critic_layers": len(across) - 1, "critic_widths": across.ctypes.data,
                "critic_first_decay": critics.adam.betas[0], "order": order.data_ptr(),
                "critic_second_decay": critics.adam.betas[1], "critic_epsilon": critics.adam.eps,
            }  # fmt: skip
        arrays = {
            "flat": flat, "first": moments[0], "second": moments[1], "largest": moments[2], "x": x,
            "noise": noise, "beta": each(own.beta(now)), "one": each(own.one(now)),
            "two": each(own.two(now)), "size": size, "root": root, "more": more, **seen,
            **second,
        }  # fmt: skip
        for array in arrays.values():
            assert array.is_contiguous() and array.dtype == torch.float32
        assert index.is_contiguous() and index.dtype == torch.int64
        precision = self.precision or 1.0
        plan = _Plan(
            steps=count, models=models, latent=self.latent, data=data,
            encoder_layers=len(widths[0]) - 1, decoder_layers=len(widths[1]) - 1,
            encoder_widths=widths[0].ctypes.data, decoder_widths=widths[1].ctypes.data,
            encoder_kind=_KINDS[self.encoder.activation],
            decoder_kind=_KINDS[self.decoder.activation], amsgrad=int(self.adam.amsgrad),
            bernoulli=int(self.precision is None), objective=own.kind, point=int(self.point),
            first_decay=self.adam.betas[0], second_decay=self.adam.betas[1],
            epsilon=self.adam.eps, precision=precision,
            constant=0.5 * data * (math.log(2.0 * math.pi) - math.log(precision)),
            index=index.data_ptr(), **{name: array.data_ptr() for name, array in arrays.items()},
            **judge,
        )  # fmt: skip
        if not self.compiled.advance(ctypes.byref(plan)):
            raise MemoryError("steps of stacked models")
        parts = {f"part.{name}": seen.pop(name) for name in ("distortion", "rate")}
        if self.point:
            del parts["part.rate"]
        parts |= {f"part.{name}": value for name, value in zip(own.parts, more, strict=False)}
        if own.kind == 1:
            parts["part.capacity"] = arrays["one"]
        return flat, moments, seen | parts


def _precision(likelihood: nn.Module) -> float | None:
    """1 / variance, of a Gaussian that is not learnt."""
    if type(likelihood) is SquaredErrorLikelihood:
        return 2.0
    if type(likelihood) is GaussianLikelihood and not list(likelihood.parameters()):
        return math.exp(-2.0 * float(likelihood.log_scale))
    return None


def steps_of(
    vae: VAE,
    objective: Objective,
    rate: Schedule,
    adam: AdamSpec,
    batch: int,
    *,
    tanh: type[nn.Module],
    critics: Critics | None = None,
) -> Steps | None:
    """The steps of models like `vae` in C, or None where they are others or nothing can be
    compiled. `objective` and `rate` hold one number per model. Those of FactorVAEs can be called if
    `critics` are given."""
    bodies = (vae.encoder.body, vae.decoder.body)
    point = type(objective) is Autoencoder
    images = 2 * batch if objective.needs_pairs else batch
    if (
        strengths_of(objective) is None or images % _LANES or type(vae.prior) is not StandardNormal
        or type(vae.encoder.posterior) is not (PointPosterior if point else DiagonalPosterior)
        or any(type(body) not in (nn.Sequential, nn.Flatten) for body in bodies)
    ):  # fmt: skip
        return None
    head = vae.encoder.posterior.head
    down = list(bodies[0].children()) if type(bodies[0]) is nn.Sequential else []
    encoder = layers_of([*down, head], tanh)
    decoder = layers_of(list(bodies[1].children()), tanh)
    precision = _precision(vae.decoder.likelihood)
    known = precision is not None or type(vae.decoder.likelihood) is BernoulliLikelihood
    strengths = strengths_of(objective)
    if encoder is None or decoder is None or strengths is None or not known:
        return None
    critic = None
    if isinstance(objective, FactorVAE):
        parts = list(objective.critic.children())
        critic = layers_of(parts, tanh) if type(objective.critic) is nn.Sequential else None
        if critic is None:
            return None
    count = sum(parameter.numel() for parameter in vae.parameters())
    if count != sum(_size(own) for own in (encoder, decoder)):
        return None
    compiled = library("stack", BATCH=images)
    if compiled is None:
        return None
    latent = decoder.widths[0]
    return Steps(
        compiled, encoder, decoder, latent, precision, strengths, point, rate, adam, critic, critics
    )


def _size(layers: Layers) -> int:
    pairs = zip(layers.widths, layers.widths[1:], strict=False)
    return sum((fan_in + 1) * fan_out for fan_in, fan_out in pairs)
