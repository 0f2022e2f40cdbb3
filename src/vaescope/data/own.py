"""The user's own images: a folder of them, or an npz or npy file; what was inferred is logged."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vaescope.data.arrays import reading
from vaescope.data.dataset import Dataset
from vaescope.data.factors import tabulated
from vaescope.data.in_memory import dataset_of, from_arrays
from vaescope.data.stores import Bytes
from vaescope.errors import DataError, RangeError, ShapeError
from vaescope.reading import npz_names, read_arrays

__all__ = ["load_own"]

SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")
IMAGES = ("images", "imgs", "x", "X", "data", "arr_0")
FACTORS = ("factors", "latents_classes", "labels", "y", "Y")

_log = logging.getLogger("vaescope")


def load_own(path: str | Path) -> Dataset:
    """Images of a folder, or `images` (and `factors`) of an npz, or an npy file.

    What arrays may be is said at `from_arrays`; an npz may have `factor_names` and `factor_values`
    too. Sub-folders of a folder become the factor `class`.
    """
    path = Path(path)
    if path.is_dir():
        return _folder(path)
    suffix = path.suffix.lower()
    if not path.exists() or suffix not in (".npz", ".npy"):
        problem = "neither a folder nor an npz or npy file" if path.exists() else "not there"
        raise DataError(
            f"{path} is {problem}.",
            "Give a folder of images, or save an array with np.savez(path, images=array).",
        )
    with reading(path, "Save it again with np.savez(path, images=array), without Python objects."):
        if suffix == ".npy":
            images = np.load(path, mmap_mode="r", allow_pickle=False)
            return from_arrays(images, name=path.stem, where=str(path))
        return _npz(path)


def _npz(path: Path) -> Dataset:
    names = npz_names(path)
    key = next((key for key in IMAGES if key in names), None)
    if key is None:
        raise DataError(
            f"{path} has the arrays {', '.join(names) or '(none)'}; wanted `images`.",
            "Save it with np.savez(path, images=array).",
        )
    labelled = next((key for key in FACTORS if key in names), None)
    archive = read_arrays(path, {key, labelled or key, "factor_names", "factor_values"})
    return from_arrays(
        archive[key],
        archive[labelled] if labelled else None,
        factor_names=[str(name) for name in np.ravel(archive["factor_names"])]
        if "factor_names" in archive
        else None,
        factor_values=archive.get("factor_values"),
        name=path.stem,
        where=str(path),
    )


def _folder(path: Path) -> Dataset:
    files = sorted(
        file
        for file in path.rglob("*")
        if file.suffix.lower() in SUFFIXES
        and file.is_file()
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
    )
    if not files:
        raise DataError(
            f"{path} has no images ({', '.join(SUFFIXES)}).", "Give a folder that has some."
        )
    mode = _common_mode(path, files)
    first = _pixels(files[0], mode)
    pixels = np.empty((len(files), *first.shape), np.uint8)
    for place, file in zip(pixels, files, strict=True):
        place[:] = _pixels(file, mode)
    folders = [file.relative_to(path).parts[:-1] for file in files]
    factors = None
    if all(folders) and len({parts[0] for parts in folders}) > 1:
        _log.info("%s: its sub-folders are taken as the factor `class`.", path)
        factors = tabulated(["class"], np.array([parts[0] for parts in folders])[:, None])
    return dataset_of(path.stem, Bytes(pixels, channels_last=True), factors)


@contextmanager
def _opened(file: Path) -> Iterator[Image.Image]:
    remedy = "Remove it, or repair it."
    try:
        with reading(file, remedy), Image.open(file) as image:
            yield image
    except Image.DecompressionBombError as error:  # or a header that is damaged
        raise DataError(f"{file} cannot be read: {error}.", remedy) from error


def _common_mode(path: Path, files: Sequence[Path]) -> str:
    """Pillow's name of the mode to which all files can be brought; sizes must agree."""
    modes: set[str] = set()
    size: tuple[int, int] | None = None
    for file in files:
        with _opened(file) as image:
            modes.add(image.mode)
            size = size or image.size
            if image.size != size:
                raise ShapeError(
                    f"{file} is {image.size[0]} x {image.size[1]} pixels; {files[0]} is "
                    f"{size[0]} x {size[1]}. All must have the same size.",
                    "Resize or crop them first.",
                )
            if image.mode in ("I", "F") or image.mode.startswith("I;"):
                raise RangeError(
                    f"{file} has more than 8 bits for a pixel (mode {image.mode}).",
                    "Save it with 8, or save all as floats from 0 to 1 in an npz.",
                )
    mode = "L" if modes <= {"1", "L", "LA"} else "RGB"
    if modes != {mode}:
        _log.info("%s: images of mode %s are read as %s.", path, ", ".join(sorted(modes)), mode)
    return mode


def _pixels(file: Path, mode: str) -> NDArray[np.uint8]:
    with _opened(file) as image:
        pixels = np.asarray(image.convert(mode))
    return pixels[..., None] if mode == "L" else pixels
