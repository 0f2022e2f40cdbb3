"""A run from its first step, or from where it was cut off, to its last."""

import functools
import hashlib
import logging
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import torch

from vaescope.allocator import keep_freed_memory
from vaescope.build import build_vae, start_from_data, training_rows
from vaescope.data import Dataset
from vaescope.errors import (
    Interrupted,
    NonFiniteError,
    RangeError,
    RunError,
    UsageError,
    VaescopeError,
)
from vaescope.nets.likelihoods import Likelihood
from vaescope.paths import appending, disk_errors, replace_file
from vaescope.reading import read_json
from vaescope.runs import Run, strict_json
from vaescope.sealing import RowSeals
from vaescope.specs import FORMAT, Experiment, digest
from vaescope.training.checkpoint import load_state, load_weights, save_state, weights_bytes
from vaescope.training.correlations import correlations_of_means, is_kept
from vaescope.training.loop import Record, State, new_state, steps
from vaescope.training.precision import Precision, choose, threads_for
from vaescope.training.validation import (
    best_weights,
    held_out_elbo,
    is_due,
    is_over,
    note,
    validation_rows,
)
from vaescope.vae import VAE
from vaescope.wording import unit_scaling

__all__ = ["Progress", "begun", "check_range", "environment", "finish", "mark_done", "train_run"]

_LOG = logging.getLogger("vaescope")

#: Seconds between two checkpoints; longer where writing one takes more than a fiftieth of that.
CHECKPOINT_SECONDS, CHECKPOINT_PAUSE = 10.0, 50.0


@dataclass(frozen=True, slots=True)
class Progress:
    """What a caller sees between steps."""

    step: int
    steps: int
    record: Record | None
    validation: Mapping[str, Any] | None = None

    @property
    def row(self) -> dict[str, Any] | None:
        """What was written down of this step, for loggers; None where nothing was."""
        if self.record is None and self.validation is None:
            return None
        held_out = {f"validation_{k}": v for k, v in (self.validation or {}).items() if k != "step"}
        record = {"step": self.step} if self.record is None else self.record.to_dict()
        return {**record, **held_out}


@contextmanager
def begun(run: Run, spec: Experiment) -> Iterator[None]:
    """`run.create`, undone where what follows fails before a checkpoint or a row of the history, as
    a refusal of data does. Folders that were there before stay."""
    made = [path for path in (run.path, *run.path.parents) if not path.exists()]
    run.create(spec)
    try:
        yield
    except Exception:
        if run.path in made:
            with suppress(OSError, VaescopeError):
                run.discard()
                for folder in made[1:]:  # innermost first, as far as they are empty
                    folder.rmdir()
        raise


def check_range(data: Dataset, experiment: Experiment) -> None:
    """Refuses data that the experiment's likelihood has no density for."""
    likelihood = getattr(build_vae(experiment).decoder, "likelihood", None)
    low, high = data.store.range
    least, most = getattr(likelihood, "support", Likelihood.support)  # the user's may have none
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RangeError(
            f"{data.name} has values that are NaN or infinite.", "Remove or replace those rows."
        )
    if low < least or high > most:
        raise RangeError(
            f"{data.name} has values from {low:g} to {high:g}; a "
            f"{type(likelihood).__name__.removesuffix('Likelihood')} likelihood takes "
            f"[{least:g}, {most:g}].",
            f"Scale the data, e.g. {unit_scaling(low, high)}, or use "
            "likelihood.name=squared-error.",
        )


def environment(
    precision: Precision, device: torch.device, *, stack_size: int = 1
) -> dict[str, Any]:
    """What the numbers of a run depend on besides its spec. No user, host or path."""
    return {
        "versions": dict(_versions()),
        "system": platform.system(),
        "machine": platform.machine(),
        "device": device.type,
        "threads": torch.get_num_threads(),
        "stack_size": stack_size,
        "precision": precision,
    }


