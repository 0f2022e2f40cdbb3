"""Optical recognition of handwritten digits, as it comes with scikit-learn. Alpaydin & Kaynak 1998,
https://doi.org/10.24432/C50P49."""

import numpy as np

from vaescope.data.card import Card
from vaescope.data.dataset import Dataset
from vaescope.data.factors import Factors
from vaescope.data.stores import Bytes

__all__ = ["CARD", "digits"]

CARD = Card(
    "digits",
    (1, 8, 8),
    1797,
    "CC BY 4.0",
    "digits",
    {"class": 10},
    notes="comes with scikit-learn; 17 grey values",
)


def digits() -> Dataset:
    """1,797 handwritten digits of 8 by 8 pixels."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    images = bunch.images.astype(np.uint8)[:, None]
    factors = Factors(("class",), (np.arange(10),), bunch.target.astype(np.int64)[:, None])
    return Dataset(CARD, Bytes(images, white=16), factors)
