"""Linear VAEs are probabilistic PCA (zietlow2022 Theorem 2; Lucas et al. 2019)."""

import math

import numpy as np
import pytest
import torch

from vaescope.build import build_vae
from vaescope.data.synthetic import linear_gaussian, principal_axes, synth_linear
from vaescope.objectives import BetaVAE
from vaescope.schedules import Constant
from vaescope.settings import from_command_line
from vaescope.specs import Experiment
from vaescope.training.loop import new_state, steps
from vaescope.vae import VAE, Batch

Array = np.ndarray


def set_to_ppca(vae: VAE, mean: Array, values: Array, axes: Array, noise: float) -> None:
    """The closed-form optimum for noise variance `noise` (Tipping and Bishop 1999)."""
    d = len(values)
    w = axes * np.sqrt(values - noise)  # decoder columns
    m = w.T @ w + noise * np.eye(d)  # diagonal
    encoder = np.linalg.solve(m, w.T)
    variance = noise / np.diag(m)
    head, output = vae.encoder.posterior.head, vae.decoder.body[0]
    with torch.no_grad():
        head.weight.zero_()
        head.weight[:d] = torch.from_numpy(encoder)
        head.bias[:d] = torch.from_numpy(-encoder @ mean)
        head.bias[d:] = torch.from_numpy(np.log(variance))
        output.weight.copy_(torch.from_numpy(w))
        output.bias.copy_(torch.from_numpy(mean))


def test_elbo_equals_the_log_likelihood_at_the_closed_form_optimum() -> None:
    """With a Gaussian likelihood of variance s the posterior is exact, so the bound is tight."""
    data = linear_gaussian(eigenvalues=(4.0, 2.0, 1.0), dimension=5, noise=0.3, n=2000)
    x = data.rows(np.arange(len(data))).astype(np.float64)
    values, axes = principal_axes(x)
    s = float(values[3:].mean())
    vae = build_vae(
        from_command_line(
            "vae",
            ["data.name=linear-gaussian", "data.dimension=5", "net.name=linear", "latent=3",
             "likelihood.name=gaussian", f"likelihood.scale={math.sqrt(s)!r}"],
        )
    ).double()  # fmt: skip
    # float32 made the scale; the identity is checked to 1e-6
    vae.decoder.likelihood.log_scale.fill_(0.5 * math.log(s))
    set_to_ppca(vae, x.mean(0), values[:3], axes[:, :3], s)
    # For a linear decoder the noise integrates out exactly: antithetic sigma points suffice.
    tensor = torch.from_numpy(x)
    q = vae.encoder(tensor)
    inner = vae.decoder(q.mean).log_prob(tensor)
    w = vae.decoder.body[0].weight
    spread = (q.variance * (w**2).sum(0)).sum(-1) / (2.0 * s)
    terms = BetaVAE()(vae, Batch(tensor, torch.arange(len(x)), len(x)), torch.tensor(0.0),
                      torch.zeros(1, len(x), 3, dtype=torch.float64))  # fmt: skip
    elbo = (inner - spread).mean() - terms.parts["rate"]
    covariance = axes[:, :3] @ np.diag(values[:3] - s) @ axes[:, :3].T + s * np.eye(5)
    exact = torch.distributions.MultivariateNormal(
        torch.from_numpy(x.mean(0)), torch.from_numpy(covariance)
    )
    torch.testing.assert_close(elbo, exact.log_prob(tensor).mean(), atol=1e-6, rtol=0)


def angles(vae: VAE, axes: Array) -> Array:
    """Degrees between decoder columns and principal axes, matched in the best order."""
    columns = vae.decoder.body[0].weight.detach().double().numpy()
    cosine = np.abs((columns / np.linalg.norm(columns, axis=0)).T @ axes[:, : columns.shape[1]])
    best = cosine if np.trace(cosine) >= np.trace(cosine[::-1]) else cosine[::-1]
    return np.degrees(np.arccos(np.clip(np.diag(best), -1, 1)))


def linear_experiment(*settings: str) -> Experiment:
    return from_command_line(
        "beta-vae",
        ["data.name=synth-linear", "latent=2", "objective.beta=0.02", "batch=256", *settings],
    )


@pytest.mark.slow
def test_started_at_the_optimum_a_linear_vae_stays_there() -> None:
    """Summed squared error and beta: probabilistic PCA with noise variance beta / 2."""
    experiment = linear_experiment("optimiser.lr=1e-3", "steps=5000")
    data = synth_linear()
    x = data.rows(np.arange(len(data))).astype(np.float64)
    values, axes = principal_axes(x)
    state = new_state(experiment, torch.device("cpu"))
    set_to_ppca(state.vae, x.mean(0), values[:2], axes[:, :2], 0.02 / 2)
    for _ in steps(state, experiment, data, "fp32"):
        pass
    assert angles(state.vae, axes).max() < 1.0


def test_the_closed_form_is_where_the_gradient_vanishes() -> None:
    data = synth_linear(n=5000)
    x = data.rows(np.arange(len(data))).astype(np.float64)
    values, axes = principal_axes(x)
    vae = build_vae(linear_experiment()).double()
    set_to_ppca(vae, x.mean(0), values[:2], axes[:, :2], 0.02 / 2)
    tensor = torch.from_numpy(x)
    # Both signs of each axis together integrate a quadratic exactly.
    loss = torch.zeros((), dtype=torch.float64)
    for j in range(2):
        for sign in (1.0, -1.0):
            eps = torch.zeros(1, len(x), 2, dtype=torch.float64)
            eps[..., j] = sign * math.sqrt(2.0)
            batch = Batch(tensor, torch.arange(len(x)), len(x))
            terms = BetaVAE(Constant(0.02))(vae, batch, torch.tensor(0.0).double(), eps)
            loss = loss + terms.loss / 4
    loss.backward()  # type: ignore[no-untyped-call]
    for name, parameter in vae.named_parameters():
        assert parameter.grad is not None
        assert parameter.grad.abs().max() < 1e-8, name
