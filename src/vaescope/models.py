"""A model that is open: encoder, decoder and prior as functions, its data, and its codes.

`vaescope.opening` makes it of whatever is a VAE; everything is measured of it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

import numpy as np
import torch
from torch import Tensor, nn

from vaescope.build import build_objective
from vaescope.codes import Codes, central, cholesky, sample_noise
from vaescope.data import Dataset
from vaescope.data.auxiliary import Auxiliary
from vaescope.distributions import (
    DiagonalGaussian,
    Distribution,
    FullGaussian,
    Point,
    Reparameterised,
    rate,
)
from vaescope.encoding import Maps, encode_rows
from vaescope.nets.fast_deconvolution import quick_decoder
from vaescope.objectives import Objective
from vaescope.objectives.unused import UnusedPosterior, unused_posterior
from vaescope.specs import Experiment
from vaescope.types import Floats, Integers, Vector
from vaescope.vae import VAE, Prior, as_input

__all__ = ["Inference", "OpenModel", "device_of", "evaluating"]


#: Forms of a posterior in words.
_LAYOUTS = {
    "pair": "two tensors",
    "reversed": "the spread first",
    "halves": "halves of one tensor",
    "interleaved": "alternating values of one tensor",
    "named": "named fields",
}
_SPREADS = {
    "logvar": "log variance",
    "logstd": "log standard deviation",
    "std": "standard deviation",
    "variance": "variance",
    "precision": "precision",
    "logprecision": "log precision",
}


@final
@dataclass(frozen=True)
class Inference:
    """One thing about a model that was inferred, or stated by the user or by the model."""

    what: str  # the argument that says it, e.g. "posterior"
    read: str  # e.g. "interleaved,logvar"
    why: str
    told: bool = False  # by the user, or by the model itself
    margin: float | None = None  # nats per image by which the next best reading is worse

    @property
    def value(self) -> str:
        """As the interface calls it."""
        return self.read

    @property
    def short(self) -> str:
        """E.g. `posterior pair,logvar (mean and log variance, as two tensors)`."""
        if self.why.startswith("assumed"):
            return f"{self.what} {self.read} (assumed)"
        layout, _, spread = self.read.partition(",")
        if self.what != "posterior" or spread not in _SPREADS:
            return f"{self.what} {self.read}"
        place = f", as {_LAYOUTS[layout]}" if layout in _LAYOUTS else ""
        return f"{self.what} {self.read} (mean and {_SPREADS[spread]}{place})"

    def __str__(self) -> str:
        end = "" if self.told else f" To change it, pass {self.what}=."
        return f"{self.what} is {self.read}: {self.why}.{end}"


@final
@dataclass(frozen=True, eq=False)
class OpenModel:
    """A model, its data, and what is computed from both. Its functions take data as vaescope stores
    them, images in [0, 1]; `places` are numbers of rows of `codes`, which are rows `rows[places]`
    of the data.

    Example:
        >>> import vaescope as vs
        >>> x = vs.known.signals()
        >>> model = vs.known.linear_vae(x)
        >>> opened = vs.open_model(model, x)
        >>> opened.codes.d, opened.prior_assumed
        (6, True)
    """

    name: str
    says: str  # description in one sentence
    data: Dataset
    rows: Integers
    encode: Callable[..., Reparameterised]  # x, or x and u -> q(z|x)
    #: Latents -> p(x|z), or a tensor whose meaning `likelihood` says. A module where possible.
    decoder: Callable[[Tensor], Any]
    prior: Prior
    prior_assumed: bool = False  # whether N(0, I) was assumed, for lack of a stated prior
    likelihood: Callable[[Tensor], Distribution] | None = None
    #: z, u -> p(x|z, u), if a tensor and its meaning do not determine it.
    density: Callable[[Tensor, Tensor | None], Distribution] | None = None
    module: nn.Module | None = None  # all weights; None for plain functions
    auxiliary: Auxiliary | None = None  # rows of the data -> u
    encoder_sees_u: bool = True  # whether the encoder takes u, if there is one
    untrained: Callable[[int], Callable[[Tensor], Any]] | None = None  # seed -> a fresh decoder
    spec: Experiment | None = None  # settings of a model that vaescope trained
    records: Sequence[dict[str, Any]] = ()  # records of that training
    environment: dict[str, Any] = field(default_factory=dict)
    inferred: tuple[Inference, ...] = ()  # what was inferred about somebody else's model
    notes: tuple[str, ...] = ()
    scaling: float | None = None  # factor by which latent-diffusion pipelines multiply latents
    shift: float | None = None  # value that they subtract from latents first
    channels: tuple[Floats, Floats] | None = None  # mean and std of each channel that they use
    undecoded: str = ""  # why decoding is impossible; empty if it is possible
    given: tuple[Codes, Maps | None] | None = None  # codes of data that cannot be taken by rows

    def __repr__(self) -> str:
        read = "; ".join(f"{one.what} {one.read}" for one in self.inferred)
        read = f", interpreted as {read}" if read else ""
        return f"OpenModel({self.name} on {len(self.rows):,} rows of {self.data.name}{read})"

    @property
    def device(self) -> torch.device:
        return device_of(self.module)

    @property
    def vae(self) -> VAE:
        """The networks of a model that vaescope trained."""
        assert isinstance(self.module, VAE)
        return self.module

    @property
    def experiment(self) -> Experiment:
        """The settings of a model that vaescope trained."""
        assert self.spec is not None
        return self.spec

    @contextmanager
    def evaluating(self, *, gradients: bool = False) -> Iterator[None]:
        """Without dropout, and with batch norm's running statistics; every part is then put back
        into the mode in which it came. Without gradients, unless they are asked for."""
        with evaluating(self.module, gradients=gradients):
            yield

    def x(self, rows: Integers) -> Tensor:
        """Rows of the data as the encoder takes them: strangers get what they are used to."""
        values = self.data.rows(rows)
        if self.spec is not None:
            return as_input(values, self.device)
        return torch.from_numpy(np.ascontiguousarray(values)).to(self.device, torch.float32)

    def u(self, rows: Integers) -> Tensor | None:
        if self.auxiliary is None:
            return None
        return torch.from_numpy(self.auxiliary(rows)).to(self.device)

    def decode(self, z: Tensor, u: Tensor | None = None) -> Distribution:
        """p(x|z) of latents as `encode` gives them."""
        if self.density is not None:
            return self.density(z, u)
        return self._decoded(self.decoder, z)

    def decode_quickly(self, z: Tensor, u: Tensor | None = None) -> Distribution:
        """`decode` to rounding, in two thirds of the time for convolutions; no gradients."""
        if self.density is not None:
            return self.density(z, u)
        return self._decoded(quick_decoder(self.decoder), z)

    def _decoded(self, decoder: Callable[[Tensor], Any], z: Tensor) -> Distribution:
        output = decoder(z)
        found: Distribution = output if self.likelihood is None else self.likelihood(output)
        return found

    @cached_property
    def _encoded(self) -> tuple[Codes, Maps | None]:
        return encode_rows(self, self.rows) if self.given is None else self.given

    @property
    def codes(self) -> Codes:
        """Codes of the rows, made once."""
        return self._encoded[0]

    @property
    def maps(self) -> Maps | None:
        """Statistics of latents that are maps, by channel."""
        return self._encoded[1]

    @cached_property
    def objective(self) -> Objective | None:
        """What it was trained with, where that is known."""
        return None if self.spec is None else build_objective(self.spec)

    @cached_property
    def unused(self) -> UnusedPosterior | None:
        """What a latent that ignores x becomes; None where the objective is not known."""
        if self.objective is None:
            return None
        return unused_posterior(self.objective, self.prior, step=self.experiment.steps)

    @cached_property
    def decoder_of_codes(self) -> Callable[[Tensor], Any]:
        """The decoder as a function of codes. Codes of maps are spatial means: they move whole
        channels of the maps of a typical example."""
        if self.maps is None:
            return self.decoder
        typical = torch.from_numpy(self.latents(np.array([central(self.codes.mean)])))
        base = typical.to(self.device)
        centre = base.mean(tuple(range(2, base.ndim)))

        def decoder(z: Tensor) -> Any:
            moved = (z - centre).reshape(*z.shape, *(1,) * (base.ndim - 2))
            return self.decoder(base + moved)

        return decoder

    def decode_codes(self, z: Tensor) -> Distribution:
        """p(x|z) of codes, which of maps are their spatial means."""
        return self._decoded(self.decoder_of_codes, z)

    def latents(self, places: Integers) -> Floats:
        """Posterior means as `decode` takes them."""
        if self.maps is None:
            return np.asarray(self.codes.mean[places])
        with self.evaluating():
            rows = self.rows[places]
            return np.asarray(self.encode(self.x(rows), self.u(rows)).mean.float().cpu().numpy())

    def posterior(self, places: Integers) -> Reparameterised:
        """q(z|x) of some rows, from their codes."""
        codes = self.codes
        mean = torch.from_numpy(codes.mean[places]).float().to(self.device)
        if codes.covariance is not None:
            factor = torch.from_numpy(cholesky(codes.covariance[places])).float()
            return FullGaussian(mean, factor.to(self.device))
        if not codes.stochastic:
            return Point(mean)
        variance = torch.from_numpy(codes.variance[places]).float().to(self.device)
        return DiagonalGaussian(mean, variance.log())

    def noise(self, places: Integers) -> Floats:
        """The noise of which the samples in the codes are made: (places, latent)."""
        return sample_noise(self.codes.mean.shape, seed=0)[places].astype(np.float32)

    def distortion(self, places: Integers, noise: Floats, *, batch: int = 256) -> Vector:
        """-log p(x|z) of some rows at z = q.at(noise), nats."""
        parts = []
        with self.evaluating():
            for some, _, z in self._samples(places, noise, batch):
                rows = self.rows[some]
                parts.append(-self.decode_quickly(z, self.u(rows)).log_prob(self.x(rows)))
        return _joined(parts)

    def rate(self, places: Integers, noise: Floats, *, batch: int = 4096) -> Vector:
        """KL(q(z|x) || p(z)) of some rows, nats: in closed form where there is one, else
        log q(z|x) - log p(z) at z = q.at(noise)."""
        parts = []
        with self.evaluating():
            for some, q, z in self._samples(places, noise, batch):
                parts.append(rate(q, self.prior(self.u(self.rows[some])), z))
        return _joined(parts)

    def elbo(self, places: Integers, noise: Floats) -> Vector:
        """log p(x|z) - KL of some rows at z = q.at(noise), nats."""
        return -self.distortion(places, noise) - self.rate(places, noise)

    def _samples(
        self, places: Integers, noise: Floats, batch: int
    ) -> Iterator[tuple[Integers, Reparameterised, Tensor]]:
        for start in range(0, len(places), batch):
            some = places[start : start + batch]
            q = self.posterior(some)
            eps = torch.from_numpy(noise[start : start + batch]).float().to(self.device)
            yield some, q, q.at(eps)


def _joined(parts: Sequence[Tensor]) -> Vector:
    return torch.cat(list(parts)).double().cpu().numpy()


def device_of(module: nn.Module | None) -> torch.device:
    """Where a module's weights are; the CPU for what has none."""
    parameters = iter(()) if module is None else module.parameters()
    return next((p.device for p in parameters), torch.device("cpu"))


@contextmanager
def evaluating(module: nn.Module | None, *, gradients: bool = False) -> Iterator[None]:
    """A module in evaluation mode, each of its parts put back afterwards."""
    modes = {} if module is None else {part: part.training for part in module.modules()}
    if module is not None:
        module.eval()
    try:
        with torch.set_grad_enabled(gradients):
            yield
    finally:
        for part, mode in modes.items():
            part.training = mode
