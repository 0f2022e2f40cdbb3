from typing import Any

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.metrics import sap_continuous


def test_vectors_of_lattes_tests(make: Any) -> None:
    a = np.arange(16)
    zero = np.zeros(16)
    alone = make(np.column_stack([a, zero]), a[:, None])
    assert sap_continuous(alone).value == pytest.approx(1.0)
    beside = make(np.column_stack([a, a % 2]), a[:, None])
    assert sap_continuous(beside).value == pytest.approx(1 - 1 / 85, abs=1e-9)


def test_ranges_of_disentanglement_lib(perfect: Codes, constant: Codes, duplicated: Codes) -> None:
    assert sap_continuous(perfect).value > 0.99
    assert sap_continuous(constant).value == 0.0
    assert sap_continuous(duplicated).value < 1e-12


def test_real_values_are_taken_where_there_are_any(make: Any) -> None:
    x = np.random.default_rng(0).uniform(size=(500, 2))
    score = sap_continuous(make(x, factor_values=x))
    assert score.value > 0.98
    assert score.protocol.settings["factors_as"] == "factor_values"
    with pytest.raises(ShapeError, match="constant"):
        sap_continuous(make(x, factor_values=np.zeros((500, 1))))


def test_sap_continuous_equals_disentanglement_lib_on_real_codes(
    real: tuple[Codes, dict[str, Any]],
) -> None:
    codes, oracle = real
    assert sap_continuous(codes).value == pytest.approx(oracle["SAP_cont_10000"], abs=1e-6)
