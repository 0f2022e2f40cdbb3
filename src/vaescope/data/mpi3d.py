"""MPI3D, simulated and photographed. Gondal et al. 2019, https://arxiv.org/abs/1906.03292."""

from pathlib import Path

import numpy as np

from vaescope.data.arrays import header, require_shape, rows
from vaescope.data.card import Card, File
from vaescope.data.dataset import Dataset
from vaescope.data.factors import Factors
from vaescope.data.files import Progress, converted, locate
from vaescope.data.stores import Bytes
from vaescope.errors import DataError

__all__ = ["CARDS", "mpi3d_complex", "mpi3d_real", "mpi3d_realistic", "mpi3d_toy", "read"]

NAMES = (
    "object_color",
    "object_shape",
    "object_size",
    "camera_height",
    "background_color",
    "horizontal_axis",
    "vertical_axis",
)


def _factors(colors: str, shapes: str) -> Factors:
    return Factors(
        NAMES,
        (
            np.array(colors.split()),
            np.array(shapes.split()),
            np.array(["small", "large"]),
            np.array(["top", "center", "bottom"]),
            np.array(["purple", "sea-green", "salmon"]),
            np.arange(40),
            np.arange(40),
        ),
    )


SIMPLE = _factors("white green red blue brown olive", "cone cube cylinder hexagonal pyramid sphere")
COMPLEX = _factors("yellow green olive red", "coffee-cup tennis-ball croissant beer-cup")


def _card(name: str, factors: Factors, file: File, how: str = "") -> Card:
    return Card(
        name,
        (3, 64, 64),
        factors.n,
        "CC BY 4.0",
        "mpi3d",
        dict(zip(NAMES, factors.sizes, strict=True)),
        files=(file,),
        how=how,
        notes=f"converted once to a memory map of {factors.n * 12288 / 1e9:.1f} GB; "
        "no checksum is published for the present files",
    )


def _hosted(name: str) -> File:
    folder = "https://huggingface.co/datasets/waleedgondal/mpi3d/resolve/main"
    return File(name, f"{folder}/{name}")


CARDS = {
    "mpi3d-toy": _card("mpi3d-toy", SIMPLE, _hosted("mpi3d_toy.npz")),
    "mpi3d-realistic": _card("mpi3d-realistic", SIMPLE, _hosted("mpi3d_realistic.npz")),
    "mpi3d-real": _card("mpi3d-real", SIMPLE, _hosted("mpi3d_real.npz")),
    "mpi3d-complex": _card(
        "mpi3d-complex",
        COMPLEX,
        File(
            "real3d_complicated_shapes_ordered.npz",
            instead=(File("mpi3d_real_complex.npz"),),
        ),
        "Take real3d_complicated_shapes_ordered.npz in a browser from "
        "https://drive.google.com/file/d/1Tp8eTdHxgUMtsZv5uAoYAbJR1BOa_OQm/view, the link "
        "mpi3d_real_complex of https://github.com/rr-learning/disentanglement_dataset.",
    ),
}


def mpi3d_toy(*, progress: Progress | None = None) -> Dataset:
    """The grid of 1,036,800 simply rendered images of a robot arm with an object."""
    return _load("mpi3d-toy", SIMPLE, progress)


def mpi3d_realistic(*, progress: Progress | None = None) -> Dataset:
    """The grid of 1,036,800 realistically rendered images of a robot arm with an object."""
    return _load("mpi3d-realistic", SIMPLE, progress)


def mpi3d_real(*, progress: Progress | None = None) -> Dataset:
    """The grid of 1,036,800 photographs of a robot arm with an object."""
    return _load("mpi3d-real", SIMPLE, progress)


def mpi3d_complex(*, progress: Progress | None = None) -> Dataset:
    """The grid of 460,800 photographs of a robot arm with an everyday object."""
    return _load("mpi3d-complex", COMPLEX, progress)


def _load(name: str, factors: Factors, progress: Progress | None) -> Dataset:
    card = CARDS[name]
    return read(locate(card, card.files[0]), card, factors, progress=progress)


def read(path: Path, card: Card, factors: Factors, *, progress: Progress | None = None) -> Dataset:
    """An npz with `images` on the full grid of `factors`, converted once to a memory map."""
    images = header(path, "images")
    require_shape(path, "images", images, 64, 64, 3)
    if images.shape[0] != factors.n:
        raise DataError(
            f"{path} holds {images.shape[0]:,} images; {card.name} has {factors.n:,} = "
            f"{' x '.join(map(str, factors.sizes))}.",
            "The older file of the 2019 challenge has 460,800: get the present one.",
        )
    chunks = rows(path, "images")
    pixels = converted([path], f"{path.name}.images.npy", images.shape, chunks, progress)
    return Dataset(card, Bytes(pixels, channels_last=True), factors)
