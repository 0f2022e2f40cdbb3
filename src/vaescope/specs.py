"""An experiment as one frozen value: what to train, on what, how. Its digest names its run.

Groups are told apart by `name`; `vaescope.build` is the only place that turns names into objects.
"""

import hashlib
import json
import math
from pathlib import PurePath
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    Strict,
    model_serializer,
)

from vaescope.data.specs import DataSpec, FilesSpec, PairsSpec, PerturbedSpec
from vaescope.errors import UsageError
from vaescope.model_specs import (
    AnisotropicPriorSpec,
    AutoLikelihood,
    AutoNet,
    BernoulliSpec,
    ConditionalPriorSpec,
    ConvNet,
    Count,
    GaussianSpec,
    Group,
    LikelihoodSpec,
    LinearNet,
    MixturePriorSpec,
    MlpNet,
    NetSpec,
    NonNegative,
    NormalPriorSpec,
    Number,
    PosteriorSpec,
    PriorSpec,
    PrunedSpec,
    SquaredErrorSpec,
    SubspacesPriorSpec,
    whole,
)
from vaescope.objective_specs import (
    BetaVAESpec,
    FactorVAESpec,
    ObjectiveSpec,
    OrthogonalSpec,
)
from vaescope.optimiser_specs import AdamSpec, OptimiserSpec
from vaescope.own_parts.specs import GROUPS, Part, is_own
from vaescope.schedule_specs import CosineSpec, LinearSpec, Value

__all__ = [
    "FORMAT",
    "AnisotropicPriorSpec",
    "AutoLikelihood",
    "AutoNet",
    "BernoulliSpec",
    "BetaVAESpec",
    "ConditionalPriorSpec",
    "ConvNet",
    "CosineSpec",
    "Experiment",
    "FactorVAESpec",
    "GaussianSpec",
    "LinearNet",
    "LinearSpec",
    "MlpNet",
    "SquaredErrorSpec",
    "Value",
    "digest",
    "public",
    "resolve",
]

#: Version of specs, states, codes and tables; a newer one is refused.
FORMAT = 1


def _shares(value: tuple[float, float, float]) -> tuple[float, float, float]:
    if not math.isclose(sum(value), 1.0) or not value[0]:
        raise ValueError("three shares that add up to 1, the first above 0")
    return value


class SplitSpec(Group):
    """Train on the first part of the rows; scores may be taken on the last."""

    shares: Annotated[
        tuple[NonNegative, NonNegative, NonNegative], Strict(False), AfterValidator(_shares)
    ] = (0.8, 0.1, 0.1)
    seed: Annotated[int, BeforeValidator(whole), Strict(), Field(ge=0)] = 0


class ValidationSpec(Group):
    """Rows held out of training: their ELBO says when to stop and which weights to keep."""

    fraction: Annotated[Number, Field(gt=0, lt=1)] = 0.1  # with a split, its second share
    #: Training stops after as many measurements in a row without a better one.
    patience: Count = 10
    #: Steps from one measurement to the next.
    every: Count = 1000


class InitSpec(Group):
    """The run whose weights the first step starts from."""

    path: str  # where it was; not part of the digest
    run: str  # digest
    weights: str  # sha256


