import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from vaescope.objectives.elbo import BetaVAE
from vaescope.objectives.factor import FactorVAE, make_critic, permuted
from vaescope.schedules import Constant


def small_critic(latent: int = 3) -> nn.Sequential:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return make_critic(latent, width=16, layers=2).double()


def test_the_critic_has_kim_and_mnihs_layers() -> None:
    critic = make_critic(10)
    linear = [part for part in critic if isinstance(part, nn.Linear)]
    slopes = {part.negative_slope for part in critic if isinstance(part, nn.LeakyReLU)}
    assert [part.out_features for part in linear] == [1000] * 6 + [2]
    assert slopes == {0.2}


def test_permuting_keeps_each_latents_values_and_breaks_their_rows() -> None:
    g = torch.Generator().manual_seed(0)
    z = torch.randn(500, 1, generator=g, dtype=torch.float64).expand(-1, 3)  # all latents equal
    shuffled = permuted(z, torch.randn(500, 3, generator=g, dtype=torch.float64))
    torch.testing.assert_close(shuffled.sort(0).values, z.sort(0).values)
    off = torch.corrcoef(shuffled.T) - torch.eye(3, dtype=torch.float64)
    assert off.abs().max() < 0.15  # 3 standard errors


def test_without_gamma_it_is_the_elbo_and_gamma_weighs_the_logits_difference(
    make_case: Callable[..., Any],
) -> None:
    case, critic = make_case(), small_critic()
    elbo = case(BetaVAE()).loss
    none = case(FactorVAE(critic, Constant(0.0)))
    torch.testing.assert_close(none.loss, elbo, atol=1e-5, rtol=0)
    some = case(FactorVAE(critic, Constant(9.0)))
    logits = critic(case.vae.encoder(case.batch.x).at(case.noise[0]))
    torch.testing.assert_close(some.loss - elbo, 9.0 * (logits[:, 0] - logits[:, 1]).mean())


def test_the_critics_loss_is_dlibs_and_ln_2_for_a_critic_that_knows_nothing(
    make_case: Callable[..., Any],
) -> None:
    case, critic = make_case(), small_critic()
    found = case(FactorVAE(critic)).others["critic"]
    z = case.vae.encoder(case.batch.x).at(case.noise[0])
    real, shuffled = critic(z).softmax(-1), critic(permuted(z, case.noise[1])).softmax(-1)
    expected = -0.5 * real[:, 0].log().mean() - 0.5 * shuffled[:, 1].log().mean()
    torch.testing.assert_close(found, expected)
    with torch.no_grad():
        critic[-1].weight.zero_()  # type: ignore[operator]
    blind = case(FactorVAE(critic)).others["critic"]
    assert blind.item() == pytest.approx(math.log(2.0))


def test_each_loss_moves_its_own_group(make_case: Callable[..., Any]) -> None:
    case, critic = make_case(), small_critic()
    vae, objective = case.vae, FactorVAE(critic)
    assert objective.modules == {"critic": critic}
    terms = case(objective)
    terms.others["critic"].backward(retain_graph=True)  # type: ignore[no-untyped-call]
    assert all(p.grad is None for p in vae.parameters())
    silent = [n for n, p in critic.named_parameters() if p.grad is None or not p.grad.any()]
    assert silent == []
    terms.loss.backward()  # type: ignore[no-untyped-call]
    silent = [n for n, p in vae.named_parameters() if p.grad is None or not p.grad.any()]
    assert silent == []


@pytest.mark.slow
def test_a_trained_critic_gives_the_total_correlation_of_correlated_normals() -> None:
    """Two normals of correlation 0.8: -1/2 ln(1 - 0.64) = 0.511 nats."""
    truth = -0.5 * math.log(1.0 - 0.8**2)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        critic = make_critic(2, width=64, layers=3)
        optimiser = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))

        def codes(rows: int) -> Tensor:
            z = torch.randn(rows, 2)
            return torch.stack([z[:, 0], 0.8 * z[:, 0] + 0.6 * z[:, 1]], 1)

        for rate in torch.linspace(1e-3, 0.0, 1500).tolist():
            z = codes(512)
            both = torch.cat([z, permuted(z, torch.randn_like(z))])
            kinds = torch.arange(2).repeat_interleave(512)
            loss = nn.functional.cross_entropy(critic(both), kinds)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.param_groups[0]["lr"] = rate
            optimiser.step()
        logits = critic(codes(100_000))
    found = (logits[:, 0] - logits[:, 1]).mean().item()
    assert found == pytest.approx(truth, rel=0.06)
