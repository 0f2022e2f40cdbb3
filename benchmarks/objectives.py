"""What a training step of each objective costs against the plain beta-VAE's:
python benchmarks/objectives.py [--json] [--rounds 9] [--turn 0.5] [--threads 2].

The convolutional 64x64 net on dSprites, batch 64, through vaescope's own loop in float32. One
process holds all models and they take turns, so that a round's ratios share the machine's mood.
The bound of 1.6 does not hold for FactorVAE, whose critic is larger than the VAE, and for the
orthogonal ones, which differentiate the decoder twice.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import Any

import torch

from vaescope.allocator import keep_freed_memory
from vaescope.build import OBJECTIVES, build_data
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
    "capacity-vae": ["objective.name=capacity-vae"],
    "beta-tcvae": ["objective.name=beta-tcvae"],
    "beta-tcvae stratified": ["objective.name=beta-tcvae", "objective.estimator=stratified"],
    "dip-vae-i": ["objective.name=dip-vae-i"],
    "dip-vae-ii": ["objective.name=dip-vae-ii"],
    "decomposition mmd": ["objective.name=decomposition", "objective.divergence=mmd"],
    "decomposition mmd-per-latent": [
        "objective.name=decomposition", "objective.divergence=mmd-per-latent",
    ],
    "decomposition inclusive-kl": [
        "objective.name=decomposition", "objective.divergence=inclusive-kl",
    ],
    "decomposition exclusive-kl": [
        "objective.name=decomposition", "objective.divergence=exclusive-kl",
    ],
    "entropy-vae": ["objective.name=entropy-vae"],
    "factor-vae": ["objective.name=factor-vae"],
    "orthogonal-ae": ["objective.name=orthogonal-ae", "posterior.name=point"],
    "orthogonal-vae": ["objective.name=orthogonal-vae"],
}  # fmt: skip
UNBOUND = ("factor-vae", "orthogonal-ae", "orthogonal-vae")


@dataclass
class Contender:
    """A model under training: `seconds(n)` is the time of n steps."""

    name: str
    loop: Iterator[Record | None]
    count: int = 1
    rounds: list[float] = field(default_factory=list)

    def seconds(self, count: int) -> float:
        start = perf_counter()
        for _ in range(count):
            next(self.loop)
        return perf_counter() - start


def contender(name: str, data: Dataset) -> Contender:
    settings = ["data.size=64", f"data.grid={json.dumps(GRID)}", *VARIANTS[name]]
    experiment = from_command_line(BASE, settings)
    return Contender(name, steps(new_state(experiment, CPU), experiment, data, "fp32"))


def measure(rounds: int, turn: float) -> list[Contender]:
    """Interleaved rounds, each begun by another contender; milliseconds per step."""
    keep_freed_memory()
    data = build_data(from_command_line(BASE, [f"data.grid={json.dumps(GRID)}"]).data)
    contenders = [contender(name, data) for name in VARIANTS]
    for one in contenders:
        one.seconds(2)
        one.count = max(1, round(turn * 2 / one.seconds(2)))
    for turn_number in range(rounds):
        first = turn_number % len(contenders)
        for one in contenders[first:] + contenders[:first]:
            one.rounds.append(1e3 * one.seconds(one.count) / one.count)
    return contenders


def report(contenders: Sequence[Contender], rounds: int) -> dict[str, Any]:
    """Medians over the rounds of the ratio to the base in the same round, and its extremes."""
    base = next(one for one in contenders if one.name == BASE)
    found: dict[str, dict[str, Any]] = {}
    for one in contenders:
        ratios = [own / plain for own, plain in zip(one.rounds, base.rounds, strict=True)]
        found[one.name] = {
            "milliseconds": median(one.rounds),
            "ratio": median(ratios),
            "range": [min(ratios), max(ratios)],
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
    print(f"torch {found['torch']}, {found['threads']} threads, float32, conv 64x64, batch 64; ",
          f"medians of {found['rounds']} rounds", sep="")  # fmt: skip
    for name, row in found["objectives"].items():
        low, high = row["range"]
        limit = "" if name in UNBOUND else f"  of {found['bound']}"
        print(f"{name:<30}{row['milliseconds']:8.1f} ms  {row['ratio']:5.2f}{limit:<9}"
              f"({low:.2f} to {high:.2f})")  # fmt: skip
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
