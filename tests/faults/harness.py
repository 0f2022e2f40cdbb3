"""Torture: kills, damage and fuzzed files from one seed within a time budget.

    python -m tests.faults.harness --seed 0 --seconds 180

Prints for each kind how many cases were tried and how many failed, and for each failure the command
that repeats it alone. A case is a function of (seed, kind, number) and nothing else. Exit code 1
where any failed.
"""

import argparse
import io
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from safetensors.torch import save

from vaescope import paths
from vaescope.adapters.checkpoints import weights_of
from vaescope.checking import check
from vaescope.codes import Codes
from vaescope.data.user_files import load_files
from vaescope.errors import VaescopeError
from vaescope.exporting.hub import load_pretrained, publish
from vaescope.runs import Run
from vaescope.sealing import checkpoint_facts
from vaescope.settings import from_command_line, load_yaml
from vaescope.studies.running import load_outcome
from vaescope.sweeps.grid import read_plan
from vaescope.tables import read_table
from vaescope.training import run as training
from vaescope.training.checkpoint import weights_of_state
from vaescope.tuning.store import Folder

from .conftest import SETTINGS, train

#: A case that takes longer hangs; a process that takes more is refused.
SECONDS, BYTES = 30, 2 * 2**30
Random = np.random.Generator


class Failed(Exception):
    """A case in which something was lost, wrong, or ended in other than our words."""


