"""From names to objects: the one place that looks names up."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from vaescope.data import DATASETS, Dataset
from vaescope.data.in_memory import content_hash
from vaescope.data.specs import ArraySpec
from vaescope.errors import UsageError
from vaescope.nets import (
    BernoulliLikelihood,
    DiagonalPosterior,
    FullPosterior,
    GaussianLikelihood,
    Pair,
    PointPosterior,
    SquaredErrorLikelihood,
    conv_pair,
    linear_pair,
    mlp_pair,
)
from vaescope.nets.mlp import ACTIVATIONS
from vaescope.objectives import Autoencoder, BetaVAE, Objective
from vaescope.priors import PRIORS
from vaescope.schedules import Constant, Cosine, Linear, Schedule
from vaescope.seeds import derive
from vaescope.specs import CosineSpec, Experiment, LinearSpec, Value, resolve
from vaescope.vae import VAE, Decoder, Encoder

__all__ = [
    "build_data",
    "build_objective",
    "build_optimiser",
    "build_schedule",
    "build_vae",
    "data_settings",
]

Event = tuple[int, ...]


def _mlp(spec: Any, event: Event, latent: int) -> Pair:
    return mlp_pair(
        event,
        latent,
        encoder=spec.encoder,
        decoder=spec.decoder,
        encoder_activation=ACTIVATIONS[spec.encoder_activation],
        decoder_activation=ACTIVATIONS[spec.decoder_activation],
    )


NETS: Mapping[str, Callable[[Any, Event, int], Pair]] = {
    "linear": lambda spec, event, latent: linear_pair(event, latent),
    "mlp": _mlp,
    "conv": lambda spec, event, latent: conv_pair(event, latent),
}

POSTERIORS: Mapping[str, Callable[[int, int], nn.Module]] = {
    "diagonal": DiagonalPosterior,
    "full": FullPosterior,
    "point": PointPosterior,
}

LIKELIHOODS: Mapping[str, Callable[[Any], nn.Module]] = {
    "bernoulli": lambda spec: BernoulliLikelihood(),
    "squared-error": lambda spec: SquaredErrorLikelihood(),
    "gaussian": lambda spec: GaussianLikelihood(spec.scale, learned=spec.learned),
}

OBJECTIVES: Mapping[str, Callable[[Any], Objective]] = {
    "ae": lambda spec: Autoencoder(),
    "vae": lambda spec: BetaVAE(),
    "beta-vae": lambda spec: BetaVAE(build_schedule(spec.beta)),
}

_Parameters = Iterable[nn.Parameter]

OPTIMISERS: Mapping[str, Callable[[Any, _Parameters], torch.optim.Optimizer]] = {
    "adam": lambda spec, parameters: torch.optim.Adam(
        parameters, lr=1.0, betas=spec.betas, eps=spec.eps, fused=True
    ),
    "adagrad": lambda spec, parameters: torch.optim.Adagrad(
        parameters, lr=1.0, eps=spec.eps, fused=True
    ),
}


def build_schedule(value: Value) -> Schedule:
    """A number or a schedule's settings as a function of the step."""
    if isinstance(value, LinearSpec):
        return Linear(value.start, value.stop, value.steps)
    if isinstance(value, CosineSpec):
        return Cosine(value.start, value.stop, value.steps)
    return Constant(value)


def build_data(spec: Any) -> Dataset:
    """The dataset of a data spec; the user's own arrays cannot be found by their spec."""
    if isinstance(spec, ArraySpec):
        raise UsageError(
            f"This run was trained on your own array of {spec.n} rows of shape {spec.event}, "
            "which a run folder does not keep.",
            "Pass the same data again, e.g. vs.train(preset, data) or vs.encode(run, data).",
        )
    dataset = DATASETS[spec.name](**spec.model_dump(exclude={"name"}))
    return replace(dataset, recipe=spec.model_dump(mode="json"))


def data_settings(data: Dataset) -> Mapping[str, Any]:
    """The `data` group of an experiment on this dataset: its recipe, or its content."""
    if data.recipe is not None:
        return data.recipe
    return {
        "name": "array",
        "sha256": content_hash(data),
        "n": len(data),
        "event": list(data.shape),
    }


def build_vae(experiment: Experiment) -> VAE:
    """A freshly initialised model; its weights are a function of the experiment's seed."""
    spec = resolve(experiment)
    # torch's initialisers know only the global generator: borrow it and give it back.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive(spec.seed, "weights"))
        pair = NETS[spec.net.name](spec.net, spec.data.shape, spec.latent)
        encoder = Encoder(pair.encoder, POSTERIORS[spec.posterior.name](pair.features, spec.latent))
        decoder = Decoder(pair.decoder, LIKELIHOODS[spec.likelihood.name](spec.likelihood))
        return VAE(encoder, decoder, PRIORS[spec.prior.name](spec.latent))


def build_objective(experiment: Experiment) -> Objective:
    """What the experiment minimises."""
    return OBJECTIVES[experiment.objective.name](experiment.objective)


def build_optimiser(experiment: Experiment, parameters: _Parameters) -> torch.optim.Optimizer:
    """An optimiser whose learning rate the loop sets at each step."""
    return OPTIMISERS[experiment.optimiser.name](experiment.optimiser, parameters)
