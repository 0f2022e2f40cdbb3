"""Cost of the measures on codes as rows, latents and factors grow in number:
python benchmarks/scaling.py [--json].

Covariance and binned measures are linear in n; ranks need a sort. Metrics are linear in rows and
factors, and what `Metric.latents` says in latents; measures of pairs of latents are quadratic in
these. Exponents are fitted to processor time, which other work on the machine hardly changes, in
each of the interleaved rounds; of metrics without the smallest size, where what does not grow is
most of it.
"""

import argparse
import json
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from vaescope.codes import Codes
from vaescope.latents import effective_rank, mean_against_sample, total_correlation, types
from vaescope.latents.moments import moments
from vaescope.latents.pairwise import binned_information, pairwise
from vaescope.metrics.suite import METRICS, measure_metrics
from vaescope.types import Floats

LATENTS = 10
SIZES = (30_000, 100_000, 300_000, 1_000_000)
FULL = 737_280  # dSprites
ROUNDS = 7
#: Of one number the sizes of a metric's codes, and what the other two are meanwhile.
GROWING = {
    "rows": (2_000, 4_000, 8_000, 16_000), "latents": (8, 16, 32, 64), "factors": (2, 4, 8, 16),
}  # fmt: skip
FIXED = {"rows": 3_000, "latents": 16, "factors": 4}
CLASSES = 5
MANY = 100_000  # rows of the measures of pairs, which take little time
#: Metrics that are the same work as another: three of DCI's trees, two of one table.
TOGETHER = ("dci_completeness", "dci_informativeness", "modularity", "infoc", "smoothness")


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


#: Of the measures above, the power of the number of latents by which they are stated to grow.
PAIRS = {"covariance": 2, "binned": 2, "covariance_binned_and_ranks": 2, "types": 1,
         "mean_against_sample": 2}  # fmt: skip


def with_factors(rows: int, latents: int, factors: int) -> Codes:
    """Each factor moves one latent, as far as there are any."""
    rng = np.random.default_rng(0)
    known = rng.integers(0, CLASSES, (rows, factors))
    mean = 0.4 * rng.standard_normal((rows, latents), dtype=np.float32)
    seen = min(latents, factors)
    mean[:, :seen] += known[:, :seen] - CLASSES // 2
    variance = np.full_like(mean, 0.05)
    sample = mean + np.sqrt(variance) * rng.standard_normal(mean.shape, dtype=np.float32)
    names = tuple(f"factor {k}" for k in range(factors))
    return Codes(mean, variance, sample, factors=known, factor_names=names)


def exponent(seconds: Mapping[int, float]) -> float:
    """The power of the size by which seconds grow."""
    return float(np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)[0])


def grown(rounds: int = ROUNDS) -> dict[str, dict[str, Any]]:
    """Of each metric, and in latents of each measure of pairs: its exponent in each round, the one
    stated for latents, and the median processor seconds that they are of."""
    apart = [name for name in METRICS if name not in TOGETHER]
    stated = {name: METRICS[name].latents for name in apart} | PAIRS
    found: dict[str, dict[str, Any]] = {name: {"stated": power} for name, power in stated.items()}
    for number, sizes in GROWING.items():
        subjects = {size: with_factors(**{**FIXED, number: size}) for size in sizes}
        if number == "latents":
            many = {size: with_factors(MANY, size, FIXED["factors"]) for size in sizes}
        for name, own in found.items():
            if name in PAIRS and number != "latents":
                continue
            call = MEASURES.get(name) or partial(_of_metric, name)
            # One thread: several wait for each other, and waiting is processor time.
            with threadpool_limits(1):
                turns = [
                    {
                        size: cost(call, codes).processor
                        for size, codes in (many if name in PAIRS else subjects).items()
                    }
                    for _ in range(rounds)
                ]
            own[number] = {
                "exponents": [exponent({s: turn[s] for s in sizes[1:]}) for turn in turns],
                "seconds": [median(turn[s] for turn in turns) for s in sizes],
            }
    return found


def by_one(name: str, number: str) -> dict[str, float]:
    """Processor seconds of a measure for each row, latent or factor: the same at all sizes where
    it grows linearly."""
    call = MEASURES.get(name) or partial(_of_metric, name)
    found = {}
    with threadpool_limits(1):
        for size in GROWING[number]:
            codes = with_factors(
                **{**FIXED, **({"rows": MANY} if name in PAIRS else {}), number: size}
            )
            call(codes)
            found[f"{size:,} {number}"] = (
                median(cost(call, codes).processor for _ in range(3)) / size
            )
    return {"all": max(found.values()), **found}


def _of_metric(name: str, codes: Codes) -> None:
    measure_metrics(codes, metrics=[name], on=("mean",))


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
            name: [exponent({n: own[n][k].processor for n in SIZES}) for k in range(ROUNDS)]
            for name, own in costs.items()
        },
        "seconds": {
            name: {str(n): seconds for n, seconds in own.items()} for name, own in clock.items()
        },
        "processor_seconds": {
            name: {str(n): seconds for n, seconds in own.items()} for name, own in work.items()
        },
        "rounds": ROUNDS,
        "growth": grown(),
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
        print(f"{name:28s}{row}{median(figures['exponents'][name]):12.2f}")
    print(
        f"{FULL:,} x {LATENTS}, on the clock: total correlation, averaged information and "
        f"effective rank {figures['full_statistics_seconds']:.3f} s, with ranks "
        f"{figures['full_with_ranks_seconds']:.3f} s; all subsets of means and samples "
        f"{figures['full_mean_and_sample_seconds']:.3f} s with "
        f"{figures['full_mean_and_sample_megabytes']:.0f} MB beside the codes"
    )
    print(f"{'exponents of processor time':28s}" + "".join(f"{n:>12}" for n in GROWING))
    for name, own in figures["growth"].items():
        slopes = [f"{median(own[n]['exponents']):.2f}" if n in own else "" for n in GROWING]
        row = "".join(f"{slope:>12}" for slope in slopes)
        print(f"{name:28s}{row}  stated in latents: {own['stated']}")


if __name__ == "__main__":
    main()
