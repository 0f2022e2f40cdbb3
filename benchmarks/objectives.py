"""What a training step of each objective costs against the plain beta-VAE's:
python benchmarks/objectives.py [--json] [--rounds 9] [--turn 0.5] [--threads 2].

The convolutional 64x64 net on dSprites, batch 64, through vaescope's own loop in float32. One
process holds all models and they take turns; before each turn the plain one has one of its own, so
that the two sides of a ratio share the machine's mood. On a machine with other work only the ratio
of processor seconds is to be trusted, with one thread.
The bound of 1.6 does not hold for FactorVAE, whose critic is larger than the VAE, and for the
orthogonal ones, which differentiate the decoder twice.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter, process_time
from typing import Any

import torch

from vaescope.allocator import keep_freed_memory
from vaescope.build import DIVERGENCES, OBJECTIVES, build_data
from vaescope.data import Dataset
from vaescope.settings import from_command_line
from vaescope.training.loop import Record, new_state, steps

CPU = torch.device("cpu")
BASE = "beta-vae"
BOUND = 1.6
# Every eighth orientation of the largest sprites: 15,360 images.
GRID = {"scale": [5], "orientation": [0, 8, 16, 24, 32]}
#: Settings beside the objective's name; one line per variant that costs differently.
VARIANTS: Mapping[str, Sequence[str]] = {
    "beta-vae": ["objective.name=beta-vae"],
    "ae": ["objective.name=ae", "posterior.name=point"],
    "vae": ["objective.name=vae"],
    # An iVAE: four ordinal factors.
    "vae conditional": ["objective.name=vae", "prior.name=conditional", "prior.width=4"],
    "annealed-vae": ["objective.name=annealed-vae"],
    "beta-tcvae": ["objective.name=beta-tcvae"],
    "beta-tcvae stratified": ["objective.name=beta-tcvae", "objective.estimator=stratified"],
    "dip-vae-i": ["objective.name=dip-vae-i"],
    "dip-vae-ii": ["objective.name=dip-vae-ii"],
    **{
        f"decomposition {divergence}": [
            "objective.name=decomposition", f"objective.divergence={divergence}",
        ]
        for divergence in DIVERGENCES
    },
    "entropy-vae": ["objective.name=entropy-vae"],
    "factor-vae": ["objective.name=factor-vae"],
    "orthogonal ae": ["objective.name=orthogonal", "objective.base=ae", "posterior.name=point"],
    "orthogonal beta-vae": ["objective.name=orthogonal", "objective.base=beta-vae"],
}  # fmt: skip
UNBOUND = ("factor-vae", "orthogonal ae", "orthogonal beta-vae")


@dataclass
class Contender:
    """A model under training, and what its turns gave."""

    name: str
    loop: Iterator[Record | None]
    count: int = 2  # steps of a turn
    milliseconds: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    processor_ratios: list[float] = field(default_factory=list)

    def turn(self) -> tuple[float, float]:
        """Milliseconds per step over one turn, by the clock and of the processor."""
        start, busy = perf_counter(), process_time()
        for _ in range(self.count):
            next(self.loop)
        scale = 1e3 / self.count
        return scale * (perf_counter() - start), scale * (process_time() - busy)


def contender(name: str, data: Dataset) -> Contender:
    settings = ["data.size=64", f"data.grid={json.dumps(GRID)}", *VARIANTS[name]]
    experiment = from_command_line(BASE, settings)
    return Contender(name, steps(new_state(experiment, CPU), experiment, data, "fp32"))


def measure(rounds: int, turn: float) -> list[Contender]:
    """Interleaved rounds, each begun by another contender."""
    keep_freed_memory()
    data = build_data(from_command_line(BASE, [f"data.grid={json.dumps(GRID)}"]).data)
    contenders = [contender(name, data) for name in VARIANTS]
    base = next(one for one in contenders if one.name == BASE)
    for one in contenders:
        one.turn()  # warms up
        one.count = max(1, round(1e3 * turn / one.turn()[0]))
    for number in range(rounds):
        first = number % len(contenders)
        for one in contenders[first:] + contenders[:first]:
            plain, own = base.turn(), one.turn()
            one.milliseconds.append(own[0])
            one.ratios.append(own[0] / plain[0])
            one.processor_ratios.append(own[1] / plain[1])
    return contenders


def report(contenders: Sequence[Contender], rounds: int) -> dict[str, Any]:
    """Medians over the rounds, and the ratios' extremes."""
    found: dict[str, dict[str, Any]] = {
        one.name: {
            "milliseconds": median(one.milliseconds),
            "ratio": median(one.ratios),
            "range": [min(one.ratios), max(one.ratios)],
            "processor_ratio": median(one.processor_ratios),
        }
        for one in contenders
    }
    bounded = {name: row["ratio"] for name, row in found.items() if name not in UNBOUND}
    return {
        "objectives": found,
        "bound": BOUND,
        "highest": max(bounded, key=lambda name: bounded[name]),
        "within_bound": max(bounded.values()) <= BOUND,
        "not_measured": sorted(set(OBJECTIVES) - {name.split()[0] for name in VARIANTS}),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "rounds": rounds,
    }


def _show(found: Mapping[str, Any]) -> None:
    print(
        f"torch {found['torch']}, {found['threads']} threads, float32, conv 64x64, batch 64; "
        f"medians of {found['rounds']} rounds; times the cost of {BASE}, bound {found['bound']}"
    )
    for name, row in found["objectives"].items():
        low, high = row["range"]
        print(
            f"{name:<30}{row['milliseconds']:8.1f} ms {row['ratio']:6.2f} ({low:.2f} to {high:.2f})"
            f"  processor {row['processor_ratio']:5.2f}{'  no bound' if name in UNBOUND else ''}"
        )
    state = "within" if found["within_bound"] else "ABOVE"
    print(f"highest ratio: {found['highest']}, {state} the bound")
    if found["not_measured"]:
        print(f"not measured: {', '.join(found['not_measured'])}")


def main() -> None:
    """Print the figures as text, or as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--rounds", type=int, default=9, help="at least 7 for figures to quote")
    parser.add_argument("--turn", type=float, default=0.5, help="seconds of a contender's turn")
    parser.add_argument("--threads", type=int, default=None, help="torch's own choice by default")
    options = parser.parse_args()
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    found = report(measure(options.rounds, options.turn), options.rounds)
    print(json.dumps(found)) if options.json else _show(found)


if __name__ == "__main__":
    main()
