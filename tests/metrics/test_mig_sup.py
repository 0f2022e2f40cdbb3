from typing import Any

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.metrics import mig, mig_sup


def test_mig_sup_is_one_for_perfect_and_for_duplicated_codes(
    perfect: Codes, duplicated: Codes
) -> None:
    assert mig_sup(perfect).value > 0.98
    assert mig_sup(duplicated).value > 0.98


def test_mig_sup_sees_a_latent_with_two_factors_where_mig_does_not(
    make: Any, generator: np.random.Generator
) -> None:
    v = generator.integers(4, size=(4000, 2))
    both = np.column_stack([4 * v[:, 0] + v[:, 1], generator.normal(size=4000)])
    codes = make(both, v)
    assert mig(codes).value > 0.95
    assert mig_sup(codes).value < 0.05


def test_dead_latents_do_not_count(make: Any, factors: np.ndarray, perfect: Codes) -> None:
    noise = np.random.default_rng(1).normal(size=(3000, 3))
    codes = make(np.hstack([factors, noise]), factors)
    assert mig_sup(codes).value == pytest.approx(mig_sup(perfect).value)
    assert mig_sup(codes).protocol.settings["latents"] == [0, 1, 2, 3, 4]
    assert mig_sup(codes, adjusted=False).value == pytest.approx(5 / 8, abs=0.02)


def test_many_classes_are_not_better_known_by_chance(make: Any) -> None:
    rng = np.random.default_rng(0)
    v = np.column_stack([rng.integers(2, size=600), rng.integers(40, size=600)])
    z = np.column_stack([v[:, 0] + 0.3 * rng.normal(size=600), rng.normal(size=600)])
    raw, adjusted = mig_sup(make(z, v), adjusted=False), mig_sup(make(z, v))
    # The plug-in information of noise with 40 classes is a fifth of their entropy here.
    assert raw.details["mutual_information"][1, 1] > 0.5
    assert adjusted.details["mutual_information"][1, 1] < 0.15


def test_mig_sup_is_zero_if_nothing_is_known_and_needs_two_factors(
    make: Any, constant: Codes, factors: np.ndarray
) -> None:
    assert mig_sup(constant).value == 0.0
    with pytest.raises(ShapeError, match="2 factors"):
        mig_sup(make(factors, factors[:, :1]))
