import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from vaescope.objectives.elbo import Autoencoder, BetaVAE
from vaescope.objectives.orthogonal import Orthogonal, logits, means, off_diagonal, signs
from vaescope.schedules import Constant
from vaescope.vae import VAE


def exact_penalty(function: Callable[[Tensor], Tensor], z: Tensor) -> Tensor:
    """sum_{i != j} (s_i s_j (J'J)_ij)^2 of each row from the whole Jacobian."""
    scale = z.std(0, correction=0)
    found = []
    for row in z:
        jacobian = torch.func.jacrev(lambda one: function(one.unsqueeze(0)).flatten())(row)
        gram = (jacobian * scale).T @ (jacobian * scale)
        found.append((gram**2).sum() - (gram.diagonal() ** 2).sum())
    return torch.stack(found)


@pytest.mark.parametrize(
    ("base", "posterior"), [(Autoencoder(), "point"), (BetaVAE(Constant(2.0)), "diagonal")]
)
def test_without_weight_it_is_its_base(
    base: Autoencoder | BetaVAE, posterior: str, make_case: Callable[..., Any]
) -> None:
    case = make_case(posterior)
    ours = case(Orthogonal(base, Constant(0.0)))
    torch.testing.assert_close(ours.loss, case(base).loss, atol=1e-5, rtol=0)


def test_signs_are_plus_and_minus_one_in_equal_shares() -> None:
    found = signs(torch.randn(10_000, generator=torch.Generator().manual_seed(0)))
    assert set(found.tolist()) == {1.0, -1.0}
    assert abs(found.mean().item()) < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("net", ["linear", "mlp", "conv"])
@pytest.mark.parametrize("space", [means, logits])
def test_over_all_signs_the_estimate_is_the_exact_penalty(
    net: str, space: Any, make_case: Callable[..., Any]
) -> None:
    case = make_case(net=net, rows=3)
    vae: VAE = case.vae
    z = vae.encoder(case.batch.x).mean.detach()
    scale = z.std(0, correction=0)

    def function(point: Tensor) -> Tensor:
        return space(vae.decoder, point)

    corners = [torch.tensor(c, dtype=z.dtype) for c in itertools.product([1.0, -1.0], repeat=3)]
    estimates = [
        off_diagonal(function, z, (scale * torch.stack([a, b])).unsqueeze(1).expand(2, 3, 3))
        for a, b in itertools.product(corners, corners)
    ]
    torch.testing.assert_close(
        torch.stack(estimates).mean(0).double(),  # decoders put out float32
        exact_penalty(function, z).double(),
        rtol=1e-4,
        atol=1e-12,
    )


@pytest.mark.parametrize("net", ["mlp", "conv"])
def test_its_gradient_is_that_of_the_jacobian_by_reverse_mode(
    net: str, make_case: Callable[..., Any]
) -> None:
    """Forward mode inside reverse mode against reverse mode twice."""
    case = make_case(net=net, rows=4)
    vae: VAE = case.vae
    parameters = list(vae.parameters())
    ours = case(Orthogonal(BetaVAE(Constant(0.0)), Constant(1.0)))
    z = vae.encoder(case.batch.x).mean
    probes = z.std(0, correction=0) * signs(case.noise[1:3])
    lengths = []
    for probe in probes:
        _, product = torch.autograd.functional.jvp(
            lambda point: means(vae.decoder, point), z, probe, create_graph=True
        )  # by double backward
        lengths.append((product.flatten(1) ** 2).sum(1))
    theirs = (0.25 * (lengths[0] - lengths[1]) ** 2).mean()
    torch.testing.assert_close(ours.parts["off_diagonal"], theirs, rtol=1e-5, atol=0)
    first = torch.autograd.grad(ours.parts["off_diagonal"], parameters, allow_unused=True)
    second = torch.autograd.grad(theirs, parameters, allow_unused=True)
    for a, b in zip(first, second, strict=True):
        assert (a is None) == (b is None)
        if a is not None and b is not None:
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-9)


def test_orthogonal_columns_have_no_penalty_and_stretching_a_latent_changes_none(
    make_case: Callable[..., Any],
) -> None:
    case = make_case("point", "linear", rows=20)
    objective = Orthogonal(Autoencoder(), Constant(1.0))
    before = case(objective).parts["off_diagonal"]
    head, output = case.vae.encoder.posterior.head, case.vae.decoder.body[0]
    factors = torch.tensor([3.0, 0.2, 10.0], dtype=torch.float64)
    with torch.no_grad():
        head.weight.mul_(factors.unsqueeze(1))
        head.bias.mul_(factors)
        output.weight.div_(factors)
    stretched = case(objective)
    torch.testing.assert_close(stretched.parts["off_diagonal"], before, rtol=1e-5, atol=0)
    with torch.no_grad():
        output.weight.copy_(torch.linalg.qr(output.weight)[0] * torch.tensor([1.0, 2.0, 3.0]))
    assert case(objective).parts["off_diagonal"].item() == pytest.approx(0.0, abs=1e-7)
    assert before > 1e-3


def test_a_batch_of_one_row_has_finite_gradients(make_case: Callable[..., Any]) -> None:
    case = make_case("point", rows=1)
    loss = case(Orthogonal(Autoencoder(), Constant(1.0))).loss
    gradients = torch.autograd.grad(loss, list(case.vae.parameters()))
    assert all(g.isfinite().all() for g in gradients)


@pytest.mark.slow
def test_descending_it_makes_the_columns_of_a_linear_decoder_orthogonal(
    make_case: Callable[..., Any],
) -> None:
    case = make_case("point", "linear", rows=64)
    optimiser = torch.optim.Adam(case.vae.parameters(), lr=0.02)
    objective = Orthogonal(Autoencoder(), Constant(1.0))
    g = torch.Generator().manual_seed(0)

    def cosine() -> float:
        z = case.vae.encoder(case.batch.x).mean
        columns = case.vae.decoder.body[0].weight * z.std(0)
        units = columns / columns.norm(dim=0)
        return (units.T @ units - torch.eye(3)).abs().max().item()

    for _ in range(600):
        noise = torch.randn(3, 64, 3, generator=g, dtype=torch.float64)
        loss = objective(case.vae, case.batch, case.step, noise).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert cosine() < 0.05
