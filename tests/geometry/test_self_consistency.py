import numpy as np
import pytest
import torch

from vaescope.errors import ShapeError
from vaescope.geometry import self_consistency
from vaescope.nets import BernoulliLikelihood, DiagonalPosterior, SquaredErrorLikelihood
from vaescope.vae import Decoder, Encoder

Z = np.random.default_rng(0).normal(size=(300, 2)).astype(np.float32)


def test_an_inverse_pair_is_self_consistent() -> None:
    found = self_consistency(torch.atanh, torch.tanh, Z)
    assert found.value < 1e-8
    assert found.distance.value < 1e-4


def test_an_encoder_that_answers_with_the_mean_code_misses_all_variance() -> None:
    found = self_consistency(lambda x: 0.0 * x + torch.from_numpy(Z.mean(0)), torch.tanh, Z)
    assert found.value == pytest.approx(1.0, rel=1e-5)
    np.testing.assert_allclose(found.per_latent, 1.0, rtol=1e-5)


def test_passive_latents_can_be_left_out() -> None:
    forget = lambda x: x * x.new_tensor([1.0, 0.0])  # noqa: E731
    assert self_consistency(forget, lambda z: z, Z).value > 0.4
    assert self_consistency(forget, lambda z: z, Z, columns=(0,)).value == 0.0


def test_encoders_and_decoders_may_return_distributions() -> None:
    encoder = Encoder(torch.nn.Identity(), DiagonalPosterior(2, 2))
    for likelihood in (SquaredErrorLikelihood(), BernoulliLikelihood()):
        found = self_consistency(encoder, Decoder(torch.nn.Linear(2, 2), likelihood), Z)
        assert np.isfinite(found.value) and found.n == 300


def test_the_encoder_must_return_codes() -> None:
    with pytest.raises(ShapeError, match="posterior means"):
        self_consistency(lambda x: x[:, :1], torch.tanh, Z)
