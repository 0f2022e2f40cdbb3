"""Long work in processes of its own: with progress, one at a time, stopped when nobody waits."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from vaescope.reading import parse_json

__all__ = ["Jobs", "PageJob"]

#: Seconds without anybody asking after which work is stopped, and seconds that it may take.
PATIENCE, MOST = 8.0, 3600.0

JobState = Literal["waiting", "running", "done", "failed", "cancelled"]


@dataclass
class PageJob:
    """One page that is being made."""

    key: str
    task: Mapping[str, Any]
    out: Path
    state: JobState = "waiting"
    says: str = "waiting for its turn"
    asked: float = field(default_factory=time.monotonic)


class Jobs:
    """Makes pages into a folder; what is there already is not made again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._jobs: dict[str, PageJob] = {}
        self._change = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def path(self, key: str) -> Path:
        return self._folder / f"{key}.html"

    def ask(self, key: str, task: Mapping[str, Any]) -> PageJob:
        """The job of this key, which is begun if there is none or if it was cancelled."""
        with self._change:
            job = self._jobs.get(key)
            if job is None or job.state == "cancelled" or _lost(job):
                job = PageJob(key, task, self.path(key))
                if job.out.exists():
                    job.state, job.says = "done", ""
                self._jobs[key] = job
            job.asked = time.monotonic()
            self._change.notify_all()
            return job

    def cancel(self, key: str) -> None:
        with self._change:
            if key in self._jobs:
                self._jobs[key].asked = -PATIENCE * 2
                self._change.notify_all()

    def close(self) -> None:
        with self._change:
            self._closed = True
            self._change.notify_all()
        self._thread.join(10.0)

    def _run(self) -> None:
        while True:
            with self._change:
                waiting = None
                while waiting is None:
                    if self._closed:
                        return
                    for job in self._jobs.values():
                        if job.state == "waiting" and _left(job):
                            job.state, job.says = "cancelled", "no client waited for the result"
                    waiting = next((j for j in self._jobs.values() if j.state == "waiting"), None)
                    if waiting is None:
                        self._change.wait()
                waiting.state, waiting.says = "running", "starting"
            self._make(waiting)

    def _make(self, job: PageJob) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "vaescope.serving.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, start_new_session=True,
        )  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        reader = threading.Thread(target=_listen, args=(process.stdout, job), daemon=True)
        reader.start()
        with suppress(OSError):
            print(json.dumps({**job.task, "out": str(job.out)}), file=process.stdin, flush=True)
        begun = time.monotonic()
        while reader.is_alive():
            reader.join(0.2)
            if self._closed or _left(job) or time.monotonic() - begun > MOST:
                _kill(process)
                job.state, job.says = "cancelled", "no client waited for the result"
                break
        _kill(process)
        process.stdin.close()
        if job.state == "running":
            job.state, job.says = "failed", "Its process died: does it fit in memory?"


def _lost(job: PageJob) -> bool:
    """Whether its page was deleted with the cache."""
    return job.state == "done" and not job.out.exists()


def _left(job: PageJob) -> bool:
    return time.monotonic() - job.asked > PATIENCE


def _listen(lines: Any, job: PageJob) -> None:
    """What a process says, one JSON object in each line."""
    for line in lines:
        content = parse_json(line)
        if "progress" in content:
            job.says = str(content["progress"])
        elif "error" in content:
            job.state, job.says = "failed", str(content["error"])
        else:
            job.state, job.says = "done", ""


def _kill(process: "subprocess.Popen[str]") -> None:
    """The process and what it started."""
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(5.0)
