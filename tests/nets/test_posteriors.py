import torch
from torch import nn

from vaescope.nets import DiagonalPosterior, FullPosterior
from vaescope.vae import in_float32


def test_the_full_posterior_has_a_valid_cholesky_factor() -> None:
    q = FullPosterior(8, 4)(torch.randn(6, 8))
    assert torch.equal(q.scale_tril, q.scale_tril.tril())
    assert (q.scale_tril.diagonal(dim1=1, dim2=2) > 0).all()
    torch.testing.assert_close(torch.linalg.cholesky(q.covariance), q.scale_tril)


def test_every_entry_of_the_factor_is_a_parameter_of_its_own() -> None:
    posterior = FullPosterior(1, 3)
    with torch.no_grad():
        posterior.head.weight.zero_()
        posterior.head.bias.copy_(torch.arange(9.0))
    tril = posterior(torch.zeros(1, 1)).scale_tril[0]
    expected = torch.tensor([[3.0, 0, 0], [4, 5, 0], [6, 7, 8]])
    torch.testing.assert_close(tril.tril(-1), expected.tril(-1))
    torch.testing.assert_close(tril.diagonal(), expected.diagonal().exp())


def test_heads_stay_in_float32_inside_autocast() -> None:
    features = torch.randn(4, 8)
    posterior = DiagonalPosterior(8, 2)
    with torch.autocast("cpu", torch.bfloat16):
        assert nn.Linear(8, 2)(features).dtype == torch.bfloat16
        q = posterior(features.bfloat16())
    assert q.mean.dtype == torch.float32
    torch.testing.assert_close(
        q.mean, in_float32(posterior.head, features.bfloat16().float())[:, :2]
    )
