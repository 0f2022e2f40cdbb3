"""What a study would cost: processor time and bytes, from steps timed on this machine.

Each kind of training in the study takes a few real steps on noise of the data's shape: nothing is
read or downloaded, so that a study on data that are not at hand can be priced too.
"""

import json
import math
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, final

import numpy as np
import torch

from vaescope.build import start_from_data
from vaescope.data import CARDS, Dataset
from vaescope.data.in_memory import from_arrays
from vaescope.errors import VaescopeError
from vaescope.runs import strict_json
from vaescope.specs import Experiment, digest
from vaescope.studies.study import Scale, Study, Trained
from vaescope.sweeps.grid import plan
from vaescope.training.checkpoint import save_state, weights_bytes
from vaescope.training.loop import new_state, steps
from vaescope.training.precision import choose

__all__ = ["StudyCost", "TrainingRate", "study_cost"]

#: Rows of the noise that is trained on.
_ROWS = 256
#: Steps that are timed, unless they take too long, and those before them.
_TIMED, _BEFORE = 12, 2
_SECONDS = 3.0


@final
@dataclass(frozen=True)
class TrainingRate:
    """One kind of training: what decides how long a step takes is the same in all its runs."""

    what: str  # objective, network, data, batch
    runs: int
    steps: int  # of all its runs
    seconds: float | None  # of a processor, for a step; None where it could not be timed
    bytes: int  # that a run leaves
    why: str = ""  # it could not be timed


@final
@dataclass(frozen=True)
class StudyCost:
    """The runs of a study and what they would take, without measuring and without reading data."""

    study: str
    scale: Scale
    units: int  # usually seeds
    cells: int
    runs: int
    rates: tuple[TrainingRate, ...]
    unknown: str = ""  # why the cost is not known, or of what

    @property
    def core_hours(self) -> float | None:
        """None where it is not known; 0 where nothing is trained."""
        if self.unknown or any(rate.seconds is None for rate in self.rates):
            return None
        return sum(rate.steps * (rate.seconds or 0.0) for rate in self.rates) / 3600.0

    @property
    def bytes(self) -> int | None:
        known = self.core_hours is not None
        return sum(rate.runs * rate.bytes for rate in self.rates) if known else None

    def nodes(self, cores: int) -> int | None:
        """Machines with so many cores that finish in a day, if they are kept busy."""
        hours = self.core_hours
        return None if hours is None else max(1, math.ceil(hours / (24.0 * cores)))

    def summary(self) -> str:
        cores = os.cpu_count() or 1
        said = f"{self.study} at {self.scale} scale: {self.units} units, {self.cells:,} cells"
        if self.core_hours is None:
            return f"{said}. The cost is not known: {self.unknown}."
        if not self.runs:
            return f"{said}. It trains no network: what it costs are its computations."
        assert self.bytes is not None
        nodes = self.nodes(cores)
        hours = f"{self.core_hours:,.0f}" if self.core_hours >= 100 else f"{self.core_hours:.2g}"
        return (
            f"{said}, {self.runs:,} runs. Trained one by one they take about {hours} core hours "
            f"and {self.bytes / 1e9:,.2g} GB: {nodes} machine{'s' if nodes != 1 else ''} like this "
            f"one ({cores} cores) for one day. Seeds that are trained together take less; reading "
            "data and measuring come on top."
        )

    def to_dict(self) -> dict[str, Any]:
        cores = os.cpu_count() or 1
        return {
            "study": self.study,
            "scale": self.scale,
            "seeds": self.units,
            "cells": self.cells,
            "runs": self.runs,
            "core_hours": self.core_hours,
            "bytes": self.bytes,
            "cores_of_a_node": cores,
            "nodes_for_one_day": self.nodes(cores),
            "unknown": self.unknown,
            "trainings": [
                {
                    "what": rate.what,
                    "runs": rate.runs,
                    "steps": rate.steps,
                    "seconds_of_a_step": rate.seconds,
                    "bytes_of_a_run": rate.bytes,
                    "why": rate.why,
                }
                for rate in self.rates
            ],
        }


