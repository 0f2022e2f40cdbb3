"""Arrays inside npz, hdf5 and MATLAB files, read a few rows at a time. Nothing is unpickled."""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from vaescope.errors import DataError
from vaescope.paths import reading
from vaescope.types import Array

__all__ = ["Header", "array", "hdf5", "header", "matlab", "reading", "require_shape", "rows"]

ROWS = 2048  # at a time: 25 MB of 64x64 colour images


@dataclass(frozen=True)
class Header:
    """What is known of an array before it is read."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def require_shape(path: Path, what: str, got: Header, *event: int, dtype: type = np.uint8) -> None:
    """Refuses an array that is not `dtype` of shape (any number of rows, *event)."""
    if got.shape[1:] != event or got.dtype != dtype or not got.shape:
        wanted = ", ".join(["rows", *map(str, event)])
        raise DataError(
            f"{what} in {path} is {got.dtype} of shape {got.shape}; wanted "
            f"{np.dtype(dtype)} of shape ({wanted}).",
            "Is it the official file? Delete it and get it again.",
        )


@contextmanager
def hdf5(path: Path) -> Iterator[Any]:
    """An open hdf5 file."""
    try:
        import h5py
    except ImportError as error:
        raise DataError(
            f"Reading {path} needs h5py, which is not installed.",
            "Run: pip install 'vaescope[h5]'.",
        ) from error
    with reading(path), h5py.File(path, "r") as file:
        yield file


@contextmanager
def _member(path: Path, key: str) -> Iterator[tuple[IO[bytes], Header]]:
    """A member of an npz, opened where its rows begin."""
    with reading(path), zipfile.ZipFile(path) as archive, archive.open(f"{key}.npy") as file:
        version = npy.read_magic(file)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read(file)
        if dtype.hasobject or fortran:
            raise DataError(
                f"{key} in {path} holds {'Python objects' if dtype.hasobject else 'columns'}; "
                "wanted numbers, row by row. Python objects are never unpickled.",
                "Is it the official file? Delete it and get it again.",
            )
        yield file, Header(shape, dtype)


def header(path: Path, key: str) -> Header:
    """Shape and type of the array `key` in an npz or hdf5 file, without reading its rows."""
    if path.suffix == ".npz":
        with _member(path, key) as (_, found):
            return found
    with hdf5(path) as file:
        return Header(file[key].shape, file[key].dtype)


def array(path: Path, key: str) -> Array:
    """The whole array `key` of an npz or hdf5 file."""
    if path.suffix == ".npz":
        with reading(path), np.load(path, allow_pickle=False) as archive:
            return np.asarray(archive[key])
    with hdf5(path) as file:
        return np.asarray(file[key][()])


def rows(path: Path, key: str, *, at_once: int = ROWS) -> Iterator[Array]:
    """The array `key` of an npz or hdf5 file, `at_once` rows at a time."""
    if path.suffix != ".npz":
        with hdf5(path) as file:
            for start in range(0, len(file[key]), at_once):
                yield np.asarray(file[key][start : start + at_once])
        return
    with _member(path, key) as (stream, found):
        event = found.dtype.itemsize * int(np.prod(found.shape[1:]))
        for start in range(0, found.shape[0], at_once):
            n = min(at_once, found.shape[0] - start)
            content = stream.read(n * event)
            if len(content) < n * event:
                raise EOFError(f"{key} ends after {start + len(content) // event:,} rows")
            yield np.frombuffer(content, found.dtype).reshape(n, *found.shape[1:])
        if stream.read(1):  # its checksum is compared at the end only
            raise ValueError(f"{key} has more data after its {found.shape[0]:,} rows")


def matlab(path: Path, key: str, content: IO[bytes] | None = None) -> Array:
    """The variable `key` of a MATLAB file; of `content`, where that lies inside the file `path`."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    with reading(path):
        try:
            return np.asarray(loadmat(content or path, variable_names=[key])[key])
        except (MatReadError, NotImplementedError, TypeError) as error:
            raise ValueError(str(error)) from error
