"""Points of a linear VAE with summed squared error, from its closed form: a latent with eigenvalue
lambda has posterior variance beta / (2 lambda) and adds beta / 2 to the distortion; where that is
above lambda it is passive and adds lambda. zietlow2022; Lucas et al. 2019."""

from collections.abc import Sequence
from typing import Any

from vaescope.tuning.curve import CurvePoint
from vaescope.tuning.plan import Range, next_run

__all__ = ["linear_point", "planned"]


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
    }  # fmt: skip
    return CurvePoint(**(point | facts))


def planned(
    eigenvalues: Sequence[float],
    latent: int,
    where: Range,
    *,
    given: int | None = None,
    factors: int | None = None,
) -> list[CurvePoint]:
    """The curve that the plan asks for, in order of beta."""
    curve: list[CurvePoint] = []
    while plan := next_run(curve, where, given=given, factors=factors):
        assert plan.beta not in [point.beta for point in curve], "nothing is run twice"
        assert plan.start is None or plan.start < plan.beta, "runs go upwards"
        curve.append(linear_point(plan.beta, eigenvalues, latent, start=plan.start))
        curve.sort(key=lambda point: point.beta)
        assert len(curve) < 60
    return curve
