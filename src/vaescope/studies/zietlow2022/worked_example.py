"""The worked example of zietlow2022, section 3.2.4: how a budget of precision is spent, computed.

Two misprints are kept apart from what is meant. With sum_j -log sigma_j^2 = C the product
sigma_x sigma_y is exp(-C/2), so the bounds are 24.5 exp(-C/2) and 52.4 exp(-C/2) where eq. 3.21 and
3.22 print exp(-C); and "a^2 = 50 sigma_x" stands for 50 sigma_x^2.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from vaescope.seeds import rng
from vaescope.studies.claims import Claim, identities
from vaescope.studies.effects import Level
from vaescope.studies.panels import Dots
from vaescope.studies.study import Computed, Measured, Scale, Study, cells
from vaescope.types import Matrix

__all__ = ["STUDY", "compute"]


M1 = np.array([[4.0, 1.0], [-3.0, 1.0], [5.0, -1.0]])  # eq. 3.20
#: Draws with which an expectation is checked.
DRAWS = 100_000


def _turned(m: Matrix, angle: float) -> Matrix:
    """M R', R the rotation of the latent space by an angle."""
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.asarray(m @ np.array([[cosine, -sine], [sine, cosine]]).T)


def _spent(m: Matrix, budget: float) -> Matrix:
    """The variances with -log sigma_x^2 - log sigma_y^2 = budget at which E ||M eps||^2 is least,
    found by search along the ratio that the budget leaves free."""
    norms = np.square(m).sum(axis=0)

    def variances(t: float) -> Matrix:
        return np.exp(np.array([t, -t]) - budget / 2.0)

    found = minimize_scalar(lambda t: float(norms @ variances(t)), options={"xtol": 1e-10})
    return variances(float(found.x))


def _least(m: Matrix, budget: float) -> float:
    return float(np.square(m).sum(axis=0) @ _spent(m, budget))


def _columns_cosine(m: Matrix) -> float:
    return float(m[:, 0] @ m[:, 1] / np.prod(np.linalg.norm(m, axis=0)))


def compute(columns: Mapping[str, Any]) -> Measured:
    """The example at a budget drawn by the seed; `miss` is relative to the number printed."""
    draw = rng(int(columns["seed"]), "worked-example")
    budget = float(draw.uniform(1.0, 6.0))
    m2 = _turned(M1, np.pi / 4.0)
    spent, first, second = _spent(M1, budget), _least(M1, budget), _least(m2, budget)
    noise = draw.standard_normal((DRAWS, 2)) * np.sqrt(spent)
    simulated = float(np.square(noise @ M1.T).sum(axis=1).mean())
    best = minimize_scalar(
        lambda angle: _least(_turned(M1, angle), budget),
        bounds=(-np.pi / 4.0, np.pi / 4.0), method="bounded", options={"xatol": 1e-9},
    )  # fmt: skip
    singular = np.linalg.svd(M1, compute_uv=False)
    scale = np.exp(-budget / 2.0)
    return {
        "budget": budget,
        "bound": first / scale,
        "bound_turned": second / scale,
        "bound_best": float(best.fun) / scale,
        "miss_bound": abs(first / (24.5 * scale) - 1.0),
        "miss_bound_turned": abs(second / (52.4 * scale) - 1.0),
        "miss_as_printed": abs(first / (24.5 * np.exp(-budget)) - 1.0),
        "miss_simulated": abs(simulated / first - 1.0),
        "miss_ratio": abs(spent[0] / spent[1] / (3.0 / 50.0) - 1.0),
        "turned_over_straight": second / first,
        "miss_volume": abs(float(best.fun) / (2.0 * float(np.prod(singular)) * scale) - 1.0),
        "best_cosine": abs(_columns_cosine(_turned(M1, float(best.x)))),
        "cosine": abs(_columns_cosine(M1)),
        "above_best": first / float(best.fun) - 1.0,
    }


def _work(scale: Scale) -> Computed:
    return Computed(
        "zietlow2022-worked-example",
        cells({"seed": seed} for seed in range(2 if scale == "smoke" else 12)),
        compute,
    )


STUDY = Study(
    "zietlow2022/worked-example",
    "A budget of precision: two linear decoders that differ by a rotation",
    _work,
    identities(
        Claim(
            "With x = (4, -3, 5) and y = (1, 1, -1) as columns the least loss is "
            "24.5 exp(-C/2).",
            "zietlow2022 eq. 3.21", Level("miss_bound"), "below", 0.005, "24.5 (eq. 3.21)",
        ),
        Claim(
            "Turned by 45 degrees the least loss is 52.4 exp(-C/2).",
            "zietlow2022 eq. 3.22", Level("miss_bound_turned"), "below", 0.005, "52.4 (eq. 3.22)",
        ),
        Claim(
            "The minimum is more than twice as high after the rotation.",
            "zietlow2022 section 3.2.4", Level("turned_over_straight"), "above", 2.0,
            "more than twice",
        ),
        Claim(
            "The least loss is reached at sigma_x^2 / sigma_y^2 = 3/50: the influential variable "
            "gets the precision.",
            "zietlow2022 eq. 3.21", Level("miss_ratio"), "below", 0.005, "3/50",
        ),
        Claim(
            "The expectation by simulation agrees with squared column norms times variances.",
            "zietlow2022 section 3.2.4", Level("miss_simulated"), "below", 0.01,
        ),
        Claim(
            "The least loss over all rotations is the volume, the product of singular values.",
            "zietlow2022 eq. 3.24", Level("miss_volume"), "below", 0.001, "the bound is tight",
        ),
        Claim(
            "At the best rotation the columns are orthogonal.",
            "zietlow2022 section 3.2.4", Level("best_cosine"), "below", 0.001,
            "w1 and w2 are orthogonal",
        ),
    ),
    (
        Dots("Least loss times exp(C/2), as given", "bound", "seed"),
        Dots("... turned by 45 degrees", "bound_turned", "seed"),
        Dots("... at the best rotation", "bound_best", "seed"),
    ),
    ("zietlow2022 Fig 2.4, 3.1-3.3, 4.1-4.2",),
    "Computed, not trained: the budget C is drawn by the seed from 1 to 6, the variances and the "
    "best rotation are found by search, and an expectation is checked with 100,000 draws. The "
    "thesis prints exp(-C) where the constraint gives exp(-C/2) (eq. 3.21 and 3.22), a^2 = 50 "
    "sigma_x for 50 sigma_x^2, and in figure 3.2 a volume |w1||w2| cos(alpha), which is |w1||w2| "
    "sin(alpha) with alpha the angle between the two. Its first decoder, the better one, is not "
    "optimal either: its columns have a cosine of -0.33, and the best rotation has 23.15 instead "
    "of 24.49, 5.8% less.",
    "The exponent of eq. 3.21 is a misprint: the least loss is 24.5 exp(-C/2) to 0.02%, and "
    "exp(-C), as printed, misses it by the factor exp(C/2), more than 1.9 in every seed. Nothing "
    "in the thesis' argument rests on the exponent, which both decoders share.",
)  # fmt: skip
