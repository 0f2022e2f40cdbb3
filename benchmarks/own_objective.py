"""What a step costs with the objective of docs/own-parts.md, by import path, against the built-in
beta-VAE: python benchmarks/own_objective.py [--json] [--rounds 9] [--turn 0.5].

Both in one process, in turns, through vaescope's own loop in float32: the convolutional 64x64 net
on dSprites, and the smallest net there is, on synth-linear, where every microsecond shows. On a
machine with other work the ratio of processor seconds is the one to trust, with one thread.
"""

import argparse
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import torch

from vaescope.allocator import keep_freed_memory
from vaescope.build import build_data
from vaescope.settings import from_command_line
from vaescope.training.loop import Record, new_state, steps

DOCS = Path(__file__).parents[1] / "docs" / "own-parts.md"
BOUND = 1.03
GRID = json.dumps({"scale": [5], "orientation": [0, 8, 16, 24, 32]})
CASES: Mapping[str, Sequence[str]] = {
    "conv": ["data.size=64", f"data.grid={GRID}"],
    "linear": ["data.name=synth-linear", "latent=2"],
}
SIDES: Mapping[str, Sequence[str]] = {
    "built-in": ["objective.beta=4"],
    "own": ["objective.name=mylab:Weighted", "objective.weight=4"],
}


def _loop(settings: Sequence[str]) -> Iterator[Record | None]:
    experiment = from_command_line("beta-vae", [*settings, "steps=100000000"])
    data = build_data(experiment.data)
    return steps(new_state(experiment, torch.device("cpu")), experiment, data, "fp32")


def _turn(loop: Iterator[Record | None], count: int) -> tuple[float, float]:
    """Seconds of so many steps: by the clock, and of the processor."""
    start, busy = perf_counter(), process_time()
    for _ in range(count):
        next(loop)
    return perf_counter() - start, process_time() - busy


def measure(case: Sequence[str], rounds: int, turn: float) -> dict[str, Any]:
    """Medians of the ratios of interleaved rounds; the sides take turns in beginning."""
    loops = {side: _loop([*case, *settings]) for side, settings in SIDES.items()}
    for loop in loops.values():
        _turn(loop, 3)  # warms up
    count = max(1, round(turn / (_turn(loops["built-in"], 5)[0] / 5)))
    clock, processor = [], []
    for number in range(rounds):
        order = list(SIDES) if number % 2 else list(SIDES)[::-1]
        took = {side: _turn(loops[side], count) for side in order}
        clock.append(took["own"][0] / took["built-in"][0])
        processor.append(took["own"][1] / took["built-in"][1])
    return {
        "own_over_built_in": median(clock),
        "range": [min(clock), max(clock)],
        "processor": median(processor),
    }


def main() -> None:
    """Print the figures as text, or as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--rounds", type=int, default=9, help="at least 7 for figures to quote")
    parser.add_argument("--turn", type=float, default=0.5, help="seconds of a turn")
    options = parser.parse_args()
    keep_freed_memory()
    _, block, *_ = re.findall(r"```python\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "mylab.py").write_text(block)
        os.chdir(folder)
        found: dict[str, Any] = {
            name: measure(case, options.rounds, options.turn) for name, case in CASES.items()
        }
        os.chdir("/")
    found |= {"bound": BOUND, "rounds": options.rounds, "threads": torch.get_num_threads()}
    if options.json:
        print(json.dumps(found))
        return
    for name in CASES:
        row = found[name]
        low, high = row["range"]
        print(
            f"{name:<8}{row['own_over_built_in']:6.3f} ({low:.3f} to {high:.3f}), processor "
            f"{row['processor']:.3f}; bound {BOUND}"
        )


if __name__ == "__main__":
    main()
