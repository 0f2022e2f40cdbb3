"""MNIST and Fashion-MNIST. LeCun et al. 1998, http://yann.lecun.com/exdb/mnist/; Xiao et al. 2017,
https://arxiv.org/abs/1708.07747."""

import gzip
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vaescope.data.arrays import Header, reading, require_shape
from vaescope.data.card import Card, File
from vaescope.data.dataset import Dataset
from vaescope.data.factors import Factors
from vaescope.data.files import locate, require_all
from vaescope.data.stores import Bytes
from vaescope.errors import DataError, UsageError
from vaescope.types import Array

__all__ = ["CARDS", "fashion_mnist", "idx", "mnist", "read"]

DIGITS = np.arange(10)
CLOTHES = np.array(
    [
        "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
        "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
    ]
)  # fmt: skip

_NAMES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


def _card(name: str, licence: str, address: str, *sha256: str) -> Card:
    files = tuple(
        File(f"{file}.gz", f"{address}/{file}.gz", f"sha256:{digest}", instead=(File(file),))
        for file, digest in zip(_NAMES, sha256, strict=True)
    )
    notes = "rows 0 to 59,999 are the official training set, the rest the test set"
    return Card(name, (1, 28, 28), 70_000, licence, name, {"class": 10}, files, notes=notes)


CARDS = {
    "mnist": _card(
        "mnist",
        "none stated",
        "https://ossci-datasets.s3.amazonaws.com/mnist",
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    ),
    "fashion-mnist": _card(
        "fashion-mnist",
        "MIT",
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
        "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
        "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
    ),
}


def mnist(*, size: int = 28) -> Dataset:
    """70,000 handwritten digits, training set first, at 28 or (bilinearly enlarged) 32 pixels."""
    return _load("mnist", DIGITS, size)


def fashion_mnist(*, size: int = 28) -> Dataset:
    """70,000 pieces of clothing, training set first, at 28 or (bilinearly enlarged) 32 pixels."""
    return _load("fashion-mnist", CLOTHES, size)


def _load(name: str, classes: Array, size: int) -> Dataset:
    if size not in (28, 32):
        raise UsageError(f"{name} has size 28 or 32; got {size}.", "Give one of these.")
    card = CARDS[name]
    paths = [locate(card, file) for file in card.files]
    return require_all(read(paths, card, classes, size=size), paths[0].parent)


def read(paths: list[Path], card: Card, classes: Array, *, size: int = 28) -> Dataset:
    """Images and labels in turn, of any number of files in the idx format, joined."""
    images, labels = [], []
    for image_path, label_path in zip(paths[::2], paths[1::2], strict=True):
        pixels, label = idx(image_path), idx(label_path)
        require_shape(image_path, "The array", Header(pixels.shape, pixels.dtype), 28, 28)
        require_shape(label_path, "The array", Header(label.shape, label.dtype))
        if len(pixels) != len(label) or np.any(label >= len(classes)):
            raise DataError(
                f"{label_path} has {len(label):,} labels up to {label.max(initial=0)} for "
                f"{len(pixels):,} images; wanted one below {len(classes)} for each.",
                "Delete it and get the official file.",
            )
        images.append(pixels)
        labels.append(label)
    pixels = _enlarged(np.concatenate(images), size)[:, None]
    table = np.concatenate(labels).astype(np.int64)[:, None]
    return Dataset(card, Bytes(pixels), Factors(("class",), (classes,), table))


def idx(path: Path) -> NDArray[np.uint8]:
    """An array of bytes in the idx format, compressed by gzip or not."""
    with reading(path):
        content = path.read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
        if len(content) < 4 or content[:3] != b"\0\0\x08" or len(content) < 4 + 4 * content[3]:
            raise ValueError(f"it begins with {content[:4]!r}; idx bytes begin with 0, 0, 8")
        shape = struct.unpack(f">{content[3]}I", content[4 : 4 + 4 * content[3]])
        start = 4 + 4 * len(shape)
        return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def _enlarged(images: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    if size == images.shape[-1]:
        return images
    large = np.empty((len(images), size, size), np.uint8)
    for place, image in zip(large, images, strict=True):
        enlarged = Image.fromarray(image).resize((size, size), Image.Resampling.BILINEAR)
        place[:] = np.asarray(enlarged)
    return large
