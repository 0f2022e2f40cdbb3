"""The user's data as a dataset: a name, a file, arrays, tensors, a loader; one set of rules."""

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, RandomSampler
from torch.utils.data import Dataset as TorchDataset

from vaescope.build import build_data
from vaescope.data import DATASETS, Dataset
from vaescope.data.dataset import Kind
from vaescope.data.in_memory import (
    DARK,
    check_kind,
    dataset_of,
    factors_of,
    from_arrays,
    from_signals,
    kind_of,
)
from vaescope.data.labels import labels_of
from vaescope.data.specs import FilesSpec
from vaescope.data.stores import Sparse
from vaescope.data.user_files import FILES, load_files, read_file
from vaescope.errors import RangeError, ShapeError, UsageError, VaescopeError
from vaescope.settings import from_python
from vaescope.types import Array
from vaescope.wording import nearest, unit_scaling

__all__ = [
    "as_dataset", "images_of_batch", "is_data", "load_dataset", "loader_failed", "refuse_unknown",
]  # fmt: skip

_log = logging.getLogger("vaescope")
#: Ranges that mean the same whatever part of the images is looked at.
FIXED = ((0.0, 1.0), (0.0, 255.0), (-1.0, 1.0))
BATCH = 256
#: Under which names batches hold their images.
_IMAGES = ("image", "images", "img", "imgs", "pixel_values", "x", "input", "inputs", "data")
_NEARLY = 0.01


def load_dataset(name: Any, **settings: Any) -> Dataset:
    """A dataset by name, e.g. `load_dataset("dsprites", size=32)`, or your own data.

    Folders of images take `size`, `grey` and `factors`, a csv file or table with a column of file
    names: `load_dataset("photos/", size=64, factors="labels.csv")`. With the name "files" and
    `path=` a run that is trained on the dataset finds it again. Arrays and what else `vs.train`
    takes may have `factors`, a row for each example: `load_dataset(images, factors=table)`.

    Args:
        name: name of a dataset (`vaescope data list`), path of a folder or file, or an array.
        settings: settings of that dataset, e.g. `size=32`; for your own data see above.

    Returns:
        `Dataset`: rows that can be trained on, with factors where they are known.

    Raises:
        DataError: a file is missing or damaged.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> vs.load_dataset("digits").shape
        (1, 8, 8)
    """
    if not isinstance(name, str | Path):
        _refuse_others("Data that are passed themselves", settings, ("factors",))
        return as_dataset(name, **settings)
    name = str(name)
    path = Path(name)
    unlisted = name not in DATASETS and "path" not in settings
    if unlisted and (os.sep in name or path.suffix or path.exists()):
        _refuse_others(name, settings, ("size", "grey", "factors"))
        return load_files(name, **settings)
    if unlisted:
        refuse_unknown(name)
    return build_data(from_python("vae", {"name": name, **settings}, {}).data)


def refuse_unknown(name: str) -> NoReturn:
    """For a name that is neither a dataset's nor a path that exists."""
    raise UsageError(
        f"There is no dataset, file or folder {name}.",
        f"{nearest(name, DATASETS)} `vaescope data list` lists the datasets.".lstrip(),
    )


def _refuse_others(what: str, settings: Mapping[str, Any], known: Sequence[str]) -> None:
    if wrong := sorted(set(settings) - set(known)):
        raise UsageError(
            f"{what} and {', '.join(wrong)}= cannot be combined.",
            f"Leave {', '.join(wrong)} out; known here: {', '.join(known)}.",
        )


