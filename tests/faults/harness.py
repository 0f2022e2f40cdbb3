"""Torture: kills, full disks, damage and fuzzed files from one seed within a time budget.

    python -m tests.faults.harness --seed 0 --seconds 180 --workers 2

Prints for each kind how many cases were tried and how many failed, and for each failure the command
that repeats it alone. A case is a function of (seed, kind, number) and nothing else. Exit code 1
where any failed, or where the half hour's numbers were not reached.
"""

import argparse
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from . import damage, fuzzing, interruptions
from .world import Failed, World

#: A case that takes longer hangs; a process that takes more is refused.
SECONDS, BYTES = 30, 2 * 2**30
#: Kinds in the order in which they are tried. `bits` has an end.
KINDS: dict[str, Callable[[World, int, np.random.Generator], None]] = {
    "bits": damage.bits,
    "kill": interruptions.kill,
    "full": interruptions.full,
    "flip": damage.flip,
    "cut": damage.cut,
    "swap": damage.swap,
    "obstacle": damage.obstacle,
    "fuzz": fuzzing.fuzz,
    "folders": fuzzing.folders,
}
#: Shares of the time; what a kind leaves goes to those after it.
SHARES = {"bits": 10, "kill": 10, "full": 1, "flip": 1, "cut": 1, "swap": 1, "obstacle": 1,
          "fuzz": 3, "folders": 3}  # fmt: skip
#: What the half hour must reach; and every one of the bits.
KILLS, INPUTS = 300, 20_000


@contextmanager
def _limited() -> Iterator[None]:
    """Ends a case that hangs."""

    def late(number: int, frame: Any) -> None:
        raise Failed(f"it took more than {SECONDS} s")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)


def attempt(world: World, kind: str, seed: int, case: int) -> str | None:
    """Why a case fails, or None."""
    generator = np.random.default_rng([seed, list(KINDS).index(kind), case])
    try:
        with _limited():
            KINDS[kind](world, case, generator)
        if world.executed:
            raise Failed("a file was executed")
    except Failed as error:
        return str(error)
    most = 1024 * max(
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return f"{most:,} bytes of memory" if most > BYTES else None


def _work(worker: int, given: argparse.Namespace, sent: Any) -> None:
    """Every `workers`-th case of each kind, until the time is over."""
    torch.set_num_threads(1)
    end = time.monotonic() + given.seconds
    tried, failures = dict.fromkeys(KINDS, 0), []
    with tempfile.TemporaryDirectory(dir=_place()) as folder:
        world = World(Path(folder))
        kinds = list(KINDS) if given.kind is None else [given.kind]
        for place, kind in enumerate(kinds):
            share = SHARES[kind] / sum(SHARES[later] for later in kinds[place:])
            stop = time.monotonic() + share * (end - time.monotonic())
            last = damage.count_bits(world) if kind == "bits" else sys.maxsize
            case = worker
            while case < last and time.monotonic() < stop:
                why = attempt(world, kind, given.seed, case)
                failures += [] if why is None else [(kind, case, why)]
                tried[kind] += 1
                case += given.workers
        sent.send((tried, failures, world.kills, damage.count_bits(world)))


def _place() -> str | None:
    """Memory, where there is some: a case writes small files and syncs them."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1800.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kind", choices=KINDS, help="This kind alone.")
    parser.add_argument("--number", type=int, help="This case of --kind alone.")
    given = parser.parse_args()
    if given.number is not None:
        with tempfile.TemporaryDirectory(dir=_place()) as folder:
            sys.exit(attempt(World(Path(folder)), given.kind, given.seed, given.number))
    found = []
    for worker in range(given.workers):
        reader, writer = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.get_context("fork").Process(
            target=_work, args=(worker, given, writer)
        )
        process.start()
        writer.close()
        found.append((process, reader))
    results = []
    for process, reader in found:
        try:
            results.append(reader.recv())
        except EOFError:
            sys.exit(f"a worker ended with code {process.exitcode}")
        process.join()
    tried = {kind: sum(result[0][kind] for result in results) for kind in KINDS}
    failures = [failure for result in results for failure in result[1]]
    print("| kind | tried | failed |\n| --- | --- | --- |")
    for kind, count in tried.items():
        print(f"| {kind} | {count} | {sum(one[0] == kind for one in failures)} |")
    for kind, case, says in failures[:40]:
        command = (
            f"python -m tests.faults.harness --seed {given.seed} --kind {kind} --number {case}"
        )
        print(f"{says}\n  {command}")
    reached = {
        "kills": (sum(result[2] for result in results), KILLS),
        "bits": (tried["bits"], results[0][3]),
        "fuzzed inputs": (tried["fuzz"] + tried["folders"], INPUTS),
    }
    print("; ".join(f"{name}: {n:,} of {least:,}" for name, (n, least) in reached.items()))
    short = any(n < least for n, least in reached.values())
    sys.exit(1 if failures or short else 0)


if __name__ == "__main__":
    main()
