"""3D Faces, renders of the Basel model. Paysan et al. 2009, as used by Chen et al. 2018,
https://arxiv.org/abs/1802.04942."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from pickle import UnpicklingError

import numpy as np
from numpy.typing import NDArray

from vaescope.data.arrays import reading
from vaescope.data.card import Card, File
from vaescope.data.dataset import Dataset
from vaescope.data.factors import Factors
from vaescope.data.files import Progress, converted, locate
from vaescope.data.stores import Bytes
from vaescope.errors import DataError

__all__ = ["CARD", "faces3d", "read"]

FACTORS = {"identity": 50, "azimuth": 21, "elevation": 11, "lighting": 11}

CARD = Card(
    "faces3d",
    (1, 64, 64),
    math.prod(FACTORS.values()),
    "Basel Face Model licence; not distributed",
    "faces3d",
    FACTORS,
    files=(File("basel_face_renders.pth"),),
    how="It is not distributed: with a licence of the Basel Face Model "
    "(https://faces.dmi.unibas.ch/bfm/) render it, or ask those who did "
    "(https://github.com/rtqichen/beta-tcvae), as a torch uint8 tensor of shape "
    "(50, 21, 11, 11, 64, 64).",
)


def faces3d(*, progress: Progress | None = None) -> Dataset:
    """The grid of 127,050 grey renders of faces."""
    return read(locate(CARD, CARD.files[0]), progress=progress)


def read(
    path: Path,
    *,
    sizes: Sequence[int] = tuple(FACTORS.values()),
    progress: Progress | None = None,
) -> Dataset:
    """A tensor of shape (*sizes, 64, 64), converted once to a memory map beside it."""
    shape = (math.prod(sizes), 1, 64, 64)
    pixels = converted([path], f"{path.name}.npy", shape, _tensor(path, sizes), progress)
    factors = Factors(tuple(FACTORS), tuple(np.arange(size) for size in sizes))
    return Dataset(CARD, Bytes(pixels), factors)


def _tensor(path: Path, sizes: Sequence[int]) -> Iterator[NDArray[np.uint8]]:
    import torch

    with reading(path):
        try:
            tensor = torch.load(path, map_location="cpu", weights_only=True)
        except (RuntimeError, UnpicklingError) as error:
            raise ValueError(f"it is not a plain tensor ({str(error).splitlines()[0]})") from error
        if not torch.is_tensor(tensor):
            raise ValueError(f"it holds a {type(tensor).__name__}, not a tensor")
    wanted = (*sizes, 64, 64)
    if tensor.dtype != torch.uint8 or tensor.shape != wanted:
        raise DataError(
            f"{path} is {tensor.dtype} of {tuple(tensor.shape)}; wanted torch.uint8 of {wanted}.",
            CARD.how,
        )
    yield tensor.reshape(-1, 1, 64, 64).numpy()
