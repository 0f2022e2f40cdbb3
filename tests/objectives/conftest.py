"""Small random models and batches in float64, for laws that hold of any network."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from vaescope.nets import (
    BernoulliLikelihood,
    DiagonalPosterior,
    FullPosterior,
    PointPosterior,
    SquaredErrorLikelihood,
    conditional_conv_pair,
    conditional_mlp_pair,
    conv_pair,
    linear_pair,
    mlp_pair,
)
from vaescope.objectives import Objective, Terms
from vaescope.priors import ConditionalPrior, StandardNormal
from vaescope.vae import VAE, Batch, ConditionalEncoder, Decoder, Encoder

LATENT, AUXILIARY = 3, 2
POSTERIORS = {"diagonal": DiagonalPosterior, "full": FullPosterior, "point": PointPosterior}
PAIRS = {
    "mlp": lambda: mlp_pair((6,), LATENT, encoder=(8,), decoder=(8,),
                            encoder_activation=nn.Tanh, decoder_activation=nn.Tanh),
    "linear": lambda: linear_pair((6,), LATENT),
    "conv": lambda: conv_pair((1, 32, 32), LATENT),
}  # fmt: skip
CONDITIONAL_PAIRS = {
    "mlp": lambda: conditional_mlp_pair((6,), LATENT, AUXILIARY, encoder=(8,), decoder=(8,),
                                        encoder_activation=nn.Tanh, decoder_activation=nn.Tanh),
    "conv": lambda: conditional_conv_pair((1, 32, 32), LATENT, AUXILIARY),
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A model and what it sees at one step: `case(objective)` gives the terms."""

    vae: VAE
    batch: Batch
    noise: Tensor  # (3, batch, latent): no objective takes more
    step: Tensor

    def __call__(self, objective: Objective) -> Terms:
        return objective(self.vae, self.batch, self.step, self.noise)


@pytest.fixture
def make_case() -> Callable[..., Case]:
    """Six values with squared error, or 32x32 pixels with a Bernoulli likelihood."""

    def make(
        posterior: str = "diagonal",
        net: str = "mlp",
        *,
        rows: int = 8,
        size: int = 100,
        conditional: bool = False,
    ) -> Case:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(3)
            pair = (CONDITIONAL_PAIRS if conditional else PAIRS)[net]()
            likelihood = BernoulliLikelihood() if net == "conv" else SquaredErrorLikelihood()
            kind = ConditionalEncoder if conditional else Encoder
            encoder = kind(pair.encoder, POSTERIORS[posterior](pair.features, LATENT))
            prior = (
                ConditionalPrior(AUXILIARY, LATENT, learned_mean=True)
                if conditional
                else StandardNormal(LATENT)
            )
            vae = VAE(encoder, Decoder(pair.decoder, likelihood), prior).double()
            shape = (1, 32, 32) if net == "conv" else (6,)
            x = 2.0 * torch.randn(rows, *shape, dtype=torch.float64)
            x = (x > 0).double() if net == "conv" else x
            noise = torch.randn(3, rows, LATENT, dtype=torch.float64)
            u = torch.rand(rows, AUXILIARY, dtype=torch.float64) if conditional else None
        step = torch.tensor(5.0, dtype=torch.float64)
        return Case(vae, Batch(x, torch.arange(rows), size, u), noise, step)

    return make
