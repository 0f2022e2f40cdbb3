"""Factors in a table beside the user's files; images of a folder are found in it by their names."""

import csv
import io
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from vaescope.data.arrays import reading
from vaescope.data.labels import NamedLabels, labels_of
from vaescope.errors import ShapeError, UsageError
from vaescope.types import Array

__all__ = ["labels_by_name"]

_DELIMITERS = ",;\t"
_REMEDY = "Give a csv file whose first line names its columns."
_Spelling = Callable[[PurePosixPath], str]
#: What of a file must be what of a cell, the most exact first.
_SPELLINGS: tuple[tuple[_Spelling, _Spelling], ...] = (
    (PurePosixPath.as_posix, PurePosixPath.as_posix),
    (lambda file: file.name, lambda cell: cell.name),
    (lambda file: file.stem, lambda cell: cell.name),  # the stem of a number such as 1.5 is 1
)

_log = logging.getLogger("vaescope")


def labels_by_name(factors: Any, folder: Path, files: Sequence[Path]) -> NamedLabels:
    """The labels of these images, whatever the order of the table's rows.

    One column of the table names the images: by their path in the folder, their file name, or
    that without its ending. The other columns are the factors.

    Args:
        factors: path of a csv file, a pandas table, or a dictionary of columns.
        folder: of the images.
        files: the images, in the order of the rows of the data.

    Raises:
        ShapeError: no column names all images, or two rows name the same one.
        UsageError: `factors` is an array, whose rows cannot be matched with files.
    """
    of_file = isinstance(factors, str | Path)
    where = str(factors) if of_file else "factors="
    table = _read(Path(factors)) if of_file else labels_of(factors)
    if not isinstance(table, NamedLabels):
        raise UsageError(
            f"factors= is an array of shape {table.shape}; which of its rows belongs to which image"
            f" of {folder} is not known.",
            "Give a table with a column of file names: a csv file or a pandas table.",
        )
    column, rows = _matched(table, where, folder, [_inside(file, folder) for file in files])
    if len(rows) < len(table.columns[0]):
        spare = len(table.columns[0]) - len(rows)
        _log.info("%s: %d rows name no image of %s and are left out.", where, spare, folder)
    names = tuple(name for name in table.names if name != column)
    if not names:
        raise ShapeError(f"{where} has file names and no factor.", "Add a column for each factor.")
    columns = tuple(
        _classes(name, values[rows], where)
        for name, values in zip(table.names, table.columns, strict=True)
        if name != column
    )
    return NamedLabels(names, columns)


def _inside(file: Path, folder: Path) -> PurePosixPath:
    return PurePosixPath(file.relative_to(folder).as_posix())


def _matched(
    table: NamedLabels, where: str, folder: Path, files: Sequence[PurePosixPath]
) -> tuple[str, Array]:
    """The column that names the files, and which row belongs to each file."""
    nearest = (0, "", "")  # how many files a column names, its name, the first that it does not
    for of_file, of_cell in _SPELLINGS:
        wanted = [of_file(file) for file in files]
        if len(set(wanted)) < len(wanted):
            continue  # two files in different folders have one name
        for name, column in zip(table.names, table.columns, strict=True):
            paths = (PurePosixPath(str(cell).strip().replace("\\", "/")) for cell in column)
            cells = [of_cell(path) for path in paths]
            places = {cell: row for row, cell in enumerate(cells)}
            missing = [file for file in wanted if file not in places]
            if not missing:
                _refuse_repeats(cells, set(wanted), where)
                return name, np.array([places[file] for file in wanted])
            nearest = max(nearest, (len(wanted) - len(missing), name, missing[0]))
    named, best, first = nearest
    if not named:
        raise ShapeError(
            f"No column of {where} names the images of {folder}: it has {', '.join(table.names)}, "
            f"and the first image is {files[0]}.",
            "Add a column with the file name of each image.",
        )
    raise ShapeError(
        f"{where} names {named:,} of the {len(files):,} images of {folder} in its column {best}; "
        f"{first} is missing.",
        "Add a row for each image, or move images without factors to another folder.",
    )


def _refuse_repeats(cells: Sequence[str], wanted: set[str], where: str) -> None:
    seen: set[str] = set()
    for cell in cells:
        if cell in seen and cell in wanted:
            raise ShapeError(f"{where} has two rows for {cell}.", "Keep one row for each image.")
        seen.add(cell)


def _read(path: Path) -> NamedLabels:
    """The columns of a csv file as text: a file may be called 000001."""
    path = path.expanduser()
    with reading(path, _REMEDY):
        text = path.read_text("utf-8-sig")
        delimiter = max(_DELIMITERS, key=text.split("\n", 1)[0].count)
        try:
            lines = [line for line in csv.reader(io.StringIO(text), delimiter=delimiter) if line]
        except csv.Error as error:
            raise ValueError(str(error)) from error
    names = [cell.strip() for cell in lines[0]] if lines else []
    if len(lines) < 2 or "" in names or len(set(names)) < len(names):
        raise ShapeError(
            f"{path} has {len(lines)} lines, the first of which is {', '.join(names) or 'empty'}; "
            "wanted different names of columns, and a line for each image.",
            _REMEDY,
        )
    for number, line in enumerate(lines, start=1):
        if len(line) != len(names):
            raise ShapeError(
                f"Line {number} of {path} has {len(line)} cells; its first line has {len(names)}.",
                "Correct that line; put text that contains the separator in quotes.",
            )
    columns = (np.array([line[k].strip() for line in lines[1:]]) for k in range(len(names)))
    return NamedLabels(tuple(names), tuple(columns))


def _classes(name: str, cells: Array, where: str) -> Array:
    """Whole numbers as integers, so that 10 comes after 9; text as it is."""
    if cells.dtype.kind not in "US":
        return cells
    if empty := int((cells == "").sum()):
        raise ShapeError(
            f"The factor {name!r} in {where} is empty for {empty:,} images.",
            "Fill it in, or remove the column.",
        )
    with suppress(ValueError, OverflowError):
        return np.asarray(cells.astype(np.int64))
    try:
        numbers = cells.astype(np.float64)
    except ValueError:
        return cells
    whole = np.isfinite(numbers) & (numbers == np.round(numbers))
    if not whole.all():
        raise ShapeError(
            f"The factor {name!r} in {where} has the value {cells[~whole][0]}; wanted whole numbers"
            " or names of classes.",
            "Cut it into classes, e.g. pandas.cut(column, 5, labels=False), or remove the column.",
        )
    return np.asarray(numbers.astype(np.int64))  # 3.0, as pandas writes a column with gaps
