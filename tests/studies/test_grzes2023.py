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
    found = fit(data, 0, 5, gamma=GAMMA, beta=beta, rounds=4000)
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
