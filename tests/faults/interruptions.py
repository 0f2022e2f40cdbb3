"""Trainings that are cut off: killed at a write, or on a disk that is full. Nothing is lost."""

import os
import resource
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from vaescope import paths
from vaescope.errors import DiskError
from vaescope.runs import Run

from .conftest import train
from .world import Failed, World

Random = np.random.Generator
SAME = ("weights.safetensors", "state.safetensors", "history.jsonl", "spec.json", "done.json")
#: How a child says that it ended in our words.
REFUSED = 3


def kill(world: World, case: int, random: Random) -> None:
    """A training that is killed at one of its writes, and again, then to the end: same bytes."""
    with tempfile.TemporaryDirectory(dir=world.folder) as folder:
        run = Run(Path(folder) / world.run.path.name)
        for _ in range(2):
            # Of about five writes in each of 40 steps, so that the second kill comes in most cases.
            code = _child(partial(_killed, run, world.spec, int(random.integers(1, 120))))
            if code not in (0, -signal.SIGKILL):
                raise Failed(f"it ended with {code}")
            world.kills += code != 0  # it may have ended before that write
        _require_resumed(world, run)


def full(world: World, case: int, random: Random) -> None:
    """A training on a disk on which no file can become larger than so many bytes."""
    with tempfile.TemporaryDirectory(dir=world.folder) as folder:
        run = Run(Path(folder) / world.run.path.name)
        most = int(random.integers(len(world.contents["state.safetensors"])))
        code = _child(partial(_limited, run, world.spec, most))
        if code not in (0, REFUSED):
            raise Failed(f"a disk that is full after {most} bytes ends it with {code}")
        _require_resumed(world, run)


def _require_resumed(world: World, run: Run) -> None:
    if _child(partial(_train, run, world.spec)) != 0:
        raise Failed("the run cannot be resumed")
    for name in SAME:
        if (run.path / name).read_bytes() != world.contents[name]:
            raise Failed(f"{name} has other bytes")


def _train(run: Run, spec: Any) -> None:
    run.create(spec)
    train(run)


def _killed(run: Run, spec: Any, at: int) -> None:
    """Kills this process before its write number `at` is flushed or renamed."""
    left = [at]

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*values: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*values)

        return call

    paths.os.fsync = counted(os.fsync)  # type: ignore[attr-defined]
    Path.replace = counted(Path.replace)  # type: ignore[method-assign]
    _train(run, spec)


def _limited(run: Run, spec: Any, most: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    try:
        _train(run, spec)
    except DiskError:
        os._exit(REFUSED)


def _child(work: Callable[[], None]) -> int:
    number = os.fork()
    if number == 0:
        signal.alarm(0)
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
    try:
        return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
    except Failed:  # it hangs
        os.kill(number, signal.SIGKILL)
        os.waitpid(number, 0)
        raise
