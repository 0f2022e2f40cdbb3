"""No interval on any page ends where no value can lie."""

import numpy as np
import pytest
from tests.verdicts.pairs import Compared, compared

from vaescope.comparing.differences import of_numbers
from vaescope.comparing.intervals import Side
from vaescope.comparing.scores import ResampledNumber
from vaescope.estimates import interval_of_mean
from vaescope.measure_ranges import RANGES, range_of, range_of_difference
from vaescope.report.sweep_parts import curves_figure, means_table
from vaescope.statistics import mean_of
from vaescope.studies.catalogue import STUDIES
from vaescope.studies.panels import Curves, Dots
from vaescope.tables import Table

#: Measures in figures of studies that can have any size and sign, or are estimates that may err
#: beyond the range of what they estimate.
SIGNED = {
    "share_0.02", "share_0.1", "share_0.3",  # of a difference that may change its sign
    "bias", "diagonal_change", "distortion", "full_change", "gap", "gap_to_likelihood", "kl",
    "log_variance", "mmd", "rotation", "score", "score_by_rank", "share_random",
    "share_without_passive",
    # Differences, scores over chance, and ratios of shares that may be negative.
    "axes", "by_affine", "excess", "lag", "late_fall", "logistic_standard", "mean", "mean_passive",
    "mean_without_passive", "nearer", "neighbours_raw", "neighbours_standard", "ridge_raw",
    "sample_passive", "share_lot", "tree_raw",
    # Differences of errors, scores or nats, and slopes.
    "exponent", "kl_lead", "lead", "lemma_1", "lemma_7", "od_lead", "slope", "slope_of_means",
    "to_limit", "truth_to_limit",
    "loss_passive", "place_loss_passive", "source_loss_passive",
    # Of estimates of total correlation, which may err below 0, and of a likelihood.
    "tc_gap", "tc_gap_active", "tc_share_active", "tc_share_lot", "tc_share_without_passive",
    "likelihood", "rest",
    # Correlations, logarithms of ratios and differences of dependence.
    "correlations", "dependence", "log_ratio",
    # Shares of variance on other rows, which may be below 0.
    "explained", "irs_unseen", "colour", "orientation", "placed",
}  # fmt: skip

#: Values near an end of each measure's range, over three seeds.
EXTREMES = {
    "active": (0, 0, 3), "passive": (10, 10, 7), "mixed": (0, 0, 0), "mig": (0.0, 0.1, 0.9),
    "rate": (0.0, 0.0, 4.0), "geometry.dto": (0.01, 0.5, 0.0), "loss": (-5.0, 1.0, 9.0),
}  # fmt: skip


def _table() -> Table:
    betas, seeds = [1.0] * 3 + [4.0] * 3, [0, 1, 2] * 2
    settings = {
        "run": [f"r{k}" for k in range(6)], "seed": seeds, "done": [True] * 6,
        "objective.name": ["beta-vae"] * 6, "objective.beta": betas,
    }  # fmt: skip
    return Table(settings, {name: [*own, *own[::-1]] for name, own in EXTREMES.items()})


def test_on_a_sweep_page() -> None:
    table, outside = _table(), 0
    drawn = curves_figure(table, list(EXTREMES))
    assert drawn is not None
    for measure, _, _, mean, low, high, _ in drawn.table.rows:
        least, most = range_of(str(measure), latents=10)
        assert least <= float(low) <= float(mean) <= float(high) <= most, measure  # type: ignore[arg-type]
        free = interval_of_mean(np.array(EXTREMES[str(measure)], dtype=np.float64))
        assert free is not None
        outside += free[0] < least or free[1] > most
    assert outside >= 6  # Student's own intervals would end outside
    means = means_table(table, list(EXTREMES))
    labels = [column.label for column in means.columns]
    for row in means.rows:
        for measure in EXTREMES:
            at = labels.index(measure)
            ends = str(row[at + 1]).split("\N{NO-BREAK SPACE}to\N{NO-BREAK SPACE}")
            low, high = (float(end.replace("\N{MINUS SIGN}", "-")) for end in ends)
            least, most = range_of(measure, latents=10)
            assert least <= low <= high <= most, (measure, row)


