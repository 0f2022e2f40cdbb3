"""From names to objects: the one place that looks names up."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from vaescope.data import DATASETS, Dataset
from vaescope.data.auxiliary import Auxiliary, one_hot, scaled
from vaescope.data.in_memory import content_hash
from vaescope.data.pairs import PAIRS, Pairs
from vaescope.data.perturbed import open_perturbed
from vaescope.data.specs import CHANGES, ArraySpec, FilesSpec, PerturbedSpec
from vaescope.data.splits import correlated, split
from vaescope.data.user_files import open_files
from vaescope.data.variants import with_pixel_noise
from vaescope.errors import ShapeError, UsageError
from vaescope.nets import (
    BernoulliLikelihood,
    DiagonalPosterior,
    FullPosterior,
    GaussianLikelihood,
    IsotropicPosterior,
    LaplaceLikelihood,
    LocalGaussianLikelihood,
    NormalisedPosterior,
    Pair,
    ParameterPosterior,
    PointPosterior,
    SquaredErrorLikelihood,
    conditional_conv_pair,
    conditional_mlp_pair,
    conv_pair,
    dcgan_pair,
    linear_pair,
    mlp_pair,
)
from vaescope.nets.conv import LAYOUTS
from vaescope.nets.generator import generator_of
from vaescope.nets.likelihoods import Likelihood
from vaescope.nets.mlp import ACTIVATIONS
from vaescope.objective_specs import WeakGANSpec
from vaescope.objective_table import DIVERGENCES, ESTIMATORS, OBJECTIVES
from vaescope.objectives import Objective
from vaescope.optimisers import OPTIMISERS, build_optimiser, optimiser_spec
from vaescope.own_parts.making import as_pair, check_model, own_part, require_objects
from vaescope.own_parts.specs import ObjectSpec, is_own
from vaescope.priors import (
    AnisotropicPrior,
    ConditionalPrior,
    MixturePrior,
    SparsePrior,
    StandardNormal,
    StudentTPrior,
    SubspacesPrior,
)
from vaescope.priors.anisotropic import log_principal_variances, log_released_variances
from vaescope.scheduling import build_schedule
from vaescope.seeds import derive
from vaescope.specs import AnisotropicPriorSpec, ConditionalPriorSpec, Experiment, resolve
from vaescope.vae import VAE, ConditionalEncoder, Decoder, Encoder, NoDecoder, Prior

__all__ = [
    "DIVERGENCES",
    "ESTIMATORS",
    "OBJECTIVES",
    "OPTIMISERS",
    "build_auxiliary",
    "build_data",
    "build_objective",
    "build_optimiser",
    "build_pairs",
    "build_schedule",
    "build_vae",
    "check_parts",
    "data_of",
    "data_settings",
    "held_out_rows",
    "optimiser_spec",
    "start_from_data",
    "training_rows",
]

Event = tuple[int, ...]


def _layers(spec: Any) -> dict[str, Any]:
    return {
        "encoder": spec.encoder,
        "decoder": spec.decoder,
        "encoder_activation": ACTIVATIONS[spec.encoder_activation],
        "decoder_activation": ACTIVATIONS[spec.decoder_activation],
    }


#: (spec, shape of x, latents, outputs per value of x) -> bodies.
NETS: Mapping[str, Callable[[Any, Event, int, int], Pair]] = {
    "linear": lambda spec, event, latent, width: linear_pair(event, latent, width=width),
    "mlp": lambda spec, event, latent, width: mlp_pair(event, latent, width=width, **_layers(spec)),
    "conv": lambda spec, event, latent, width: conv_pair(
        event, latent, layouts=LAYOUTS[spec.layout], width=width
    ),
    "dcgan": lambda spec, event, latent, width: dcgan_pair(
        event, latent, base=spec.base, width=width
    ),
}


#: The same with the width of u before the outputs per value: encoders that see u.
CONDITIONAL_NETS: Mapping[str, Callable[[Any, Event, int, int, int], Pair]] = {
    "mlp": lambda spec, event, latent, auxiliary, width: conditional_mlp_pair(
        event, latent, auxiliary, width=width, **_layers(spec)
    ),
    "conv": lambda spec, event, latent, auxiliary, width: conditional_conv_pair(
        event, latent, auxiliary, layouts=LAYOUTS[spec.layout], width=width
    ),
}

#: (data, names of factors) -> u.
AUXILIARIES: Mapping[str, Callable[[Dataset, Sequence[str]], Auxiliary]] = {
    "scaled": lambda data, names: scaled(data, names=names or None),
    "one-hot": lambda data, names: one_hot(data, names=names or None),
}

POSTERIORS: Mapping[str, Callable[[int, int], nn.Module]] = {
    "diagonal": DiagonalPosterior,
    "isotropic": IsotropicPosterior,
    "full": FullPosterior,
    "point": PointPosterior,
    "normalised": NormalisedPosterior,
}

#: (data, latents) -> logarithms of the variances that an anisotropic prior starts from.
STARTS: Mapping[str, Callable[[Dataset, int], Tensor]] = {
    "principal": log_principal_variances,
    "released": log_released_variances,
}

PRIORS: Mapping[str, Callable[[Any, int], Prior]] = {
    "normal": lambda spec, latent: StandardNormal(latent),
    "student-t": lambda spec, latent: StudentTPrior(latent, spec.df, variance=spec.variance),
    "subspaces": lambda spec, latent: SubspacesPrior(
        spec.sizes(latent), spec.df, variance=spec.variance
    ),
    "mixture": lambda spec, latent: MixturePrior(
        torch.tensor(spec.means), variance=spec.variance, legacy=spec.legacy
    ),
    "sparse": lambda spec, latent: SparsePrior(latent, spec.gamma, spike_std=spec.spike_std),
    # The shares come with the weights, or from the data by `start_from_data`: without either the
    # first loss is NaN, not that of another prior.
    "anisotropic": lambda spec, latent: AnisotropicPrior(
        torch.full((latent,), torch.nan), variance=spec.variance, learned=spec.learned
    ),
    "conditional": lambda spec, latent: ConditionalPrior(
        spec.width,
        latent,
        hidden=spec.hidden,
        activation=ACTIVATIONS[spec.activation],
        learned_mean=spec.learned_mean,
    ),
}

LIKELIHOODS: Mapping[str, Callable[[Any], Likelihood]] = {
    "bernoulli": lambda spec: BernoulliLikelihood(),
    "squared-error": lambda spec: SquaredErrorLikelihood(),
    "gaussian": lambda spec: GaussianLikelihood(spec.scale, learned=spec.learned),
    "local-gaussian": lambda spec: LocalGaussianLikelihood(),
    "laplace": lambda spec: LaplaceLikelihood(spec.scale),
}


def build_data(spec: Any) -> Dataset:
    """The dataset of a data spec; the user's own arrays cannot be found by their spec."""
    if isinstance(spec, ArraySpec):
        raise UsageError(
            f"This run was trained on your own array of {spec.n} rows of shape {spec.event}, "
            "which a run folder does not contain.",
            "Pass the same data again: in Python vs.train(preset, data) or vs.encode(run, data); "
            "on the command line --data FILE, if the command has it.",
        )
    if isinstance(spec, FilesSpec):
        dataset = open_files(spec)
    elif isinstance(spec, PerturbedSpec):
        dataset = open_perturbed(spec)
    else:
        dataset = DATASETS[spec.name](**spec.model_dump(exclude={"name", *CHANGES}))
        if noise := getattr(spec, "pixel_noise", 0.0):
            dataset = with_pixel_noise(dataset, spec.noise_epsilon, spec.noise_seed)
            named = f"{dataset.name} with noise {noise:g}"  # never by the original's name alone
            dataset = replace(dataset, card=replace(dataset.card, name=named))
        if chosen := getattr(spec, "correlated", None):
            first, second, rho = chosen
            n = spec.correlated_rows or len(dataset)
            named = f"{dataset.name} with {first} and {second} correlated by {rho:g}"
            dataset = correlated(dataset, first, second, rho, n, spec.correlated_seed)
            dataset = replace(dataset, card=replace(dataset.card, name=named))
    return replace(dataset, recipe=spec.model_dump(mode="json"))


