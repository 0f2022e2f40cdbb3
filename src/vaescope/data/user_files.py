"""The user's files: a folder of images, an npz, npy or csv file; what was inferred is logged."""

import hashlib
import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image, ImageOps

from vaescope.data.arrays import reading
from vaescope.data.dataset import Dataset
from vaescope.data.decoded import decoded, remembered, stamp
from vaescope.data.factor_table import labels_by_name
from vaescope.data.factors import tabulated
from vaescope.data.in_memory import content_hash, dataset_of, factors_of, from_arrays
from vaescope.data.specs import FilesSpec
from vaescope.data.stores import Bytes
from vaescope.errors import DataError, RangeError, ShapeError, UsageError
from vaescope.reading import npz_names, read_arrays
from vaescope.types import Array

__all__ = ["FILES", "FileArrays", "complete", "load_files", "open_files", "read_file"]

FILES = (".npz", ".npy", ".csv")
SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")
IMAGES = ("images", "imgs", "x", "X", "data", "arr_0")
FACTORS = ("factors", "latents_classes", "labels", "label", "class", "y", "Y")
ROWS = 256  # decoded at a time

_log = logging.getLogger("vaescope")


def load_files(
    path: str | Path, *, size: int | None = None, grey: bool = False, factors: Any = None
) -> Dataset:
    """Images of a folder, `images` (and `factors`) of an npz, an npy file, or vectors of a csv.

    What arrays may be is said at `from_arrays`; an npz may have `factor_names` and `factor_values`
    too. Sub-folders of a folder become the factor `class`, and so does a column of a csv with one
    of the names in `FACTORS`; `factors`, a csv file or a table with a column of file names, take
    the place of sub-folders. With `size` the images of a folder are cropped to their largest
    centred square and resized to that many pixels a side, as the camera was held; `grey` makes
    them grey. They are decoded once (`vaescope.data.decoded`).
    """
    path = Path(path).expanduser()
    if path.is_dir():
        return _folder(path, size, grey, factors)
    suffix = path.suffix.lower()
    if not path.exists() or suffix not in FILES:
        other = "is neither a folder nor an npz, npy or csv file"
        raise DataError(
            f"{path} {other if path.exists() else 'does not exist'}.",
            "Give a folder of images, or save an array with np.savez(path, images=array).",
        )
    if size is not None or grey:
        wrong = "size" if size is not None else "grey"
        raise UsageError(
            f"{path} takes no {wrong}: only images from a folder are resized or converted to grey.",
            f"Leave out {wrong}, and prepare the file instead.",
        )
    if factors is not None:
        raise UsageError(
            f"{path} takes no factors: only images from a folder can be found by file name.",
            "Save them in it, np.savez(path, images=images, factors=factors), or pass arrays: "
            "vs.load_dataset(images, factors=factors).",
        )
    held = read_file(path)
    found = from_arrays(
        held.values, held.factors, factor_names=held.factor_names, factor_values=held.factor_values,
        name=path.stem, where=str(path),
    )  # fmt: skip
    return replace(found, columns=held.columns)


@dataclass(frozen=True, eq=False)
class FileArrays:
    """What an npz, npy or csv file holds, as it is."""

    values: Array
    factors: Array | None = None
    factor_names: list[str] | None = None
    factor_values: Array | None = None
    columns: tuple[str, ...] = ()


def read_file(path: Path) -> FileArrays:
    """The arrays of an npz, npy or csv file."""
    if path.suffix.lower() == ".csv":
        return _csv(path)
    with reading(path, "Save it again with np.savez(path, images=array), without Python objects."):
        if path.suffix.lower() == ".npy":
            return FileArrays(np.load(path, mmap_mode="r", allow_pickle=False))
        return _npz(path)


def complete(spec: FilesSpec) -> FilesSpec:
    """The spec with what the files hold now: their hash, number and shape; and an absolute path,
    so that a run finds them from any folder. A complete one stays as it is."""
    if spec.sha256 is None or spec.n is None or spec.event is None:
        places = {
            place: str(Path(where).expanduser().resolve())
            for place, where in (("path", spec.path), ("factors", spec.factors))
            if where is not None
        }
        spec = spec.model_copy(update=places)
        data = _load(spec)
        facts = {"sha256": _hash(spec, data), "n": len(data), "event": data.shape}
        return spec.model_copy(update=facts)
    sides = {spec.size, *spec.event[1:]} if spec.size is not None else set()
    if len(sides) > 1 or (spec.grey and spec.event[0] != 1):
        raise UsageError(
            f"data.size={spec.size} and data.grey={spec.grey} do not fit images of shape "
            f"{spec.event}.",
            "Load the files again with these settings.",
        )
    return spec


