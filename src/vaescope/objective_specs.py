"""Settings of objectives: what `objective.name=... objective.key=value` may say."""

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from vaescope.model_specs import Count, Group
from vaescope.optimiser_specs import AdamSpec, Decays
from vaescope.schedule_specs import LinearSpec, Value

__all__ = [
    "BetaTCVAESpec",
    "BetaVAESpec",
    "DecompositionSpec",
    "FactorVAESpec",
    "ObjectiveSpec",
    "OrthogonalSpec",
    "PCLSpec",
    "SlowVAESpec",
    "WeakGANSpec",
]


class AutoencoderSpec(Group):
    name: Literal["ae"] = "ae"


class VAESpec(Group):
    name: Literal["vae"] = "vae"


class BetaVAESpec(Group):
    name: Literal["beta-vae"] = "beta-vae"
    beta: Value = 4.0


class FreeBitsSpec(Group):
    name: Literal["free-bits"] = "free-bits"
    floor: Value = 0.25


class AnnealedVAESpec(Group):
    name: Literal["annealed-vae"] = "annealed-vae"
    capacity: Value = LinearSpec(start=0.0, stop=25.0, steps=100_000)
    gamma: Value = 1000.0


class RatedSpec(Group):
    """An objective whose own term is added to the rate, weighted by 1 unless said otherwise."""

    rate: Value = 1.0

    @model_serializer(mode="wrap")
    def _without_plain_rate(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = plain(self)
        if self.rate == 1.0:
            content.pop("rate", None)  # so that runs from before it keep their digest
        return content


class FactorVAESpec(RatedSpec):
    name: Literal["factor-vae"] = "factor-vae"
    gamma: Value = 35.0
    critic_lr: Value = 1e-4
    critic_betas: Decays = (0.5, 0.9)
    critic_width: Count = 1000
    critic_layers: Count = 6

    @property
    def critic(self) -> AdamSpec:
        """The critic's own optimiser."""
        return AdamSpec(lr=self.critic_lr, betas=self.critic_betas)


class BetaTCVAESpec(RatedSpec):
    name: Literal["beta-tcvae"] = "beta-tcvae"
    beta: Value = 6.0
    # The last two are Chen's with their flaws, for comparison with values found so.
    estimator: Literal["weighted", "stratified", "chen-weighted", "chen-stratified"] = "weighted"


class DipISpec(Group):
    name: Literal["dip-vae-i"] = "dip-vae-i"
    off_diagonal: Value = 10.0
    diagonal: Value = 100.0


class DipIISpec(RatedSpec):
    name: Literal["dip-vae-ii"] = "dip-vae-ii"
    off_diagonal: Value = 10.0
    diagonal: Value = 10.0


class DecompositionSpec(Group):
    name: Literal["decomposition"] = "decomposition"
    alpha: Value = 1.0
    beta: Value = 1.0
    divergence: Literal["marginal-mmd", "joint-mmd", "inclusive-kl", "exclusive-kl"] = (
        "marginal-mmd"
    )


class EntropyVAESpec(Group):
    name: Literal["entropy-vae"] = "entropy-vae"
    beta: Value = 4.0


class OrthogonalSpec(Group):
    name: Literal["orthogonal"] = "orthogonal"
    base: Literal["ae", "beta-vae"] = "beta-vae"
    beta: Value = 1.0
    weight: Value = 0.01
    space: Literal["means", "logits"] = "means"


class SlowVAESpec(Group):
    name: Literal["slow-vae"] = "slow-vae"
    beta: Value = 1.0
    gamma: Value = 10.0
    rate: Value = 6.0  # of the Laplace density of steps; that of the data is `pairs.rate`
    form: Literal["released", "consistent"] = "released"


class PCLSpec(Group):
    name: Literal["pcl"] = "pcl"


class WeakGANSpec(Group):
    name: Literal["weak-gan"] = "weak-gan"
    discriminator_lr: Value = 1e-3
    discriminator_betas: Decays = (0.5, 0.999)
    width: Count = 256  # of the discriminator's fully connected layers
    generator_norm: bool = True  # batch norm after each activation of the generator

    @property
    def discriminator(self) -> AdamSpec:
        """The discriminator's own optimiser."""
        return AdamSpec(lr=self.discriminator_lr, betas=self.discriminator_betas)


ObjectiveSpec = Annotated[
    AutoencoderSpec
    | VAESpec
    | BetaVAESpec
    | FreeBitsSpec
    | AnnealedVAESpec
    | FactorVAESpec
    | BetaTCVAESpec
    | DipISpec
    | DipIISpec
    | DecompositionSpec
    | EntropyVAESpec
    | OrthogonalSpec
    | SlowVAESpec
    | PCLSpec
    | WeakGANSpec,
    Field(discriminator="name"),
]
