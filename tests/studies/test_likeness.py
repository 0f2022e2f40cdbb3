"""How near laptop scale is to the paper's settings, and what a spot check says."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from vaescope.report.scoreboard import Judged
from vaescope.report.spot_lines import Spot, spot_section, spot_sentence
from vaescope.studies.catalogue import STUDIES, find
from vaescope.studies.likeness import ASPECTS, likeness
from vaescope.studies.running import Outcome, load_outcome
from vaescope.studies.study import Study
from vaescope.tables import Row, Table, table_of

SPOTS = Path(__file__).parents[2] / "docs" / "results" / "spot-checks"


def study(name: str) -> Study:
    (found,) = find(name)
    return found


def test_what_is_the_same_at_both_scales_is_told_from_what_is_not() -> None:
    like = likeness(study("zietlow2022/table-3.3-mnist"))  # two epochs of the thesis's training
    assert like == {
        "data": "all", "network": "all", "strength": "all", "optimiser": "all", "length": "none",
    }  # fmt: skip
    like = likeness(study("zietlow2022/table-3.4"))  # beta 0.1 in place of 1e-4
    assert like is not None and like["strength"] == "none" and like["network"] == "all"
    assert likeness(study("mathieu2019/figure-3")) == dict.fromkeys(ASPECTS, "all")
    assert likeness(study("zietlow2022/table-4.2")) is None  # trains inside of its cells


def test_an_autoencoder_does_not_lend_its_want_of_a_strength() -> None:
    """Both scales of table 3.4 have a plain autoencoder; their beta-VAEs differ in strength."""
    words = spot_sentence(study("zietlow2022/table-3.4"), Spot(core_hours=0.34))
    assert "As at `paper` scale: data, network; not: strength, optimiser, length." in words
    assert words.endswith(
        "Spot check at paper scale: none: one unit would take about 20 minutes of a core."
    )
    words = spot_sentence(study("zietlow2022/table-4.2"), Spot())
    assert words.endswith(
        "Spot check at paper scale: none, and what one unit would cost is not known."
    )


def test_a_spot_check_is_shown_with_its_votes_and_without_a_verdict() -> None:
    one = study("zietlow2022/table-3.4")
    cells = one.of_units("paper", (0, 1)).cells
    rows = []
    for i, cell in enumerate(cells):
        equal = cell.columns["data.ratio"] == 1.0
        found = {"dto": 0.5, "ds": 0.5} if equal else {"dto": 0.1, "ds": 0.9}
        # Units are told from copies of one another by what is found of them.
        rows.append(Row(f"r{i}", True, cell.columns, {**found, "distortion": float(i)}))
    spot = Outcome(one.id, "paper", one.digest("paper"), table_of(rows), {}, "a machine")
    assert "2 for and 0 against of 2 units, -0.4 on average" in spot_sentence(one, Spot(spot))
    lines = spot_section([(one, Spot(spot)), (study("mathieu2019/figure-3"), Spot())])
    text = "\n".join(lines)
    assert "| mathieu2019/figure-3 | yes | yes | yes | yes | yes | the table itself |" in text
    assert "Of 2 studies 1 have all of these settings, 1 have a spot check, and 0 have" in text
    assert "supported" not in text


@pytest.mark.parametrize("path", sorted(SPOTS.glob("*.json")), ids=lambda path: path.stem)
def test_spot_checks_that_are_kept_are_of_the_paper_s_scale(path: Path) -> None:
    outcome = load_outcome(path)
    assert outcome.scale == "paper"
    assert outcome.digest == study(outcome.study).digest("paper")
    assert path.stem in {one.id.replace("/", "-") for one in STUDIES}


def test_prices_are_of_studies_that_are_there() -> None:
    prices = json.loads((SPOTS.parent / "paper-costs.json").read_text())
    assert set(prices) <= {one.id for one in STUDIES} and len(prices) >= 40
    for name, price in prices.items():
        trains = not (study(name).at_optimum or study(name).formulas_only)
        assert price["core_hours"] > 0.0 if trains else price["core_hours"] == 0.0, name


def test_how_far_a_study_is_from_its_cap_is_said() -> None:
    """Figure 11 ran to its cap of 48; with the rows of its first ten seeds alone it has not."""
    one = study("bonheme2023/figure-11")
    table = load_outcome(SPOTS.parent / "studies" / "bonheme2023-figure-11.json")
    part = Table(
        {name: column[:10] for name, column in table.table.settings.items()},
        {name: column[:10] for name, column in table.table.results.items()},
    )
    tables = (table, replace(table, table=part))
    said = [Judged(one, kept, "registered before", []).units_of_cap for kept in tables]
    assert said == ["; at its cap of 48", "; 10 of at most 48 units were run"]
