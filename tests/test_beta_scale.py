import pytest

from vaescope.beta_scale import normalised_beta, plain_beta


def test_normalised_beta_weighs_means_where_beta_weighs_sums() -> None:
    distortion_sum, rate_sum, pixels, latent, beta = 120.0, 7.0, 4096, 10, 4.0
    sums = distortion_sum + beta * rate_sum
    means = distortion_sum / pixels + normalised_beta(beta, pixels, latent) * rate_sum / latent
    assert means == pytest.approx(sums / pixels)


def test_plain_beta_is_the_inverse() -> None:
    assert plain_beta(normalised_beta(4.0, 12288, 32), 12288, 32) == pytest.approx(4.0)
