"""What passive latents do to linear models: condition number and spread of coefficients.

bonheme2023, section 6: near-zero, correlated latents are best removed before models that mind.
Bonheme and Grzes, Be More Active!, https://arxiv.org/abs/2109.12679.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.estimates import bootstrap
from vaescope.latents.types import Types, types
from vaescope.metrics.rows import Representation, mean_or_sample, numbers
from vaescope.notebook_card import card_of
from vaescope.seeds import rng, subset
from vaescope.types import Floats, Long, Matrix

__all__ = ["Stability", "stability"]


ROWS = 10_000


@dataclass(frozen=True)
class Stability:
    """Stability of least-squares regression of standardised factors on standardised latents, in
    one representation.

    Condition numbers are of the latents' correlation matrix; spreads are the standard deviation of
    a coefficient over resamples, mean over factors and latents that are not passive.
    """

    condition_number: float  # condition number for all latents
    condition_number_without_passive: float  # condition number for used latents
    coefficient_spread: float  # spread of coefficients with all latents
    coefficient_spread_without_passive: float  # spread with used latents
    representation: str
    n: int
    resamples: int
    seed: int

    def summary(self) -> str:
        """One line, e.g. `condition number 966 with passive latents, 1.2 without; ...`."""
        return (
            f"{self.representation}: condition number {self.condition_number:.3g} with passive "
            f"latents, {self.condition_number_without_passive:.3g} without; coefficients vary by "
            f"{self.coefficient_spread:.2g} and {self.coefficient_spread_without_passive:.2g}, "
            f"n = {self.n:,}"
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    _repr_html_ = card_of


def _standard(values: Floats) -> Matrix:
    """Columns of mean 0 and variance 1; constant ones are left out."""
    varies = np.any(values != values[0], axis=0)
    centred = values[:, varies].astype(np.float64)
    centred -= centred.mean(axis=0)
    return np.asarray(centred / centred.std(axis=0))


def _condition(x: Matrix) -> float:
    """Largest over smallest eigenvalue of the correlation matrix, as far as float64 can tell."""
    eigenvalues = np.linalg.eigvalsh(x.T @ x / len(x))
    return float(eigenvalues[-1] / max(eigenvalues[0], len(eigenvalues) * np.finfo(float).eps))


def _coefficients(x: Matrix, y: Matrix) -> Matrix:
    return np.asarray(np.linalg.lstsq(x.T @ x, x.T @ y)[0])  # of a duplicate the shortest solution


def stability(
    codes: Codes,
    *,
    on: Representation = "mean",
    kinds: Types | None = None,
    resamples: int = 100,
    seed: int = 0,
) -> Stability:
    """How well conditioned linear models on these latents are, with and without the passive
    latents.

    Targets are the continuous sources if there are any, otherwise the classes as numbers. On at
    most 10,000 examples.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        on: `mean` or `sample`: the representation that is scored.
        kinds: types of the latents, if they are already known.
        resamples: bootstrap resamples behind the interval.
        seed: seed of all random draws.

    Returns:
        `Stability`: stability of least-squares regression of standardised factors on standardised
        latents.

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> stability = vs.latents.stability(codes, resamples=10)
        >>> stability.condition_number >= stability.condition_number_without_passive
        True
    """
    kinds = types(codes) if kinds is None else kinds
    stream = rng(seed, "stability")
    rows = subset(codes.n, ROWS, stream)
    z = mean_or_sample(codes, on)[rows]
    y = _standard(numbers(codes, "stability")[0][rows])
    kept = _standard(z[:, kinds.of("active", "mixed")])
    every = np.hstack([kept, _standard(z[:, kinds.passive])])
    if not kept.shape[1] or not y.shape[1]:
        raise ShapeError(
            f"Stability compares latents that are not passive with factors; {kept.shape[1]} of "
            f"those and {y.shape[1]} of these vary.",
            "Use a model whose posterior has not collapsed, and data with factors that vary.",
        )

    def both(drawn: Long) -> Matrix:
        target = y[drawn]
        with_passive = _coefficients(every[drawn], target)[: kept.shape[1]]
        return np.stack([with_passive, _coefficients(kept[drawn], target)])

    draws = bootstrap(both, len(rows), resamples=resamples, rng=stream)
    spread = draws.std(axis=0).mean(axis=(1, 2))
    return Stability(
        _condition(every),
        _condition(kept),
        float(spread[0]),
        float(spread[1]),
        on,
        len(rows),
        resamples,
        seed,
    )