def as_dataset(
    data: Any,
    factors: Any = None,
    *,
    most: int | None = None,
    like: Any = None,
    foreign: bool = False,
    kind: Kind | None = None,
) -> Dataset:
    """The dataset that was given, by name or path too, or that of arrays, tensors and loaders.

    Datasets of torch and of Hugging Face and AnnData are taken too. `factors` has one row for each
    image, or is a dictionary of such columns; Hugging Face's class labels and AnnData's categories
    are taken where it is None. Of a loader at most `most` rows are taken, None: all. Images of a
    folder become what those of the data spec `like` were, where that is one of files.

    Images in [0, 255] and [-1, 1] are brought to [0, 1]. Those of another range are refused: a part
    of them would have other ends, and so other values. For `foreign` models, which get their data
    as they came, arrays of any shape and range are taken: `kind` says what they are, and where it
    does not, `vaescope.data.in_memory.kind_of` decides.
    """
    check_kind(kind)
    dataset = _dataset_of(data, factors, most, like, _Taking(foreign, kind))
    if not foreign and dataset.value_range not in (None, *FIXED):
        low, high = dataset.value_range
        raise RangeError(
            f"The images have values from {low:g} to {high:g}; wanted 0 to 1, 0 to 255 or -1 to 1.",
            f"Use {unit_scaling(low, high)}, with these two numbers for all your images, or "
            "undo their standardisation.",
        )
    return dataset


def is_data(data: Any) -> bool:
    """Whether these are rows as such: an array, a table, a dataset or its name; not batches."""
    if isinstance(data, Dataset | str | Path | Tensor | np.ndarray):
        return True
    if _has(data, "column_names", "with_format") or _has(data, "X", "obs", "var_names"):
        return True
    if _has(data, "columns", "to_numpy", "dtypes") or hasattr(data, "__array__"):
        return True
    if not isinstance(data, list) or not data:
        return False
    # A list of numbers, or of rows of one shape.
    return isinstance(_plain(data), np.ndarray) and _plain(data).dtype.kind in "biuf"


@dataclass(frozen=True)
class _Taking:
    """For whom arrays are, and as what."""

    foreign: bool
    kind: Kind | None


def _dataset_of(data: Any, factors: Any, most: int | None, like: Any, taking: _Taking) -> Dataset:
    if isinstance(data, Dataset | str | Path):
        folder = not isinstance(data, Dataset) and str(data) not in DATASETS and Path(data).is_dir()
        if factors is not None and not folder:
            raise UsageError(
                "factors= were given with a dataset, which has its own or none.",
                "Leave them out, or pass the images as an array.",
            )
        if isinstance(data, Dataset):
            return data
        if folder and isinstance(like, FilesSpec):
            return load_files(data, size=like.size, grey=like.grey, factors=factors)
        if taking.foreign and str(data) not in DATASETS and Path(data).suffix.lower() in FILES:
            return _from_file(Path(data).expanduser(), taking)
        if taking.kind not in (None, "images"):
            raise UsageError(
                f"{data} holds images; kind={taking.kind!r}.", "Leave kind= out, or give an array."
            )
        return load_files(data, factors=factors) if folder else load_dataset(data)
    if _has(data, "column_names", "with_format"):
        return _from_hugging_face(data, factors, most, taking)
    if _has(data, "X", "obs", "var_names"):
        return _from_anndata(data, factors)
    if _has(data, "columns", "to_numpy", "dtypes"):
        return _from_table(data, factors, taking)
    if isinstance(data, TorchDataset):
        data = DataLoader(data, batch_size=BATCH)
    if hasattr(data, "__iter__") and not hasattr(data, "__array__") and hasattr(data, "batch_size"):
        return _from_loader(data, factors, most, taking)
    return _from_array(_plain(data), factors, taking)


def _from_file(path: Path, taking: _Taking) -> Dataset:
    """The array of a file as if it had been passed itself, with the factors that lie beside."""
    held = read_file(path) if path.is_file() else None
    if held is None or (taking.kind or kind_of(held.values)) == "images":
        return load_dataset(path)  # says what is wrong where the file is not there
    dataset = _from_array(held.values, held.factors, taking, held.factor_names)
    return replace(dataset, card=replace(dataset.card, name=path.stem), columns=held.columns)


