"""The tables of zietlow2022 chapter 4: studies, their claims and cells of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from vaescope.studies.catalogue import PREPARED, STUDIES, cases, find
from vaescope.studies.claim_verdict import decide
from vaescope.studies.study import Computed
from vaescope.studies.zietlow2022.perturbation import (
    AFFORDABLE,
    CONTROLS,
    HUES,
    METHODS,
    METRICS,
    SLOW,
    work,
)
from vaescope.tables import Row, table_of

UNITS = 24


TABLES = [study for study in STUDIES if study.id.startswith("zietlow2022/table-4.")]


def test_the_tables_are_in_the_catalogue_and_slow_methods_in_no_family() -> None:
    assert [study.id for study in TABLES] == [f"zietlow2022/table-4.{k}" for k in (2, 3, 4, 5)]
    assert [study.id for study in PREPARED] == ["zietlow2022/table-4.2-others"]
    assert not {study.id for study in PREPARED} & {study.id for study in STUDIES}
    for study in (*TABLES, *PREPARED):
        assert find(study.id) == (study,)
        assert len([claim for claim in study.claims if claim.primary]) == 1
        assert all(claim.control is not None and claim.control.says for claim in study.claims)
    assert PREPARED[0] not in find("zietlow2022")
    assert len(cases({})) == sum(len(study.claims) for study in STUDIES)
    assert sorted((*AFFORDABLE, *SLOW)) == sorted(METHODS)


@pytest.mark.parametrize("scale", ["smoke", "laptop", "paper"])
def test_each_replicate_has_a_cell_for_each_method(scale: Any) -> None:
    assert isinstance(work(scale), Computed)
    every = TABLES[0].of_units(scale, (1000, 1001)).cells
    assert len(every) == 2 * len(AFFORDABLE)
    assert {cell.columns["seed"] for cell in every[:2]} == {1000, 1001}  # neighbours differ
    assert len({study.digest(scale) for study in TABLES}) == 1  # they share their runs
    assert len(PREPARED[0].of_units(scale, (1000, 1001)).cells) == 2 * len(SLOW)


def verdicts(
    fall: float,
    noise: float,
    beyond: float,
    entry: float = 0.7,
    angle: float = 0.9,
    size: float = -0.1,
) -> dict[str, str]:
    """Of table 4.2, where each replicate of each method has these numbers, nearly."""

    def row(unit: int, method: str) -> Row:
        small = 1e-4 * unit
        pcl = method == "pcl"
        values = {
            "fall_mig": 0.01 + small if pcl else fall + small,
            "noise_fall_mig": noise + small,
            "noise_excess_mig": noise - 0.5 * fall + small,
            "beyond_reversed_mig": beyond + small, "beyond_one-factor_mig": beyond + small,
            "noise_beyond_reversed_mig": -0.3 + small, "long_fall_mig": fall + small,
            "entry": entry, "least_gap_fall_perturbed": fall + small,
            "least_gap_fall_noise": noise - 0.1 + small, "rank_of_angle": angle,
            "rank_of_rms": size + small,
        }  # fmt: skip
        return Row(f"{unit} {method}", True, {"seed": unit, "method": method}, values)

    table = table_of(row(unit, method) for unit in range(UNITS) for method in AFFORDABLE)
    (study,) = find("zietlow2022/table-4.2")
    found = decide(cases({study.id: (table, "registered before")}))
    names = {0: "primary", 2: "half", 4: "cause", 6: "factors", 7: "angle"}
    return {
        names.get(study.claims.index(v.claim), v.claim.says): v.verdict
        for v in found
        if v.claim in study.claims
    }


@pytest.mark.slow
def test_the_verdicts_follow_fall_noise_and_controls() -> None:
    as_printed = verdicts(0.4, 0.0, 0.2)
    assert as_printed["primary"] == as_printed["cause"] == "supported"
    assert as_printed["half"] == "supported" and len(as_printed) == 8
    assert as_printed["factors"] == as_printed["angle"] == "supported"
    assert verdicts(0.4, 0.0, 0.2, angle=-0.5)["angle"] == "contradicted"
    assert verdicts(0.4, 0.0, 0.2, size=0.8)["angle"] == "not specific"  # size says as much
    assert verdicts(0.4, 0.0, -0.1)["cause"] == "contradicted"  # its reversed objective costs more
    assert verdicts(0.4, 0.39, 0.2)["primary"] != "supported"  # noise does the same
    assert verdicts(0.05, 0.0, 0.2)["primary"] == "contradicted"
    assert verdicts(0.4, 0.0, 0.2, entry=0.3)["cause"] == "undecided"  # nothing to take away


def test_quotes_are_the_thesis_own_words() -> None:
    papers = Path(__file__).parents[3] / "shared" / "papers"
    if not papers.exists():
        pytest.skip("the papers are not beside this checkout")
    (paper,) = papers.glob("002_*.txt")
    text = " ".join(paper.read_text("utf-8").split())
    assert all(c.quote in text for study in (*TABLES, *PREPARED) for c in study.claims if c.quote)


@pytest.mark.slow
def test_one_cell_gives_a_number_for_each_arm_and_metric(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("VAESCOPE_RUNS", str(tmp_path))
    (cell,) = [one for one in work("smoke").cells if one.columns["method"] == "pcl"]
    found = work("smoke").compute(cell.columns)
    for metric in METRICS:
        before, after = (found[f"{metric}_{arm}"] for arm in ("original", "perturbed"))
        assert isinstance(before, float) and isinstance(after, float)
        assert found[f"fall_{metric}"] == pytest.approx(before - after)
    assert found["largest_perturbed"] <= 0.175  # type: ignore[operator]


@pytest.mark.slow
def test_the_cell_of_the_beta_vae_has_the_controls_and_what_they_say(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("VAESCOPE_RUNS", str(tmp_path))
    (cell,) = [one for one in work("smoke").cells if one.columns["method"] == "beta-vae"]
    found = work("smoke").compute(cell.columns)

    def number(name: str) -> float:
        value = found[name]
        assert isinstance(value, float)
        return value

    for control in CONTROLS:
        beyond = number(f"mig_{control}") - number("mig_perturbed")
        assert found[f"beyond_{control}_mig"] == pytest.approx(beyond)
        assert number(f"largest_{control}") <= 0.175
    assert found["rms_untrained"] == pytest.approx(number("rms_perturbed"), rel=1e-2)
    assert found["rms_noise-variance"] == pytest.approx(number("rms_perturbed"), rel=0.2)
    assert found["rms_original"] == 0.0
    falls = [number(f"gap_{hue}_original") - number(f"gap_{hue}_perturbed") for hue in HUES]
    assert found["least_gap_fall_perturbed"] == pytest.approx(min(falls))
    assert np.mean(falls) == pytest.approx(number("fall_mig"))  # MIG is the mean of its gaps
    arms = ["original", "noise", "perturbed", *CONTROLS, "noise-variance"]
    pairs = [(number(f"rms_{arm}"), number(f"mig_{arm}")) for arm in arms]
    rank = stats.spearmanr(*zip(*pairs, strict=True)).statistic
    assert found["rank_of_rms"] == pytest.approx(-rank)
    picture = found["examples"]
    assert isinstance(picture, np.ndarray) and picture.shape == (48, 64, 3)
    np.testing.assert_allclose(
        picture[32:] - picture[:16], 2 * 0.175 * (picture[16:32] - 0.5), atol=1e-5
    )