@pytest.mark.parametrize("measure", sorted(RANGES))
def test_between_seeds_on_a_comparison_page(measure: str) -> None:
    least, most = range_of(measure, latents=10)
    low, high = max(least, -1.0), min(most, 10.0)
    side = Side((0, 1), (2, 3), "seeds", (0, 1, 2, 3))
    found = of_numbers(
        measure, [ResampledNumber(v, None) for v in (low, high, low, high)], [side], 9, latents=10
    )
    ends = found.gaps[0].interval
    assert ends is not None
    allowed = range_of_difference(measure, latents=10)
    assert allowed[0] <= ends[0] <= 0.0 <= ends[1] <= allowed[1]


def test_on_every_compared_situation() -> None:
    situations = (
        Compared(blank=True, seeds=(0, 1, 2, 3, 4)),
        Compared(seeds=(0, 1, 2, 3), settings=1, worse=9.0),
    )
    for what in situations:
        for name, own in compared(what).metrics.items():
            least, most = range_of_difference(name)
            for gap in own.gaps:
                assert gap.interval is None or least <= gap.interval[0] <= gap.interval[1] <= most


@pytest.mark.slow
def test_on_a_report() -> None:
    """Two points of a decoder whose distances differ much: Student's interval goes below 0."""
    import torch

    from vaescope.geometry.overview import overview

    def decode(z: torch.Tensor) -> torch.Tensor:
        turn = 0.4 * (z[..., :1] > 0).to(z)  # orthogonal on one side only
        first, second = z[..., :1], 3.0 * z[..., 1:]
        return torch.cat([first, second + turn * first], dim=-1)

    mean = np.array([[-1.0, 0.0], [1.0, 0.0]], dtype=np.float32)
    found = overview(decode, mean, np.full_like(mean, 0.1), points=2)
    ends = found.measures["dto"].interval
    assert ends is not None and ends[0] == 0.0
    for name, measured in found.measures.items():
        least, most = range_of(name)
        if measured.interval is not None:
            assert least <= measured.interval[0] <= measured.interval[1] <= most, name


def test_every_score_of_a_report_is_in_its_range() -> None:
    rng = np.random.default_rng(0)
    from vaescope.codes import Codes
    from vaescope.measures import measure_codes

    z = rng.normal(size=(60, 3))
    factors = np.stack([(z[:, 0] > 0).astype(int), rng.integers(0, 3, 60)], axis=1)
    codes = Codes(z, np.full_like(z, 0.01), z, factors=factors, factor_names=("a", "b"))
    names = ["mig", "sap_continuous", "mcc", "modularity", "knn_score"]
    for own in measure_codes(codes, metrics=names).scores.values():
        for name, score in own.items():
            least, most = range_of(name)
            assert least <= score.value <= most
            if score.interval is not None:
                assert least <= score.interval[0] <= score.interval[1] <= most, name


def test_on_a_study_page() -> None:
    """Every measure that a figure draws has a range or is known to have none."""
    drawn = {
        panel.measure
        for study in STUDIES
        for panel in study.panels
        if isinstance(panel, Dots | Curves)
    }
    assert drawn - SIGNED <= set(RANGES), drawn - SIGNED - set(RANGES)
    for measure in drawn - SIGNED:
        least, most = range_of(measure)
        values = np.array([max(least, -1.0), max(least, -1.0), min(most, 9.0)])
        free, found = interval_of_mean(values), mean_of(measure, values).interval
        assert free is not None and found is not None
        assert free[0] < least <= found[0] <= values.mean() <= found[1] <= most, measure


def test_an_estimate_beyond_its_range_keeps_its_whole_interval() -> None:
    """An estimated KL of -0.1: an interval without it would say that it did not happen."""
    values = np.array([-0.1, -0.2, 0.3])
    assert mean_of("kl", values).interval == interval_of_mean(values)
