"""Points of a linear VAE with summed squared error, from its closed form: a latent with eigenvalue
lambda has posterior variance beta / (2 lambda) and adds beta / 2 to the distortion; where that is
above lambda it is passive and adds lambda. zietlow2022; Lucas et al. 2019.

Its codes are N(0, I) altogether, so that their information about Gaussian data is half the sum of
-log posterior variances, and of n data points n times the product of the standard deviations share
a code, but at least one."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from vaescope.tuning.curve import CurvePoint
from vaescope.tuning.plan import Next, Range, next_overlap_run, next_run

__all__ = ["ROWS", "linear_point", "planned", "planned_by_overlap"]

#: Data points among which codes are shared.
ROWS = 2_000


def linear_point(
    beta: float, eigenvalues: Sequence[float], latent: int, **facts: Any
) -> CurvePoint:
    values = sorted(eigenvalues, reverse=True)
    kept = [*values[:latent], *[0.0] * (latent - len(values))]
    variance = tuple(min(1.0, beta / (2.0 * one)) if one else 1.0 for one in kept)
    lost = sum(values[latent:])
    used = sum(one < 0.9 for one in variance)
    point: dict[str, Any] = {
        "beta": beta, "mean_variance": variance, "active": used,
        "mixed": sum(0.1 < one < 0.9 for one in variance),
        "distortion": lost + sum(min(beta / 2.0, one) for one in kept), "distortion_error": 1e-6,
        "dto": 0.5 / beta if used > 1 else None, "steps": 100, "settled": True, "start": None,
        "effective_number": max(1.0, ROWS * math.sqrt(math.prod(variance))), "rows": ROWS,
        "drift": 0.0,
    }  # fmt: skip
    return CurvePoint(**(point | facts))


def _made(
    eigenvalues: Sequence[float], latent: int, plan: Callable[[list[CurvePoint]], Next | None]
) -> list[CurvePoint]:
    curve: list[CurvePoint] = []
    while following := plan(curve):
        assert following.beta not in [point.beta for point in curve], "nothing is run twice"
        assert following.start is None or following.start < following.beta, "runs go upwards"
        curve.append(linear_point(following.beta, eigenvalues, latent, start=following.start))
        curve.sort(key=lambda point: point.beta)
        assert len(curve) < 60
    return curve


def planned(
    eigenvalues: Sequence[float],
    latent: int,
    where: Range,
    *,
    given: int | None = None,
    factors: int | None = None,
) -> list[CurvePoint]:
    """The curve that the plan asks for, in order of beta."""
    return _made(
        eigenvalues, latent, lambda curve: next_run(curve, where, given=given, factors=factors)
    )


def planned_by_overlap(
    eigenvalues: Sequence[float], latent: int, where: Range, *, share: float | None = None
) -> list[CurvePoint]:
    """The same where overlap is looked for."""
    return _made(eigenvalues, latent, lambda curve: next_overlap_run(curve, where, share=share))
