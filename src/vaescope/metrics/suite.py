"""All metrics of a set of codes at once, sharing what they have in common."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property

from vaescope.codes import Codes
from vaescope.errors import UsageError, VaescopeError
from vaescope.metrics.active_units import active_units
from vaescope.metrics.beta_vae import beta_vae
from vaescope.metrics.dci import DCI, dci
from vaescope.metrics.dci_es import dci_explicitness, dci_size
from vaescope.metrics.downstream import Readout, downstream_of, read_out
from vaescope.metrics.entropy_of_means import entropy_of_means
from vaescope.metrics.explicitness import explicitness, explicitness_of
from vaescope.metrics.factor_vae import factor_vae
from vaescope.metrics.infomec import InfoMEC, Pruning, infoe, infomec
from vaescope.metrics.intrinsic_dimension import id_mle, id_two_nn
from vaescope.metrics.irs import irs
from vaescope.metrics.knn_score import knn_score
from vaescope.metrics.logistic import cross_validated, standardised_multinomial
from vaescope.metrics.mcc import mcc
from vaescope.metrics.mig import mig_of
from vaescope.metrics.mig_sup import mig_sup_of
from vaescope.metrics.modularity import modularity_of
from vaescope.metrics.ordered_factors import monotonicity, smoothness
from vaescope.metrics.posterior_table import from_posteriors
from vaescope.metrics.protocols import Preset, preset
from vaescope.metrics.rows import Representation, sizes, split
from vaescope.metrics.sap import sap
from vaescope.metrics.sap_continuous import sap_continuous
from vaescope.metrics.score import Score
from vaescope.metrics.table import RESAMPLES, InformationTable, Tally, counted
from vaescope.metrics.validity import findings, validity_of

__all__ = ["METRICS", "STANDARD", "WITHOUT_FACTORS", "Metric", "known_metrics", "measure_metrics"]


@dataclass(frozen=True, eq=False)
class Work:
    """Codes in one representation under one protocol; what several metrics need is made once."""

    codes: Codes
    on: Representation
    protocol: Preset
    train: int | None
    test: int | None
    seed: int
    intervals: bool = True

    def resamples(self, usual: int = RESAMPLES) -> int:
        """For the interval of a metric that draws as many; none where nobody wants intervals."""
        return usual if self.intervals else 0

    @cached_property
    def of_factors(self) -> InformationTable:
        """Of MIG, which compares latents: these have the same bias."""
        if self.protocol.posterior_information:
            if self.on == "mean":
                raise UsageError(
                    "The protocol chen measures samples: means have no density.",
                    "Use --on sample, or use the protocol default or dlib.",
                )
            return from_posteriors(self.codes, "information", seed=self.seed)
        return self._tally.plug_in()

    @cached_property
    def of_latents(self) -> InformationTable:
        """Of MIG-sup and modularity, which compare factors of different sizes."""
        adjusted = self.protocol.adjusted_information
        return self._tally.adjusted() if adjusted else self._tally.plug_in()

    @cached_property
    def _tally(self) -> Tally:
        return counted(
            self.codes, "information", bins=self.protocol.bins, on=self.on,
            limit=self.protocol.points, seed=self.seed, resamples=self.resamples(),
        )  # fmt: skip

    @cached_property
    def dci(self) -> DCI:
        return dci(
            self.codes, engine=self.protocol.engine, on=self.on, train=self.train, test=self.test,
            seed=self.seed,
        )  # fmt: skip

    @cached_property
    def readout(self) -> Readout:
        rows = split(
            self.codes, "downstream", on=self.on, train=self.train, test=self.test, seed=self.seed
        )
        fit = cross_validated if self.protocol.folds else standardised_multinomial
        return read_out(rows, fit, seed=self.seed)

    @cached_property
    def infomec(self) -> InfoMEC:
        pruning: Pruning = "types" if self.protocol.typed_latents else "range"
        return infomec(self.codes, pruning=pruning, on=self.on, seed=self.seed)


@dataclass(frozen=True)
class Metric:
    """A metric by name: how it is computed, and which changes of the latents leave it the same.

    Permutation: the order of latents; sign: some z_j to -z_j; scale: each latent by a positive
    number of its own; rotation: z to z R. The same up to what a classifier's stopping rule, ties
    and values on the edge of a bin may change. With the number of rows and of factors its time
    grows at most linearly, with that of latents by the power `latents`.
    """

    compute: Callable[[Work], Score]
    permutation: bool = True
    sign: bool = True
    scale: bool = True
    rotation: bool = False
    factors: bool = True  # False: codes alone are enough
    latents: int = 1  # 2: a matrix of all pairs of weights


def _mig_sup(work: Work) -> Score:
    if work.protocol.posterior_information:  # over bhowal2024's active latents
        return mig_sup_of(work.of_factors, work.of_factors.informed)
    table = work.of_latents
    return mig_sup_of(table, table.informed if work.protocol.adjusted_information else None)


def _modularity(work: Work) -> Score:
    table = work.of_latents
    return modularity_of(table, table.informed if work.protocol.adjusted_information else None)


def _sap(work: Work) -> Score:
    return sap(
        work.codes, standardised=work.protocol.standardised_codes, on=work.on, train=work.train,
        test=work.test, seed=work.seed,
    )  # fmt: skip


def _beta_vae(work: Work) -> Score:
    protocol = work.protocol
    # Without votes to test with, those of its own definition.
    votes, test = (protocol.votes, protocol.test_votes) if protocol.test_votes else (10_000, 5_000)
    return beta_vae(
        work.codes, votes=votes, test_votes=test, standardised=protocol.standardised_codes,
        on=work.on, seed=work.seed,
    )  # fmt: skip


def _factor_vae(work: Work) -> Score:
    protocol = work.protocol
    return factor_vae(
        work.codes, batch=protocol.factor_vae_batch, votes=protocol.votes,
        test_votes=protocol.test_votes, least_deviation=protocol.least_deviation, on=work.on,
        seed=work.seed,
    )  # fmt: skip


def _explicitness(work: Work) -> Score:
    if work.protocol.rescaled_explicitness and not work.protocol.folds:
        return explicitness_of(work.readout, rescaled=True, resamples=work.resamples(100))
    return explicitness(
        work.codes, rescaled=work.protocol.rescaled_explicitness, on=work.on, train=work.train,
        test=work.test, seed=work.seed,
    )  # fmt: skip


def _irs(work: Work) -> Score:
    return irs(
        work.codes, factor_bins=work.protocol.factor_bins, on=work.on,
        limit=work.protocol.points, resamples=work.resamples(40), seed=work.seed,
    )  # fmt: skip


def _dci_explicitness(work: Work) -> Score:
    return dci_explicitness(work.codes, on=work.on, train=work.train, test=work.test,
                            seed=work.seed)  # fmt: skip


#: Interface name -> metric.
METRICS: Mapping[str, Metric] = {
    "mig": Metric(lambda work: mig_of(work.of_factors)),
    "mig_sup": Metric(_mig_sup),
    "dci_disentanglement": Metric(lambda work: work.dci.disentanglement),
    "dci_completeness": Metric(lambda work: work.dci.completeness),
    "dci_informativeness": Metric(lambda work: work.dci.informativeness),
    "sap": Metric(_sap),
    "sap_continuous": Metric(
        lambda work: sap_continuous(
            work.codes, on=work.on, limit=work.protocol.points, seed=work.seed,
            resamples=work.resamples(),
        )
    ),
    "beta_vae": Metric(_beta_vae, latents=2),
    "factor_vae": Metric(_factor_vae, scale=False),  # latents of small deviation are left out
    "modularity": Metric(_modularity),
    "explicitness": Metric(_explicitness, rotation=True, latents=2),
    "irs": Metric(_irs, scale=False),  # latents are weighted by their largest deviation
    "mcc": Metric(
        lambda work: mcc(
            work.codes, on=work.on, limit=work.protocol.points, seed=work.seed,
            resamples=work.resamples(),
        )
    ),
    "knn_score": Metric(
        lambda work: knn_score(
            work.codes, on=work.on, seed=work.seed, resamples=work.resamples()
        )
    ),
    "downstream": Metric(
        lambda work: downstream_of(work.readout), rotation=True, latents=2
    ),
    # With types for the pruning of InfoM and InfoC, a latent's scale says whether it is passive.
    "infom": Metric(lambda work: work.infomec.modularity, scale=False),
    "infoc": Metric(lambda work: work.infomec.compactness, scale=False),
    "infoe": Metric(
        lambda work: infoe(
            work.codes, on=work.on, seed=work.seed, resamples=work.resamples()
        ),
        rotation=True,
    ),
    "dci_explicitness": Metric(_dci_explicitness),
    "dci_size": Metric(lambda work: dci_size(work.codes, on=work.on), rotation=True),
    "monotonicity": Metric(lambda work: monotonicity(
            work.codes, on=work.on, seed=work.seed, resamples=work.resamples(100)
        )
    ),
    "smoothness": Metric(lambda work: smoothness(
            work.codes, on=work.on, seed=work.seed, resamples=work.resamples(100)
        )
    ),
    "active_units": Metric(
        lambda work: active_units(work.codes, on=work.on), scale=False, factors=False
    ),
    "entropy_of_means": Metric(
        lambda work: entropy_of_means(
            work.codes, on=work.on, seed=work.seed, resamples=work.resamples(100)
        ),
        scale=False, factors=False,
    ),
    "id_mle": Metric(
        lambda work: id_mle(work.codes, on=work.on, seed=work.seed),
        scale=False, rotation=True, factors=False,
    ),
    "id_two_nn": Metric(
        lambda work: id_two_nn(work.codes, on=work.on, seed=work.seed),
        scale=False, rotation=True, factors=False,
    ),
}  # fmt: skip
#: Those of a dissection, which waits for them: the fifteen of before 2023. `measure` has all.
STANDARD = tuple(METRICS)[:15]
#: Those that need no factors.
WITHOUT_FACTORS = tuple(name for name, metric in METRICS.items() if not metric.factors)


def known_metrics(names: Iterable[str]) -> tuple[str, ...]:
    """The names, all of them of metrics."""
    chosen = tuple(names)
    unknown = [name for name in chosen if name not in METRICS]
    if unknown:
        near = [match for name in unknown for match in get_close_matches(name, METRICS, n=1)]
        raise UsageError(
            f"There is no metric {', '.join(unknown)}; there are {', '.join(METRICS)}.",
            f"Did you mean {', '.join(near)}?" if near else "Use those, or all.",
        )
    return chosen


def measure_metrics(
    codes: Codes,
    *,
    metrics: Sequence[str] | None = None,
    on: Sequence[Representation] = ("mean", "sample"),
    protocol: str = "default",
    train: int | None = None,
    test: int | None = None,
    seed: int = 0,
) -> tuple[dict[Representation, dict[str, Score]], dict[str, str]]:
    """Scores by representation and name, and why the others are missing.

    Metrics that learn use the first `train` rows for training and the next `test` rows for testing;
    the others use all rows, or as many as the protocol allows. A metric that one representation
    allows and the other does not is listed as e.g. `mig on mean`.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        metrics: names of metrics; None takes all.
        on: representations that are scored.
        protocol: `default`, `dlib`, `chen` or `kim`.
        train: number of training rows of the classifiers; None takes the protocol's.
        test: number of test rows; None takes the protocol's.
        seed: seed of all random draws.

    Returns:
        Scores by representation and name, and why others were skipped.

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> scores, skipped = vs.metrics.measure_metrics(codes, metrics=["mig"], on=["mean"])
        >>> round(scores["mean"]["mig"].value, 2)
        0.96
    """
    chosen = known_metrics(METRICS if metrics is None else metrics)
    settings = preset(protocol)
    if train is not None or test is not None:
        sizes(codes.n, train, test)  # a wrong number is an error, not a reason to skip
    scores: dict[Representation, dict[str, Score]] = {}
    reasons: dict[str, dict[Representation, str]] = {}
    for representation in on:
        work = Work(codes, representation, settings, train, test, seed)
        scores[representation] = {}
        broken = findings(codes, on=representation, seed=seed)
        for name in chosen:
            try:
                score = METRICS[name].compute(work)
            except VaescopeError as error:
                reasons.setdefault(name, {})[representation] = str(error)
            else:
                validity = (*score.validity, *validity_of(name, broken))
                scores[representation][name] = replace(
                    score.named(settings.name), validity=validity
                )
    skipped = {}
    for name, found in reasons.items():
        if len(found) == len(on):
            skipped[name] = next(iter(found.values()))
        else:
            skipped.update({f"{name} on {where}": why for where, why in found.items()})
    return scores, skipped
