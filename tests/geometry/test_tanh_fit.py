import pytest
import torch

from vaescope.geometry.tanh_fit import (
    TanhFit,
    _compiled_block,
    _fit_block,
    _state,
    _step,
    fit_tanh,
)
from vaescope.native import library


def noise(n: int, d: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn((n, d), generator=generator, dtype=torch.float64)


def least_squares(eps: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return torch.linalg.lstsq(eps, target).solution


def test_a_saturating_decoder_with_biases_is_found_again() -> None:
    eps = noise(400, 3)
    matrix = torch.tensor([[1.0, -2.0, 0.5], [0.3, 0.0, 1.0], [0.0, 1.5, -1.0]]).double()
    bias = torch.tensor([0.0, -0.8, 0.4]).double()
    gain = torch.tensor([0.7, 1.5, 4.0]).double()
    target = gain * (torch.tanh(eps @ matrix / gain + bias) - torch.tanh(bias))
    found = fit_tanh(eps, target, least_squares(eps, target))
    torch.testing.assert_close(found.matrix, matrix, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(found.bias, bias, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(found.gain, gain, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(found(eps), target, rtol=1e-3, atol=1e-3)


def test_its_slope_is_its_derivative_at_zero_and_there_it_is_zero() -> None:
    matrix = torch.tensor([[1.0, -2.0], [0.3, 0.5]]).double()
    found = TanhFit(matrix, torch.tensor([0.8, 0.0]).double(), torch.tensor([1.5, torch.inf]))
    zero = torch.zeros(1, 2, dtype=torch.float64)
    assert float(found(zero).abs().max()) == 0.0
    slope = torch.autograd.functional.jacobian(lambda e: found(e[None])[0], zero[0])
    torch.testing.assert_close(found.slope, slope.T)


def test_curvature_that_saturates_is_followed_by_its_bias() -> None:
    """1 - exp(-u) bends everywhere: a line leaves a third of what the fit leaves at most 5% of."""
    eps = noise(400, 1)
    target = 1.0 - torch.exp(-eps)
    start = least_squares(eps, target)
    found = fit_tanh(eps, target, start)
    fresh = torch.linspace(-2, 2, 101, dtype=torch.float64)[:, None]
    left = (1.0 - torch.exp(-fresh) - found(fresh)).square().mean()
    line = (1.0 - torch.exp(-fresh) - fresh @ start).square().mean()
    assert left < 0.05 * line


def test_what_is_linear_or_bends_outwards_stays_linear() -> None:
    eps = noise(400, 2)
    u = eps @ torch.tensor([1.0, 2.0]).double()
    target = torch.stack([u, u + 0.1 * u**3, torch.zeros_like(u)], 1)
    start = least_squares(eps, target)
    found = fit_tanh(eps, target, start)
    linear = ((target - eps @ start) ** 2).mean(0)
    fitted = ((target - found(eps)) ** 2).mean(0)
    assert torch.all(fitted <= linear + 1e-15)
    torch.testing.assert_close(fitted, linear, rtol=1e-3, atol=1e-12)


def test_it_is_never_worse_than_the_linear_fit_and_at_a_minimum() -> None:
    eps = noise(500, 4)
    generator = torch.Generator().manual_seed(1)
    mix = torch.randn((4, 40), generator=generator, dtype=torch.float64)
    target = torch.sin(eps @ mix) + 0.3 * (eps @ mix) ** 2
    start = least_squares(eps, target)
    found = fit_tanh(eps, target, start)
    linear = ((target - eps @ start) ** 2).mean(0)
    assert torch.all(((target - found(eps)) ** 2).mean(0) <= linear)
    bent = torch.isfinite(found.gain)
    assert bent.any()
    matrix = found.matrix[:, bent].clone().requires_grad_()
    log_gain = found.gain[bent].log().requires_grad_()
    bias = found.bias[bent].clone().requires_grad_()
    model = TanhFit(matrix, bias, log_gain.exp())
    loss = ((target[:, bent] - model(eps)) ** 2).mean(0).sum()
    loss.backward()
    for part in (matrix, bias, log_gain):
        assert part.grad is not None
        assert float(part.grad.abs().max()) < 1e-2 * loss.item()


def test_a_step_near_the_solution_leads_to_it() -> None:
    """Gauss-Newton without damping: the miss is squared, or a derivative is wrong."""
    eps = noise(300, 2)
    matrix = torch.tensor([[1.0], [-0.5]], dtype=torch.float64)
    bias, log_gain = torch.full((2, 1), 0.3, dtype=torch.float64)
    target = TanhFit(matrix, bias, log_gain.exp())(eps).T
    truth = torch.cat([matrix.T, bias[:, None], log_gain[:, None]], 1)
    away = torch.tensor([[1e-3, 1e-3, 1e-3, -1e-3]], dtype=torch.float64)
    at = _state(truth + away, (truth + away)[:, :2] @ eps.T, target)
    pairs = torch.stack([eps[:, 0] ** 2, eps[:, 0] * eps[:, 1], eps[:, 1] ** 2], 1)
    step = _step(eps, pairs, target, at, torch.zeros(1))
    torch.testing.assert_close(step, -away, rtol=2e-2, atol=0)


def test_the_loop_in_c_finds_what_torch_finds() -> None:
    """Each output to 1e-6 of its loss; where one decided otherwise on its way, to the tolerance."""
    compiled = library("tanh_fit")
    if compiled is None:
        pytest.skip("there is no C compiler")
    eps = noise(300, 4)
    mixing = noise(4, 60)
    target = torch.sigmoid(0.5 * eps @ mixing + 1.0) + 0.02 * eps[:, :1] * eps[:, 1:2]
    target = target - target.mean(0) + 0.01 * noise(300, 60)
    start = least_squares(eps, target)
    ours, ours_loss = _compiled_block(compiled, eps, target, start, 1e-3)
    wanted, wanted_loss = _fit_block(eps, target, start, 1e-3)
    torch.testing.assert_close(ours_loss, wanted_loss, rtol=1e-2, atol=0.0)
    same = (ours_loss / wanted_loss - 1.0).abs() < 1e-6
    assert float(same.double().mean()) > 0.95
    torch.testing.assert_close(ours(eps)[:, same], wanted(eps)[:, same], rtol=1e-5, atol=1e-7)
    missed = (target - ours(eps)).square().mean(0)
    torch.testing.assert_close(missed, ours_loss, rtol=1e-9, atol=0.0)
