"""Sweeps on a Ray cluster: Ray Core tasks, one core each. The only file that imports ray."""

import os
import time
from collections.abc import Sequence
from typing import Any

import ray  # type: ignore[import-not-found, unused-ignore]
from ray.exceptions import RayError  # type: ignore[import-not-found, unused-ignore]

from vaescope.errors import RunError
from vaescope.sweeps.engine import Ended, Task
from vaescope.sweeps.worker import work

__all__ = ["RayEngine"]


class RayEngine:
    """The cluster of `RAY_ADDRESS`, or the one this process is in, or this machine as one.

    The folder of the sweep must be the same on all nodes.
    """

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers
        self._started = not ray.is_initialized()
        if self._started:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            # "local", since without an address Ray would look for a cluster that somebody started
            # on this machine, or that died there, and refuse what follows.
            address = os.environ.get("RAY_ADDRESS") or "local"
            # Results are a few words each: the smallest store that Ray allows will do.
            own: dict[str, Any] = (
                {"num_cpus": workers, "object_store_memory": 80 * 2**20}
                if address == "local"
                else {}
            )
            try:
                ray.init(
                    address=address, include_dashboard=False, log_to_driver=False,
                    configure_logging=False, **own,
                )  # fmt: skip
            except Exception as error:  # Ray raises a bare Exception where it is too slow to start
                raise RunError(
                    f"Ray did not start at {address}: {str(error).splitlines()[0]}",
                    "Run the same command again, or use --on local; finished runs are kept.",
                ) from error
        # Retrying is the driver's business, so that all engines count alike.
        self._work = ray.remote(num_cpus=1, max_retries=0)(work)
        self._tasks: dict[Any, Task] = {}

    @property
    def slots(self) -> int:
        # Nodes come and go; where there is none just now, a task waits for one.
        there = ray.cluster_resources()  # type: ignore[no-untyped-call, unused-ignore]
        return self._workers or max(1, int(there.get("CPU", 0)))

    def submit(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            self._tasks[self._work.remote(task)] = task

    def wait(self, seconds: float) -> list[Ended]:
        if not self._tasks:
            time.sleep(seconds)
            return []
        ready, _ = ray.wait(list(self._tasks), num_returns=1, timeout=seconds)
        return [self._ended(reference) for reference in ready]

    def _ended(self, reference: Any) -> Ended:
        task = self._tasks.pop(reference)
        try:
            return Ended(task, ray.get(reference))
        except RayError as error:
            return Ended(task, died=f"{type(error).__name__} in Ray")

    def close(self) -> None:
        for reference in self._tasks:
            ray.cancel(reference, force=True)
        self._tasks.clear()
        if self._started:
            ray.shutdown()
