from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.latents import types
from vaescope.regime import types_of

#: Of the third-party models, by their README: passive and mixed latents on the 10,000 codes.
KNOWN = {
    "btcvae_dsprites": ([0, 1, 5, 7, 9], []),
    "btcvae_dsprites_a0": ([1, 3, 5, 7, 9], []),
    "betaB_dsprites": ([0, 1, 2, 3, 4, 8], []),
    "VAE_dsprites": ([], [6, 7, 9]),
    "betaH_dsprites": ([], [3, 5, 6, 7, 9]),
}


@pytest.mark.parametrize("model", KNOWN)
def test_latents_of_third_party_models_have_their_known_types(
    model: str, shared_data: Callable[[str], Path]
) -> None:
    kinds = types(Codes.load(shared_data(f"pretrained/codes/{model}_codes.npz")))
    passive, mixed = KNOWN[model]
    assert kinds.passive.tolist() == passive
    assert kinds.mixed.tolist() == mixed


def test_the_rule_at_its_edges() -> None:
    """Low spread: mean up to 0.1 is active, 0.9 to 1.1 passive, anything else mixed."""
    means = np.array([0.0, 0.1, 0.1001, 0.5, 0.8999, 0.9, 1.1, 1.1001])
    assert types_of(means, np.zeros(8)) == [
        "active", "active", "mixed", "mixed", "mixed", "passive", "passive", "mixed",
    ]  # fmt: skip
    assert types_of(np.array([0.05, 1.0]), np.array([0.1, 0.1])) == ["mixed", "mixed"]


def test_a_latent_that_is_passive_on_half_of_the_data_is_mixed() -> None:
    variance = np.repeat([[0.0], [1.0]], 25, axis=0)
    assert types(Codes(variance, variance, variance)).names == ("mixed",)


def test_the_summary_names_the_latents() -> None:
    codes = Codes(np.zeros((5, 2)), np.tile([0.01, 1.0], (5, 1)), np.zeros((5, 2)))
    assert types(codes).summary() == "1 active (0), 0 mixed, 1 passive (1)"
