"""Other people's models as vaescope dissects them: any module, pair of functions, pythae,
diffusers, scikit-learn. What is not told is inferred, said, and can be overridden."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vaescope.adapters.asked import Asked
from vaescope.adapters.condition import ConditionInput
from vaescope.adapters.idle_parameters import (
    idle_heads,
    idle_parameters,
    idle_priors,
    idle_values,
    of_likelihood,
    of_prior,
)
from vaescope.adapters.inferences import inferences, left_out
from vaescope.adapters.input_format import few_of
from vaescope.adapters.likelihoods import Counted
from vaescope.adapters.noise import preserved
from vaescope.adapters.output_format import UNIT, Decoded, decoded, event_of
from vaescope.adapters.posterior_format import Posterior, posterior_of
from vaescope.adapters.prior_inference import prior_of
from vaescope.adapters.prior_of_condition import PriorOfCondition, depends
from vaescope.adapters.reading import Reading, refuse_heads, refuse_prior_of_maps
from vaescope.adapters.sources import source_of
from vaescope.adapters.spread_inference import rate_shown
from vaescope.adapters.variants import Feeding, choose_feeding
from vaescope.data import Dataset
from vaescope.distributions import (
    DiagonalGaussian,
    Distribution,
    FullGaussian,
    Point,
    Reparameterised,
)
from vaescope.errors import UnscoredError, UsageError
from vaescope.models import Inference, OpenModel, device_of, evaluating
from vaescope.priors import StandardNormal
from vaescope.types import Integers
from vaescope.vae import Prior

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
        raise UsageError("Interpreting a model needs at least two examples.", "Pass more data.")
    asked = replace(asked, kind=data.kind)
    source = source_of(model, encode, decode)
    parts = [] if source.module is None else source.module.modules()
    # Of the parts only: a list of modules is in training mode whatever they are in.
    was_training = any(part.training for part in parts if not list(part.children()))
    few = rows[np.linspace(0, len(rows) - 1, min(PROBES, len(rows))).astype(np.int64)]
    few = few[: max(2, PROBE_PIXELS // math.prod(data.shape))]
    if asked.lengths is not None:  # packed sequences may have to come the longest first
        few = few[np.argsort(-np.asarray(asked.lengths)[few], kind="stable")]
    x = torch.from_numpy(data.rows(few)).float()
    x = x[: few_of(x, len(x))].contiguous().to(device_of(source.module))

    def conditions(sees_data: bool) -> tuple[ConditionInput | None, Tensor | None]:
        condition = condition_of(data, asked, sees_data)
        if condition is None:
            return None, None
        return condition, torch.from_numpy(condition(few[: len(x)])).to(x.device)

    with evaluating(source.module), preserved(source.module):
        feeding = choose_feeding(model, (encode, decode), x, asked, data.value_range, conditions)
        source, reading, u = feeding.source, feeding.reading, feeding.u
        first = _posterior(
            reading, reading.way(x[:2], feeding.like(x[:2], None if u is None else u[:2]))
        )
        latent = int(first.mean.shape[1])
        inferred = inferences(feeding, asked, x, was_training)
        prior, why = _prior(feeding, asked, data, x, first)
    name = name or source.name
    event = event_of(x, data.kind)
    return OpenModel(
        name, f"{name} with {latent} latents, your model.", data, rows,
        # Told once whether it has noise: exporters cannot follow a branch on values.
        _encode(feeding, noisy=bool(first.variance.any())), _raw(feeding, event),
        (StandardNormal(latent) if prior is None else prior).to(x.device),
        prior_assumed=prior is None and not why.told, likelihood=reading.likelihood.of_values,
        density=_density(feeding, event), module=source.module, auxiliary=feeding.condition,
        encoder_sees_u=feeding.condition is not None and feeding.condition.supervises,
        inferred=(*inferred, why), scaling=source.scaling,
        shift=source.shift, channels=source.channels,
    )  # fmt: skip


def _prior(
    feeding: Feeding, asked: Asked, data: Dataset, x: Tensor, first: Posterior
) -> tuple[Prior | None, Inference]:
    """The model's prior, None where it is N(0, I), and why. Raises ReadingError where something of
    the model may belong to its prior, its likelihood or its posterior, and nothing says so."""
    source, reading = feeding.source, feeding.reading
    latent, values = int(first.mean.shape[1]), math.prod(data.shape)

    def outputs() -> list[Any]:
        return _outputs(feeding, x)

    def whole() -> list[Any]:
        few = x[:FEW]
        u = feeding.like(few, None if feeding.u is None else feeding.u[:FEW])
        return [forward(reading.way.formed(few), u) for forward in source.forwards[:1]]

    if asked.prior is not None and depends(asked.prior) and first.mean.ndim == 2:
        own = PriorOfCondition(asked.prior, feeding.form, latent)
        own(feeding.u)  # says what is wrong with it
        return own, Inference("prior", "p(z|u)", "as given, a function of the condition", told=True)
    idle = idle_parameters(source.module, outputs)
    scales = of_likelihood(idle, data.shape) if first.mean.ndim == 2 else []
    known = reading.likelihood.output == "own" or reading.likelihood.number is not None
    if scales and asked.likelihood is None and not known:
        raise _scaled(source.name, scales[0])
    if reading.spread == "none" and asked.posterior is None:
        refuse_heads(source, idle_heads(source.module, outputs, latent))
    said, rate = asked.prior, None
    if said is None and source.prior is not None:
        said = source.prior()
    if said is None:
        beside = feeding.like(x, feeding.u)
        taken = reading.opening.parts(x, beside, reading.value_range)
        rate = rate_shown(source, reading, x, beside, taken)
    held = {**idle, **idle_values(source.module, outputs)}
    idle_ones = of_prior(held, latent, values) + idle_priors(
        source.module, outputs, latent, values, whole
    )
    prior, why = prior_of(
        source.model, said, latent, data.shape, lambda own: _read(reading, own), rate,
        idle_ones, [argument for _, argument in left_out(feeding, asked)],
    )  # fmt: skip
    if asked.prior is None and said is not None:
        why = replace(why, why="the model states it")
    if first.mean.ndim > 2:
        refuse_prior_of_maps(source, prior)
        return None, why
    return prior, why


def _outputs(feeding: Feeding, x: Tensor) -> list[Any]:
    """What encoder and decoder give of some examples."""
    reading, few = feeding.reading, x[:FEW]
    u = feeding.like(few, None if feeding.u is None else feeding.u[:FEW])
    encoded = reading.way(few, u)
    z = _posterior(reading, encoded).mean
    return [encoded, reading.decoder[1](z.reshape(len(z), *reading.shape), u)]


def _scaled(model: str, name: str) -> UnscoredError:
    return UnscoredError(
        f"{model} has {name}, which neither encoder nor decoder uses: it may be the scale of its "
        "likelihood.",
        "State it with likelihood=: gaussian:V (a variance), laplace:S (a scale), squared-error "
        "or bernoulli if it has none, or a function of the output that gives a distribution.",
        (name,),
    )


def condition_of(data: Dataset, asked: Asked, sees_data: bool) -> ConditionInput | None:
    """What the rows of the data are conditioned on, and their lengths; with `sees_data` the rows
    themselves."""
    own = None
    if sees_data:
        own = data.rows(np.arange(len(data)))
        own = own.round().astype(np.int64) if data.kind == "tokens" else own
    if isinstance(asked.condition, ConditionInput) and own is None:
        return asked.condition
    if all(one is None for one in (asked.condition, asked.lengths, asked.scored, own)):
        return None
    return ConditionInput.of(
        asked.condition, len(data), lengths=asked.lengths, data=own, scored=asked.scored
    )


def _encode(feeding: Feeding, *, noisy: bool) -> Callable[..., Reparameterised]:
    def encode(x: Tensor, u: Tensor | None = None) -> Reparameterised:
        q = _posterior(feeding.reading, feeding.reading.way(x, feeding.like(x, u)))
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


def _decoded(feeding: Feeding, event: tuple[int, ...], z: Tensor, u: Tensor | None) -> Decoded:
    reading = feeding.reading
    output = reading.decoder[1](z.reshape(z.shape[0], *reading.shape), feeding.like(z, u))
    return decoded(output, event)


def _raw(feeding: Feeding, event: tuple[int, ...]) -> Callable[..., Tensor]:
    return lambda z, u=None: _decoded(feeding, event, z, u).values


def _density(feeding: Feeding, event: tuple[int, ...]) -> Callable[..., Distribution]:
    likelihood, counting = feeding.reading.likelihood, feeding.counting

    def density(z: Tensor, u: Tensor | None = None) -> Distribution:
        found = likelihood.of(_decoded(feeding, event, z, u))
        beside = feeding.like(z, u)
        return found if counting is None else Counted(found, lambda x: counting(x, beside))

    return density
