"""What the harness damages: a finished run, its export, files of every kind."""

import io
import json
import os
import pickle
import shutil
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from safetensors.torch import save

from vaescope.adapters.checkpoints import weights_of
from vaescope.checking import check
from vaescope.codes import Codes
from vaescope.data.user_files import load_files
from vaescope.encoding import load_vae
from vaescope.errors import VaescopeError
from vaescope.exporting.hub import publish
from vaescope.runs import Run
from vaescope.settings import from_command_line, load_yaml
from vaescope.studies.running import load_outcome
from vaescope.sweeps.grid import read_plan
from vaescope.tables import read_table
from vaescope.training import run as training

from .conftest import SETTINGS, train

#: Files of a finished run.
FILES = ("state.safetensors", "spec.json", "done.json", "history.jsonl", "weights.safetensors",
         "environment.json", "timing.jsonl")  # fmt: skip


class Failed(Exception):
    """A case in which something was lost, wrong, or ended in other than our words."""


class _Payload:
    """Makes a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.mark}",)


class World:
    """A finished run, another one, the first one's export, and inputs to mutate."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.mark, self.kills = folder, folder / "executed", 0
        training.CHECKPOINT_SECONDS = training.CHECKPOINT_PAUSE = 0.0  # one at each step
        self.run, self.other = (self._trained(f"seed={seed}") for seed in (0, 1))
        self.export = publish(self.run, folder / "hf", "card").run
        self.spec, self.records = self.run.open(), self.run.records()
        self.contents = {name: (self.run.path / name).read_bytes() for name in FILES}
        self.copy = Run(folder / "copy" / self.run.path.name)  # cases damage it and put it right
        self.restore()
        self.weights = load_vae(self.run).state_dict()
        self.inputs = dict(self._inputs())

    def _trained(self, seed: str) -> Run:
        spec = from_command_line("vae", [*SETTINGS, seed])
        run = Run.of(spec, "vae", self.folder / "runs")
        run.create(spec)
        train(run)
        return run

    @property
    def executed(self) -> bool:
        return self.mark.exists()

    def restore(self) -> None:
        """The copy as it was."""
        shutil.rmtree(self.copy.path, ignore_errors=True)
        shutil.copytree(self.run.path, self.copy.path)

    def require_sound(self, name: str, what: str) -> None:
        """The copy, of which one file was damaged: every reader refuses it in our words or reads
        what was there, and `vaescope check` finds the damage."""
        wanted = {
            "spec": self.spec,
            "records": self.records,
            "weights": self.weights,
            "state": self.contents["weights.safetensors"],
        }
        for reads, read in self.readers().items():
            found = in_our_words(read)
            if found is not None and not _same(found, wanted[reads]):
                raise Failed(f"{what} of {name} was believed ({reads})")
        in_our_words(lambda: read_table(self.copy.path, timing=True))
        if not check(self.copy.path).damaged and not self._says_the_same(name):
            raise Failed(f"`vaescope check` did not find {what} of {name}")

    def readers(self) -> dict[str, Callable[[], Any]]:
        from vaescope.training.checkpoint import ending_of_state

        return {
            "spec": self.copy.open,
            "records": self.copy.records,
            "weights": lambda: load_vae(self.copy).state_dict(),
            "state": lambda: ending_of_state(self.copy.state)[0],
        }

    def _says_the_same(self, name: str) -> bool:
        """White space of JSON may differ."""
        try:
            content = (self.copy.path / name).read_bytes()
            return name.endswith(".json") and bool(
                json.loads(content) == json.loads(self.contents[name])
            )
        except (OSError, ValueError):
            return False

    def _inputs(self) -> Iterator[tuple[str, tuple[bytes, Callable[[Path], Any]]]]:
        codes, images, checkpoint, hostile, objects = (io.BytesIO() for _ in range(5))
        mean = np.arange(12.0).reshape(6, 2)
        np.savez(codes, mean=mean, variance=mean, factors=mean.astype(int))
        np.savez_compressed(images, images=np.zeros((4, 8, 8)), labels=np.arange(4))
        weights = {"a.weight": torch.ones(2, 3), "a.bias": torch.zeros(2)}
        torch.save({"state_dict": weights}, checkpoint)
        torch.save({"state_dict": weights, "run": _Payload(self.mark)}, hostile)
        np.savez(objects, images=np.array([_Payload(self.mark)], dtype=object))
        grid = {"preset": "vae", "fixed": {"steps": 4}, "grid": {"seed": [0, 1], "latent": [2, 3]}}
        table = {"format": 1, "study": "x", "scale": "small", "digest": "0", "versions": {},
                 "machine": "m", "settings": {"seed": [0]}, "results": {"r": [0.5]}}  # fmt: skip
        yield "codes.npz", (codes.getvalue(), Codes.load)
        yield "images.npz", (images.getvalue(), load_files)
        yield "objects.npz", (objects.getvalue(), load_files)
        yield "weights.pt", (checkpoint.getvalue(), weights_of)
        yield "hostile.pt", (hostile.getvalue(), weights_of)
        yield "hostile.pkl", (pickle.dumps(_Payload(self.mark)), weights_of)
        yield "weights.safetensors", (save(weights), weights_of)
        yield "grid.yaml", (yaml.safe_dump(grid).encode(), read_plan)
        yield "table.json", (json.dumps(table).encode(), load_outcome)
        yield "spec.yaml", ((self.run.path / "spec.yaml").read_bytes(), _settings)
        yield "rows.csv", (b"a,b,label\n1,2,x\n3,4,y\n5,6,x\n", load_files)


def _same(found: Any, wanted: Any) -> bool:
    if not isinstance(wanted, dict):
        return bool(found == wanted)
    return found.keys() == wanted.keys() and all(
        torch.equal(found[name], wanted[name]) for name in wanted
    )


def _settings(path: Path) -> Any:
    return load_yaml(path.read_bytes().decode(errors="replace"), str(path))


def in_our_words(read: Callable[[], Any]) -> Any:
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
