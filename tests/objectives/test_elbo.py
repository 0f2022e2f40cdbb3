import pytest
import torch

from vaescope.build import build_objective, build_vae
from vaescope.distributions import kl
from vaescope.objectives import Autoencoder, BetaVAE, Objective
from vaescope.schedules import Constant, Linear
from vaescope.settings import from_command_line
from vaescope.vae import VAE, Batch


def model(*settings: str) -> VAE:
    return build_vae(from_command_line("vae", ["data.size=32", *settings])).double()


def batch(n: int = 4) -> Batch:
    g = torch.Generator().manual_seed(1)
    x = (torch.rand(n, 1, 32, 32, generator=g) > 0.5).double()
    return Batch(x, torch.arange(n), n)


def noise(n: int = 4, draws: int = 1) -> torch.Tensor:
    return torch.randn(draws, n, 10, generator=torch.Generator().manual_seed(2)).double()


STEP = torch.tensor(5.0, dtype=torch.float64)


def test_beta_one_is_the_negative_elbo() -> None:
    vae, data, eps = model(), batch(), noise()
    terms = BetaVAE(Constant(1.0))(vae, data, STEP, eps)
    q = vae.encoder(data.x)
    elbo = vae.decoder(q.at(eps[0])).log_prob(data.x) - kl(q, vae.prior())
    torch.testing.assert_close(terms.loss, -elbo.mean())


def test_beta_weighs_the_rate_only_and_follows_its_schedule() -> None:
    vae, data, eps = model(), batch(), noise()
    one = BetaVAE(Constant(1.0))(vae, data, STEP, eps)
    half = BetaVAE(Linear(0.0, 8.0, 10))(vae, data, STEP, eps)
    torch.testing.assert_close(half.loss - one.loss, 3.0 * one.parts["rate"])


@pytest.mark.parametrize("objective", [Autoencoder(), BetaVAE(Constant(4.0))])
def test_repeating_a_batch_leaves_the_terms_unchanged(objective: Objective) -> None:
    vae, data, eps = model(), batch(), noise(draws=1)
    twice = Batch(data.x.repeat(2, 1, 1, 1), data.index.repeat(2), 4)
    once = objective(vae, data, STEP, eps)
    again = objective(vae, twice, STEP, eps.repeat(1, 2, 1))
    torch.testing.assert_close(once.loss, again.loss)


@pytest.mark.parametrize("posterior", ["diagonal", "full", "point"])
def test_gradients_reach_every_parameter(posterior: str) -> None:
    name = "ae" if posterior == "point" else "beta-vae"
    settings = [f"posterior.name={posterior}", f"objective.name={name}"]
    vae = model(*settings)
    objective = build_objective(from_command_line("vae", settings))
    objective(vae, batch(), STEP, noise()).loss.backward()  # type: ignore[no-untyped-call]
    silent = [n for n, p in vae.named_parameters() if p.grad is None or not p.grad.any()]
    assert silent == []