def study_cost(study: Study, scale: Scale, units: int | None = None) -> StudyCost:
    """The cost of a study with so many units; None: as many as it has at this scale."""
    work = study.work(scale) if units is None else study.of_units(scale, range(units))
    seeds = len({cell.columns.get("seed") for cell in work.cells}) if units is None else units
    specs: Sequence[Experiment]
    if isinstance(work, Trained):
        specs = plan([dict(cell.settings) for cell in work.cells], where="The study")
    elif work.trains is not None:
        specs = [spec for cell in work.cells for spec in work.trains(cell.columns)]
    else:
        none = study.at_optimum or study.formulas_only
        unknown = "" if none else "its cells do not say what they train within their computations"
        return StudyCost(study.id, scale, seeds, len(work.cells), 0, (), unknown)
    rates = tuple(_rates(specs))
    untimed = [f"{rate.what} ({rate.why})" for rate in rates if rate.seconds is None]
    unknown = f"no step could be timed of {'; '.join(untimed)}" if untimed else ""
    return StudyCost(study.id, scale, seeds, len(work.cells), len(specs), rates, unknown)


def _rates(specs: Iterable[Experiment]) -> list[TrainingRate]:
    """One for each kind of training."""
    kinds: dict[str, list[Experiment]] = {}
    for spec in specs:
        kinds.setdefault(_kind(spec), []).append(spec)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # core hours are of one
    try:
        return [_rate(own) for own in kinds.values()]
    finally:
        torch.set_num_threads(threads)


def _kind(spec: Experiment) -> str:
    """What decides how long a step takes: not which rows there are, nor seed, length, records and
    strengths."""
    left_out = {"seed", "steps", "logging", "optimiser", "data", "split"}
    known = spec.model_dump(mode="json", exclude=left_out)
    known["data"] = [spec.data.name, spec.data.shape]
    known["objective"] = {
        key: value for key, value in known["objective"].items() if not isinstance(value, float)
    }
    return json.dumps([known, spec.optimiser.name], sort_keys=True, default=str)


def _rate(own: list[Experiment]) -> TrainingRate:
    spec = own[0]
    shape = " x ".join(map(str, spec.data.shape))
    what = (
        f"{spec.objective.name}, {spec.net.name} net, {spec.data.name} ({shape}), "
        f"batch {spec.batch}"
    )
    total = sum(one.steps for one in own)
    try:
        seconds, left = _timed(spec)
    except (VaescopeError, RuntimeError, ValueError, KeyError) as error:
        why = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        return TrainingRate(what, len(own), total, None, 0, why)
    return TrainingRate(what, len(own), total, seconds, left)


def _timed(spec: Experiment) -> tuple[float, int]:
    """Processor seconds of a step, and the bytes that a whole run leaves."""
    data = _noise(spec)
    logging = spec.logging.model_copy(update={"every": 1})
    still = spec.optimiser.model_copy(update={"lr": 0.0})  # noise may diverge; no step is cheaper
    short = spec.model_copy(
        update={"steps": _BEFORE + _TIMED, "logging": logging, "optimiser": still}
    )
    state = new_state(short, torch.device("cpu"))
    start_from_data(short, data, [state.vae])
    taken: list[float] = []
    record = 0
    at = begun = process_time()
    precision = choose(short.precision, state.device, state.vae)
    for made in steps(state, short, data, precision):
        taken.append(process_time() - at)
        if made is not None:
            record = len(strict_json(made.to_dict())) + 1
        if len(taken) > _BEFORE and process_time() - begun > _SECONDS:
            break
        at = process_time()
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "state.safetensors"
        save_state(kept, state, digest(spec))
        left = kept.stat().st_size + len(weights_bytes(state.vae))
    rows = spec.steps // spec.logging.every + 1
    return median(taken[_BEFORE:]), left + rows * record


def _noise(spec: Experiment) -> Dataset:
    """Data of the right shape, with the factors that its card names."""
    stream = np.random.default_rng(0)
    shape = spec.data.shape
    card = CARDS.get(spec.data.name)
    sizes: Mapping[str, int] = {} if card is None else card.factors
    factors = None
    if sizes:
        factors = np.stack([stream.integers(0, k, _ROWS) for k in sizes.values()], axis=1)
    x = stream.random((_ROWS, *shape), dtype=np.float32)
    x.flat[:2] = 0.0, 1.0
    return from_arrays(x, factors, factor_names=list(sizes) or None, name=spec.data.name)
