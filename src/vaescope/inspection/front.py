"""`vs.inspect`: anything that is a VAE, dissected."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import Tensor

from vaescope.adapters import Asked
from vaescope.errors import UsageError
from vaescope.estimator import VAEEstimator
from vaescope.inspection.dissect import Progress, silent
from vaescope.inspection.estimator import inspect_estimator
from vaescope.inspection.given import as_data
from vaescope.inspection.model import inspect_model
from vaescope.inspection.results import Inspection
from vaescope.inspection.run import inspect_run
from vaescope.runs import Run

__all__ = ["as_data", "inspect"]

_log = logging.getLogger("vaescope")


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
