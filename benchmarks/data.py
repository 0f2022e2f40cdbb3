"""Time to re-render dSprites, and what gathering batches costs: python benchmarks/data.py [--json].

`gather_share` is the time to gather a random batch of 64 over the time of a training step of the
convolutional beta-VAE on images of that shape, taken in turns; datasets whose files are not in the
data folder are left out.
"""

import argparse
import json
from dataclasses import asdict, dataclass
from statistics import median
from time import perf_counter

import numpy as np
import torch

from vaescope.allocator import keep_freed_memory
from vaescope.build import build_data
from vaescope.data import CARDS, Dataset
from vaescope.data.dsprites_render import FACTOR_SIZES, render
from vaescope.data.files import on_disk
from vaescope.settings import from_command_line
from vaescope.specs import resolve
from vaescope.training.loop import fetch, new_state, steps

RENDERS = 3
ROUNDS = 9
BATCH = 64
CPU = torch.device("cpu")


@dataclass(frozen=True)
class Figures:
    """Medians, with the amount of data they were measured on."""

    render_seconds: float
    images: int
    megabytes: float
    gather_milliseconds: dict[str, float]
    gather_share: dict[str, float]


def rendering() -> tuple[float, int, float]:
    """Seconds, images and megabytes of the whole grid at 64 pixels."""
    grid = tuple(range(n) for n in FACTOR_SIZES.values())
    seconds = []
    for _ in range(RENDERS):
        packed = np.empty((0, 0), np.uint8)  # lets the previous grid go before the next is drawn
        start = perf_counter()
        packed = render(*grid, size=64)
        seconds.append(perf_counter() - start)
    return median(seconds), len(packed), packed.nbytes / 1e6


def gathering(name: str) -> tuple[float, float] | None:
    """Milliseconds to gather a batch, and their share of a training step."""
    size = ["data.size=32"] if "mnist" in name else []
    experiment = resolve(from_command_line("beta-vae", [f"data.name={name}", *size]))
    if experiment.net.name != "conv":
        return None
    data = build_data(experiment.data)
    loop = steps(new_state(experiment, CPU), experiment, data, "fp32")
    generator = np.random.default_rng(0)
    next(loop), next(loop)
    step, gather = [], []
    for _ in range(ROUNDS):
        start = perf_counter()
        next(loop)
        step.append(perf_counter() - start)
        gather.append(_gather(data, generator))
    return 1e3 * median(gather), median(gather) / median(step)


def _gather(data: Dataset, generator: np.random.Generator) -> float:
    index = generator.integers(len(data), size=BATCH)
    start = perf_counter()
    fetch(data, index, CPU)
    return perf_counter() - start


def measure() -> Figures:
    keep_freed_memory()
    seconds, images, megabytes = rendering()
    milliseconds, share = {}, {}
    for name, card in CARDS.items():
        found = gathering(name) if card.rendered or on_disk(card) else None
        if found is not None:
            milliseconds[name], share[name] = found
    return Figures(seconds, images, megabytes, milliseconds, share)


def main() -> None:
    """Print the figures as text, or as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    as_json = parser.parse_args().json
    figures = measure()
    if as_json:
        print(json.dumps(asdict(figures)))
        return
    print(
        f"render: {figures.render_seconds:.2f} s for {figures.images:,} images, "
        f"{figures.megabytes:.0f} MB packed (median of {RENDERS})"
    )
    for name, share in figures.gather_share.items():
        print(f"gather {name}: {figures.gather_milliseconds[name]:.2f} ms, {share:.1%} of a step")


if __name__ == "__main__":
    main()
