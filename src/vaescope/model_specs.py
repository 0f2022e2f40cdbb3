"""Settings of a model's parts: nets, posteriors, priors and likelihoods, told apart by `name`."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict, model_validator

__all__ = [
    "AnisotropicPriorSpec",
    "AutoLikelihood",
    "AutoNet",
    "BernoulliSpec",
    "ConditionalPriorSpec",
    "ConvNet",
    "Count",
    "GaussianSpec",
    "Group",
    "LikelihoodSpec",
    "LinearNet",
    "MixturePriorSpec",
    "MlpNet",
    "NetSpec",
    "NonNegative",
    "NormalPriorSpec",
    "Number",
    "Positive",
    "PosteriorSpec",
    "PriorSpec",
    "PrunedSpec",
    "SquaredErrorSpec",
    "SubspacesPriorSpec",
    "whole",
]


class Group(BaseModel):
    """Base of all groups of settings: frozen, and unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def whole(value: Any) -> Any:
    # JSON reads 3e5 as a float; as a count it is as good as 300000.
    return int(value) if isinstance(value, float) and value.is_integer() else value


Number = Annotated[float, Strict(), Field(allow_inf_nan=False)]
Positive = Annotated[Number, Field(gt=0)]
NonNegative = Annotated[Number, Field(ge=0)]
Count = Annotated[int, BeforeValidator(whole), Strict(), Field(ge=1)]
Widths = Annotated[tuple[Count, ...], Strict(False)]


class AutoNet(Group):
    name: Literal["auto"] = "auto"


class LinearNet(Group):
    name: Literal["linear"] = "linear"


Activation = Literal["relu", "tanh", "leaky-relu", "xtanh"]


class MlpNet(Group):
    """`width` stands for that of every hidden layer; encoder and decoder say how many there are,
    and are what is kept."""

    name: Literal["mlp"] = "mlp"
    encoder: Widths = (256, 256)
    decoder: Widths = (256, 256)
    encoder_activation: Activation = "relu"
    decoder_activation: Activation = "relu"

    @model_validator(mode="before")
    @classmethod
    def _of_one_width(cls, content: Any) -> Any:
        if not isinstance(content, dict) or "width" not in content:
            return content
        rest = {key: value for key, value in content.items() if key != "width"}
        for side in ("encoder", "decoder"):
            layers = content.get(side, cls.model_fields[side].default)
            rest[side] = [content["width"]] * (
                len(layers) if isinstance(layers, list | tuple) else 2
            )
        return rest


class ConvNet(Group):
    """A convolutional pair by the paper that has it; see `nets.conv`."""

    name: Literal["conv"] = "conv"
    layout: Literal["locatello", "rolinek", "mathieu", "klindt", "bhowal", "bhowal-faces"] = (
        "locatello"
    )


class DcganNet(Group):
    name: Literal["dcgan"] = "dcgan"
    base: Count = 32


class PosteriorSpec(Group):
    name: Literal["diagonal", "isotropic", "full", "point", "normalised"] = "diagonal"


class NormalPriorSpec(Group):
    name: Literal["normal"] = "normal"


class StudentTPriorSpec(Group):
    name: Literal["student-t"] = "student-t"
    df: Positive = 10.0
    variance: Positive = 1.0


class SubspacesPriorSpec(Group):
    """Groups of `size` latents, or of sizes that add up to all: dependent inside, not outside.

    No paper prints degrees of freedom: 3 are few, so that latents of a group depend on each other,
    and enough for a variance.
    """

    name: Literal["subspaces"] = "subspaces"
    size: Count | Annotated[tuple[Count, ...], Strict(False), Field(min_length=1)] = 2
    df: Positive = 3.0
    variance: Positive = 1.0

    def sizes(self, latent: int) -> tuple[int, ...]:
        """Of each group of that many latents; those of one size that divides them evenly."""
        if isinstance(self.size, tuple):
            return self.size
        return (self.size,) * (latent // self.size)


class MixturePriorSpec(Group):
    """Equal weights and one variance; the defaults are mathieu2019's for the pinwheel."""

    name: Literal["mixture"] = "mixture"
    means: Annotated[
        tuple[Annotated[tuple[Number, ...], Strict(False)], ...], Strict(False), Field(min_length=1)
    ] = ((0.0, -1.0), (0.0, 1.0), (1.0, 0.0), (-1.0, 0.0))
    variance: Positive = 0.03
    legacy: bool = False


class SparsePriorSpec(Group):
    name: Literal["sparse"] = "sparse"
    gamma: Annotated[Number, Field(ge=0, lt=1)] = 0.8
    spike_std: Positive = 0.05


class AnisotropicPriorSpec(Group):
    """A variance for each latent, in proportion to the principal variances of the training data.

    `released` takes the components that mathieu2019's code takes, to reproduce its figure 2.
    """

    name: Literal["anisotropic"] = "anisotropic"
    start: Literal["principal", "released"] = "principal"
    variance: Positive = 1.0
    learned: bool = False


class ConditionalPriorSpec(Group):
    """p(z|u) of identifiable VAEs, with u from the data's factors. The encoder sees u too."""

    name: Literal["conditional"] = "conditional"
    u: Literal["scaled", "one-hot"] = "scaled"
    factors: Annotated[tuple[str, ...], Strict(False)] = ()  # all, where none is named
    # How many values u has. Part of the spec, so that a model can be built before its data are
    # read; checked against them when they are.
    width: Count
    hidden: Widths = (50, 50, 50)
    activation: Activation = "leaky-relu"
    learned_mean: bool = False


class AutoLikelihood(Group):
    name: Literal["auto"] = "auto"


class BernoulliSpec(Group):
    name: Literal["bernoulli"] = "bernoulli"


class SquaredErrorSpec(Group):
    name: Literal["squared-error"] = "squared-error"


class GaussianSpec(Group):
    name: Literal["gaussian"] = "gaussian"
    scale: Positive = 1.0
    learned: bool = False


class LocalGaussianSpec(Group):
    name: Literal["local-gaussian"] = "local-gaussian"


class LaplaceSpec(Group):
    name: Literal["laplace"] = "laplace"
    scale: Positive = 0.1


class PrunedSpec(Group):
    """What a pruned model was made of. Written by `vaescope prune`, never by hand."""

    run: str  # digest
    latent: Count  # before
    dropped: Annotated[tuple[int, ...], Strict(False)]  # numbers among these


NetSpec = Annotated[AutoNet | LinearNet | MlpNet | ConvNet | DcganNet, Field(discriminator="name")]
PriorSpec = Annotated[
    NormalPriorSpec
    | StudentTPriorSpec
    | SubspacesPriorSpec
    | MixturePriorSpec
    | SparsePriorSpec
    | AnisotropicPriorSpec
    | ConditionalPriorSpec,
    Field(discriminator="name"),
]
LikelihoodSpec = Annotated[
    AutoLikelihood
    | BernoulliSpec
    | SquaredErrorSpec
    | GaussianSpec
    | LocalGaussianSpec
    | LaplaceSpec,
    Field(discriminator="name"),
]
