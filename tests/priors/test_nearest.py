"""The Gaussian nearest to a Student-t prior is what a latent that ignores x becomes."""

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from vaescope.build import build_vae
from vaescope.codes import Codes
from vaescope.data.in_memory import from_arrays
from vaescope.latents.kl import kl
from vaescope.latents.types import types
from vaescope.opening import encode
from vaescope.priors import (
    MixturePrior,
    SparsePrior,
    StandardNormal,
    StudentTPrior,
    nearest_gaussian,
)
from vaescope.settings import from_command_line

DATA = from_arrays(np.random.default_rng(0).normal(size=(30, 3)).astype(np.float32))


def kl_to_t(deviation: float, df: float) -> float:
    """KL(N(0, deviation^2) || t) by quadrature, independently of the code."""

    def integrand(z: float) -> float:
        log_q = stats.norm.logpdf(z, scale=deviation)
        return float(np.exp(log_q) * (log_q - stats.t.logpdf(z, df)))

    return integrate.quad(integrand, -12 * deviation, 12 * deviation)[0]


@pytest.mark.parametrize("df", [1.0, 3.0, 30.0])
def test_no_other_variance_has_a_smaller_kl(df: float) -> None:
    found = nearest_gaussian(StudentTPrior(2, df)())
    assert found is not None
    deviation = float(found.variance[0, 0].sqrt())
    least = kl_to_t(deviation, df)
    assert least < kl_to_t(1.02 * deviation, df)
    assert least < kl_to_t(deviation / 1.02, df)


def test_it_scales_with_the_prior_and_tends_to_the_normal() -> None:
    one, two = (nearest_gaussian(StudentTPrior(1, 5.0, variance=v)()) for v in (1.0, 2.0))
    many = nearest_gaussian(StudentTPrior(1, 1e7)())
    assert one is not None and two is not None and many is not None
    torch.testing.assert_close(two.variance, 2.0 * one.variance)
    torch.testing.assert_close(many.variance, torch.ones(1, 1), atol=1e-5, rtol=0.0)


def test_other_priors_have_none() -> None:
    for prior in (StandardNormal(2), SparsePrior(2, 0.8), MixturePrior(torch.eye(2))):
        assert nearest_gaussian(prior()) is None


def codes_of_unused_latents() -> Codes:
    """What an encoder of a Student-t VAE gives whose latents cost least."""
    spec = from_command_line(
        "vae", ["data.name=synth-linear", "net.name=mlp", "prior.name=student-t", "latent=3"]
    )
    vae = build_vae(spec)
    nearest = nearest_gaussian(vae.prior())
    assert nearest is not None
    with torch.no_grad():
        vae.encoder.posterior.head.weight.zero_()
        vae.encoder.posterior.head.bias.copy_(
            torch.cat([torch.zeros(3), nearest.variance[0].log()])
        )
    return encode(vae, DATA)


def test_unused_latents_of_a_student_t_model_are_passive() -> None:
    codes = codes_of_unused_latents()
    assert codes.variance.min() > 1.1  # by 001's rule, which is for N(0, 1), they would be mixed
    assert codes.prior_nearest
    assert types(codes).summary() == "0 active, 0 mixed, 3 passive (0, 1, 2)"
    assert kl(codes).prior == "the Gaussian nearest to the prior"


def test_codes_keep_that_their_prior_is_the_nearest(tmp_path: Path) -> None:
    codes = codes_of_unused_latents()
    codes.save(tmp_path / "codes.npz")
    assert Codes.load(tmp_path / "codes.npz").prior_nearest
