"""Jacobians and assignments against their alternatives: python benchmarks/geometry.py [--json].

Ratios are times of the alternative over ours, medians of interleaved rounds in this run: above 1,
ours is faster. Ours is timed on a thousand points per round, vmap(jacfwd) on a quarter of them in
chunks of 200 and of 12, of which the faster counts, and reverse mode on two.
"""

import argparse
import json
import resource
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.stats import ortho_group
from torch import Tensor
from torch.func import jacfwd, vmap

from vaescope.geometry import jacobians, nearest_signed_permutation
from vaescope.nets import BernoulliLikelihood, conv_pair
from vaescope.vae import Decoder

POINTS, LATENT, ROUNDS = 1000, 10, 7
REVERSE = 2  # points per round: 14 in all
MATRICES = 20

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Figures:
    """Medians of this run, seconds per thousand points, and ratios to ours."""

    jacobian_over_reverse: float
    jacobian_over_jacfwd: float
    assignment_over_milp: float
    jacobian_seconds: float
    jacfwd_seconds: float
    reverse_seconds: float
    assignment_microseconds: float
    milp_microseconds: float
    peak_megabytes: float  # of the first call for a thousand points, above what imports take
    threads: int
    points: int


def timed(function: Callable[[], Any]) -> float:
    start = perf_counter()
    function()
    return perf_counter() - start


def thesis_milp(v: Matrix) -> float:
    """zietlow2022 eq. (3.29): binary P+ and P-, continuous D >= |V - P|."""
    d = len(v)
    size = d * d
    eye = np.eye(size)
    rows, columns = np.kron(np.eye(d), np.ones(d)), np.kron(np.ones(d), np.eye(d))
    nothing = np.zeros((d, size))
    solved = milp(
        np.r_[np.zeros(2 * size), np.ones(size)],
        constraints=[
            LinearConstraint(np.hstack([eye, -eye, -eye]), ub=v.ravel()),
            LinearConstraint(np.hstack([-eye, eye, -eye]), ub=-v.ravel()),
            LinearConstraint(np.hstack([rows, rows, nothing]), 1.0, 1.0),
            LinearConstraint(np.hstack([columns, columns, nothing]), 1.0, 1.0),
        ],
        integrality=np.r_[np.ones(2 * size), np.zeros(size)],
        bounds=Bounds(0.0, np.r_[np.ones(2 * size), np.full(size, np.inf)]),
    )
    return float(solved.fun)


def reverse_mode(decoder: Decoder, z: Tensor) -> None:
    """torch.autograd.functional.jacobian, one point after another."""
    for one in z:
        torch.autograd.functional.jacobian(lambda z: decoder.body(z[None])[0].flatten(), one)  # type: ignore[no-untyped-call]


def measure(points: int, rounds: int) -> Figures:
    torch.manual_seed(0)
    decoder = Decoder(conv_pair((1, 64, 64), LATENT).decoder, BernoulliLikelihood()).eval()
    z = torch.randn(points, LATENT)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    jacobians(decoder, z, space="logit")
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024

    def column(z: Tensor) -> Tensor:
        out: Tensor = decoder.body(z[None])[0]
        return out.flatten()

    def forward(chunk: int) -> None:
        with torch.no_grad():
            vmap(jacfwd(column), chunk_size=chunk)(z[:quarter])

    quarter = max(1, points // 4)
    own, back = [], []
    whole, chunked = [], []  # vmap(jacfwd) with as many points as memory allows, or as ours takes
    for number in range(rounds):
        few = z[REVERSE * number : REVERSE * (number + 1)]
        own.append(timed(lambda: jacobians(decoder, z, space="logit")))
        whole.append(timed(lambda: forward(200)))
        chunked.append(timed(lambda: forward(12)))
        back.append(timed(partial(reverse_mode, decoder, few)))
    matrices = ortho_group.rvs(LATENT, size=MATRICES, random_state=0)
    assignment, program = [], []
    for _ in range(rounds):
        assignment.append(timed(lambda: [nearest_signed_permutation(v) for v in matrices]))
        program.append(timed(lambda: [thesis_milp(v) for v in matrices]))
    scale = 1000 / points
    reverse = median(back) * 1000 / REVERSE
    jacfwd_seconds = min(median(whole), median(chunked)) * 1000 / quarter
    return Figures(
        reverse / (median(own) * scale),
        jacfwd_seconds / (median(own) * scale),
        median(program) / median(assignment),
        median(own) * scale,
        jacfwd_seconds,
        reverse,
        median(assignment) / MATRICES * 1e6,
        median(program) / MATRICES * 1e6,
        peak,
        torch.get_num_threads(),
        points,
    )


def main() -> None:
    """Print the figures as text, or as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--points", type=int, default=POINTS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    figures = measure(arguments.points, arguments.rounds)
    if arguments.json:
        print(json.dumps(asdict(figures)))
        return
    print(
        f"1,000 Jacobians of the 64 x 64 decoder: {figures.jacobian_seconds:.2f} s, "
        f"{figures.jacobian_over_jacfwd:.2f} times as fast as vmap(jacfwd), "
        f"{figures.jacobian_over_reverse:.0f} times as reverse mode; "
        f"{figures.peak_megabytes:.0f} MB, {figures.threads} threads"
    )
    print(
        f"nearest signed permutation, d = 10: {figures.assignment_microseconds:.0f} us, "
        f"{figures.assignment_over_milp:.0f} times as fast as the mixed-integer program"
    )


if __name__ == "__main__":
    main()
