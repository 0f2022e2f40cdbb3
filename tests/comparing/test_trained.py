"""Two seeds of a trained model have the same latents: order and sign are all that seeds choose."""

from pathlib import Path

import numpy as np
import pytest

import vaescope as vs

STEPS, BETA = 2000, 0.05


@pytest.mark.slow
def test_two_seeds_of_a_linear_vae_match_latent_by_latent(tmp_path: Path) -> None:
    """Its latents are the principal axes, with variances beta / 2 lambda: 0.075 and 0.3."""
    data = vs.load_dataset("synth-linear", n=2000)
    falling = {"name": "cosine", "start": 3e-2, "stop": 0.0, "steps": STEPS}
    runs = [
        vs.train(
            "beta-vae", data, out=tmp_path, seed=seed, steps=STEPS, beta=BETA, latent=2, batch=128,
            lr=falling,
        )
        for seed in (0, 1)
    ]  # fmt: skip
    found = vs.compare(*runs).to_dict()
    assert sorted(row["latents"][1] for row in found["matching"]) == [0, 1]
    assert all(row["matched_by"][1] == "correlation" for row in found["matching"])
    assert all(abs(row["correlation"][1]) > 0.9 for row in found["matching"])
    variances = np.array([row["mean_variance"]["values"] for row in found["matching"]])
    expected = np.tile(np.sort(BETA / 2 / np.array([1 / 3, 1 / 12])), (2, 1)).T
    np.testing.assert_allclose(variances[np.argsort(variances[:, 0])], expected, rtol=0.3)
    assert found["spec_diff"] == {"seed": [0, 1]}
