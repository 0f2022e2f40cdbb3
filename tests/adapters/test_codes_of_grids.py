"""Codes of few values are a codebook's, unless the data themselves lie on a grid."""

import numpy as np
import pytest
import torch
from torch import Tensor

import vaescope as vs
from vaescope.errors import UsageError

GRID = np.stack(np.meshgrid(*[np.linspace(0, 1, 6, dtype=np.float32)] * 3), -1).reshape(-1, 3)
FINE = np.random.default_rng(0).random((216, 3), dtype=np.float32)


def same(x: Tensor) -> Tensor:
    return x * 1.0


def rounded(x: Tensor) -> Tensor:
    return torch.round(3.0 * x) / 3.0


def signs(x: Tensor) -> Tensor:
    return torch.sign(x - 0.5)


@pytest.mark.parametrize("data", [GRID, FINE], ids=["grid", "fine"])
def test_codes_that_follow_the_data_are_taken_and_coarse_ones_refused(data: np.ndarray) -> None:
    opened = vs.open_model(encode=same, decode=same, data=data, kind="signals")
    np.testing.assert_allclose(opened.codes.mean, data)
    for encode in (rounded, signs):
        with pytest.raises(UsageError, match="looks like a VQ-VAE"):
            vs.open_model(encode=encode, decode=same, data=data, kind="signals")
