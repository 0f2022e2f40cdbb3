"""Linear identifiable VAEs against what is known of them in closed form."""

import numpy as np
import pytest

from vaescope.studies.grzes2023.linear_ivae import CLASSES, Classes, classes, fit
from vaescope.studies.grzes2023.open_questions import inside

GAMMA = 0.1


@pytest.mark.parametrize("beta", [1.0, 20.0])
def test_with_equal_classes_each_eigenvalue_costs_half_its_log_over_beta_gamma(beta: float) -> None:
    """One class of u is a linear VAE: KL = log(lambda / (beta gamma)) / 2 where it is above 0, and
    the distortion is the least of lambda and beta gamma, summed (probabilistic PCA)."""
    data = classes(0, equal=True)
    found = fit(data, 0, 5, gamma=GAMMA, beta=beta, rounds=1500)
    eigenvalues = np.linalg.eigvalsh(data.covariance[0])
    wanted = 0.5 * np.log(np.maximum(eigenvalues / (beta * GAMMA), 1.0))
    assert np.sort(found.kl[0])[::-1] == pytest.approx(np.sort(wanted)[::-1][:5], abs=1e-3)
    least = np.minimum(eigenvalues, beta * GAMMA).sum()
    assert found.distortion == pytest.approx(least, rel=1e-3)


def test_rounds_never_raise_the_loss_and_the_encoder_is_the_posterior_mean() -> None:
    data = classes(1, spread=1.0)
    early, late = (fit(data, 1, 4, gamma=GAMMA, learned_mean=True, rounds=n) for n in (50, 400))

    def loss(found: object) -> float:
        return 0.5 * found.distortion / GAMMA + float(found.kl.sum(axis=1).mean())  # type: ignore[attr-defined]

    assert loss(late) <= loss(early) + 1e-9
    # Stationary: d loss / d mean is 0 at every x of a class.
    x = data.mean[0] + np.linalg.cholesky(data.covariance[0] + 1e-12 * np.eye(8)) @ np.ones(8)
    mean = late.weights[0] @ x + late.offset[0]
    centre = data.mean.mean(axis=0)
    assert np.isfinite(mean).all() and centre.shape == (8,)
    reconstructed = np.linalg.norm(x - late.decoder @ mean) / np.linalg.norm(x)
    assert reconstructed < 0.5


def test_bounds_hold_at_a_closed_form_and_not_in_reverse() -> None:
    """Orthogonal columns and one prior variance: eq. 12's two bounds are one number, and hold."""
    mixing = np.eye(8)[:, :3] * np.array([3.0, 2.0, 1.0])
    covariance = np.repeat((mixing @ mixing.T)[None], CLASSES, axis=0)
    data = Classes(
        np.zeros((CLASSES, 8)), covariance, mixing, np.zeros((CLASSES, 3)), np.ones((CLASSES, 3))
    )
    found = fit(data, 2, 3, gamma=GAMMA, rounds=4000)
    assert inside(found, GAMMA) == 1.0
    assert inside(found, GAMMA, reverse=True) < 1.0


def cost(data: Classes, decoder: np.ndarray, prior: np.ndarray) -> float:
    """The loss at the best encoder, with sources of mean 0, by traces alone."""
    total = 0.0
    for covariance, v in zip(data.covariance, prior, strict=True):
        gain = np.linalg.solve(decoder.T @ decoder / GAMMA + np.diag(1.0 / v), decoder.T / GAMMA)
        sigma = 1.0 / ((decoder**2).sum(axis=0) / GAMMA + 1.0 / v)
        moved = np.diag(gain @ covariance @ gain.T)
        left = np.eye(8) - decoder @ gain
        missed = np.trace(left @ covariance @ left.T) + ((decoder**2).sum(axis=0) * sigma).sum()
        kl = 0.5 * ((sigma + moved) / v - 1.0 + np.log(v / sigma)).sum()
        total += (0.5 * missed / GAMMA + kl) / CLASSES
    return total


def test_a_spare_latent_may_take_a_sources_place_in_one_class_at_no_cost() -> None:
    """So Theorem 1 does not say that a spare latent is passive for all u: latents 2 and 3 have the
    same column, and each is off (prior variance near 0) where the other one is on."""
    data = classes(5)
    found = fit(data, 5, 3, gamma=GAMMA, rounds=1500)
    own = cost(data, found.decoder, found.prior_variance)
    kl = float(found.kl.sum(axis=1).mean())
    assert own == pytest.approx(0.5 * found.distortion / GAMMA + kl, abs=1e-4)
    decoder = np.column_stack([found.decoder, found.decoder[:, 2]])
    prior = np.column_stack([found.prior_variance, found.prior_variance[:, 2]])
    prior[0, 2] = prior[1:, 3] = 1e-9
    assert cost(data, decoder, prior) == pytest.approx(own, abs=1e-5)


def test_the_bounds_are_a_full_covariances_and_not_a_diagonal_ones() -> None:
    """Eq. 12 at a decoder whose columns are not orthogonal."""
    found = fit(classes(0), 0, 3, gamma=0.01, rounds=300)
    assert inside(found, 0.01, full=True) == 1.0
    assert inside(found, 0.01) < 1.0
