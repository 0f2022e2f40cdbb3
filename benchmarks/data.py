"""Time to re-render dSprites and to gather batches of it: python benchmarks/data.py [--json]."""

import argparse
import json
from dataclasses import asdict, dataclass
from statistics import median
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from vaescope.data.dsprites_render import FACTOR_SIZES, render

RENDERS = 3
GATHERS = 300
BATCH = 64
SIZE = 64


@dataclass(frozen=True)
class Figures:
    """Medians, with the amount of data they were measured on."""

    render_seconds: float
    images: int
    megabytes: float
    gather_seconds: float


def gather(packed: NDArray[np.uint8], indices: NDArray[np.int64]) -> NDArray[np.float32]:
    """The images of those rows as floats, shape (batch, 1, SIZE, SIZE)."""
    pixels = np.unpackbits(packed[indices], axis=1)
    return pixels.reshape(-1, 1, SIZE, SIZE).astype(np.float32)


def measure() -> Figures:
    """Render the whole grid a few times, then gather random batches from the last one."""
    grid = tuple(range(n) for n in FACTOR_SIZES.values())
    render_seconds = []
    for _ in range(RENDERS):
        packed = np.empty((0, 0), np.uint8)  # lets the previous grid go before the next is drawn
        start = perf_counter()
        packed = render(*grid, size=SIZE)
        render_seconds.append(perf_counter() - start)

    rng = np.random.default_rng(0)
    gather_seconds = []
    for _ in range(GATHERS):
        indices = rng.integers(len(packed), size=BATCH)
        start = perf_counter()
        gather(packed, indices)
        gather_seconds.append(perf_counter() - start)
    return Figures(
        render_seconds=median(render_seconds),
        images=len(packed),
        megabytes=packed.nbytes / 1e6,
        gather_seconds=median(gather_seconds),
    )


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
    print(
        f"gather: {figures.gather_seconds * 1e3:.3f} ms for a batch of {BATCH} "
        f"(median of {GATHERS})"
    )


if __name__ == "__main__":
    main()
