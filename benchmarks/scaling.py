"""Cost of the measures on codes as rows grow in number: python benchmarks/scaling.py [--json].

Covariance and binned measures are linear in n; ranks need a sort. Exponents are fitted to medians
of processor time, which other work on the machine hardly changes, over interleaved rounds.
"""

import argparse
import json
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np

from vaescope.codes import Codes
from vaescope.latents import effective_rank, mean_against_sample, total_correlation, types
from vaescope.latents.moments import moments
from vaescope.latents.pairwise import binned_information, pairwise
from vaescope.types import Floats

LATENTS = 10
SIZES = (30_000, 100_000, 300_000, 1_000_000)
FULL = 737_280  # dSprites
ROUNDS = 7


def codes_of(n: int) -> Codes:
    """Half of the latents passive, as in a typical model; float32 as encoders give it."""
    rng = np.random.default_rng(0)
    variance = np.tile(np.repeat([0.01, 1.0], LATENTS // 2), (n, 1)).astype(np.float32)
    mean = rng.standard_normal((n, LATENTS), dtype=np.float32) * np.sqrt(1.001 - variance)
    sample = mean + np.sqrt(variance) * rng.standard_normal((n, LATENTS), dtype=np.float32)
    return Codes(mean, variance, sample)


def covariance(values: Floats) -> None:
    """Total correlation and effective rank."""
    matrix = moments(values).covariance
    total_correlation(matrix)
    effective_rank(matrix)


def binned(values: Floats) -> None:
    """Averaged mutual information in 20 bins."""
    columns = np.ascontiguousarray(values.T)
    low, high = columns.min(axis=1).astype(float), columns.max(axis=1).astype(float)
    binned_information(columns, np.linspace(low, high, 21, axis=1))


MEASURES: dict[str, Callable[[Codes], object]] = {
    "covariance": lambda codes: covariance(codes.mean),
    "binned": lambda codes: binned(codes.mean),
    "covariance_binned_and_ranks": lambda codes: pairwise(codes.mean),
    "types": types,
    "mean_against_sample": mean_against_sample,
}


@dataclass(frozen=True)
class Cost:
    """Of one call: seconds on the clock and of the processors."""

    clock: float
    processor: float


def cost(call: Callable[[Codes], object], codes: Codes) -> Cost:
    """What one call takes."""
    clock, processor = perf_counter(), process_time()
    call(codes)
    return Cost(perf_counter() - clock, process_time() - processor)


def measure() -> dict[str, Any]:
    """Medians by measure and size, exponents, and the whole of dSprites in time and memory."""
    subjects = {n: codes_of(n) for n in (*SIZES, FULL)}
    costs: dict[str, dict[int, list[Cost]]] = {name: {n: [] for n in subjects} for name in MEASURES}
    for _ in range(ROUNDS):
        for n, codes in subjects.items():
            for name, call in MEASURES.items():
                costs[name][n].append(cost(call, codes))
    clock = {
        name: {n: median(own.clock for own in calls) for n, calls in by_size.items()}
        for name, by_size in costs.items()
    }
    work = {
        name: {n: median(own.processor for own in calls) for n, calls in by_size.items()}
        for name, by_size in costs.items()
    }
    tracemalloc.start()
    mean_against_sample(subjects[FULL])
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return {
        "full_statistics_seconds": clock["covariance"][FULL] + clock["binned"][FULL],
        "full_with_ranks_seconds": clock["covariance_binned_and_ranks"][FULL],
        "full_mean_and_sample_seconds": clock["mean_against_sample"][FULL],
        "full_mean_and_sample_megabytes": peak,
        "exponents": {
            name: float(np.polyfit(np.log(SIZES), np.log([own[n] for n in SIZES]), 1)[0])
            for name, own in work.items()
        },
        "seconds": {
            name: {str(n): seconds for n, seconds in own.items()} for name, own in clock.items()
        },
        "processor_seconds": {
            name: {str(n): seconds for n, seconds in own.items()} for name, own in work.items()
        },
        "rounds": ROUNDS,
    }


def main() -> None:
    """Print the figures as a table, or as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    as_json = parser.parse_args().json
    figures = measure()
    if as_json:
        print(json.dumps(figures))
        return
    print(
        f"{'processor seconds by rows':28s}" + "".join(f"{n:>12,}" for n in SIZES) + "    exponent"
    )
    for name, by_size in figures["processor_seconds"].items():
        row = "".join(f"{by_size[str(n)]:12.4f}" for n in SIZES)
        print(f"{name:28s}{row}{figures['exponents'][name]:12.2f}")
    print(
        f"{FULL:,} x {LATENTS}, on the clock: total correlation, averaged information and "
        f"effective rank {figures['full_statistics_seconds']:.3f} s, with ranks "
        f"{figures['full_with_ranks_seconds']:.3f} s; all subsets of means and samples "
        f"{figures['full_mean_and_sample_seconds']:.3f} s with "
        f"{figures['full_mean_and_sample_megabytes']:.0f} MB beside the codes"
    )


if __name__ == "__main__":
    main()