def open_files(spec: FilesSpec) -> Dataset:
    """The dataset of a complete spec. Refuses files that are not those it was made for."""
    for path in (spec.path, spec.factors):
        if path is not None and not Path(path).exists():
            raise DataError(
                f"The files of this run were at {path}, which no longer exists.",
                "Put them back, or give their new place: --data PATH, or in Python vs.inspect(run, "
                "vs.load_dataset(path, size=..., factors=...)).",
            )
    data = _load(spec)
    if _hash(spec, data) != spec.sha256:
        named = " or ".join(filter(None, (spec.path, spec.factors)))
        raise DataError(
            f"{named} has changed since this run began: {len(data):,} rows of "
            f"shape {data.shape} with a different hash; wanted {spec.n:,} of shape {spec.event}.",
            "Put the old files back, or train again: changed files make a different run. Give "
            "other data of that shape with --data.",
        )
    return data


def _load(spec: FilesSpec) -> Dataset:
    return load_files(spec.path, size=spec.size, grey=spec.grey, factors=spec.factors)


def _hash(spec: FilesSpec, data: Dataset) -> str:
    """sha256 of all rows as they are trained on, and of their factors."""
    path = Path(spec.path)
    files = _images(path) if path.is_dir() else [path]
    settings: list[Any] = [spec.size, spec.grey]
    if spec.factors is not None:
        table = Path(spec.factors)
        settings.append(stamp(table.parent, [table], None))

    def compute() -> str:  # once for these files: a sweep asks for each of its runs
        if spec.factors is not None and data.factors is not None:
            sizes = zip(data.factors.names, data.factors.sizes, strict=True)
            named = ", ".join(f"{name} ({size} classes)" for name, size in sizes)
            _log.info("%s: factors are %s.", spec.factors, named)
        whole = hashlib.sha256(content_hash(data).encode())
        if data.factors is not None:
            table = data.factors.classes(np.arange(len(data)))
            whole.update(f"{data.factors.names}{table.shape}".encode() + table.tobytes())
        if data.sources is not None:
            whole.update(data.sources.tobytes())
        return whole.hexdigest()

    return remembered(stamp(path if path.is_dir() else path.parent, files, settings), compute)


def _csv(path: Path) -> FileArrays:
    """Vectors, one for each line; names of columns where the first line is not of numbers."""
    remedy = "Give numbers separated by commas, one vector per line."
    with reading(path, remedy):
        first = path.read_text("utf-8-sig").split("\n", 1)[0].strip().split(",")
        names = None if all(map(_is_number, first)) else [name.strip(' "') for name in first]
        label = next((k for k, name in enumerate(names or []) if name in FACTORS), None)
        chosen = [k for k in range(len(first)) if k != label]
        rules: dict[str, Any] = {"delimiter": ",", "skiprows": int(names is not None), "ndmin": 2}
        rules |= {"encoding": "utf-8-sig", "comments": None, "quotechar": '"'}
        vectors = np.loadtxt(path, dtype=np.float64, usecols=chosen, **rules)
        labels = None
        if label is not None:
            assert names is not None
            _log.info("%s: the column %s is taken as the factor `class`.", path, names[label])
            labels = np.loadtxt(path, dtype=str, usecols=[label], **rules)
    columns = () if names is None else tuple(names[k] for k in chosen)
    return FileArrays(vectors, labels, columns=columns)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _npz(path: Path) -> FileArrays:
    names = npz_names(path)
    key = next((key for key in IMAGES if key in names), None)
    if key is None:
        raise DataError(
            f"{path} has the arrays {', '.join(names) or '(none)'}; wanted `images`.",
            "Save it with np.savez(path, images=array).",
        )
    labelled = next((key for key in FACTORS if key in names), None)
    archive = read_arrays(path, {key, labelled or key, "factor_names", "factor_values"})
    return FileArrays(
        archive[key],
        archive[labelled] if labelled else None,
        factor_names=[str(name) for name in np.ravel(archive["factor_names"])]
        if "factor_names" in archive
        else None,
        factor_values=archive.get("factor_values"),
    )


def _images(path: Path) -> list[Path]:
    files = sorted(
        file
        for file in path.rglob("*")
        if file.suffix.lower() in SUFFIXES
        and file.is_file()
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
    )
    if not files:
        raise DataError(
            f"{path} has no images ({', '.join(SUFFIXES)}).", "Give a folder with images."
        )
    return files