def _from_table(table: Any, factors: Any, taking: _Taking) -> Dataset:
    """The columns of a pandas table, with their names."""
    words = [str(name) for name in table.columns if table[name].dtype.kind not in "biuf"]
    if words:
        raise ShapeError(
            f"The columns {', '.join(words[:4])} of the table are not numbers.",
            "Encode them as you did for the training, e.g. pandas.get_dummies(table).",
        )
    dataset = _from_array(table.to_numpy(dtype=np.float32), factors, taking)
    return replace(dataset, columns=tuple(map(str, table.columns)))


def _plain(data: Any) -> Any:
    """An array, or what was given where it cannot be one: `from_arrays` says why."""
    if isinstance(data, Tensor):
        dense = data.detach().cpu().to_dense()
        return (dense.float() if dense.dtype == torch.bfloat16 else dense).numpy()  # NumPy has none
    try:
        return np.asarray(data)
    except (TypeError, ValueError, RuntimeError):
        return data


def _from_loader(loader: Any, factors: Any, most: int | None, taking: _Taking) -> Dataset:
    if factors is not None and isinstance(getattr(loader, "sampler", None), RandomSampler):
        raise UsageError(
            "The loader shuffles, so its rows are not those of factors=.",
            "Pass one with shuffle=False, or the images as an array.",
        )
    parts: list[Array] = []
    cut = False
    try:
        for batch in loader:
            parts.append(_plain(images_of_batch(batch)))
            cut = most is not None and sum(map(len, parts)) >= most
            if cut:
                _log.info("The first %d rows of the loader are taken.", sum(map(len, parts)))
                break
        images = np.concatenate(parts) if parts else None
    except VaescopeError:
        raise
    except Exception as error:  # anybody's code
        remedy = "Pass one whose batches are tensors of one shape, or the images as an array."
        raise loader_failed(len(parts), error, remedy) from error
    if images is None:
        raise UsageError("The loader gave no batch.", "Pass a loader that has batches.")
    known = None if factors is None else labels_of(factors)
    if known is not None and cut:
        known = known[: len(images)]
    return _from_array(images, known, taking)


def _has(data: Any, *names: str) -> bool:
    return all(hasattr(data, name) for name in names)


def _from_hugging_face(table: Any, factors: Any, most: int | None, taking: _Taking) -> Dataset:
    """The images or vectors of a `datasets.Dataset`, and its class labels as factors."""
    if isinstance(table, Mapping):
        raise UsageError(
            f"This Hugging Face dataset has the splits {', '.join(table)}.",
            f"Choose one, e.g. data[{next(iter(table), 'train')!r}].",
        )
    if not _has(table, "__len__") or table.features is None:
        raise UsageError(
            "This Hugging Face dataset is streamed, so its rows cannot be indexed.",
            "Load it without streaming=True, or pass a part of it as an array.",
        )
    kinds = {name: type(feature).__name__ for name, feature in table.features.items()}
    column = next((name for name, kind in kinds.items() if kind == "Image"), None)
    column = column or next((name for name in _IMAGES if name in kinds), None)
    if column is None:
        raise UsageError(
            f"This Hugging Face dataset has the columns {', '.join(kinds)}; wanted images.",
            f"Rename the one that holds them to {_IMAGES[0]}, or vectors to x.",
        )
    n = len(table) if most is None else min(most, len(table))
    _log.info("Column %s of the Hugging Face dataset is taken, %d rows.", column, n)
    plain = table.with_format(None)
    rows = [
        np.asarray(value)
        for start in range(0, n, BATCH)
        for value in plain[start : min(start + BATCH, n)][column]
    ]
    if len(shapes := {row.shape for row in rows}) > 1:
        raise ShapeError(
            f"The rows of column {column} have the shapes {sorted(shapes)[:3]}; wanted one.",
            "Resize and convert them with the dataset's own map, or save them in a folder and "
            "use vs.load_dataset(folder, size=64).",
        )
    labels = [name for name, kind in kinds.items() if kind == "ClassLabel"]
    if factors is not None or not labels or not rows:
        known = None if factors is None else labels_of(factors)[:n]
        return _from_array(np.asarray(rows), known, taking)
    columns = [
        np.asarray(table.features[name].names)[np.asarray(plain[:n][name])] for name in labels
    ]
    stacked = np.stack(columns, axis=1)
    return _from_array(np.stack(rows), stacked, taking, labels)


