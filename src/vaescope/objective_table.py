"""Objectives by name: settings -> values."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from vaescope import aggregate_posterior
from vaescope.objectives import Autoencoder, BetaVAE, FreeBits, Objective
from vaescope.objectives.adversarial import (
    Discriminator,
    WeakGAN,
    convolutional_body,
    dense_body,
)
from vaescope.objectives.capacity import CapacityVAE
from vaescope.objectives.contrastive import Contrast, PermutationContrast
from vaescope.objectives.decomposition import (
    Decomposition,
    Divergence,
    exclusive_kl,
    inclusive_kl,
    joint_mmd,
    marginal_mmd,
)
from vaescope.objectives.dip import DIPI, DIPII
from vaescope.objectives.entropy import EntropyVAE
from vaescope.objectives.factor import FactorVAE, make_critic
from vaescope.objectives.orthogonal import Orthogonal, logits, means
from vaescope.objectives.slow import SlowVAE
from vaescope.objectives.total_correlation import BetaTCVAE
from vaescope.scheduling import build_schedule
from vaescope.specs import Experiment

__all__ = ["DIVERGENCES", "ESTIMATORS", "OBJECTIVES"]

ESTIMATORS: Mapping[str, aggregate_posterior.Weights] = {
    "weighted": aggregate_posterior.weighted,
    "stratified": aggregate_posterior.stratified,
    "chen-weighted": aggregate_posterior.chen_weighted,
    "chen-stratified": aggregate_posterior.chen_stratified,
}

DIVERGENCES: Mapping[str, Divergence] = {
    "marginal-mmd": marginal_mmd,
    "joint-mmd": joint_mmd,
    "inclusive-kl": inclusive_kl,
    "exclusive-kl": exclusive_kl,
}


def _orthogonal(spec: Any, whole: Experiment) -> Orthogonal:
    base = Autoencoder() if spec.base == "ae" else BetaVAE(build_schedule(spec.beta))
    space = {"means": means, "logits": logits}[spec.space]
    return Orthogonal(base, build_schedule(spec.weight), space)


def _weak_gan(spec: Any, whole: Experiment) -> WeakGAN:
    event, width = whole.data.shape, spec.width
    if whole.net.name == "conv":
        body = convolutional_body(event[0], event[1], width)
    else:
        body = dense_body(math.prod(event), width)
    return WeakGAN(Discriminator(body, width, whole.latent))


#: (spec, experiment) -> objective.
OBJECTIVES: Mapping[str, Callable[[Any, Experiment], Objective]] = {
    "ae": lambda spec, whole: Autoencoder(),
    "vae": lambda spec, whole: BetaVAE(),
    "beta-vae": lambda spec, whole: BetaVAE(build_schedule(spec.beta)),
    "free-bits": lambda spec, whole: FreeBits(build_schedule(spec.floor)),
    "annealed-vae": lambda spec, whole: CapacityVAE(
        build_schedule(spec.capacity), build_schedule(spec.gamma)
    ),
    "factor-vae": lambda spec, whole: FactorVAE(
        make_critic(whole.latent, width=spec.critic_width, layers=spec.critic_layers),
        build_schedule(spec.gamma),
        build_schedule(spec.rate),
    ),
    "beta-tcvae": lambda spec, whole: BetaTCVAE(
        build_schedule(spec.beta), ESTIMATORS[spec.estimator], build_schedule(spec.rate)
    ),
    "dip-vae-i": lambda spec, whole: DIPI(
        build_schedule(spec.off_diagonal), build_schedule(spec.diagonal)
    ),
    "dip-vae-ii": lambda spec, whole: DIPII(
        build_schedule(spec.off_diagonal), build_schedule(spec.diagonal), build_schedule(spec.rate)
    ),
    "decomposition": lambda spec, whole: Decomposition(
        DIVERGENCES[spec.divergence], build_schedule(spec.alpha), build_schedule(spec.beta)
    ),
    "entropy-vae": lambda spec, whole: EntropyVAE(build_schedule(spec.beta)),
    "orthogonal": _orthogonal,
    "pcl": lambda spec, whole: PermutationContrast(Contrast(whole.latent)),
    "weak-gan": _weak_gan,
    "slow-vae": lambda spec, whole: SlowVAE(
        build_schedule(spec.beta), build_schedule(spec.gamma), build_schedule(spec.rate), spec.form
    ),
}