def data_of(experiment: Experiment, given: Dataset | None) -> Dataset:
    """The dataset of an experiment, or the one given in its stead, whose rows must be as large."""
    if given is None:
        return build_data(experiment.data)
    if given.shape != experiment.data.shape:
        raise ShapeError(
            f"The rows of {given.name} have shape {given.shape}; this run was trained on rows of "
            f"shape {experiment.data.shape}.",
            "Give the data that it was trained on, or others of that shape.",
        )
    return given


def training_rows(experiment: Experiment, data: Dataset) -> Dataset:
    """The rows that an experiment trains on: all, or the first part of its split."""
    chosen = experiment.parts
    return data if chosen is None else split(data, chosen.seed, chosen.shares).train


def held_out_rows(experiment: Experiment, data: Dataset) -> Dataset:
    """The rows that it never sees, or all where it has no split."""
    chosen = experiment.split
    return data if chosen is None else split(data, chosen.seed, chosen.shares).test


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
    """A freshly initialised model; its weights are a function of the experiment's seed, but for
    networks that the user gave with theirs."""
    spec = resolve(experiment)
    with _generator_of(spec.seed, "weights"):
        vae = _vae(spec)
    if spec.own:
        check_model(vae, spec.data.shape, spec.latent, f"net.name={spec.net.name}")
    return vae