class World:
    """A finished run, its export and files to damage."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        spec = from_command_line("vae", SETTINGS)
        self.run = Run.of(spec, "vae", folder / "runs")
        self.run.create(spec)
        training.CHECKPOINT_SECONDS = 0.0
        train(self.run)
        self.export = publish(self.run, folder / "hf", "card").run
        self.spec, self.records = self.run.open(), self.run.records()
        self.inputs = dict(self._inputs())

    def _inputs(self) -> Iterator[tuple[str, tuple[bytes, Callable[[Path], Any]]]]:
        codes, images, checkpoint = io.BytesIO(), io.BytesIO(), io.BytesIO()
        mean = np.arange(12.0).reshape(6, 2)
        np.savez(codes, mean=mean, variance=mean, factors=mean.astype(int))
        np.savez_compressed(images, images=np.zeros((4, 8, 8)), labels=np.arange(4))
        weights = {"a.weight": torch.ones(2, 3), "a.bias": torch.zeros(2)}
        torch.save({"state_dict": weights}, checkpoint)
        grid = {"preset": "vae", "fixed": {"steps": 4}, "grid": {"seed": [0, 1], "latent": [2, 3]}}
        table = {"format": 1, "study": "x", "scale": "small", "digest": "0", "versions": {},
                 "machine": "m", "settings": {"seed": [0]}, "results": {"r": [0.5]}}  # fmt: skip
        yield "codes.npz", (codes.getvalue(), Codes.load)
        yield "images.npz", (images.getvalue(), load_files)
        yield "weights.pt", (checkpoint.getvalue(), weights_of)
        yield "weights.safetensors", (save(weights), weights_of)
        yield "grid.yaml", (yaml.safe_dump(grid).encode(), read_plan)
        yield "table.json", (json.dumps(table).encode(), load_outcome)
        yield "spec.yaml", ((self.run.path / "spec.yaml").read_bytes(), _settings)


def _settings(path: Path) -> Any:
    return load_yaml(path.read_bytes().decode(errors="replace"), str(path))


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


def _in_our_words(read: Callable[[], Any]) -> Any:
    """What it gives, or None where it refuses in our words."""
    try:
        return read()
    except VaescopeError:
        return None
    except Failed:
        raise
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        raise Failed(f"{type(error).__name__}: {error} ({where.name})") from error


def kill(world: World, random: Random) -> None:
    """A training that ends at one of its writes, and again, then to the end: the same bytes."""
    with tempfile.TemporaryDirectory(dir=world.folder) as folder:
        run = Run(Path(folder) / world.run.path.name)
        for most in (40, 80):
            _child(partial(_train_until, run, world.spec, int(random.integers(1, most))))
        if _child(partial(_train_until, run, world.spec, None)) != 0:
            raise Failed("the run cannot be resumed")
        for name in ("weights.safetensors", "state.safetensors", "history.jsonl", "spec.json"):
            if (run.path / name).read_bytes() != (world.run.path / name).read_bytes():
                raise Failed(f"{name} has other bytes after two kills")


def _train_until(run: Run, spec: Any, at: int | None) -> None:
    """Ends this process, as SIGKILL would, before its write number `at` is flushed or renamed."""
    left = [at or sys.maxsize]

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*values: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                os._exit(9)
            return real(*values)

        return call

    paths.os.fsync = counted(os.fsync)  # type: ignore[attr-defined]
    Path.replace = counted(Path.replace)  # type: ignore[method-assign]
    run.create(spec)
    train(run)


def _child(work: Callable[[], None]) -> int:
    number = os.fork()
    if number == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


def flip(world: World, random: Random) -> None:
    """One bit of one file of a finished run: found, or it changes nothing that is read."""
    names = ["state.safetensors", "spec.json", "done.json", "history.jsonl", "weights.safetensors",
             "environment.json", "timing.jsonl"]  # fmt: skip
    name = names[int(random.integers(len(names)))]
    _flipped(world, name, int(random.integers(8 * (world.run.path / name).stat().st_size)))


def header(world: World, random: Random) -> None:
    """One bit of the header of the checkpoint."""
    size = int.from_bytes(world.run.state.read_bytes()[:8], "little")
    _flipped(world, "state.safetensors", int(random.integers(8 * (8 + size))))


def _flipped(world: World, name: str, bit: int) -> None:
    with tempfile.TemporaryDirectory(dir=world.folder) as folder:
        copy = Path(folder) / world.run.path.name
        shutil.copytree(world.run.path, copy)
        content = bytearray((copy / name).read_bytes())
        content[bit // 8] ^= 1 << bit % 8
        (copy / name).write_bytes(bytes(content))
        run = Run(copy)

        def read() -> tuple[Any, ...]:
            return run.open(), run.records(), weights_of_state(run.state)

        found = _in_our_words(read)
        _in_our_words(lambda: read_table(copy))
        if found not in (None, (world.spec, world.records, world.run.weights.read_bytes())):
            raise Failed(f"bit {bit} of {name} was believed")
        if name == "state.safetensors":
            try:
                checkpoint_facts(bytes(content))
            except ValueError:
                return
            raise Failed(f"bit {bit} of {name} was believed")
        same = name.endswith("n") and json_of(content) == json_of(
            (world.run.path / name).read_bytes()
        )
        if not check(copy).damaged and not same:
            raise Failed(f"`vaescope check` did not find bit {bit} of {name}")


def json_of(content: bytes | bytearray) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return None


def fuzz(world: World, random: Random) -> None:
    """A file with a few mutations: read, or refused in our words."""
    name = list(world.inputs)[int(random.integers(len(world.inputs)))]
    content, read = world.inputs[name]
    with tempfile.TemporaryDirectory(dir=world.folder) as folder:
        file = Path(folder) / name
        file.write_bytes(_mutated(content, random))
        _in_our_words(lambda: read(file))


def folders(world: World, random: Random) -> None:
    """A run, an export or a tune of which one file is mutated: read, or refused in our words."""
    with tempfile.TemporaryDirectory(dir=world.folder) as place:
        kind = int(random.integers(3))
        folder = Path(place) / "x"
        if kind == 2:
            tune = Folder(folder)
            tune.create({"format": 1})
            for step in range(4):
                tune.add_round("beta-1", step, (0.1, 0.2))
        else:
            shutil.copytree((world.run, world.export)[kind].path, folder)
        files = sorted(file for file in folder.iterdir() if not file.name.startswith("."))
        file = files[int(random.integers(len(files)))]
        file.write_bytes(_mutated(file.read_bytes(), random))
        _in_our_words(lambda: check(folder))
        if kind == 0:
            _in_our_words(lambda: (Run(folder).open(), Run(folder).records()))
            _in_our_words(lambda: read_table(folder))
        elif kind == 1:
            _in_our_words(lambda: load_pretrained(folder))
        else:
            _in_our_words(lambda: Folder(folder).rounds("beta-1", 9))


#: What readers stumble over.
_WORDS = (b"[" * 3000, b"{" * 70, b"-1", b"1e999", b"NaN", b"null", b'"\\ud800"', b"\xff", b"\x00",
          b"99999999999999999999", b"!!int x", b"*a", b"&a ", b"\x1b[2J", b"[]", b"{}", b"true",
          b'""', b"\n", b": ", b"\r", b"0.5")  # fmt: skip


def _mutated(content: bytes, random: Random) -> bytes:
    made = bytearray(content)
    for _ in range(int(random.integers(1, 4))):
        at = int(random.integers(len(made) + 1))
        match int(random.integers(5)):
            case 0 if at < len(made):
                made[at] ^= 1 << int(random.integers(8))
            case 1:
                made[at : at + int(random.integers(1, 20))] = b""
            case 2:
                made[at:at] = _WORDS[int(random.integers(len(_WORDS)))]
            case 3:
                end = at + int(random.integers(1, 12))
                made[at:end] = _WORDS[int(random.integers(len(_WORDS)))]
            case _:
                made[at:at] = made[max(at - 40, 0) : at]
    return bytes(made)


KINDS = {"kill": kill, "flip": flip, "header": header, "fuzz": fuzz, "folders": folders}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1800.0)
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--number", type=int, help="This case of --kind alone.")
    given = parser.parse_args()
    torch.set_num_threads(1)
    tried, failures = dict.fromkeys(KINDS, 0), []
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        for number, kind in enumerate(KINDS):
            share = time.monotonic() + given.seconds / len(KINDS)
            case = given.number or 0
            while given.kind in (None, kind) and time.monotonic() < share:
                try:
                    with _limited():
                        KINDS[kind](world, np.random.default_rng([given.seed, number, case]))
                except Failed as error:
                    failures.append((kind, case, str(error)))
                tried[kind] += 1
                case += 1
                if given.number is not None:
                    break
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if most > BYTES:
        failures.append(("memory", 0, f"{most:,} bytes"))
    print("| kind | tried | failed |\n| --- | --- | --- |")
    for kind, count in tried.items():
        print(f"| {kind} | {count} | {sum(one[0] == kind for one in failures)} |")
    for kind, case, says in failures[:40]:
        command = (
            f"python -m tests.faults.harness --seed {given.seed} --kind {kind} --number {case}"
        )
        print(f"{says}\n  {command}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
