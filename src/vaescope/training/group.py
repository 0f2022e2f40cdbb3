"""Runs that are trained together: each gets the folder it would have alone.

A group is small and quick, so it keeps no state on the way: killed, it starts again as a whole.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

import torch

from vaescope.allocator import keep_freed_memory
from vaescope.build import training_rows
from vaescope.data import Dataset
from vaescope.errors import Interrupted, NonFiniteError
from vaescope.paths import replace_file
from vaescope.runs import Run, strict_json
from vaescope.sealing import RowSeals
from vaescope.specs import Experiment
from vaescope.training.correlations import correlations_of_means, is_kept
from vaescope.training.many import Many, compiling_pays, groups, train_many
from vaescope.training.run import check_range, environment, finish, train_run

__all__ = ["train_alike", "train_group"]


def train_alike(
    runs: Sequence[Run],
    experiments: Sequence[Experiment],
    data: Dataset,
    *,
    stop: Callable[[], int] = lambda: 0,
) -> Iterator[tuple[list[int], int]]:
    """Trains runs on the same data, those together for which that pays, on the CPU; yields which
    are under way and their step. `Run.create` comes before."""
    for places in groups(experiments):
        own, specs = [runs[k] for k in places], [experiments[k] for k in places]
        if len(places) > 1:
            for many in train_group(own, specs, data, stop=stop):
                yield places, many.step
            continue
        for progress in train_run(own[0], specs[0], data, device=torch.device("cpu"), stop=stop):
            yield places, progress.step


def train_group(
    runs: Sequence[Run],
    experiments: Sequence[Experiment],
    data: Dataset,
    *,
    stop: Callable[[], int] = lambda: 0,
) -> Iterator[Many]:
    """Trains all runs of a group to their end and yields at each record.

    `Run.create` comes before. Runs whose loss is no longer finite are left undone and named in a
    `NonFiniteError` after the others are finished.
    """
    with ExitStack() as locks:
        for run in runs:
            locks.enter_context(run.lock())
        if all(run.is_done for run in runs):
            return
        keep_freed_memory()
        data = training_rows(experiments[0], data)
        check_range(data, experiments[0])
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        facts = environment("fp32", torch.device("cpu"), stack_size=len(runs))
        rows: list[list[str]] = [[] for _ in runs]
        traces: list[list[str]] = [[] for _ in runs]
        times: list[str] = []
        sealed = RowSeals()
        started = time.monotonic()
        last = None
        try:
            for last in train_many(experiments, data, compiled=compiling_pays(experiments)):
                if last.records is not None:
                    for own, record in zip(rows, last.records, strict=True):
                        own.append(strict_json(record.to_dict()) + "\n")
                    seconds = round(time.monotonic() - started, 3)
                    row = strict_json({"step": last.step, "seconds": seconds})
                    times.append(sealed.line(row))
                if is_kept(experiments[0], last.step):
                    for k, own in enumerate(traces):
                        if k not in last.failed:
                            own.append(_trace(last, k, experiments[k], data))
                if number := stop():
                    raise Interrupted(
                        f"Stopped by signal {number}; these {len(runs)} runs start again together.",
                        "Run the same command again.",
                        number,
                    )
                yield last
        finally:
            torch.set_num_threads(threads)
        assert last is not None
        _write(runs, experiments, last, rows, traces, times, strict_json(facts, indent=1) + "\n")


def _trace(last: Many, model: int, experiment: Experiment, data: Dataset) -> str:
    found = correlations_of_means(last.weights(model), experiment, data, torch.device("cpu"))
    return strict_json({"step": last.step, **found}) + "\n"


def _write(
    runs: Sequence[Run],
    experiments: Sequence[Experiment],
    last: Many,
    rows: Sequence[Sequence[str]],
    traces: Sequence[Sequence[str]],
    times: Sequence[str],
    facts: str,
) -> None:
    good = [k for k, run in enumerate(runs) if k not in last.failed and not run.is_done]
    for k in good:
        replace_file(runs[k].environment, facts.encode(), settled=False)
        replace_file(runs[k].history, "".join(rows[k]).encode(), settled=False)
        replace_file(runs[k].timing, "".join(times).encode(), settled=False)
        if traces[k]:
            replace_file(runs[k].correlations, "".join(traces[k]).encode(), settled=False)
    for k in good:
        finish(runs[k], experiments[k], last.weights(k))
    if last.failed:
        names = ", ".join(
            f"{runs[k].path.name} (step {step} or soon after)" for k, step in last.failed.items()
        )
        raise NonFiniteError(
            f"The loss became NaN or infinite in {names}.",
            "Lower the learning rate (optimiser.lr) or check the data.",
        )