class LoggingSpec(Group):
    """What is written down on the way; not part of the digest."""

    every: Count = 100
    #: Steps after which correlations of means are kept: every so many, or just these.
    correlations: Count | Annotated[tuple[Count, ...], Strict(False)] | None = None
    #: Keep the KL of each latent in the history: diagonal Gaussian posteriors and priors only.
    latent_kl: bool = False

    @model_serializer(mode="wrap")
    def _without_absent(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = plain(self)
        for name in ("correlations", "latent_kl"):  # as before they were there
            if not content.get(name):
                content.pop(name, None)
        return content


class Experiment(Group):
    """All settings of one training run."""

    data: DataSpec
    objective: Part[ObjectiveSpec]
    net: Part[NetSpec] = AutoNet()
    posterior: Part[PosteriorSpec] = PosteriorSpec()
    prior: Part[PriorSpec] = NormalPriorSpec()
    likelihood: Part[LikelihoodSpec] = AutoLikelihood()
    latent: Count = 10
    optimiser: OptimiserSpec = AdamSpec()
    batch: Count = 64
    steps: Count = 300_000
    seed: Annotated[int, BeforeValidator(whole), Strict(), Field(ge=0)] = 0
    precision: Literal["auto", "fp32"] = "auto"
    logging: LoggingSpec = LoggingSpec()
    pruned: PrunedSpec | None = None
    split: SplitSpec | None = None
    validation: ValidationSpec | None = None
    init_from: InitSpec | None = None
    pairs: PairsSpec | None = None

    @property
    def parts(self) -> SplitSpec | None:
        """How its rows are split, or None where it trains on all."""
        if self.split is not None or self.validation is None:
            return self.split
        fraction = self.validation.fraction
        return SplitSpec(shares=(1.0 - fraction, fraction, 0.0))

    @property
    def own(self) -> bool:
        """Whether some part of it is the user's own code."""
        return any(is_own(getattr(self, group)) for group in GROUPS)


def _net_for(data: str, shape: tuple[int, ...]) -> LinearNet | MlpNet | ConvNet:
    if data == "synth-linear":
        return LinearNet()
    if data == "synth-nonlinear":  # zietlow2022 Table 3.1
        return MlpNet(
            encoder=(60, 40, 20),
            decoder=(20, 40, 60),
            encoder_activation="tanh",
            decoder_activation="tanh",
        )
    return ConvNet() if shape[1:] in ((32, 32), (64, 64)) else MlpNet()


def resolve(experiment: Experiment) -> Experiment:
    """The same experiment with `auto` replaced by what the data call for."""
    data, net, likelihood = experiment.data, experiment.net, experiment.likelihood
    if isinstance(net, AutoNet):
        net = _net_for(data.name, data.shape)
    if isinstance(likelihood, AutoLikelihood):
        likelihood = BernoulliSpec() if len(data.shape) == 3 else SquaredErrorSpec()
    resolved = experiment.model_copy(update={"net": net, "likelihood": likelihood})
    _check(resolved)
    return resolved


def _check(spec: Experiment) -> None:
    """Refuses what does not go together."""
    objective = spec.objective
    plain = objective.name == "ae" or (
        isinstance(objective, OrthogonalSpec) and objective.base == "ae"
    )
    judged = not is_own(objective) and not is_own(spec.posterior)  # our own we know
    _check_pairs(spec)
    if judged and (spec.posterior.name == "normalised") != (objective.name == "pcl"):
        raise UsageError(
            f"objective.name={objective.name} cannot be combined with "
            f"posterior.name={spec.posterior.name}.",
            "Contrastive learning (objective.name=pcl) needs posterior.name=normalised, and no "
            "other objective takes it.",
        )
    if judged and (spec.posterior.name == "point") != plain:
        raise UsageError(
            f"objective.name={objective.name} cannot be combined with "
            f"posterior.name={spec.posterior.name}.",
            "A plain autoencoder (objective.name=ae, or orthogonal with base=ae) needs "
            "posterior.name=point, and no other objective takes it.",
        )
    if spec.validation is not None and spec.split is not None:
        share, fraction = spec.split.shares[1], spec.validation.fraction
        if not math.isclose(share, fraction):
            raise UsageError(
                f"split.shares holds out {share:g} of the rows for validation, "
                f"validation.fraction={fraction:g}.",
                f"Give validation.fraction={share:g}."
                if share
                else "Give split.shares a second part above 0, or leave validation out.",
            )
    if isinstance(spec.prior, MixturePriorSpec):
        sizes = {len(mean) for mean in spec.prior.means}
        if sizes != {spec.latent}:
            raise UsageError(
                f"prior.means have {sorted(sizes)} coordinates; there are {spec.latent} latents.",
                "Give each mean as many coordinates as latent=...",
            )
    if isinstance(spec.prior, SubspacesPriorSpec):
        grouped = sum(spec.prior.sizes(spec.latent))
        if grouped != spec.latent:
            raise UsageError(
                f"prior.size={spec.prior.size} makes groups of {grouped} latents together; "
                f"there are {spec.latent}.",
                "Give a size that divides latent=..., or a list of sizes that add up to it.",
            )
    if isinstance(spec.prior, ConditionalPriorSpec):
        if spec.net.name not in ("mlp", "conv"):
            raise UsageError(
                f"net.name={spec.net.name} has no encoder that sees u.",
                "With prior.name=conditional use net.name=mlp or net.name=conv.",
            )
        if objective.name in ("beta-tcvae", "decomposition"):
            raise UsageError(
                f"objective.name={objective.name} compares all codes with one prior; "
                "prior.name=conditional has a different one for each u.",
                "Use objective.name=vae, or another prior.",
            )


def _check_pairs(spec: Experiment) -> None:
    """What objectives of pairs need beside them."""
    name = spec.objective.name
    if name in ("pcl", "weak-gan") and spec.validation is not None:
        raise UsageError(
            f"validation needs a held-out ELBO, which objective.name={name} does not have.",
            "Leave validation out, or use split to hold rows out.",
        )
    if name == "weak-gan" and spec.pairs is not None and spec.pairs.name != "shared":
        raise UsageError(
            f"objective.name=weak-gan cannot have pairs.name={spec.pairs.name}.",
            "It needs to know which factor a pair shares: pairs.name=shared.",
        )
    if name in ("slow-vae", "pcl", "weak-gan") and isinstance(spec.prior, ConditionalPriorSpec):
        raise UsageError(
            f"objective.name={name} does not take u, on which prior.name=conditional depends.",
            "Use prior.name=normal.",
        )


def to_dict(experiment: Experiment) -> dict[str, Any]:
    """Plain data, as it stands in `spec.json` and `spec.yaml`."""
    content = {"format": FORMAT, **experiment.model_dump(mode="json")}
    for name in ("pruned", "split", "validation", "init_from", "pairs"):
        if content[name] is None:
            del content[name]  # so that what was trained keeps its digest
    return content


def public(experiment: Experiment) -> Experiment:
    """The same without where its files lie on this machine; its digest is the same too."""
    data = experiment.data
    if not isinstance(data, FilesSpec | PerturbedSpec):
        return experiment
    named = {
        place: PurePath(where).name
        for place in ("path", "factors")
        if (where := getattr(data, place, None)) is not None
    }
    return experiment.model_copy(update={"data": data.model_copy(update=named)})


def digest(experiment: Experiment) -> str:
    """sha256 of the canonical JSON of the resolved experiment and the format, without logging."""
    content = to_dict(resolve(experiment))
    del content["logging"]
    if "sha256" in content["data"]:
        for place in ("path", "factors"):  # files are known by their content, wherever they lie
            content["data"].pop(place, None)
    content.get("init_from", {}).pop("path", None)
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
