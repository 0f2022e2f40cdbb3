"""COIL-20, photographs of objects on a turntable. Nene, Nayar & Murase 1996,
https://www.cs.columbia.edu/CAVE/software/softlib/coil-20.php."""

from pathlib import Path

import numpy as np

from vaescope.data.arrays import Header, matlab, require_shape
from vaescope.data.card import Card, File
from vaescope.data.dataset import Dataset
from vaescope.data.factors import Factors
from vaescope.data.files import locate, require_all
from vaescope.data.stores import Bytes
from vaescope.errors import DataError

__all__ = ["CARD", "coil20", "read"]

OBJECTS, AZIMUTHS = 20, 72

CARD = Card(
    "coil20",
    (1, 32, 32),
    OBJECTS * AZIMUTHS,
    "research use",
    "coil20",
    {"object": OBJECTS, "azimuth": AZIMUTHS},
    files=(
        File(
            "COIL20.mat",
            "http://www.cad.zju.edu.cn/home/dengcai/Data/COIL20/COIL20.mat",
            "sha256:b22b9beb0668f707990eda2b5f922384fd3e6d63d6df7ede3a3b5e2319c4e397",
            896_630,
        ),
    ),
    notes="the 32x32 grey version of Deng Cai",
)


def coil20() -> Dataset:
    """The grid of 1,440 grey photographs: 20 objects, each rotated in steps of 5 degrees."""
    path = locate(CARD, CARD.files[0])
    return require_all(read(path), path)


def read(path: Path) -> Dataset:
    """The images of the MATLAB file, whose rows hold pixels column by column."""
    rows, objects = matlab(path, "X"), matlab(path, "Y").ravel()
    require_shape(path, "X", Header(rows.shape, rows.dtype), 1024)
    if not np.array_equal(objects, 1 + np.arange(len(rows)) // AZIMUTHS):
        raise DataError(
            f"Y in {path} must number the objects from 1, with {AZIMUTHS} rows for each.",
            "Delete it and get the official file.",
        )
    images = rows.reshape(-1, 1, 32, 32).transpose(0, 1, 3, 2)
    values = (np.arange(1, OBJECTS + 1), np.arange(0, 360, 5))  # azimuth in degrees
    factors = Factors(tuple(CARD.factors), values)
    return Dataset(CARD, Bytes(np.ascontiguousarray(images)), factors)
