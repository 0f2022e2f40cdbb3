"""Functions without a closed form in torch, by cubic Hermite interpolation in a table."""

from torch import Tensor

__all__ = ["hermite"]


def hermite(knots: Tensor, place: Tensor) -> Tensor:
    """The function at `place`, counted in steps of the table from 0; past its end, the last value.

    `knots` are the values and the slopes per step: (2, steps + 1).
    """
    steps = knots.shape[1] - 1
    place = place.clamp(max=steps)
    left = place.floor().clamp(max=steps - 1)
    index, t = left.long(), place - left
    (value, slope), (next_value, next_slope) = knots[:, index], knots[:, index + 1]
    height: Tensor = (
        (1.0 + 2.0 * t) * (1.0 - t) ** 2 * value
        + t * (1.0 - t) ** 2 * slope
        + t**2 * (3.0 - 2.0 * t) * next_value
        - t**2 * (1.0 - t) * next_slope
    )
    return height
