"""A score says which assumption the codes break: nothing of perfect ones, something of the rest."""

import json

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.court.encoders import ENCODERS, codes_of
from vaescope.court.generators import GENERATORS
from vaescope.court.trial import CELLS, CourtCell
from vaescope.metrics import measure_metrics
from vaescope.seeds import rng

#: Other names for the same code.
PERFECT = ("identity", "permuted", "scaled")
METRICS = ["mig", "modularity", "mcc", "sap", "dci_size"]


def codes(cell: CourtCell, draw: int) -> Codes:
    drawn = GENERATORS[cell.generator].draw(rng(draw, f"court-{cell.generator}"))
    return codes_of(ENCODERS[cell.encoder], drawn, rng(draw, f"court-noise-{cell.generator}"))


def said(cell: CourtCell, draw: int) -> list[str]:
    scores = measure_metrics(codes(cell, draw), metrics=METRICS, on=("mean",))[0]["mean"]
    return [reason for score in scores.values() for reason in score.validity]


@pytest.mark.parametrize("encoder", PERFECT)
def test_it_is_silent_on_perfect_codes_of_independent_factors(encoder: str) -> None:
    for draw in range(4):
        assert said(CourtCell("independent", encoder), draw) == []


BROKEN = [
    cell for cell in CELLS
    if not cell.variant and not (cell.generator == "independent" and cell.encoder in PERFECT)
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("cell", BROKEN, ids=lambda cell: f"{cell.generator} {cell.encoder}")
def test_it_speaks_on_each_broken_cell(cell: CourtCell) -> None:
    assert said(cell, 0)


def test_correlated_factors_are_not_taken_for_rotated_latents() -> None:
    reasons = said(CourtCell("correlated .9", "identity"), 0)
    assert any("second explains" in reason or "first explains" in reason for reason in reasons)
    assert not any("as rotated ones do" in reason for reason in reasons)


def test_of_a_few_rows_no_latent_is_said_to_encode_nothing() -> None:
    """Twelve perfect codes cannot show what they encode, which is not that they encode nothing."""
    factors = np.random.default_rng(0).integers(0, 6, (12, 3))
    means = factors.astype(np.float32)
    names = ("a", "b", "c")
    few = Codes(means, np.full_like(means, 0.01), means, factors=factors, factor_names=names)
    score = measure_metrics(few, metrics=["mig"], on=("mean",))[0]["mean"]["mig"]
    assert any(reason.startswith("one value of") for reason in score.validity)
    assert not any("encode" in reason for reason in score.validity)


def test_it_is_in_summary_and_json() -> None:
    scores = measure_metrics(
        codes(CourtCell("independent", "rotated 45"), 0), metrics=["mig"], on=("mean",)
    )[0]["mean"]
    assert "latents share factors (0 and 1)" in scores["mig"].summary()
    plain = json.loads(json.dumps(scores["mig"].to_dict()))
    assert plain["validity"] == list(scores["mig"].validity) != []