@functools.cache  # each is a file to parse
def _versions() -> Mapping[str, str]:
    packages = ("vaescope", "torch", "numpy", "safetensors")
    return {"python": platform.python_version(), **{p: version(p) for p in packages}}


def _append(file: TextIO, row: dict[str, Any]) -> None:
    file.write(strict_json(row) + "\n")
    file.flush()


def _write(path: Path, opened: Mapping[Path, TextIO], step: int, row: Mapping[str, Any]) -> None:
    with disk_errors(path):
        _append(opened[path], {"step": step, **row})


def train_run(
    run: Run,
    experiment: Experiment,
    data: Dataset,
    *,
    device: torch.device,
    stop: Callable[[], int] = lambda: 0,
) -> Iterator[Progress]:
    """Trains `run` to its end and yields after each step. Resumes what is there; when `stop` gives
    the number of a signal, saves and raises `Interrupted`. `run.create` comes before."""
    with run.lock():
        if run.is_done:
            return
        keep_freed_memory()
        run.clear_scratch()
        state = new_state(experiment, device)
        check_range(data, experiment)
        held_out = validation_rows(experiment, data)
        data = training_rows(experiment, data)
        _require_rows(experiment, data, held_out)
        own = digest(experiment)
        seal = None
        if run.state.exists():
            seal = load_state(run.state, state, own)
        else:
            start_from_data(experiment, data, [state.vae])
            _warm_start(experiment, state.vae)
        run.cut(state.step, state.recorded, seal)
        precision = choose(experiment.precision, device, state.vae)
        threads = torch.get_num_threads()
        torch.set_num_threads(threads_for(state.vae))
        try:
            facts = environment(precision, device)
            if state.step > 0:
                _say_what_changed(run, facts)
            described = (strict_json(facts, indent=1) + "\n").encode()
            replace_file(run.environment, described, settled=False)
            yield Progress(state.step, experiment.steps, None)
            yield from _advance(run, state, experiment, data, held_out, precision, own, stop)
        finally:
            torch.set_num_threads(threads)
        steps_done = {"steps": state.step, **best_weights(state)}
        finish(run, experiment, state.vae, steps_done)


def _require_rows(experiment: Experiment, data: Dataset, held_out: Dataset | None) -> None:
    """Refuses a validation that leaves no row on one of its two sides."""
    if held_out is not None and not (len(data) and len(held_out)):
        assert experiment.validation is not None
        raise UsageError(
            f"validation.fraction={experiment.validation.fraction:g} leaves {len(data)} rows to "
            f"train on and {len(held_out)} held out.",
            "Choose another fraction, or pass more data.",
        )


def _say_what_changed(run: Run, facts: Mapping[str, Any]) -> None:
    """Bits are promised for one machine and its versions only."""
    try:
        before = _flat(read_json(run.environment))
    except (OSError, ValueError, TypeError):
        return  # lost or damaged: it is written anew
    now = _flat(facts)
    changed = [
        f"{key} {before.get(key)}, now {now[key]}" for key in now if before.get(key) != now[key]
    ]
    if changed:
        _LOG.warning(
            "%s was started with %s: its result will agree within tolerance, not bit by bit.",
            run.path, "; ".join(changed),
        )  # fmt: skip


