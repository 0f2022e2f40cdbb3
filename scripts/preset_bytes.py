"""Digests and bytes of every preset after six steps: python scripts/preset_bytes.py FILE.json.

Run it with two versions of vaescope on PYTHONPATH and compare the files: equal presets have equal
lines (digest, digest of the short run, sha256 of weights.safetensors and of history.jsonl). Presets
whose data are not at hand are left out.
"""

import argparse
import hashlib
import json
import tempfile
from contextlib import suppress
from pathlib import Path

import torch

from vaescope.build import build_data
from vaescope.errors import DataError
from vaescope.presets import PRESETS
from vaescope.runs import Run
from vaescope.settings import from_command_line
from vaescope.specs import digest
from vaescope.training.run import train_run


def lines(name: str, folder: Path) -> list[str]:
    """What names a preset, and what it trains to."""
    spec = from_command_line(name, ["steps=6", "logging.every=2"])
    run = Run.of(spec, name, folder)
    run.create(spec)
    for _ in train_run(run, spec, build_data(spec.data), device=torch.device("cpu")):
        pass
    digests = [digest(from_command_line(name, [])), digest(spec)]
    return digests + [
        hashlib.sha256(file.read_bytes()).hexdigest() for file in (run.weights, run.history)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        found = {}
        for name in PRESETS:
            with suppress(DataError):
                found[name] = lines(name, Path(folder))
    given.file.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
