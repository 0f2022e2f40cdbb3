"""Other people's models as vaescope dissects them: any module, pair of functions, pythae,
diffusers, scikit-learn. What is not told is inferred, said, and can be overridden."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vaescope.adapters.asked import Asked
from vaescope.adapters.batch_inference import with_batches_that_work
from vaescope.adapters.condition import Condition
from vaescope.adapters.idle_parameters import idle_parameters, of_likelihood, of_prior
from vaescope.adapters.inference import choose, rate_shown
from vaescope.adapters.input_format import images_of
from vaescope.adapters.noise import preserved
from vaescope.adapters.output_format import UNIT, Decoded, Range, decoded
from vaescope.adapters.posterior_format import LAYOUTS, Posterior, posterior_of
from vaescope.adapters.prior_inference import prior_of
from vaescope.adapters.reading import Reading
from vaescope.adapters.sources import Source, source_of
from vaescope.data import Dataset
from vaescope.distributions import (
    DiagonalGaussian,
    Distribution,
    FullGaussian,
    Point,
    Reparameterised,
)
from vaescope.errors import ReadingError, UsageError
from vaescope.models import Inference, OpenModel, device_of, evaluating
from vaescope.priors import StandardNormal
from vaescope.types import Integers

__all__ = ["Asked", "Posterior", "adapt"]

#: Images that readings are tried on, and the most pixels that these may have together.
PROBES = 256
PROBE_PIXELS = 2**22
#: Of these, those on which each parameter is tried.
FEW = 4


def adapt(
    model: Any,
    data: Dataset,
    rows: Integers | None = None,
    *,
    encode: Callable[..., Any] | None = None,
    decode: Callable[..., Any] | None = None,
    asked: Asked = Asked(),  # noqa: B008 - frozen
    name: str | None = None,
) -> OpenModel:
    """Opens somebody else's model by trying it on some rows of the data.

    `rows` are those of the codes, None: all; `asked.condition` has a row for each of the data.
    Raises UsageError where no reading works, or where two work about equally well.
    """
    rows = np.arange(len(data)) if rows is None else rows
    if len(rows) < 2:
        raise UsageError("To read a model takes at least two examples.", "Pass images.")
    source = source_of(model, encode, decode)
    parts = [] if source.module is None else source.module.modules()
    # Of the parts only: a list of modules is in training mode whatever they are in.
    was_training = any(part.training for part in parts if not list(part.children()))
    few = rows[np.linspace(0, len(rows) - 1, min(PROBES, len(rows))).astype(np.int64)]
    few = few[: max(2, PROBE_PIXELS // math.prod(data.shape))]
    x = torch.from_numpy(data.rows(few)).float().contiguous().to(device_of(source.module))
    condition = None if asked.condition is None else Condition.of(asked.condition, len(data))
    u = None if condition is None else torch.from_numpy(condition(few)).to(x.device)
    event = tuple(x.shape[1:])
    with evaluating(source.module), preserved(source.module):
        source = with_batches_that_work(source, x, u)
        if source.batch is not None:  # as many as it takes, some of them again
            again = torch.arange(max(len(x), source.batch), device=x.device) % len(x)
            x, u = x[again], None if u is None else u[again]
        reading, tried, given = _chosen(source, x, u, asked, data.value_range)
        first = _posterior(
            reading, reading.way(x[:2], given.like(x[:2], None if u is None else u[:2]))
        )
        latent = int(first.mean.shape[1])
        prior, why = None, None
        if first.mean.ndim == 2:
            idle = idle_parameters(source.module, lambda: _outputs(reading, x, given, u))
            own = () if reading.likelihood.family == "categorical" else of_likelihood(idle, event)
            if own and asked.likelihood is None and reading.likelihood.output != "own":
                raise _scaled(source.name, own[0])
            rate = None
            if asked.prior is None:
                taken = reading.opening.parts(x, given.like(x, u), reading.value_range)
                rate = rate_shown(source, reading, x, given.like(x, u), taken)
            prior, why = prior_of(
                source.model, asked.prior, latent, event, lambda own: _read(reading, own), rate,
                of_prior(idle, latent),
            )  # fmt: skip
    inferred = _inferred(reading, tried, source, asked, was_training, images_of(x))
    name = name or source.name
    return OpenModel(
        name, f"{name} with {latent} latents, your model.", data, rows,
        # Told once whether it has noise: exporters cannot follow a branch on values.
        _encode(reading, given, noisy=bool(first.variance.any())), _raw(reading, event, given),
        (StandardNormal(latent) if prior is None else prior).to(x.device),
        prior_assumed=prior is None, likelihood=reading.likelihood.of_values,
        density=_density(reading, event, given), module=source.module, auxiliary=condition,
        inferred=tuple(inferred + ([] if why is None else [why])), scaling=source.scaling,
    )  # fmt: skip


def _outputs(reading: Reading, x: Tensor, given: "Given", u: Tensor | None) -> list[Any]:
    """What encoder and decoder give of some examples."""
    few = x[:FEW]
    u = given.like(few, None if u is None else u[:FEW])
    encoded = reading.way(few, u)
    z = _posterior(reading, encoded).mean
    return [encoded, reading.decoder[1](z.reshape(len(z), *reading.shape), u)]


def _scaled(model: str, name: str) -> ReadingError:
    return ReadingError(
        f"{model} has {name}, which neither encoder nor decoder uses: it may be the scale of its "
        "likelihood.",
        "Say it with likelihood=: gaussian:V with the variance V, laplace:S with the scale S, "
        "squared-error or bernoulli where it has none, or a function of the output that gives a "
        "distribution of torch.",
        (name,),
    )


@dataclass(frozen=True, eq=False)
class Given:
    """What the examples that a model is read on are conditioned on, in the form that it takes."""

    probes: Tensor | None
    form: Callable[[Tensor], Tensor]

    def like(self, values: Tensor, u: Tensor | None = None) -> Tensor | None:
        """Of a batch: what is given, or else that of the first example."""
        if self.probes is None:
            return None
        if u is None:
            u = self.probes[:1].expand(values.shape[0], -1)
        return self.form(u)


def _chosen(
    source: Source, x: Tensor, probes: Tensor | None, asked: Asked, came: Range
) -> tuple[Reading, int, Given]:
    """The reading, with labels as the model takes them: one-hot, or as numbers."""
    if probes is None:
        return *choose(source, x, None, asked, came), Given(None, _same)
    hot = bool(((probes == 0) | (probes == 1)).all()) and bool((probes.sum(1) == 1).all())
    given = Given(probes, _same)
    try:
        return *choose(source, x, probes, asked, came), given
    except ReadingError:
        if not hot:
            raise
    given = Given(probes, _labels)
    return *choose(source, x, _labels(probes), asked, came), given


def _same(u: Tensor) -> Tensor:
    return u


def _labels(u: Tensor) -> Tensor:
    return u.argmax(1)


def _encode(reading: Reading, given: Given, *, noisy: bool) -> Callable[..., Reparameterised]:
    def encode(x: Tensor, u: Tensor | None = None) -> Reparameterised:
        q = _posterior(reading, reading.way(x, given.like(x, u)))
        if q.covariance is not None:
            return FullGaussian(q.mean, torch.linalg.cholesky(q.covariance).to(q.mean))
        return DiagonalGaussian(q.mean, q.variance.log()) if noisy else Point(q.mean)

    return encode


def _posterior(reading: Reading, output: Any) -> Posterior:
    return posterior_of(reading.opening.candidate.take(output), reading.spread)


def _read(reading: Reading, own: Tensor) -> Posterior:
    """Of images as the model has them, not in [0, 1]."""
    way = replace(reading.way, value_range=UNIT)
    return _posterior(reading, way(own))


def _raw(reading: Reading, event: tuple[int, ...], given: Given) -> Callable[..., Tensor]:
    def raw(z: Tensor, u: Tensor | None = None) -> Tensor:
        return _decoded(reading, event, z, given.like(z, u)).values

    return raw


def _decoded(reading: Reading, event: tuple[int, ...], z: Tensor, u: Tensor | None) -> Decoded:
    return decoded(reading.decoder[1](z.reshape(z.shape[0], *reading.shape), u), event)


def _density(reading: Reading, event: tuple[int, ...], given: Given) -> Callable[..., Distribution]:
    return lambda z, u=None: reading.likelihood.of(_decoded(reading, event, z, given.like(z, u)))


#: What the values of a spread cannot tell.
_LOOKALIKES = {
    "logvar": "; nothing draws from it, but other kinds would have the same rate here",
}


def _inferred(
    reading: Reading, tried: int, source: Source, asked: Asked, was_training: bool, images: bool
) -> list[Inference]:
    among = f"of {tried} readings tried it reconstructs best" if tried > 1 else "no other one works"
    error = f"{among}, with an error {reading.error:.3g} times a constant image's"
    spread = "" if reading.spread == "none" else f",{reading.spread}"
    why = f"{LAYOUTS[reading.layout]}; {reading.opening.evidence or error}"
    if spread:
        why += f"; spreads are from {reading.spreads[0]:.3g} to {reading.spreads[1]:.3g}"
        if not reading.opening.evidence and asked.spread() is None:
            why += _LOOKALIKES.get(reading.spread, "")
    seen = f"outputs are from {reading.seen[0]:.3g} to {reading.seen[1]:.3g}"
    out = f"{reading.why_output}; {seen}"
    low, high = reading.value_range
    margin = reading.margin
    found = [
        Inference("posterior", f"{reading.layout}{spread}", why, asked.posterior is not None),
        Inference("output", reading.output, out, asked.output is not None, margin),
    ]
    if images:
        told = asked.value_range is not None or source.range is not None
        why = source.says or ("as you said" if asked.value_range else error)
        ends = reading.likelihood.output_range
        if ends != reading.value_range:
            why += f"; its outputs are in [{ends[0]:g}, {ends[1]:g}]"
        found.append(Inference("value_range", f"{low:g},{high:g}", why, told, margin))
    if reading.opening.candidate.family:
        found.append(
            Inference("family", "gaussian", f"the posterior is a {reading.opening.candidate.family}"
                      ", of which mean and variance are taken; its KL and its samples are those of "
                      "a Gaussian", told=True)
        )  # fmt: skip
    form = reading.way.form
    if form != "as they are":
        found.append(Inference("input", form, "the encoder takes images only so", told=True))
    if was_training:
        found.append(
            Inference("mode", "eval", "the model came in training mode, in which dropout and batch "
                      "norm change its codes; it was put back afterwards", told=True)
        )  # fmt: skip
    if reading.error > 1:
        found.append(
            Inference("reconstruction", "poor", f"{error}: either the model is untrained or "
                      f"collapsed, or these are not its data, or its output means something else "
                      f"({seen}); say so "
                      "with output=, value_range= and likelihood=", told=True)
        )  # fmt: skip
    return found
