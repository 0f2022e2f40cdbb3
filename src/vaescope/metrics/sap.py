"""Separated attribute predictability. Kumar et al. 2018, https://arxiv.org/abs/1711.00848."""

import numpy as np

from vaescope.codes import Codes
from vaescope.metrics.rows import Representation, split
from vaescope.metrics.score import Protocol, Score
from vaescope.metrics.svm import fit_lines
from vaescope.types import Double, Floats

__all__ = ["sap", "top_two"]


def top_two(scores: Floats) -> Double:
    """Largest less second largest over the latents, of (..., latent, factor): (..., factor)."""
    ranked = np.sort(scores, axis=-2)
    return np.asarray(ranked[..., -1, :] - ranked[..., -2, :], dtype=np.float64)


def sap(
    codes: Codes,
    *,
    standardised: bool = True,
    cost: float = 0.01,
    on: Representation = "mean",
    train: int | None = None,
    test: int | None = None,
    seed: int = 0,
) -> Score:
    """How much better the best single latent predicts a factor than the second best.

    Mean over factors of the gap between the two best test accuracies of linear support vector
    machines, each on one latent, with balanced classes. A line separates at most the outer classes
    of an ordered factor, so the score is small even for good codes: 0.05 is usual. The codes are
    standardised; disentanglement_lib's are not (`standardised=False`), and at its cost of 0.01
    latents of small variance then cannot be used. The machines are solved exactly.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        standardised: whether codes are divided by their standard deviation first.
        cost: cost of the linear classifier.
        on: `mean` or `sample`: the representation that is scored.
        train: number of training rows of the classifiers; None takes the protocol's.
        test: number of test rows; None takes the protocol's.
        seed: seed of all random draws.

    Returns:
        A `Score`: `value`, `interval`, `chance`, `protocol`, `details` (the arrays behind it).

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> round(vs.metrics.sap(codes).value, 2)
        0.35
    """
    rows = split(codes, "sap", on=on, train=train, test=test, seed=seed, latents=2)
    z, z_test = rows.train.z, rows.test.z
    if standardised:
        scale = z.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        z_test, z = (z_test - z.mean(axis=0)) / scale, (z - z.mean(axis=0)) / scale
    accuracy = np.array(
        [
            [
                np.mean(fit_lines(column, y, cost=cost).predict(column_test) == y_test)
                for y, y_test in zip(rows.train.factors.T, rows.test.factors.T, strict=True)
            ]
            for column, column_test in zip(z.T, z_test.T, strict=True)
        ]
    )
    gaps = top_two(accuracy)
    settings = {
        "estimator": f"linear support vector machine, cost {cost:g}, balanced",
        "standardised": standardised, "train": rows.train.n, "test": rows.test.n, "seed": seed,
        "factors": list(rows.train.names),
    }  # fmt: skip
    protocol = Protocol("default", rows.n, settings, on, codes.supervised)
    return Score(float(gaps.mean()), protocol, {"accuracy": accuracy, "gaps": gaps})
