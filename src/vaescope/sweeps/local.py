"""Sweeps on this machine: worker processes that stay, one thread each. A dead one is replaced."""

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from vaescope.errors import RunError
from vaescope.paths import disk_errors
from vaescope.sweeps.engine import Ended, Task, WorkOutcome

__all__ = ["LocalEngine"]

# -P: without it, Python would import files of the current directory in place of its own.
_COMMAND = [sys.executable, "-P", "-c", "from vaescope.sweeps.worker import serve; serve()"]

#: Workers in a row that may end before they are ready: then none will be.
EARLY = 3
#: Seconds that a worker has to save what is under way when it is closed.
GRACE = 30.0


class _Worker:
    """The driver's side of one process. A pipe that ends tells of its death, whatever killed it."""

    def __init__(self, log: Path) -> None:
        with disk_errors(log), log.open("ab") as errors:
            self.process = subprocess.Popen(
                _COMMAND,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                # Before torch is imported: it and its libraries would start a thread per core.
                env={**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
            )
        self.task: Task | None = None
        self.ready = False
        self.unread = b""

    def give(self, task: Task) -> None:
        assert self.task is None and self.process.stdin is not None
        self.task = task
        with suppress(BrokenPipeError):  # it is dead, as the other pipe will say
            self.process.stdin.write(json.dumps(asdict(task)).encode() + b"\n")
            self.process.stdin.flush()

    def fileno(self) -> int:
        assert self.process.stdout is not None
        return self.process.stdout.fileno()

    def read(self) -> list[bytes] | None:
        """Whole lines that came, or None at the end."""
        arrived = os.read(self.fileno(), 1 << 16)
        *lines, self.unread = (self.unread + arrived).split(b"\n")
        return lines if arrived else None

    def close(self) -> None:
        """Asks the worker to save and go; `end` waits for it."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()

    def end(self, seconds: float) -> int:
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
        finally:
            assert self.process.stdout is not None
            self.process.stdout.close()


class LocalEngine:
    """Worker processes of this machine, started when there is something to do for them."""

    def __init__(self, folder: Path, workers: int) -> None:
        self._log = folder / "workers.log"
        self._count = workers
        self._workers: list[_Worker] = []
        self._early = 0  # deaths in a row before a worker was ready
        self._selector = selectors.DefaultSelector()

    @property
    def slots(self) -> int:
        return self._count

    def submit(self, tasks: Sequence[Task]) -> None:
        idle = [worker for worker in self._workers if worker.task is None]
        for task in tasks:
            worker = idle.pop() if idle else self._start()
            worker.give(task)

    def _start(self) -> _Worker:
        assert len(self._workers) < self._count, "more tasks than slots"
        worker = _Worker(self._log)
        self._workers.append(worker)
        self._selector.register(worker, selectors.EVENT_READ, worker)
        return worker

    def wait(self, seconds: float) -> list[Ended]:
        ended = []
        for key, _ in self._selector.select(seconds):
            worker: _Worker = key.data
            lines = worker.read()
            if lines is None:
                ended += self._bury(worker)
                continue
            for line in lines:
                if not worker.ready:
                    worker.ready = True
                    continue
                assert worker.task is not None
                outcomes = tuple(WorkOutcome(**one) for one in json.loads(line))
                ended.append(Ended(worker.task, outcomes))
                worker.task = None
        return ended

    def _bury(self, worker: _Worker) -> list[Ended]:
        self._selector.unregister(worker)
        self._workers.remove(worker)
        worker.close()
        code = worker.end(GRACE)
        self._early = 0 if worker.ready else self._early + 1
        if self._early >= EARLY:
            raise RunError(
                f"{EARLY} workers ended before they could begin, the last with code {code}.",
                f"See {self._log}.",
            )
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return [] if worker.task is None else [Ended(worker.task, died=how)]

    def close(self) -> None:
        for worker in self._workers:
            worker.close()
        last = time.monotonic() + GRACE
        for worker in self._workers:
            self._selector.unregister(worker)
            worker.end(max(0.0, last - time.monotonic()))
        self._workers.clear()
        self._selector.close()
        if self._log.exists() and not self._log.stat().st_size:
            self._log.unlink(missing_ok=True)
