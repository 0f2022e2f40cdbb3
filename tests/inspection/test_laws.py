"""Laws of single latents are said of posteriors that have a variance for each latent alone."""

from pathlib import Path

import numpy as np
import pytest

import vaescope as vs
from vaescope.codes import Codes, own_widths

X = vs.known.signals()


def test_a_width_that_latents_share_is_not_their_own() -> None:
    mean, each = np.zeros((5, 2)), np.linspace(0.1, 1.0, 5)[:, None]
    shared, own = np.repeat(each, 2, axis=1), each * np.array([1.0, 2.0])
    assert not own_widths(Codes(mean, variance=shared, sample=mean))
    assert own_widths(Codes(mean, variance=own, sample=mean))
    full = own[:, :, None] * np.eye(2)
    assert not own_widths(Codes(mean, variance=own, sample=mean, covariance=full))
    assert own_widths(Codes(mean[:, :1], variance=each, sample=mean[:, :1]))


@pytest.mark.slow
@pytest.mark.parametrize("posterior", ["full", "isotropic"])
def test_no_weight_is_tested_where_latents_do_not_have_widths_of_their_own(
    posterior: str, tmp_path: Path
) -> None:
    small = {"latent": 2, "batch": 32, "steps": 40, "net": {"name": "linear"}, "out": tmp_path}
    run = vs.train("vae", X, posterior={"name": posterior}, lr=0.05, **small)
    found = vs.inspect(run, X, effort="fast").to_dict()
    law, weight = found["geometry"]["variance_law"], found["effective_beta"]
    assert law["ratio"] is None and "a variance for each latent alone" in law["reason"]
    assert weight["value"] is None
    assert "same width" in weight["reason"] or "diagonal posterior" in weight["reason"]
