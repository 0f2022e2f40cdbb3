"""Leading principal axes of many rows, without the whole spectrum."""

import numpy as np

from vaescope.errors import UsageError
from vaescope.types import Double, Floats

__all__ = ["leading_axes"]

#: From this size on the whole spectrum costs more than the iteration for its leading part.
_DENSE = 256


def leading_axes(x: Floats, k: int) -> tuple[Double, Double]:
    """The `k` greatest eigenvalues of x'x / n, descending, and their axes as columns.

    Rows are taken as they are: centre them first for principal components. Axes have a free sign.
    """
    n, size = x.shape
    if not 1 <= k <= min(n, size):
        raise UsageError(
            f"{n} rows of {size} values have at most {min(n, size)} principal axes; {k} are "
            f"needed.",
            "Lower latent, or give more rows.",
        )
    rows = x.astype(np.float64)
    if min(n, size) <= _DENSE or k == min(n, size):
        _, s, axes = np.linalg.svd(rows, full_matrices=False)
    else:
        from scipy.sparse.linalg import svds  # a quarter of a second, which few commands need

        # A fixed start makes the iteration a function of its arguments.
        start = np.random.default_rng(0).normal(size=min(n, size))
        _, s, axes = svds(rows, k=k, v0=start)
        s, axes = s[::-1], axes[::-1]  # it counts upwards
    return s[:k] ** 2 / n, axes[:k].T.copy()
