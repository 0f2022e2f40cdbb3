import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.decomposition import decomposition

KEYS = {"hoyer", "index_code_information", "posterior_entropy", "mmd", "inclusive_kl"}


def test_the_dictionary_has_the_keys_of_the_interface(generator: np.random.Generator) -> None:
    mean = generator.normal(size=(300, 3))
    result = decomposition(Codes(mean, np.full_like(mean, 0.2), mean), seed=2)
    row = result.to_dict()
    assert set(row) >= KEYS
    assert all(row[key] is not None for key in KEYS)
    json.dumps(row, allow_nan=False)
    assert row == decomposition(Codes(mean, np.full_like(mean, 0.2), mean), seed=2).to_dict()
    assert result.summary().count("\n") == 2


def test_a_deterministic_encoder_gets_what_can_be_had(generator: np.random.Generator) -> None:
    mean = generator.normal(size=(300, 3))
    result = decomposition(Codes(mean, np.zeros_like(mean), mean))
    row = result.to_dict()
    missing = {key for key in KEYS if row[key] is None}
    assert missing == {"index_code_information", "posterior_entropy", "inclusive_kl"}
    assert "no density" in result.skipped["overlap"]


def test_one_latent_and_constant_codes_give_numbers_or_reasons(
    generator: np.random.Generator,
) -> None:
    single = generator.normal(size=(100, 1))
    for mean in (single, np.full((100, 2), 0.3), np.hstack([single, single])):
        result = decomposition(Codes(mean, np.full_like(mean, 0.5), mean))
        json.dumps(result.to_dict(), allow_nan=False)
        assert (result.sparsity is None) == ("hoyer" in result.skipped)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["btcvae_dsprites", "betaB_dsprites"])
def test_real_codes_are_a_lookup_table_among_ten_thousand(
    model: str, shared_data: Callable[[str], Path]
) -> None:
    """13 nats of rate single out one of 10,000 images; betaB's narrow posteriors leave the most of
    the prior uncovered."""
    codes = Codes.load(shared_data(f"pretrained/codes/{model}_codes.npz"))
    result = decomposition(codes)
    assert result.overlap is not None
    assert result.aggregate.inclusive_kl is not None
    assert result.overlap.exact
    assert 9.0 < result.overlap.index_code_information <= np.log(10_000)
    assert result.overlap.effective_number < 1.2
    assert (result.aggregate.inclusive_kl.value > 1000) == (model == "betaB_dsprites")