def _flat(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {**facts.get("versions", {}), **{k: v for k, v in facts.items() if k != "versions"}}


def finish(
    run: Run, experiment: Experiment, vae: VAE, facts: Mapping[str, Any] | None = None
) -> None:
    """The final weights, then the mark that the run is done, with `facts` on how it ended."""
    weights = weights_bytes(vae)
    replace_file(run.weights, weights, settled=False)  # the mark settles both
    mark_done(run, experiment, weights, facts)


def mark_done(
    run: Run, experiment: Experiment, weights: bytes, facts: Mapping[str, Any] | None = None
) -> None:
    run.finish(
        {
            "format": FORMAT,
            "digest": digest(experiment),
            "steps": experiment.steps,
            "weights_sha256": hashlib.sha256(weights).hexdigest(),
            **(facts or {}),
        }
    )


def _advance(
    run: Run,
    state: State,
    experiment: Experiment,
    data: Dataset,
    held_out: Dataset | None,
    precision: Precision,
    own: str,
    stop: Callable[[], int],
) -> Iterator[Progress]:
    traced = [] if experiment.logging.correlations is None else [run.correlations]
    paths = [run.history, run.timing, *traced, *([] if held_out is None else [run.validation])]
    with ExitStack() as files:
        opened = {path: files.enter_context(appending(path)) for path in paths}
        history, timing = opened[run.history], opened[run.timing]
        written = hashlib.sha256(run.history.read_bytes())
        sealed = RowSeals(run.timing.read_bytes())

        def save() -> float:
            begun = time.monotonic()
            with disk_errors(run.history):
                for file in opened.values():
                    os.fsync(file.fileno())  # rows before the state that relies on them
            save_state(run.state, state, own, history=written.hexdigest())
            return time.monotonic() - begun

        started = saved = time.monotonic()
        pause = CHECKPOINT_SECONDS
        try:
            for record in _until_over(state, experiment, data, precision):
                measured = None
                if record is not None:
                    with disk_errors(run.history):
                        _append(history, record.to_dict())
                        written.update(strict_json(record.to_dict()).encode() + b"\n")
                        seconds = round(time.monotonic() - started, 3)
                        row = strict_json({"step": record.step, "seconds": seconds})
                        timing.write(sealed.line(row))
                        timing.flush()
                if is_kept(experiment, state.step):
                    found = correlations_of_means(state.vae, experiment, data, state.device)
                    _write(run.correlations, opened, state.step, found)
                if held_out is not None and is_due(experiment, state.step):
                    measured = held_out_elbo(state.vae, experiment, held_out, state.device)
                    note(state, measured["elbo"])
                    _write(run.validation, opened, state.step, measured)
                if number := stop():
                    save()
                    raise Interrupted(
                        f"Stopped by signal {number} after {state.step} steps; {run.path} is "
                        "saved.",
                        "Run the same command again to resume.",
                        number,
                    )
                if time.monotonic() - saved > pause:
                    pause = max(CHECKPOINT_SECONDS, CHECKPOINT_PAUSE * save())
                    saved = time.monotonic()
                yield Progress(state.step, experiment.steps, record, measured)
            save()
        except GeneratorExit:  # whoever watched has gone, as `| head -1` does
            save()
            raise
        except NonFiniteError as error:
            good = f"the last good checkpoint is {run.state}" if run.state.exists() else ""
            raise NonFiniteError(
                f"{error.message} The run stopped; {good or 'no checkpoint had been made yet'}.",
                error.remedy,
            ) from error


def _until_over(
    state: State, experiment: Experiment, data: Dataset, precision: Precision
) -> Iterator[Record | None]:
    """The steps that are left, until the last or until validation has not improved for long."""
    if is_over(experiment, state):
        return
    for record in steps(state, experiment, data, precision):
        yield record
        if is_over(experiment, state):
            _LOG.info(
                "Stopped after %d of %d steps: the held-out ELBO was best at step %d.",
                state.step, experiment.steps, int(state.validation["step"]),
            )  # fmt: skip
            return


def _warm_start(experiment: Experiment, vae: VAE) -> None:
    """Copies the weights of the run that `init_from` names, if they are there and are the same."""
    origin = experiment.init_from
    if origin is None:
        return
    run = Run(Path(origin.path))
    there = run.is_done and hashlib.sha256(run.weights.read_bytes()).hexdigest()
    if there != origin.weights:
        raise RunError(
            f"init_from={origin.path} does not hold the weights that this run starts from "
            f"(run {origin.run[:8]}, sha256 {origin.weights[:8]}).",
            "Put that run back, or give the command with another init_from.",
        )
    load_weights(run.weights, vae, sha256=origin.weights)