def _folder(path: Path, size: int | None, grey: bool, table: Any) -> Dataset:
    files = _images(path)
    folders = [file.relative_to(path).parts[:-1] for file in files]
    factors = None
    if table is not None:
        factors = factors_of(str(path), labels_by_name(table, path, files), None, len(files))
    elif all(folders) and len({parts[0] for parts in folders}) > 1:
        factors = tabulated(["class"], [np.array([parts[0] for parts in folders])])

    def decode() -> tuple[tuple[int, ...], Iterator[NDArray[np.uint8]]]:
        if factors is not None and table is None:
            _log.info("%s: its sub-folders are taken as the factor `class`.", path)
        mode, (width, height) = _common_mode(path, files, size)
        mode = "L" if grey else mode
        shape = (len(files), height, width, 1 if mode == "L" else 3)
        return shape, _decoded(files, mode, size)

    pixels = decoded(stamp(path, files, [size, grey]), decode, str(path))
    return dataset_of(path.stem, Bytes(pixels, channels_last=True), factors)


@contextmanager
def _opened(file: Path) -> Iterator[Image.Image]:
    remedy = "Remove it, or repair it."
    try:
        with reading(file, remedy), Image.open(file) as image:
            yield image
    except Image.DecompressionBombError as error:  # or a header that is damaged
        raise DataError(f"{file} cannot be read: {error}.", remedy) from error


def _common_mode(
    path: Path, files: Sequence[Path], side: int | None
) -> tuple[str, tuple[int, int]]:
    """Pillow's name of the mode to which all files can be brought, and the size of all; sizes must
    agree where none is asked for."""
    modes: set[str] = set()
    size: tuple[int, int] | None = None if side is None else (side, side)
    turned = animated = 0
    for file in files:
        with _opened(file) as image:
            # Of a PNG, Pillow decodes all pixels before it knows.
            known = side is None and image.format != "PNG"
            turned += known and image.getexif().get(ExifTags.Base.Orientation, 1) not in (0, 1)
            animated += getattr(image, "is_animated", False)
            modes.add(image.mode)
            size = size or image.size
            if side is None and image.size != size:
                raise ShapeError(
                    f"{file} is {image.size[0]} x {image.size[1]} pixels; {files[0]} is "
                    f"{size[0]} x {size[1]}. All must have the same size.",
                    "Give a size, to which they are cropped and resized: data.size=64, or "
                    "vs.load_dataset(path, size=64).",
                )
            if image.mode in ("I", "F") or image.mode.startswith("I;"):
                raise RangeError(
                    f"{file} has more than 8 bits for a pixel (mode {image.mode}).",
                    "Save it with 8, or save all as floats from 0 to 1 in an npz.",
                )
    assert size is not None
    if turned:
        _log.warning(
            "%s: the EXIF data of %d images say that they are rotated or mirrored; they are used "
            "as they are stored. With data.size they are rotated upright.", path, turned,
        )  # fmt: skip
    if animated:
        _log.warning(
            "%s: %d files have more than one frame or page; the first is read, "
            "the others are left out. Save each as a separate file to use them.", path, animated,
        )  # fmt: skip
    mode = "L" if modes <= {"1", "L", "LA"} else "RGB"
    if modes != {mode}:
        seen = ", ".join(sorted(modes))
        _log.info("%s: images of mode %s are read as %s.", path, seen, mode)
        if {"RGBA", "LA", "PA"} & modes:
            _log.info("%s: transparency is ignored, so hidden parts are shown.", path)
    return mode, size


def _decoded(files: Sequence[Path], mode: str, side: int | None) -> Iterator[NDArray[np.uint8]]:
    with ThreadPoolExecutor() as pool:  # Pillow decodes without Python's lock
        for start in range(0, len(files), ROWS):
            some = files[start : start + ROWS]
            yield np.stack(list(pool.map(lambda file: _pixels(file, mode, side), some)))


def _pixels(file: Path, mode: str, side: int | None) -> NDArray[np.uint8]:
    with _opened(file) as image:
        if side is None:
            pixels = np.asarray(image.convert(mode))
        else:
            upright = ImageOps.exif_transpose(image).convert(mode)
            width, height = upright.size
            inner = min(width, height)
            left, top = (width - inner) // 2, (height - inner) // 2
            # Cropped first: `ImageOps.fit` mixes in pixels from beside the square.
            square = upright.crop((left, top, left + inner, top + inner))
            pixels = np.asarray(square.resize((side, side), Image.Resampling.LANCZOS))
    return pixels[..., None] if mode == "L" else pixels
