"""A linear VAE keeps what is worth its rate (zietlow2022; Lucas et al. 2019): summed squared error
and beta are probabilistic PCA with noise variance beta / 2."""

import numpy as np
import pytest
import torch

from vaescope.data.synthetic import linear_gaussian, principal_axes
from vaescope.settings import from_command_line
from vaescope.training.loop import new_state, steps

EIGENVALUES = (4.0, 2.0, 1.0, 0.7, 0.3, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("beta", "kept"), [(1.0, 4), (2.5, 2)])  # beta / 2 = 0.5 and 1.25
def test_training_keeps_exactly_the_latents_with_eigenvalue_above_half_beta(
    beta: float, kept: int
) -> None:
    data = linear_gaussian(eigenvalues=EIGENVALUES, dimension=8, n=10_000)
    x = data.rows(np.arange(len(data)))
    values = principal_axes(x)[0][:6]
    decay = '{"name": "cosine", "start": 0.01, "stop": 0, "steps": 3000}'
    experiment = from_command_line(
        "beta-vae",
        ["data.name=linear-gaussian", f"data.eigenvalues={list(EIGENVALUES)}", "data.dimension=8",
         "net.name=linear", "latent=6", f"objective.beta={beta}", "batch=256", "steps=3000",
         f"optimiser.lr={decay}"],
    )  # fmt: skip
    state = new_state(experiment, torch.device("cpu"))
    for _ in steps(state, experiment, data, "fp32"):
        pass
    with torch.no_grad():
        q = state.vae.encoder(torch.from_numpy(x))
    assert (values > beta / 2).tolist() == [True] * kept + [False] * (6 - kept)
    expected = np.where(values > beta / 2, beta / (2.0 * values), 1.0)
    np.testing.assert_allclose(np.sort(q.variance.mean(0).numpy()), expected, rtol=0.02)
    # The means carry the rest of the prior's variance; those of passive latents carry none.
    np.testing.assert_allclose(np.sort(q.mean.var(0).numpy())[::-1], 1.0 - expected, atol=0.02)
