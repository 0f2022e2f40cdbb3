"""Perturbed data as one file: images, their factors, and how they were made.

`vaescope perturb` writes it; `data.name=perturbed data.path=FILE` trains on it.
"""

import hashlib
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vaescope.data.arrays import reading
from vaescope.data.card import Card
from vaescope.data.dataset import Dataset
from vaescope.data.factors import Factors
from vaescope.data.specs import PerturbedSpec
from vaescope.data.stores import Numbers
from vaescope.errors import DataError
from vaescope.reading import parse_json, read_arrays, read_regular
from vaescope.types import Single

__all__ = ["complete_perturbed", "load_perturbed", "open_perturbed", "packed"]

FORMAT = 1
_REMEDY = "Make it again with `vaescope perturb`, or restore the file that it wrote."


def packed(data: Dataset, images: Single, facts: Mapping[str, Any]) -> bytes:
    """The file: `images` (n, channels, height, width), `factors` (n, k) with names and values, and
    `facts` as JSON text. Equal arguments give equal bytes."""
    factors = data.require_factors("perturb")
    arrays: dict[str, Any] = {
        "images": images,
        "factors": factors.classes(np.arange(len(data))),
        "factor_names": np.array(factors.names),
        "facts": np.array(json.dumps({"format": FORMAT, **facts}, sort_keys=True)),
        **{f"values_{k}": values for k, values in enumerate(factors.values)},
    }
    if data.sources is not None:
        arrays["factor_values"] = data.sources
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def _arrays(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise DataError(
            f"There is no file {path}.", "Give the perturbed.npz that `vaescope perturb` wrote."
        )
    with reading(path, _REMEDY):
        arrays = read_arrays(path)
    missing = {"images", "factors", "factor_names", "facts"} - arrays.keys()
    if missing:
        raise DataError(f"{path} lacks {', '.join(sorted(missing))}.", _REMEDY)
    return arrays


def _facts(path: Path, arrays: Mapping[str, Any]) -> dict[str, Any]:
    try:
        facts = parse_json(str(arrays["facts"]))
        if not isinstance(facts, dict) or not isinstance(facts.get("format"), int):
            raise ValueError("it does not say its format")
    except ValueError as error:
        raise DataError(f"`facts` in {path} cannot be read: {error}.", _REMEDY) from error
    if facts["format"] > FORMAT:
        raise DataError(
            f"{path} has format {facts['format']}; this vaescope reads up to {FORMAT}.",
            "Install a newer vaescope.",
        )
    return facts


def load_perturbed(path: str | Path) -> Dataset:
    """The dataset of a file, under the name of what was perturbed and how."""
    path = Path(path).expanduser()
    arrays = _arrays(path)
    facts = _facts(path, arrays)
    images, table = arrays["images"], arrays["factors"]
    names = tuple(str(name) for name in arrays["factor_names"])
    wanted = [f"values_{k}" for k in range(len(names))]
    right = (
        images.dtype == np.float32 and images.ndim == 4 and len(images) > 0
        and table.shape == (len(images), len(names)) and table.dtype == np.int64
        and all(name in arrays for name in wanted)
        and np.isfinite(images).all() and images.min() >= 0.0 and images.max() <= 1.0
    )  # fmt: skip
    values = tuple(arrays[name] for name in wanted) if right else ()
    grid = Factors(names, values)
    if not right or np.any(table < 0) or np.any(table >= np.array(grid.sizes)):
        raise DataError(
            f"{path} holds images {images.dtype} of shape {images.shape} and factors of shape "
            f"{table.shape}; wanted float32 images in [0, 1] and a class of each factor for each.",
            _REMEDY,
        )
    full = grid.n == len(table) and np.array_equal(grid.classes(np.arange(grid.n)), table)
    factors = grid if full else Factors(names, values, table)
    source = str(facts.get("source", "data"))
    card = Card(
        f"{source}, {facts.get('kind', 'perturbed')}", images.shape[1:], len(images),
        "that of the original data", "zietlow2022",
        dict(zip(names, factors.sizes, strict=True)),
        notes=f"{source} with pixels changed by at most {facts.get('epsilon', float('nan')):g}",
    )  # fmt: skip
    return Dataset(card, Numbers(images), factors, arrays.get("factor_values"))


def complete_perturbed(spec: PerturbedSpec) -> PerturbedSpec:
    """The spec with what the file holds now, and an absolute path."""
    if spec.sha256 is not None and spec.n is not None and spec.event is not None:
        return spec
    path = Path(spec.path).expanduser().resolve()
    data = load_perturbed(path)
    facts = {"sha256": _sha256(path), "n": len(data), "event": data.shape}
    return spec.model_copy(update={"path": str(path), **facts})


def open_perturbed(spec: PerturbedSpec) -> Dataset:
    """The dataset of a complete spec. Refuses a file that is not the one it was made for."""
    path = Path(spec.path)
    data = load_perturbed(path)
    if _sha256(path) != spec.sha256:
        raise DataError(
            f"{path} is not the file that this run was trained on.",
            "Put that file back, or train again on this one.",
        )
    return data


def _sha256(path: Path) -> str:
    return hashlib.sha256(read_regular(path)).hexdigest()
