"""Sweeps on a Slurm cluster through submitit. The only file that imports it."""

import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import submitit  # type: ignore[import-untyped, import-not-found, unused-ignore]

from vaescope.errors import UsageError
from vaescope.sweeps.engine import Ended, Task, WorkOutcome
from vaescope.sweeps.worker import work

__all__ = ["SlurmEngine"]

#: Tasks in the queue at once, and the longest that one may take before it is requeued.
SLOTS, MINUTES = 500, 24 * 60
#: Seconds between two looks at the jobs.
PAUSE = 0.5


class _Job:
    """A task as a job. When its time is up it is requeued, and resumes from its last checkpoint."""

    def __call__(self, task: Task) -> tuple[WorkOutcome, ...]:
        return work(task)

    def checkpoint(self, task: Task) -> Any:
        return submitit.helpers.DelayedSubmission(self, task)


class SlurmEngine:
    """Jobs of one core each, submitted together as arrays. They outlive the driver.

    Partition, account and the like are read by sbatch itself from `SBATCH_PARTITION`,
    `SBATCH_ACCOUNT`, ...; `parameters` are those of submitit. `cluster` is slurm, or for trying out
    submitit's local.
    """

    def __init__(
        self,
        folder: Path,
        workers: int | None = None,
        *,
        cluster: str = "slurm",
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        if cluster == "slurm" and shutil.which("sbatch") is None:
            raise UsageError(
                "The command sbatch is missing, so no job can be submitted to Slurm.",
                "Run the command on a machine of the cluster, or use --on local.",
            )
        self._workers = workers
        self._executor = submitit.AutoExecutor(folder=folder / ".jobs" / "%j", cluster=cluster)
        chosen = {"timeout_min": MINUTES, "cpus_per_task": 1, **(parameters or {})}
        if cluster == "slurm":
            chosen["slurm_array_parallelism"] = workers or SLOTS
        self._executor.update_parameters(**chosen)
        self._jobs: list[tuple[Any, Task]] = []

    @property
    def slots(self) -> int:
        return self._workers or SLOTS

    def submit(self, tasks: Sequence[Task]) -> None:
        if not tasks:
            return
        with self._executor.batch():
            jobs = [self._executor.submit(_Job(), task) for task in tasks]
        self._jobs += zip(jobs, tasks, strict=True)

    def wait(self, seconds: float) -> list[Ended]:
        last = time.monotonic() + seconds
        while True:
            over = [(job, task) for job, task in self._jobs if job.done()]
            if over or time.monotonic() >= last:
                break
            time.sleep(min(PAUSE, seconds))
        ids = {job.job_id for job, _ in over}
        self._jobs = [(job, task) for job, task in self._jobs if job.job_id not in ids]
        return [_ended(job, task) for job, task in over]

    def close(self) -> None:
        for job, _ in self._jobs:
            job.cancel()
        self._jobs.clear()


def _ended(job: Any, task: Task) -> Ended:
    try:
        return Ended(task, job.result())
    except submitit.core.utils.UncompletedJobError as error:
        lines = str(error).strip().splitlines() or ["no reason given"]
        return Ended(task, died=f"job {job.job_id}: {lines[0]} {lines[-1]}")
