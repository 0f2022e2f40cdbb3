"""A sweep in this very process, one task after another: for work too small to start workers for."""

from collections.abc import Callable, Sequence

from vaescope.sweeps.engine import Ended, Task
from vaescope.sweeps.worker import work

__all__ = ["InlineEngine"]


class InlineEngine:
    """Trains in the caller's process and thread; `stop` is asked while it does."""

    def __init__(self, stop: Callable[[], int] = lambda: 0) -> None:
        self._stop = stop
        self._tasks: list[Task] = []

    @property
    def slots(self) -> int:
        return 1

    def submit(self, tasks: Sequence[Task]) -> None:
        self._tasks += tasks

    def wait(self, seconds: float) -> list[Ended]:
        waiting, self._tasks = self._tasks, []
        return [Ended(task, work(task, self._stop)) for task in waiting]

    def close(self) -> None:
        self._tasks.clear()