def _vae(spec: Experiment) -> VAE:
    require_objects(spec)
    if isinstance(spec.net, ObjectSpec) and spec.net.given == ("vae",):
        whole: VAE = own_part(spec.net, "net")
        return whole
    likelihood = _part(spec, "likelihood", lambda part: LIKELIHOODS[part.name](part))
    outputs = likelihood.width
    pair = as_pair(_part(spec, "net", lambda part: _pair(spec, outputs), outputs=outputs))
    posterior = _part(
        spec, "posterior", lambda part: _posterior(part.name, pair, spec.latent),
        features=pair.features,
    )  # fmt: skip
    prior = _part(spec, "prior", lambda part: PRIORS[part.name](part, spec.latent))
    sees_u = isinstance(spec.prior, ConditionalPriorSpec)
    encoder = (ConditionalEncoder if sees_u else Encoder)(pair.encoder, posterior)
    if spec.objective.name == "pcl":
        return VAE(encoder, cast(Decoder, NoDecoder()), prior)
    return VAE(encoder, Decoder(pair.decoder, likelihood), prior)


def _part(spec: Experiment, group: str, named: Callable[[Any], Any], **given: Any) -> Any:
    """The part of a group: ours by its name, or the user's own."""
    part = getattr(spec, group)
    if not is_own(part):
        return named(part)
    return own_part(part, group, shape=spec.data.shape, latent=spec.latent, **given)


def _posterior(name: str, pair: Pair, latent: int) -> nn.Module:
    # Heads keep torch's own start: from `pair.initialise`, Glorot's for the convolutions, the
    # demo aligned worse (MIG over seeds in docs/results/demo.md).
    if pair.features:
        return POSTERIORS[name](pair.features, latent)
    return ParameterPosterior(POSTERIORS[name](1, latent))


def _pair(spec: Experiment, width: int) -> Pair:
    event, prior = spec.data.shape, spec.prior
    if isinstance(prior, ConditionalPriorSpec):
        make = CONDITIONAL_NETS[spec.net.name]
        return make(spec.net, event, spec.latent, prior.width, width)
    pair = NETS[spec.net.name](spec.net, event, spec.latent, width)
    if isinstance(spec.objective, WeakGANSpec) and spec.objective.generator_norm:
        return replace(pair, decoder=generator_of(pair.decoder))
    return pair


def start_from_data(experiment: Experiment, data: Dataset, models: Sequence[VAE]) -> None:
    """Sets what fresh models of one experiment take from their training data; most take nothing.

    It is saved with their weights, so that a resumed or loaded model needs no data. It does not
    depend on the experiment's seed, so that models of several seeds share it.
    """
    prior = experiment.prior
    if not isinstance(prior, AnisotropicPriorSpec):
        return
    log_shares = STARTS[prior.start](data, experiment.latent)
    for vae in models:
        assert isinstance(vae.prior, AnisotropicPrior)
        with torch.no_grad():
            vae.prior.log_shares.copy_(log_shares)


def build_auxiliary(experiment: Experiment, data: Dataset) -> Auxiliary | None:
    """u of the rows of `data`, or None where nothing depends on it."""
    prior = experiment.prior
    if not isinstance(prior, ConditionalPriorSpec):
        return None
    auxiliary = AUXILIARIES[prior.u](data, prior.factors)
    if auxiliary.width != prior.width:
        raise UsageError(
            f"u has {auxiliary.width} values in {data.name}; prior.width={prior.width}.",
            f"Give prior.width={auxiliary.width}, or choose prior.factors.",
        )
    return auxiliary


def build_pairs(experiment: Experiment, data: Dataset) -> Pairs | None:
    """The pairs of the rows of `data`, where the experiment asks for them."""
    spec = experiment.pairs
    return None if spec is None else PAIRS[spec.name](data, spec)


@contextmanager
def _generator_of(seed: int, stream: str) -> Iterator[None]:
    # torch's initialisers know only the global generator: borrow it and give it back. Not
    # torch.manual_seed, which seeds those of other devices too, and asks for a stack trace.
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(derive(seed, stream))
        yield


def check_parts(experiment: Experiment) -> None:
    """Builds the user's own parts once, so that those that do not fit leave no folder behind."""
    if experiment.own:
        build_vae(experiment)
        build_objective(experiment)


def build_objective(experiment: Experiment) -> Objective:
    """What the experiment minimises; an objective's own networks start from the seed too."""
    require_objects(experiment)
    with _generator_of(experiment.seed, "objective"):
        made: Objective = _part(
            experiment, "objective", lambda part: OBJECTIVES[part.name](part, resolve(experiment))
        )
    if made.needs_pairs and experiment.pairs is None:
        raise UsageError(
            f"objective.name={experiment.objective.name} needs pairs of rows; there are none.",
            "Give pairs.name=laplace or pairs.name=shared.",
        )
    return made
