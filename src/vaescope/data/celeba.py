"""CelebA, aligned and cropped faces. Liu et al. 2015, https://arxiv.org/abs/1411.7766."""

import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vaescope.data.arrays import reading
from vaescope.data.card import Card, File
from vaescope.data.dataset import Dataset
from vaescope.data.factors import Factors
from vaescope.data.files import Progress, converted, locate, require_all
from vaescope.data.stores import Bytes
from vaescope.errors import DataError, UsageError

__all__ = ["ATTRIBUTES", "CARD", "celeba", "read"]

WIDTH, HEIGHT = 178, 218
AT_ONCE = 256

ATTRIBUTES = (
    "5_o_Clock_Shadow", "Arched_Eyebrows", "Attractive", "Bags_Under_Eyes", "Bald", "Bangs",
    "Big_Lips", "Big_Nose", "Black_Hair", "Blond_Hair", "Blurry", "Brown_Hair", "Bushy_Eyebrows",
    "Chubby", "Double_Chin", "Eyeglasses", "Goatee", "Gray_Hair", "Heavy_Makeup",
    "High_Cheekbones", "Male", "Mouth_Slightly_Open", "Mustache", "Narrow_Eyes", "No_Beard",
    "Oval_Face", "Pale_Skin", "Pointy_Nose", "Receding_Hairline", "Rosy_Cheeks", "Sideburns",
    "Smiling", "Straight_Hair", "Wavy_Hair", "Wearing_Earrings", "Wearing_Hat",
    "Wearing_Lipstick", "Wearing_Necklace", "Wearing_Necktie", "Young",
)  # fmt: skip

CARD = Card(
    "celeba",
    (3, 64, 64),
    202_599,
    "non-commercial research",
    "celeba",
    dict.fromkeys(ATTRIBUTES, 2),
    files=(
        File(
            "img_align_celeba.zip",
            digest="sha256:46fb89443c578308acf364d7d379fe1b9efb793042c0af734b6112e4fd3a8c74",
            size=1_443_490_838,
            instead=(File("img_align_celeba"),),
        ),
        File(
            "list_attr_celeba.txt",
            digest="sha256:f0e5da289d5ccf75ffe8811132694922b60f2af59256ed362afa03fefba324d0",
            size=26_721_026,
        ),
    ),
    how="Agree to the terms at https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html and take "
    "img_align_celeba.zip (or the folder unpacked from it) and list_attr_celeba.txt from there.",
    notes="official parts: training rows 0 to 162,769, validation to 182,636, then test",
)


def celeba(*, crop: int = 148, progress: Progress | None = None) -> Dataset:
    """202,599 faces with 40 attributes: the central `crop` pixels, shrunk to 64 by 64.

    148 is the usual crop for VAEs; 178 keeps the full width. Each is converted once.
    """
    if not 64 <= crop <= WIDTH:
        raise UsageError(f"data.crop must be 64 to {WIDTH} pixels; got {crop}.", "148 is usual.")
    images, attributes = (locate(CARD, file) for file in CARD.files)
    return require_all(read(images, attributes, crop=crop, progress=progress), attributes)


def read(
    images: Path, attributes: Path, *, crop: int = 148, progress: Progress | None = None
) -> Dataset:
    """As many images as the attributes list, from the zip or a folder, converted once."""
    factors = _attributes(attributes)
    pixels = converted(
        [images],
        f"celeba.{crop}.npy",
        (factors.n, 64, 64, 3),
        _faces(images, factors.n, crop),
        progress,
    )
    return Dataset(CARD, Bytes(pixels, channels_last=True), factors)


def _attributes(path: Path) -> Factors:
    """Line 1 counts the images, line 2 names the attributes, then `000001.jpg -1 1 ...`."""
    with reading(path):
        count, names, rest = path.read_text().split("\n", 2)
        table = np.loadtxt(rest.replace(".jpg", "").splitlines(), dtype=np.int64, ndmin=2)
        if table.shape != (int(count), len(names.split()) + 1):
            raise ValueError(f"it has {table.shape} numbers; its head promises {count} images")
    in_order = np.array_equal(table[:, 0], np.arange(1, len(table) + 1))
    if not in_order or not np.all(np.abs(table[:, 1:]) == 1):
        raise DataError(
            f"{path} must list 000001.jpg, 000002.jpg ... in order, with attributes of -1 or 1.",
            "Delete it and get the official file.",
        )
    attributes = tuple(names.split())
    return Factors(attributes, (np.array([-1, 1]),) * len(attributes), (table[:, 1:] + 1) // 2)


def _faces(path: Path, n: int, crop: int) -> Iterator[NDArray[np.uint8]]:
    if path.is_dir():
        yield from _chunks(path, n, crop, lambda name: (path / name).open("rb"))
        return
    with reading(path), zipfile.ZipFile(path) as archive:
        yield from _chunks(
            path, n, crop, lambda name: BytesIO(archive.read(f"img_align_celeba/{name}"))
        )


def _chunks(
    path: Path, n: int, crop: int, opened: Callable[[str], IO[bytes]]
) -> Iterator[NDArray[np.uint8]]:
    left, top = (WIDTH - crop) // 2, (HEIGHT - crop) // 2
    box = (left, top, left + crop, top + crop)
    for start in range(0, n, AT_ONCE):
        faces = np.empty((min(AT_ONCE, n - start), 64, 64, 3), np.uint8)
        for i, face in enumerate(faces, start + 1):
            name = f"{i:06d}.jpg"
            with reading(path / name), opened(name) as file, Image.open(file) as image:
                if image.size != (WIDTH, HEIGHT):
                    raise ValueError(f"it is {image.size} pixels; wanted {WIDTH} x {HEIGHT}")
                small = image.convert("RGB").crop(box).resize((64, 64), Image.Resampling.BILINEAR)
            face[:] = np.asarray(small)
        yield faces
