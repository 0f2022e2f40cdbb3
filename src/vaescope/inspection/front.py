"""`vs.inspect`: anything that is a VAE, dissected."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from vaescope.adapters import Asked
from vaescope.data import Dataset
from vaescope.data.in_memory import from_arrays
from vaescope.errors import UsageError
from vaescope.estimator import VAEEstimator
from vaescope.inspection.dissect import Progress, silent
from vaescope.inspection.estimator import inspect_estimator
from vaescope.inspection.model import inspect_model
from vaescope.inspection.results import Inspection
from vaescope.inspection.run import inspect_run
from vaescope.runs import Run
from vaescope.training.api import load_dataset
from vaescope.types import Array

__all__ = ["as_data", "inspect"]

_log = logging.getLogger("vaescope")
LOADED = 10_000  # rows taken from a loader


def inspect(
    model: Any = None,
    data: Any = None,
    *,
    factors: Any = None,
    encode: Callable[[Tensor], Any] | None = None,
    decode: Callable[[Tensor], Any] | None = None,
    posterior: str | None = None,
    output: str | None = None,
    value_range: tuple[float, float] | None = None,
    effort: str = "default",
    images: bool = True,
    name: str | None = None,
    progress: Progress = silent,
) -> Inspection:
    """Dissects a run of vaescope, any module with encode and decode (or encoder and decoder), a
    pair of functions, a model of pythae or diffusers, a PCA, or a fitted `vs.VAEEstimator`.

    `data` are images or vectors (arrays, tensors, a loader, a dataset or its name). What a foreign
    model's outputs mean is inferred, logged, in `.inferred`, and overridden by `posterior` (e.g.
    "interleaved,logvar"), `output` ("probabilities", "logits" or "pixels") and `value_range` (of
    the images that the model takes). `effort` is fast, default or thorough.
    """
    if isinstance(model, str | Path):
        model = Run(Path(model))
    given = None if data is None else as_data(data, factors)
    own = isinstance(model, Run | VAEEstimator)
    if own and (encode or decode or posterior or output or value_range):
        raise UsageError(
            "Models that vaescope trained say themselves what their outputs mean.",
            "Leave encode, decode, posterior, output and value_range out.",
        )
    if isinstance(model, Run):
        return inspect_run(model, given, effort=effort, images=images, progress=progress)
    if given is None:
        raise UsageError(
            "A model that is no run does not know its data.",
            "Pass images: vs.inspect(model, images), or encode=, decode= and data=.",
        )
    if isinstance(model, VAEEstimator):
        return inspect_estimator(
            model, given, name=name, effort=effort, images=images, progress=progress
        )
    found = inspect_model(
        model, given, encode=encode, decode=decode, asked=Asked(posterior, output, value_range),
        name=name, effort=effort, images=images, progress=progress,
    )  # fmt: skip
    for one in found.inferred:
        _log.info("%s", one)
    return found


def as_data(data: Any, factors: Any = None) -> Dataset:
    """A dataset of what people have: a dataset, its name, a file, arrays, tensors, a loader."""
    if isinstance(data, Dataset):
        return data
    if isinstance(data, str | Path):
        return load_dataset(data)
    if isinstance(data, Tensor):
        return from_arrays(_in_unit_range(data.detach().cpu().numpy()), factors)
    if hasattr(data, "__iter__") and not hasattr(data, "__array__") and hasattr(data, "batch_size"):
        return _from_loader(data, factors)
    return from_arrays(_in_unit_range(np.asarray(data)), factors)


def _from_loader(loader: Any, factors: Any) -> Dataset:
    parts: list[Array] = []
    for batch in loader:
        x = batch[0] if isinstance(batch, tuple | list) else batch
        parts.append(x.detach().cpu().numpy() if isinstance(x, Tensor) else np.asarray(x))
        if sum(map(len, parts)) >= LOADED:
            break
    if not parts:
        raise UsageError("The loader gave no batch.", "Give one that has some.")
    return from_arrays(_in_unit_range(np.concatenate(parts)), factors)


def _in_unit_range(images: Array) -> Array:
    """Images in [-1, 1] as vaescope has them, in [0, 1]."""
    if images.ndim != 4 or not np.issubdtype(images.dtype, np.floating) or not images.size:
        return images
    low, high = float(images.min()), float(images.max())
    if not (-1 <= low < 0 and high <= 1):
        return images
    _log.info(
        "The images are from %.3g to %.3g: taken as [-1, 1] and brought to [0, 1].", low, high
    )
    return (images + 1) / 2
