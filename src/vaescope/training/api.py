"""Training from Python: `vs.train("beta-vae", data, beta=4)`."""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from vaescope.build import build_data, check_parts, data_settings
from vaescope.errors import UsageError
from vaescope.loggers import check_loggers, logged
from vaescope.own_parts.objects import KEYWORDS, is_object, refuse_loose, refuse_twice, with_objects
from vaescope.paths import runs_folder
from vaescope.runs import Run
from vaescope.settings import from_python
from vaescope.training.bar import shown
from vaescope.training.run import begun, train_run
from vaescope.user_data import as_dataset

__all__ = ["choose_device", "train"]

_LOG = logging.getLogger("vaescope")


def choose_device(name: str) -> torch.device:
    """`auto`, `cpu`, `cuda` or `mps`."""
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.mps.is_available()}
    if name == "auto":
        return torch.device("cuda" if there["cuda"] else "cpu")
    if not there.get(name, False):
        here = ", ".join(device for device, found in there.items() if found)
        raise UsageError(f"There is no device {name} here.", f"Use auto or {here}.")
    return torch.device(name)


def train(
    preset: str,
    data: Any = None,
    *,
    out: str | Path | None = None,
    device: str = "auto",
    on_record: Callable[[Mapping[str, Any]], None] | None = None,
    loggers: Sequence[str] = (),
    progress: bool = False,
    **settings: Any,
) -> Run:
    """Trains a preset to its end and returns the run; resumes or returns a run that exists.

    `settings` override the preset by bare name, e.g. `beta=4, steps=3000, seed=0`; a name must
    match exactly one. Groups may be given whole, `net={"name": "mlp", "encoder": [64]}`, and as
    your own parts:
    `objective=MyObjective(weight=3.0)`, `prior=`, `posterior=`, `likelihood=`; `encoder=` and
    `decoder=`, any modules from x to the posterior's parameters and from z to the likelihood's;
    `net=`, a function that makes both; or `vae=`, a whole `vs.VAE` (docs/own-parts.md). Modules
    start from the weights that they come with, and are not changed.

    Args:
        preset: name of a preset.
        data: a dataset, its name or path, or an array; None takes the preset's own.
        out: folder for runs; None is `$VAESCOPE_RUNS`.
        device: `auto`, `cpu`, `cuda` or `mps`.
        on_record: called with each new row of the history: step, loss, its parts, counts of types,
            mean variances, and at a validation `validation_elbo`.
        loggers: names: csv, tensorboard, wandb, mlflow.
        progress: whether a bar is drawn on stderr.
        settings: settings by bare name, whole groups, or your own parts.

    Returns:
        The finished `Run`.

    Raises:
        BusyError: another process works on the same run.
        DataError: a file is missing or damaged.
        DiskError: a folder cannot be written.
        NonFiniteError: a loss became NaN or infinite.
        RangeError: a value is out of range.
        RunError: a folder is not a run, or the run does not fit.
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import tempfile
        >>> import vaescope as vs
        >>> x = vs.known.signals()
        >>> folder = tempfile.mkdtemp()
        >>> run = vs.train("vae", x, latent=2, steps=5, net={"name": "linear"}, out=folder)
        >>> run.is_done, len(run.records())
        (True, 1)
    """
    check_loggers(loggers)
    where = choose_device(device)
    given = None if data is None else as_dataset(data)
    own = {key: settings.pop(key) for key in KEYWORDS if is_object(settings.get(key))}
    refuse_loose(own, settings)
    _refuse_labels(settings.get("factors"))
    spec = from_python(preset, None if given is None else data_settings(given), settings)
    refuse_twice(own, settings, spec)
    spec, objects = with_objects(spec, own, settings.get("latent"))
    run = Run.of(spec, preset, runs_folder() if out is None else Path(out))
    run = Run(run.path, objects)
    check_parts(spec)
    with begun(run, spec):
        if run.is_done:
            _LOG.info("%s is done", run.path)
            return run
        rows = build_data(spec.data) if given is None else given
        steps = train_run(run, run.open(), rows, device=where)
        steps = logged(steps, run, spec, loggers, on_record)
        for step in shown(steps, run.path.name) if progress else steps:
            if step.row is not None:
                _LOG.info("%s", step.row)
    if objects:
        _LOG.info("%s can be opened with these objects only: vs.open_run", run.path)
    return run


def _refuse_labels(factors: Any) -> None:
    """`factors` names those that a prior or pairs are of; labels belong to the data."""
    if factors is None or (
        isinstance(factors, list | tuple) and all(isinstance(name, str) for name in factors)
    ):
        return
    raise UsageError(
        f"factors= of vs.train names factors that a prior or pairs depend on; got "
        f"{type(factors).__name__}.",
        "Give labels with the data: vs.train(preset, vs.load_dataset(data, factors=labels)).",
    )
