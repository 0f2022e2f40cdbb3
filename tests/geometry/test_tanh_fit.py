import torch

from vaescope.geometry.tanh_fit import TanhFit, _direction, fit_tanh


def noise(n: int, d: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn((n, d), generator=generator, dtype=torch.float64)


def least_squares(eps: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return torch.linalg.lstsq(eps, target).solution


def test_a_saturating_decoder_is_found_again() -> None:
    eps = noise(400, 3)
    matrix = torch.tensor([[1.0, -2.0, 0.5], [0.3, 0.0, 1.0], [0.0, 1.5, -1.0]]).double()
    gain = torch.tensor([0.7, 1.5, 4.0]).double()
    target = TanhFit(matrix, gain)(eps)
    found = fit_tanh(eps, target, least_squares(eps, target))
    torch.testing.assert_close(found.matrix, matrix, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(found.gain, gain, rtol=1e-3, atol=1e-3)


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
    model = TanhFit(matrix, log_gain.exp())
    loss = ((target[:, bent] - model(eps)) ** 2).mean(0).sum()
    loss.backward()
    for part in (matrix, log_gain):
        assert part.grad is not None
        assert float(part.grad.abs().max()) < 1e-2 * loss.item()


def test_a_step_near_the_solution_leads_to_it() -> None:
    """Gauss-Newton without damping: the miss is squared, or a derivative is wrong."""
    eps = noise(300, 2)
    matrix = torch.tensor([[1.0], [-0.5]], dtype=torch.float64)
    log_gain = torch.zeros(1, dtype=torch.float64)
    target = TanhFit(matrix, log_gain.exp())(eps)
    away = 1e-3
    step = _direction(eps, target, matrix + away, log_gain - away, torch.zeros(1))
    torch.testing.assert_close(step[:-1], torch.full_like(matrix, -away), rtol=1e-2, atol=0)
    torch.testing.assert_close(step[-1], torch.full_like(log_gain, away), rtol=1e-2, atol=0)
