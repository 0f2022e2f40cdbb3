"""What seals cost of a training: python benchmarks/sealing.py [--json] [--steps 3000].

The smallest net there is, a row every ten steps and a checkpoint every half second, twenty times as
often as usual. Processor seconds within the functions that seal, and of hashing the history, over
those of the whole training.
"""

import argparse
import hashlib
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import torch

from vaescope.build import build_data
from vaescope.runs import Run
from vaescope.sealing import RowSeals
from vaescope.settings import from_command_line
from vaescope.training import checkpoint as checkpoints
from vaescope.training import run as training

BOUND = 0.02
checkpoint: Any = checkpoints  # whose function is replaced by one that is timed


def measure(steps: int) -> dict[str, Any]:
    """Seconds of the training and of what seals it."""
    spent = [0.0]

    def timed(call: Callable[..., Any]) -> Callable[..., Any]:
        def timing(*values: Any) -> Any:
            start = process_time()
            try:
                return call(*values)
            finally:
                spent[0] += process_time() - start

        return timing

    line, seal, finish = RowSeals.line, checkpoint.seal_checkpoint, Run.finish
    pause = training.CHECKPOINT_SECONDS
    settings = ["data.name=synth-linear", "latent=2", f"steps={steps}", "logging.every=10"]
    spec = from_command_line("vae", settings)
    data = build_data(spec.data)
    with tempfile.TemporaryDirectory() as folder:
        run = Run.of(spec, "vae", Path(folder))
        run.create(spec)
        try:
            RowSeals.line = timed(line)  # type: ignore[method-assign]
            checkpoint.seal_checkpoint = timed(seal)
            Run.finish = timed(finish)  # type: ignore[method-assign]
            training.CHECKPOINT_SECONDS = 0.5
            start = process_time()
            for _ in training.train_run(run, spec, data, device=torch.device("cpu")):
                pass
            total = process_time() - start
        finally:
            RowSeals.line, checkpoint.seal_checkpoint = line, seal  # type: ignore[method-assign]
            Run.finish, training.CHECKPOINT_SECONDS = finish, pause  # type: ignore[method-assign]
        rows = run.history.read_bytes().splitlines(keepends=True)
        running, start = hashlib.sha256(), process_time()
        for row in rows:
            running.update(row)
        spent[0] += process_time() - start
    return {"share": spent[0] / total, "seconds": total, "rows": len(rows), "bound": BOUND}


def main() -> None:
    """Print the figures as text, or as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--steps", type=int, default=3000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = measure(options.steps)
    print(
        json.dumps(found)
        if options.json
        else f"seals {found['share']:.2%} of {found['seconds']:.2f} s, {found['rows']} rows; "
        f"bound {BOUND:.0%}"
    )


if __name__ == "__main__":
    main()
