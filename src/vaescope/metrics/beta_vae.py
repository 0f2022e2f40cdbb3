"""beta-VAE's score. Higgins et al. 2017, https://openreview.net/forum?id=Sy2fzU9gl, section 3."""

import numpy as np

from vaescope.codes import Codes
from vaescope.estimates import bootstrap_interval
from vaescope.metrics.interventions import Groups, groups
from vaescope.metrics.logistic import one_against_rest, standardised_multinomial
from vaescope.metrics.rows import Representation, labelled
from vaescope.metrics.score import Protocol, Score
from vaescope.metrics.table import RESAMPLES
from vaescope.seeds import rng
from vaescope.types import Double, Long

__all__ = ["beta_vae"]


def beta_vae(
    codes: Codes,
    *,
    batch: int = 64,
    votes: int = 10_000,
    test_votes: int = 5_000,
    standardised: bool = True,
    on: Representation = "mean",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Score:
    """How well a linear classifier recognises the factor that pairs of rows have in common.

    A point: the mean over a batch of pairs of |z - z'|, where both rows of a pair share one value
    of a random factor. The score is the accuracy on `test_votes` new points. A linear mixture of
    the factors can score one: near one it says little. `standardised` divides the points by their
    spread; disentanglement_lib does not, and classifies one factor against the rest.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        batch: number of rows behind a vote.
        votes: number of votes for training.
        test_votes: number of votes for testing.
        standardised: whether codes are divided by their standard deviation first.
        on: `mean` or `sample`: the representation that is scored.
        resamples: bootstrap resamples behind the interval.
        seed: seed of all random draws.

    Returns:
        A `Score`: `value`, `interval`, `chance`, `protocol`, `details` (the arrays behind it).

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> round(vs.metrics.beta_vae(codes, votes=500, test_votes=200).value, 2)
        1.0
    """
    seen = labelled(codes, "beta_vae", on=on, factors=2)
    pairs = groups(seen, "beta_vae")
    stream = rng(seed, "beta-vae")
    x, y = _points(seen.z, pairs, votes, batch, stream)
    x_test, y_test = _points(seen.z, pairs, test_votes, batch, stream)
    fit = standardised_multinomial if standardised else one_against_rest
    model = fit(x, y, seed=seed)
    right = np.asarray(model.predict(x_test) == y_test)
    value = float(right.mean())
    spread = None
    if resamples:  # a resample of points has a binomial number of right ones
        draws = rng(seed, "beta-vae-bootstrap").binomial(len(right), value, size=resamples)
        spread = bootstrap_interval(value, draws / len(right), least=0.0, most=1.0)
    per_factor = np.array(
        [right[y_test == k].mean() if np.any(y_test == k) else 0.0 for k in range(len(seen.names))]
    )
    settings = {
        "estimator": model.name, "batch": batch, "votes": votes, "test_votes": test_votes,
        "drawn_from": pairs.source, "seed": seed, "factors": list(seen.names),
    }  # fmt: skip
    protocol = Protocol("default", seen.n, settings, on, codes.supervised)
    return Score(value, protocol, {"accuracy": per_factor}, spread)


def _points(
    z: Double, pairs: Groups, votes: int, batch: int, rng: np.random.Generator
) -> tuple[Double, Long]:
    points, factors = [], []
    for factor, first, second in pairs.pairs(votes, batch, rng):
        columns = [np.abs(column[first] - column[second]).mean(axis=1) for column in z.T]
        points.append(np.stack(columns, axis=1))
        factors.append(factor)
    return np.concatenate(points), np.concatenate(factors)
