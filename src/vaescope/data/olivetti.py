"""Olivetti (ORL) faces. Samaria & Harter 1994, https://doi.org/10.1109/ACV.1994.341300."""

from pathlib import Path

import numpy as np

from vaescope.data.arrays import Header, matlab, require_shape
from vaescope.data.card import Card, File
from vaescope.data.dataset import Dataset
from vaescope.data.factors import Factors
from vaescope.data.files import locate, require_all
from vaescope.data.stores import Bytes
from vaescope.errors import DataError

__all__ = ["CARD", "olivetti", "read"]

PERSONS, EACH = 40, 10

CARD = Card(
    "olivetti",
    (1, 64, 64),
    PERSONS * EACH,
    "free with credit to AT&T Laboratories Cambridge (ORL)",
    "olivetti",
    {"person": PERSONS},
    files=(
        File(
            "olivettifaces.mat",
            "https://ndownloader.figshare.com/files/5976027",
            "sha256:b612fb967f2dc77c9c62d3e1266e0c73d5fca46a4b8906c18e454d41af987794",
            also=("sha256:b1988d02c72fe5b8ee82b5ef3bb7982eafc74f1e1ff0ae0ade35061ad0af534d",),
        ),
    ),
    notes="ten photographs of each person; which of the ten is not a factor",
)


def olivetti() -> Dataset:
    """400 grey photographs of 40 persons."""
    path = locate(CARD, CARD.files[0])
    return require_all(read(path), path)


def read(path: Path) -> Dataset:
    """The images of the MATLAB file, one in each column, pixels column by column."""
    faces = matlab(path, "faces").T
    require_shape(path, "faces, transposed,", Header(faces.shape, faces.dtype), 4096)
    if len(faces) % EACH:
        raise DataError(
            f"{path} holds {len(faces)} faces; wanted {EACH} of each person.",
            "Delete it and get the official file.",
        )
    images = faces.reshape(-1, 1, 64, 64).transpose(0, 1, 3, 2)
    persons = np.arange(len(faces)) // EACH
    factors = Factors(("person",), (np.arange(len(faces) // EACH),), persons[:, None])
    return Dataset(CARD, Bytes(np.ascontiguousarray(images)), factors)
