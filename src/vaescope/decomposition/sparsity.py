"""Sparsity of the codes. Hoyer's measure as in mathieu2019,
https://arxiv.org/abs/1812.02833, section 6.3 and appendix B."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.latents.moments import chunks, moments
from vaescope.notebook_card import card_of

__all__ = ["Sparsity", "hoyer"]


@dataclass(frozen=True)
class Sparsity:
    """Mean Hoyer sparsity over n codes; `latents` counts the latents that vary."""

    hoyer: float  # 0 dense, 1 sparse
    latents: int
    n: int

    def summary(self) -> str:
        """One line, e.g. `Hoyer 0.23 in 50 latents (dense Gaussian: 0.23), n = 10,000`."""
        d = self.latents
        dense = (np.sqrt(d) - np.sqrt(2 * d / np.pi)) / (np.sqrt(d) - 1)
        return (
            f"Hoyer {self.hoyer:.3g} in {d} latents (a dense Gaussian code has about {dense:.2g}), "
            f"n = {self.n:,}"
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    _repr_html_ = card_of


def hoyer(codes: Codes) -> Sparsity:
    """(sqrt d - |y|_1 / |y|_2) / (sqrt d - 1), mean over the posterior means y.

    Each latent is divided by its standard deviation over the data, as in the paper's code but not
    in its text: otherwise collapsed latents would look sparse. Constant latents are left out for
    the same reason. 1 if a single latent is on, 0 if all are equally large; a dense Gaussian code
    in 50 latents has 0.23, not 0. A code of zeros has no direction and is left out.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.

    Returns:
        `Sparsity`: mean Hoyer sparsity over n codes; `latents` counts the latents that vary.

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> round(vs.decomposition.hoyer(codes).hoyer, 2)
        0.27
    """
    spread = moments(codes.mean).variance
    varies = (spread > 0) & np.any(codes.mean != codes.mean[0], axis=0)
    d = int(varies.sum())
    if d < 2:
        raise ShapeError(
            f"Hoyer sparsity compares latents; {d} of {codes.d} vary over the data.",
            "Use codes with at least two latents that vary.",
        )
    total, counted = 0.0, 0
    for rows in chunks(codes.n):
        scaled = codes.mean[rows][:, varies].astype(np.float64) / np.sqrt(spread[varies])
        length = np.sqrt(np.square(scaled).sum(axis=1))
        on = length > 0
        ratio = np.abs(scaled[on]).sum(axis=1) / length[on]
        total += float((np.sqrt(d) - ratio).sum())
        counted += int(on.sum())
    return Sparsity(float(total / counted / (np.sqrt(d) - 1.0)), d, counted)
