"""FactorVAE's score. Kim and Mnih 2018, https://arxiv.org/abs/1802.05983, section 4."""

import numpy as np

from vaescope.codes import Codes
from vaescope.estimates import bootstrap_interval
from vaescope.metrics.interventions import Groups, groups
from vaescope.metrics.rows import Representation, labelled
from vaescope.metrics.score import Protocol, Score
from vaescope.metrics.table import RESAMPLES
from vaescope.seeds import rng
from vaescope.types import Double, Long

__all__ = ["factor_vae"]


def factor_vae(
    codes: Codes,
    *,
    batch: int = 64,
    votes: int = 10_000,
    test_votes: int = 5_000,
    least_deviation: float = 0.05,
    on: Representation = "mean",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Score:
    """How often the latent that varies least identifies the factor that was held fixed.

    A vote: a batch of rows that share one value of a random factor; the latent of least variance
    relative to its variance over all rows. Each latent is assigned its most frequent factor from
    `votes`, and the score is the share of `test_votes` that agree; without test votes, of the same
    votes, which is optimistic. Latents with a standard deviation below `least_deviation` are left
    out, as in disentanglement_lib. The chance level is one over the number of factors.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        batch: number of rows behind a vote.
        votes: number of votes for training.
        test_votes: number of votes for testing.
        least_deviation: latents with a smaller standard deviation are left out.
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
        >>> round(vs.metrics.factor_vae(codes, votes=500, test_votes=200).value, 2)
        1.0
    """
    seen = labelled(codes, "factor_vae", on=on, factors=2)
    batches = groups(seen, "factor_vae")
    variance = seen.z.var(axis=0, ddof=1) if seen.n > 1 else np.zeros(codes.d)
    used = np.flatnonzero((np.sqrt(variance) >= least_deviation) & (variance > 0))
    names = list(seen.names)
    settings = {
        "estimator": "majority vote", "batch": batch, "votes": votes, "test_votes": test_votes,
        "least_deviation": least_deviation, "drawn_from": batches.source, "seed": seed,
        "factors": names, "latents": used.tolist(),
    }  # fmt: skip
    protocol = Protocol("default", seen.n, settings, on, codes.supervised)
    if not len(used):  # nothing to vote for: dlib's 0
        return Score(0.0, protocol, {"votes": np.zeros((len(names), codes.d), dtype=np.int64)})
    z = seen.z[:, used] / np.sqrt(variance[used])
    stream = rng(seed, "factor-vae")
    table = _votes(z, batches, votes, batch, stream)
    judged = _votes(z, batches, test_votes, batch, stream) if test_votes else table
    right = int(judged[table.argmax(axis=0), np.arange(len(used))].sum())
    total = int(judged.sum())
    full = np.zeros((len(names), codes.d), dtype=np.int64)
    full[:, used] = table
    spread = None
    if resamples:  # a resample of votes has a binomial number of right ones
        draws = rng(seed, "factor-vae-bootstrap").binomial(total, right / total, size=resamples)
        spread = bootstrap_interval(right / total, draws / total, least=0.0, most=1.0)
    return Score(right / total, protocol, {"votes": full}, spread)


def _votes(z: Double, batches: Groups, votes: int, batch: int, rng: np.random.Generator) -> Long:
    """How often each latent varied least for each factor: (factor, latent)."""
    k, d = batches.factors.shape[1], z.shape[1]
    table = np.zeros(k * d, dtype=np.int64)
    for factor, rows in batches.batches(votes, batch, rng):
        spread = np.stack([column[rows].var(axis=1) for column in z.T], axis=1)  # (votes, latent)
        table += np.bincount(factor * d + spread.argmin(axis=1), minlength=k * d)
    return table.reshape(k, d)
