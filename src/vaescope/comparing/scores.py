"""Numbers of a whole model that codes give, and what they are on resampled images."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from vaescope.codes import Codes, cholesky
from vaescope.errors import VaescopeError
from vaescope.information.resampling import moment_replicates
from vaescope.latents import Types, total_correlation
from vaescope.metrics import Score, mcc, measure_metrics, sap_continuous
from vaescope.metrics.mig import mig_of
from vaescope.metrics.mig_sup import mig_sup_of
from vaescope.metrics.modularity import modularity_of
from vaescope.metrics.rows import numbers
from vaescope.metrics.sap import top_two
from vaescope.metrics.suite import known_metrics
from vaescope.metrics.table import RESAMPLES, InformationTable, Tally, counted
from vaescope.seeds import rng
from vaescope.types import Floats, Matrix, Vector

__all__ = ["QUICK", "ResampledNumber", "numbers_of", "wanted", "with_noise"]


@dataclass(frozen=True, eq=False)
class ResampledNumber:
    """A number and what it is on resampled images, the same ones for every model; None where that
    would mean to learn anew each time."""

    value: float
    replicates: Vector | None = None


#: Of the table of information between latents and factors.
INFORMATION: Mapping[
    str, tuple[Callable[[Tally], InformationTable], Callable[[InformationTable], Score]]
] = {
    "mig": (Tally.plug_in, mig_of),
    "mig_sup": (Tally.adjusted, lambda table: mig_sup_of(table, table.informed)),
    "modularity": (Tally.adjusted, lambda table: modularity_of(table, table.informed)),
}


def _assigned(correlation: Matrix) -> float:
    matrix = np.abs(correlation)
    return float(matrix[linear_sum_assignment(matrix, maximize=True)].sum() / matrix.shape[1])


#: Of the correlations (latent, factor): the metric, and the same of a matrix.
LINEAR: Mapping[str, tuple[Callable[[Codes], Score], Callable[[Matrix], float]]] = {
    "sap_continuous": (
        lambda codes: sap_continuous(codes, resamples=0),
        lambda r: float(top_two(np.square(r)).mean()),
    ),
    "mcc": (lambda codes: mcc(codes, resamples=0), _assigned),
}
COUNTS = ("active", "mixed", "passive")
#: Of the latents that are not passive.
DEPENDENCE: Mapping[str, Callable[[Codes], Floats]] = {
    "total_correlation_mean": lambda codes: codes.mean,
    "total_correlation_sample": lambda codes: codes.sample,
}
#: Metrics that learn nothing.
QUICK = (*INFORMATION, *LINEAR)


def wanted(metrics: Sequence[str] | None) -> tuple[str, ...]:
    """The metrics to compute, in their order: the quick ones, or those that were asked for."""
    return QUICK if metrics is None else known_metrics(metrics)


def numbers_of(
    codes: Codes, kinds: Types, metrics: Sequence[str], *, seed: int = 0
) -> tuple[dict[str, ResampledNumber], dict[str, str]]:
    """Numbers by name, and why some are missing. All metrics are on means."""
    found: dict[str, ResampledNumber] = {
        name: ResampledNumber(float(len(np.flatnonzero(np.array(kinds.names) == name))))
        for name in COUNTS
    }
    used = kinds.of("active", "mixed")
    for name, representation in DEPENDENCE.items():
        found[name] = _dependence(representation(codes)[:, used], seed)
    skipped: dict[str, str] = {}
    tally: Tally | None = None
    for name in metrics:
        try:
            if name in INFORMATION:
                tally = counted(codes, name, seed=seed) if tally is None else tally
                found[name] = _of_information(tally, *INFORMATION[name])
            elif name in LINEAR:
                found[name] = _of_correlations(codes, *LINEAR[name], seed)
        except VaescopeError as error:
            skipped[name] = str(error)
    learned = [name for name in metrics if name not in QUICK]
    scores, reasons = measure_metrics(codes, metrics=learned, on=("mean",), seed=seed)
    found |= {name: ResampledNumber(own.value) for name, own in scores["mean"].items()}
    return found, skipped | reasons


def _dependence(values: Floats, seed: int) -> ResampledNumber:
    """Total correlation, nats; fewer than two latents have none."""
    if values.shape[1] < 2:
        return ResampledNumber(0.0, np.zeros(RESAMPLES))
    stream = rng(seed, "compare-dependence")
    drawn = moment_replicates(values, resamples=RESAMPLES, rng=stream)
    value = total_correlation(np.cov(values.astype(np.float64), rowvar=False))
    return ResampledNumber(value, np.array([total_correlation(own) for own in drawn]))


def _of_information(
    tally: Tally,
    table_of: Callable[[Tally], InformationTable],
    metric: Callable[[InformationTable], Score],
) -> ResampledNumber:
    table = table_of(tally)
    value = metric(replace(table, replicates=None)).value
    if table.replicates is None:
        return ResampledNumber(value)
    # A factor that is constant on a resample must not drop out of its mean.
    least = np.where(table.varies, 1e-12, 0.0)
    tables = (
        replace(table, information=i, entropy=np.maximum(h, least), replicates=None)
        for i, h in zip(table.replicates.information, table.replicates.entropy_of_b, strict=True)
    )
    return ResampledNumber(value, np.array([metric(own).value for own in tables]))


def _of_correlations(
    codes: Codes, metric: Callable[[Codes], Score], of: Callable[[Matrix], float], seed: int
) -> ResampledNumber:
    value = metric(codes).value
    y = numbers(codes, "correlations")[0].astype(np.float64)
    y = y[:, np.ptp(y, axis=0) > 0]
    stream = rng(seed, "compare-correlations")
    both = np.hstack([codes.mean.astype(np.float64), y])
    drawn = moment_replicates(both, resamples=RESAMPLES, rng=stream)[:, : codes.d, codes.d :]
    return ResampledNumber(value, np.array([of(own) for own in drawn]))


def with_noise(codes: Codes, noise: Floats) -> Codes:
    """The codes with samples made of this noise, (n, d)."""
    if codes.covariance is None:
        sample = codes.mean + np.sqrt(codes.variance) * noise
    else:
        sample = codes.mean + np.einsum("nij,nj->ni", cholesky(codes.covariance), noise)
    return replace(codes, sample=sample.astype(codes.mean.dtype))
