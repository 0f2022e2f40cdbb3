"""What every objective of the family does, whatever its formula."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.func import functional_call, vmap

from vaescope.aggregate_posterior import stratified
from vaescope.objectives import Autoencoder, BetaVAE, Objective, Terms
from vaescope.objectives.capacity import CapacityVAE
from vaescope.objectives.decomposition import (
    Decomposition,
    exclusive_kl,
    inclusive_kl,
    joint_mmd,
    marginal_mmd,
)
from vaescope.objectives.dip import DIPI, DIPII
from vaescope.objectives.entropy import EntropyVAE
from vaescope.objectives.factor import FactorVAE, make_critic
from vaescope.objectives.orthogonal import Orthogonal, logits
from vaescope.objectives.total_correlation import BetaTCVAE
from vaescope.schedules import Constant
from vaescope.vae import VAE, Batch


def critic() -> torch.nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return make_critic(3, width=16, layers=2).double()


FAMILY: dict[str, Objective] = {
    "ae": Autoencoder(),
    "vae": BetaVAE(),
    "ivae": BetaVAE(),
    "beta-vae": BetaVAE(Constant(4.0)),
    "capacity-vae": CapacityVAE(Constant(25.0)),
    "factor-vae": FactorVAE(critic()),
    "beta-tcvae weighted": BetaTCVAE(),
    "beta-tcvae stratified": BetaTCVAE(estimator=stratified),
    "dip-vae-i": DIPI(),
    "dip-vae-ii": DIPII(),
    "decomposition joint mmd": Decomposition(joint_mmd),
    "decomposition marginal mmd": Decomposition(marginal_mmd),
    "decomposition inclusive": Decomposition(inclusive_kl),
    "decomposition exclusive": Decomposition(exclusive_kl),
    "entropy-vae": EntropyVAE(),
    "orthogonal ae": Orthogonal(Autoencoder()),
    "orthogonal vae": Orthogonal(BetaVAE()),
    "orthogonal vae logits": Orthogonal(BetaVAE(), space=logits),
}
#: Not sums over examples: they compare the rows of a batch with each other, and a row that is there
#: twice is another batch. Their distortion and rate are means over examples all the same.
BETWEEN_ROWS = {
    "factor-vae", "beta-tcvae stratified", "decomposition joint mmd", "decomposition marginal mmd",
    "decomposition exclusive",
}  # fmt: skip


@pytest.fixture
def case_of(make_case: Callable[..., Any]) -> Callable[..., Any]:
    """The model and the batch that an entry of the family takes."""

    def make(name: str, net: str = "mlp") -> Any:
        posterior = "point" if name in ("ae", "orthogonal ae") else "diagonal"
        return make_case(posterior, net, conditional=name == "ivae")

    return make


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("net", ["mlp", "conv"])
def test_gradients_reach_every_parameter(name: str, net: str, case_of: Callable[..., Any]) -> None:
    case = case_of(name, net)
    terms = case(FAMILY[name])
    gradients = torch.autograd.grad(terms.loss, list(case.vae.parameters()), allow_unused=True)
    names = [n for n, _ in case.vae.named_parameters()]
    silent = [n for n, g in zip(names, gradients, strict=True) if g is None or not g.any()]
    assert silent == []


@pytest.mark.parametrize("name", FAMILY)
def test_repeating_a_batch_leaves_the_terms_unchanged(
    name: str, case_of: Callable[..., Any]
) -> None:
    case = case_of(name)
    objective = FAMILY[name]
    once = case(objective)
    batch: Batch = case.batch
    twice = Batch(
        batch.x.repeat(2, 1),
        batch.index.repeat(2),
        batch.dataset_size,
        None if batch.u is None else batch.u.repeat(2, 1),
    )
    again = objective(case.vae, twice, case.step, case.noise.repeat(1, 2, 1))
    for part in {"distortion", "rate"} & once.parts.keys():
        torch.testing.assert_close(once.parts[part], again.parts[part])
    if name not in BETWEEN_ROWS:
        torch.testing.assert_close(once.loss, again.loss)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILY)
def test_losses_are_finite_in_float32_and_close_in_bf16(
    name: str, case_of: Callable[..., Any]
) -> None:
    case = case_of(name, "conv")
    vae, noise, step = case.vae.float(), case.noise.float(), case.step.float()
    u = None if case.batch.u is None else case.batch.u.float()
    batch = Batch(case.batch.x.float(), case.batch.index, 1000, u)
    objective = FAMILY[name]
    for module in objective.modules.values():
        module.float()

    def run() -> tuple[Terms, torch.Tensor]:
        terms = objective(vae, batch, step, noise)
        found = torch.autograd.grad(terms.loss, list(vae.parameters()))
        return terms, torch.cat([g.flatten() for g in found])

    plain, gradient = run()
    with torch.autocast("cpu", torch.bfloat16):
        rounded, rough = run()
    for module in objective.modules.values():
        module.double()
    assert plain.loss.isfinite() and gradient.isfinite().all()
    assert all(part.isfinite() for part in plain.parts.values())
    assert rounded.loss.dtype == torch.float32
    torch.testing.assert_close(plain.loss, rounded.loss, rtol=0.01, atol=0.01)
    assert torch.cosine_similarity(gradient, rough, 0) > 0.98


@pytest.mark.parametrize("name", [name for name in FAMILY if not FAMILY[name].modules])
def test_stacked_models_have_the_losses_they_have_alone(
    name: str, case_of: Callable[..., Any]
) -> None:
    """`training.many` runs objectives under vmap."""
    case = case_of(name)
    objective = FAMILY[name]
    parameters = {n: p.detach() for n, p in case.vae.named_parameters()}
    other = {n: 0.9 * p for n, p in parameters.items()}
    stacked = {n: torch.stack([parameters[n], other[n]]) for n in parameters}

    class Loss(torch.nn.Module):
        def __init__(self, vae: VAE) -> None:
            super().__init__()
            self.vae = vae

        def forward(self) -> torch.Tensor:
            return objective(self.vae, case.batch, case.step, case.noise).loss

    loss = Loss(case.vae)

    def alone(values: dict[str, torch.Tensor]) -> torch.Tensor:
        return functional_call(loss, {f"vae.{n}": v for n, v in values.items()}, ())

    together = vmap(alone)(stacked)
    torch.testing.assert_close(together, torch.stack([alone(parameters), alone(other)]))
