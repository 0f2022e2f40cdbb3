"""Training from Python: `vs.train("beta-vae", data, beta=4)`."""

import logging
import os
from pathlib import Path
from typing import Any

import torch

from vaescope.build import build_data, data_settings
from vaescope.data import DATASETS, Dataset
from vaescope.data.in_memory import from_arrays
from vaescope.data.own import load_own
from vaescope.errors import UsageError
from vaescope.paths import runs_folder
from vaescope.runs import Run
from vaescope.settings import from_python
from vaescope.training.run import train_run

__all__ = ["as_dataset", "choose_device", "load_dataset", "train"]

_LOG = logging.getLogger("vaescope")


def choose_device(name: str) -> torch.device:
    """`auto`, `cpu`, `cuda` or `mps`."""
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.mps.is_available()}
    if name == "auto":
        return torch.device("cuda" if there["cuda"] else "cpu")
    if not there.get(name, False):
        here = ", ".join(device for device, found in there.items() if found)
        raise UsageError(f"There is no device {name} here.", f"Use auto, or one of {here}.")
    return torch.device(name)


def load_dataset(name: str | Path, **settings: Any) -> Dataset:
    """A dataset by name, e.g. `load_dataset("dsprites", size=32)`, or your own images by path."""
    name = str(name)
    path = Path(name)
    if name not in DATASETS and (os.sep in name or path.suffix or path.exists()):
        if settings:
            raise UsageError(f"{name} takes no {', '.join(settings)}.", "Prepare the file instead.")
        return load_own(name)
    return build_data(from_python("vae", {"name": name, **settings}, {}).data)


def as_dataset(data: Any) -> Dataset:
    """A dataset, by name or path too, or of an array or a tensor."""
    if isinstance(data, Dataset):
        return data
    if isinstance(data, str | Path):
        return load_dataset(data)
    if isinstance(data, torch.Tensor):
        data = data.detach().cpu()
        data = (data.float() if data.dtype == torch.bfloat16 else data).numpy()  # NumPy has none
    return from_arrays(data)


def train(
    preset: str,
    data: Any = None,
    *,
    out: str | Path | None = None,
    device: str = "auto",
    **settings: Any,
) -> Run:
    """Trains a preset to its end and returns the run; resumes or returns what is there already.

    `data`: a dataset, its name or path, an array, or None for the preset's own. `settings` override
    the preset by bare name, e.g. `beta=4, steps=3000, seed=0`; a name must match exactly one.
    """
    where = choose_device(device)
    given = None if data is None else as_dataset(data)
    spec = from_python(preset, None if given is None else data_settings(given), settings)
    run = Run.of(spec, preset, runs_folder() if out is None else Path(out))
    run.create(spec)
    if run.is_done:
        _LOG.info("%s is done", run.path)
        return run
    rows = build_data(spec.data) if given is None else given
    for progress in train_run(run, run.open(), rows, device=where):
        if progress.record is not None:
            _LOG.info("%s", progress.record.to_dict())
    return run