def _from_anndata(cells: Any, factors: Any) -> Dataset:
    """X of an AnnData as vectors, kept sparse where it is, and its categories as factors."""
    if cells.isbacked:
        cells = cells.to_memory()
    names = None
    if factors is None:
        kinds = {name: cells.obs[name] for name in cells.obs.columns}
        names = [
            name
            for name, column in kinds.items()
            if column.dtype.name == "category" and not column.isna().any()
        ]
        if names:
            _log.info("Categories of the AnnData are taken as factors: %s.", ", ".join(names))
            factors = np.stack([np.asarray(kinds[name].astype(str), str) for name in names], 1)
    x = cells.X
    if not _has(x, "tocsr"):
        dense = np.asarray(x, dtype=np.float32)
        dataset = from_arrays(dense, factors, factor_names=names or None, where="the AnnData")
        return replace(dataset, columns=tuple(map(str, cells.var_names)))
    x = x.tocsr()
    if not np.isfinite(x.data).all():
        raise RangeError(
            "X of the AnnData has values that are NaN or infinite.", "Leave these cells out."
        )
    known = None
    if factors is not None:
        known = factors_of("the AnnData", factors, names or None, x.shape[0])
    return replace(dataset_of("array", Sparse(x), known), columns=tuple(map(str, cells.var_names)))


def loader_failed(batches: int, error: Exception, remedy: str) -> UsageError:
    """What is said of an error in somebody's loader, after so many batches."""
    lines = str(error).splitlines()
    return UsageError(
        f"The loader failed after {batches} batches with {type(error).__name__}: "
        f"{lines[0][:200] if lines else ''}.",
        remedy,
    )


def images_of_batch(batch: Any) -> Any:
    """The images of a batch: itself, what comes first in it, or what is named so."""
    if isinstance(batch, tuple | list) and batch:
        return batch[0]
    if isinstance(batch, Mapping):
        name = next((name for name in _IMAGES if name in batch), None)
        if name is None:
            raise UsageError(
                f"A batch of the loader has {', '.join(map(str, batch))}; wanted images.",
                f"Name them {' or '.join(_IMAGES[:2])}, or let the loader give them first.",
            )
        return batch[name]
    return batch


def _from_array(
    images: Any, factors: Any, taking: _Taking, names: Sequence[str] | None = None
) -> Dataset:
    """Images in any range as vaescope has them, in [0, 1]; the dataset remembers the range."""
    if taking.foreign and isinstance(images, np.ndarray) and images.size:
        kind = taking.kind or kind_of(images)
        if kind != "images":
            return from_signals(images, factors, kind=kind, names=names)
    ends = _ends(images)
    if ends is None:
        return from_arrays(images, factors, factor_names=names)
    low, high = ends
    _log.info("The images are taken as [%.3g, %.3g] and rescaled to [0, 1].", low, high)
    unit = np.clip((images - low) / (high - low), 0.0, 1.0)
    return replace(from_arrays(unit, factors, factor_names=names), value_range=ends)


def _ends(images: Any) -> tuple[float, float] | None:
    """The range of floating-point images; None where it is [0, 1], or cannot be told."""
    if not isinstance(images, np.ndarray) or images.ndim != 4 or not images.size:
        return None
    if not np.issubdtype(images.dtype, np.floating) or not np.isfinite(images).all():
        return None
    low, high = float(images.min()), float(images.max())
    if low > -_NEARLY and high < 1 + _NEARLY:
        return None  # of those that are nearly in [0, 1], `from_arrays` says what to do
    if low >= 0 and high <= 255:
        return 0.0, 255.0
    if -1 <= low <= DARK and high <= 1:
        return -1.0, 1.0
    return low, high
