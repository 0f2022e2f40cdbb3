"""The court: every metric is in it, every answer has its reason, and a record is continued."""

from collections.abc import Generator, Sequence
from pathlib import Path

import numpy as np
import pytest

from vaescope.court import trial
from vaescope.court.encoders import ENCODERS, PROPERTIES, codes_of
from vaescope.court.generators import GENERATORS
from vaescope.court.judging import judge, ranking
from vaescope.court.page import page, plain
from vaescope.court.promises import ASKS, COUNTED, DISPUTED, promise
from vaescope.court.trial import CELLS, Court, CourtCell, hold_court, read_court
from vaescope.figures.court import court_picture
from vaescope.metrics.suite import METRICS
from vaescope.seeds import rng


def test_every_metric_is_in_the_court_and_every_answer_has_its_reason() -> None:
    assert set(ASKS) | set(COUNTED) == set(METRICS)
    for name, asks in ASKS.items():
        assert asks.why and asks.properties <= set(PROPERTIES), name
    for name, encoder in ENCODERS.items():
        assert encoder.why and encoder.says and encoder.breaks <= set(PROPERTIES), name
    assert {metric for metric, _ in DISPUTED} <= set(METRICS)
    assert {encoder for _, encoder in DISPUTED} <= set(ENCODERS)
    assert {cell.generator for cell in CELLS} == set(GENERATORS)
    assert {cell.encoder for cell in CELLS} == set(ENCODERS)


def test_answers_follow_from_definitions() -> None:
    assert promise("mig", "duplicated") == "lower"
    assert promise("modularity", "duplicated") == "same"
    assert promise("downstream", "rotated 45") == "same"
    assert promise("mcc", "warped") == "lower"
    assert promise("active_units", "dead") == "open"


@pytest.mark.parametrize("name", ENCODERS)
def test_encoders_keep_or_lose_what_they_say(name: str) -> None:
    encoder = ENCODERS[name]
    drawn = GENERATORS["independent"].draw(rng(0, "court"))
    codes = codes_of(encoder, drawn, rng(0, "court-noise"))
    one, two = drawn.classes[:, 0], drawn.classes[:, 1]
    fits = [
        np.linalg.lstsq(np.column_stack([codes.mean, np.ones(codes.n)]), y - y.mean(), rcond=None)
        for y in (one, two)
    ]
    left = [float(found[1][0]) / (codes.n * y.var()) if len(found[1]) else 0.0
            for found, y in zip(fits, (one, two), strict=True)]  # fmt: skip
    lines = max(left) < 0.1  # all latents together, by a line
    assert lines == (not encoder.breaks & {"explicit", "informative"}) or name in (
        "fewer",
        "warped",
    )
    assert codes.d == 3 or "lean" in encoder.breaks or name in ("fewer", "merged")


@pytest.mark.slow
def test_a_record_is_continued_and_a_torn_line_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = (CourtCell("independent", "identity"), CourtCell("independent", "duplicated"))
    monkeypatch.setattr(trial, "CELLS", cells)
    seen: list[int] = []
    hold_court(tmp_path, draws=1, slow_draws=0, on_cell=lambda done, total: seen.append(total))
    assert seen == [2, 2]
    record = tmp_path / trial.RECORD
    first = record.read_text()
    record.write_text(first + '{"generator": "indep')
    with record.open("a") as file:
        file.write("\n")
    court = hold_court(tmp_path, draws=2, slow_draws=0, on_cell=lambda done, _: seen.append(done))
    assert seen[2:] == [1, 2]
    assert len(court.of("mig", cells[1])) == 2
    assert court.of("mig", cells[1])[0] == read_court(tmp_path).of("mig", cells[1])[0]
    assert ranking(court, "mig", *cells) == (2, 2)


def test_a_key_between_two_cells_leaves_no_queue_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers of a queue that nobody closed measure all of it before the command ends."""
    closed = []

    def measured(todo: Sequence[object], workers: int) -> Generator[dict[str, object], None, None]:
        try:
            for place in range(len(todo)):
                yield {"place": place}
        finally:
            closed.append(True)

    def pressed(done: int, total: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(trial, "_measured", measured)
    with pytest.raises(KeyboardInterrupt) as held:
        hold_court(tmp_path, draws=1, slow_draws=0, on_cell=pressed)
    assert held.value.__traceback__ is not None and closed == [True]


def test_verdicts_follow_the_votes() -> None:
    good, cell = CourtCell("independent", "identity"), CourtCell("independent", "duplicated")
    one, zero = np.ones(32), np.zeros(32)
    court = Court(
        {("mig", good): one, ("mig", cell): zero, ("modularity", good): one,
         ("modularity", cell): zero, ("infoc", good): one, ("infoc", cell): one,
         ("sap", good): one, ("sap", cell): np.where(np.arange(32) % 2, 0.0, 1.0),
         ("irs", good): one, ("irs", cell): np.full(32, np.nan),
         ("active_units", good): one, ("active_units", cell): 2 * one},
        {},
    )  # fmt: skip
    verdicts = {own.metric: own.verdict for own in judge(court)}
    assert verdicts == {
        "mig": "right", "modularity": "false negative", "infoc": "false positive",
        "sap": "undecided", "irs": "no value", "active_units": "open",
    }  # fmt: skip
    found = judge(court)
    text, picture = page(court, found), court_picture(found)
    assert "none found" in text and "duplicated of independent (0.00 beside 1.00, 32 of 32" in text
    for name in ASKS:
        assert f"`{name}`" in text and name in picture
    assert len(plain(found, Path("x"))["judgements"]) == 6
