"""Steps of stacked models in C, for the models that most sweeps of small ones are made of.

Fully connected, a diagonal Gaussian posterior under N(0, I), a Gaussian likelihood of fixed
variance, beta-VAE, Adam. Everything else trains by torch in `many`.
"""

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from vaescope.native import library
from vaescope.nets.likelihoods import GaussianLikelihood, SquaredErrorLikelihood
from vaescope.nets.posteriors import DiagonalPosterior
from vaescope.objectives import BetaVAE, Objective
from vaescope.optimiser_specs import AdamSpec
from vaescope.priors import StandardNormal
from vaescope.schedules import Schedule
from vaescope.vae import VAE

__all__ = ["Layers", "Moments", "Steps", "layers_of", "steps_of"]

#: Of the gradient, of its square, and the largest of the latter so far, which AMSGrad divides by.
Moments = tuple[Tensor, Tensor, Tensor]

_KINDS = {"none": 0, "tanh": 1, "relu": 2}  # of stack.c
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
    used = {kinds.get(type(m), "") for m in inner[1::2]}
    if len(inner) != 2 * len(linear) - 1 or "" in used or len(used) > 1:
        return None
    widths = (linear[0].in_features, *(m.out_features for m in linear))
    return Layers(widths, used.pop() if used else "none")


class _Plan(ctypes.Structure):
    """`plan` of stack.c."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in (
            "steps", "models", "latent", "data", "encoder_layers", "decoder_layers")),
        *((name, ctypes.c_void_p) for name in ("encoder_widths", "decoder_widths")),
        *((name, ctypes.c_int64) for name in ("encoder_kind", "decoder_kind", "amsgrad")),
        *((name, ctypes.c_float) for name in (
            "first_decay", "second_decay", "epsilon", "precision", "constant")),
        *((name, ctypes.c_void_p) for name in (
            "flat", "first", "second", "largest", "x", "noise", "beta", "size", "root", "loss",
            "distortion", "rate", "variance", "variance_squared", "mean", "mean_squared")),
    )  # fmt: skip


@dataclass(frozen=True)
class Steps:
    """Advances stacked models as `_Stack.advance` of `many` does."""

    compiled: ctypes.CDLL
    encoder: Layers
    decoder: Layers
    latent: int
    precision: float  # 1 / variance of x
    beta: Schedule  # of tensors (K,)
    rate: Schedule  # the same
    adam: AdamSpec

    def __call__(
        self, flat: Tensor, moments: Moments, x: Tensor, noise: Tensor, step: Tensor
    ) -> tuple[Tensor, Moments, dict[str, Tensor]]:
        """As many steps as x and noise have; flat and moments are changed in place."""
        count, models, data = x.shape[0], x.shape[1], self.decoder.widths[-1]
        now = (step + torch.arange(count)).unsqueeze(1)
        b1, b2 = self.adam.betas
        beta = self.beta(now).expand(count, models).contiguous()
        size = (self.rate(now) / (1.0 - b1 ** (now + 1.0))).expand(count, models).contiguous()
        root = (1.0 / (1.0 - b2 ** (now + 1.0))).contiguous()
        seen = {name: torch.empty(count, models) for name in ("loss", "distortion", "rate")}
        seen |= {
            name: torch.empty(count, models, self.latent)
            for name in ("variance", "variance_squared", "mean", "mean_squared")
        }
        widths = [np.array(own.widths, dtype=np.int64) for own in (self.encoder, self.decoder)]
        arrays = {
            "flat": flat, "first": moments[0], "second": moments[1], "largest": moments[2], "x": x,
            "noise": noise, "beta": beta, "size": size, "root": root, **seen,
        }  # fmt: skip
        for own in arrays.values():
            assert own.is_contiguous() and own.dtype == torch.float32
        plan = _Plan(
            steps=count, models=models, latent=self.latent, data=data,
            encoder_layers=len(widths[0]) - 1, decoder_layers=len(widths[1]) - 1,
            encoder_widths=widths[0].ctypes.data, decoder_widths=widths[1].ctypes.data,
            encoder_kind=_KINDS[self.encoder.activation],
            decoder_kind=_KINDS[self.decoder.activation], amsgrad=int(self.adam.amsgrad),
            first_decay=b1, second_decay=b2, epsilon=self.adam.eps, precision=self.precision,
            constant=0.5 * data * (math.log(2.0 * math.pi) - math.log(self.precision)),
            **{name: own.data_ptr() for name, own in arrays.items()},
        )  # fmt: skip
        if not self.compiled.advance(ctypes.byref(plan)):
            raise MemoryError("steps of stacked models")
        parts = {f"part.{name}": seen.pop(name) for name in ("distortion", "rate")}
        return flat, moments, seen | parts


def _precision(likelihood: nn.Module) -> float | None:
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
) -> Steps | None:
    """The steps of models like `vae` in C, or None where they are others or nothing can be
    compiled. `objective` and `rate` hold one number per model."""
    bodies = (vae.encoder.body, vae.decoder.body)
    if (
        type(objective) is not BetaVAE or batch % _LANES or type(vae.prior) is not StandardNormal
        or type(vae.encoder.posterior) is not DiagonalPosterior
        or any(type(body) not in (nn.Sequential, nn.Flatten) for body in bodies)
    ):  # fmt: skip
        return None
    head = vae.encoder.posterior.head
    down = list(bodies[0].children()) if type(bodies[0]) is nn.Sequential else []
    encoder = layers_of([*down, head], tanh)
    decoder = layers_of(list(bodies[1].children()), tanh)
    precision = _precision(vae.decoder.likelihood)
    if encoder is None or decoder is None or precision is None:
        return None
    count = sum(parameter.numel() for parameter in vae.parameters())
    if count != sum(_size(own) for own in (encoder, decoder)):
        return None
    compiled = library("stack", BATCH=batch)
    if compiled is None:
        return None
    latent = decoder.widths[0]
    return Steps(compiled, encoder, decoder, latent, precision, objective.beta, rate, adam)


def _size(layers: Layers) -> int:
    pairs = zip(layers.widths, layers.widths[1:], strict=False)
    return sum((fan_in + 1) * fan_out for fan_in, fan_out in pairs)
