"""The tables of zietlow2022 chapter 4: studies, their claims and cells of them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from vaescope.studies.catalogue import STUDIES, cases, find
from vaescope.studies.claim_verdict import decide
from vaescope.studies.study import Computed, Measured, Study
from vaescope.studies.zietlow2022 import cause, figures_4, table_4_2_dsprites, transfer
from vaescope.studies.zietlow2022.perturbation import (
    COMPARED,
    HUES,
    MAIN,
    METHODS,
    METRICS,
    PAIRED,
    SLOW,
    work_of,
)
from vaescope.tables import Row, table_of

UNITS = 24
OTHERS = [
    *(
        s
        for kind in ("compared", "slow-vae", "slow")
        for s in find(f"zietlow2022/table-4.2-{kind}")
    ),
    figures_4.STUDY,
    transfer.STUDY,
]
SPRITES = table_4_2_dsprites.STUDY
TABLES = [
    study for study in STUDIES
    if study.id.startswith("zietlow2022/table-4.") and study not in (*OTHERS, SPRITES)
]  # fmt: skip


def test_the_tables_are_in_the_catalogue() -> None:
    assert [study.id for study in TABLES] == [f"zietlow2022/table-4.{k}" for k in (2, 3, 4, 5)]
    for study in (*TABLES, cause.STUDY, *OTHERS):
        assert find(study.id) == (study,)
        assert len([claim for claim in study.claims if claim.primary]) == 1
        assert all(claim.control is not None and claim.control.says for claim in study.claims)
    assert set(MAIN) < set(COMPARED) and sorted((*COMPARED, *PAIRED, *SLOW)) == sorted(METHODS)


@pytest.mark.parametrize("scale", ["smoke", "laptop", "paper"])
def test_each_replicate_has_a_cell_for_each_method_and_all_share_its_perturbations(
    scale: Any,
) -> None:
    assert len({study.digest(scale) for study in TABLES}) == 1  # they share their cells
    every = {study.id: study.of_units(scale, (1000, 1001)) for study in (*TABLES, *OTHERS)}
    assert all(isinstance(work, Computed) for work in every.values())
    counts = {name: len(work.cells) for name, work in every.items()}
    assert counts["zietlow2022/table-4.2"] == 2
    assert counts["zietlow2022/table-4.2-compared"] == 2 * len(COMPARED)
    assert counts["zietlow2022/table-4.2-slow"] == 2 * len(SLOW)
    neighbours = every["zietlow2022/table-4.2-slow"].cells[:2]
    assert {cell.columns["seed"] for cell in neighbours} == {1000, 1001}
    (table,) = work_of(MAIN, scale, (1000,)).cells
    for study in (cause.STUDY, figures_4.STUDY, transfer.STUDY):
        for cell in study.of_units(scale, (1000,)).cells:
            shared = set(table.columns) - {"method", "seeds"}
            assert all(cell.columns[key] == table.columns[key] for key in shared)


def verdicts(
    study: Study, columns: Mapping[str, float], methods: Sequence[str | None] = (None,)
) -> list[str]:
    """Of a study's claims, where each replicate has these numbers, nearly."""
    rows = [
        Row(f"{unit} {method}", True, {"seed": unit} | ({"method": method} if method else {}),
            {name: value + 1e-4 * unit for name, value in columns.items()})
        for unit in range(UNITS) for method in methods
    ]  # fmt: skip
    found = decide(cases({study.id: (table_of(rows), "registered before")}))
    return [next(v.verdict for v in found if v.claim == claim) for claim in study.claims]


def of_table(fall: float, noise: float, entry: float = 0.7) -> list[str]:
    numbers = {"fall_mig": fall, "noise_fall_mig": noise, "noise_excess_mig": noise - 0.5 * fall,
               "entry": entry, "least_gap_fall_perturbed": fall - 0.1,
               "least_gap_fall_noise": noise - 0.1}  # fmt: skip
    return verdicts(TABLES[0], numbers, MAIN)


@pytest.mark.slow
def test_the_verdicts_of_a_table_follow_fall_and_noise() -> None:
    assert of_table(0.4, 0.0) == ["supported", "supported"]
    assert of_table(0.4, 0.39)[0] != "supported"  # noise does the same
    assert of_table(0.05, 0.0) == ["contradicted", "contradicted"]
    assert of_table(0.4, 0.0, entry=0.3)[0] == "undecided"  # nothing to take away


def of_cause(beyond: float, angle: float, size: float, entry: float = 0.7) -> list[str]:
    numbers = {"beyond_untrained_mig": beyond, "rank_of_angle": angle, "rank_of_rms": size,
               "entry": entry}  # fmt: skip
    for metric in METRICS:
        numbers |= {f"beyond_reversed_{metric}": beyond, f"beyond_one-factor_{metric}": beyond,
                    f"noise_beyond_reversed_{metric}": -0.3}  # fmt: skip
    return verdicts(cause.STUDY, numbers)


@pytest.mark.slow
def test_the_verdicts_of_the_cause_follow_its_controls() -> None:
    assert set(of_cause(0.2, 0.9, -0.1)) == {"supported"}
    assert set(of_cause(-0.1, -0.5, -0.1)) == {"contradicted"}  # its reversed objective costs more
    assert of_cause(0.2, 0.9, 0.8)[-1] == "not specific"  # the size of the change says as much
    assert of_cause(0.2, 0.9, -0.1, entry=0.3)[0] == "undecided"


def test_quotes_are_the_thesis_own_words() -> None:
    papers = Path(__file__).parents[3] / "shared" / "papers"
    if not papers.exists():
        pytest.skip("the papers are not beside this checkout")
    (paper,) = papers.glob("002_*.txt")
    text = " ".join(paper.read_text("utf-8").split())
    assert all(c.quote in text for study in (*TABLES, *OTHERS) for c in study.claims if c.quote)


def number(found: Measured, name: str) -> float:
    value = found[name]
    assert isinstance(value, float)
    return value


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture
def folder(shared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of runs and perturbations, which the studies share."""
    monkeypatch.setenv("VAESCOPE_RUNS", str(shared))
    return shared


@pytest.mark.slow
@pytest.mark.parametrize("method", ["beta-vae", "pcl"])
def test_a_cell_of_a_table_gives_a_number_for_each_arm_and_metric(
    method: str, folder: Path
) -> None:
    (cell,) = work_of((method,), "smoke").cells
    found = work_of((method,), "smoke").compute(cell.columns)
    for metric in METRICS:
        before, after = (number(found, f"{metric}_{arm}") for arm in ("original", "perturbed"))
        assert found[f"fall_{metric}"] == pytest.approx(before - after)
        excess = before - number(found, f"{metric}_noise") - 0.5 * (before - after)
        assert found[f"noise_excess_{metric}"] == pytest.approx(excess)
    assert 0.0 < number(found, "rms_perturbed") <= 0.175
    assert number(found, "rms_noise") == pytest.approx(0.175 / np.sqrt(3.0), rel=0.1)  # uniform
    falls = [number(found, f"gap_{h}_original") - number(found, f"gap_{h}_perturbed") for h in HUES]
    assert found["least_gap_fall_perturbed"] == pytest.approx(min(falls))
    assert np.mean(falls) == pytest.approx(number(found, "fall_mig"))  # MIG is its gaps' mean
    if method == "pcl":  # no posterior, so that no latent is called unused
        assert found["pruned_original"] == 0.0 and found["entry"] == found["mig_original"]
        return
    assert found["pruned_original"] == 1.0 and found["entry"] == 0.0  # after a dozen steps
    picture = found["examples"]
    assert isinstance(picture, np.ndarray) and picture.shape == (48, 64, 3)
    np.testing.assert_allclose(
        picture[32:] - picture[:16], 2 * 0.175 * (picture[16:32] - 0.5), atol=1e-5
    )


@pytest.mark.slow
def test_a_cell_of_sprites_has_their_epsilon_factors_and_strengths(folder: Path) -> None:
    work = SPRITES.work("smoke")
    assert isinstance(work, Computed)
    (cell,) = [c for c in work.cells if c.columns["method"] == "beta-vae"]
    found = work.compute(cell.columns)
    gaps = [number(found, f"gap_{name}_original") for name in ("scale", "x", "y")]
    assert np.mean(gaps) == pytest.approx(number(found, "mig_original"))
    assert 0.0 < number(found, "rms_perturbed") <= 0.1
    # Noise that leaves [0, 1] is reflected, which changes no size where pixels are 0 or 1.
    assert number(found, "rms_noise") == pytest.approx(0.1 / np.sqrt(3.0), rel=0.05)
    specs = [json.loads(path.read_text()) for path in folder.rglob("spec.json")]
    own = [spec for spec in specs if spec["data"]["name"] == "dsprites"]
    assert own and {spec["latent"] for spec in own} == {3}
    assert {round(spec["objective"]["beta"]["stop"], 9) for spec in own} == {2.5}


@pytest.mark.slow
def test_a_perturbation_meets_the_tables_model_a_wider_and_a_longer_one(folder: Path) -> None:
    work = transfer.STUDY.work("smoke")
    assert isinstance(work, Computed)
    (cell,) = work_of(MAIN, "smoke").cells
    table = work_of(MAIN, "smoke").compute(cell.columns)
    found = {c.columns["model"]: work.compute(c.columns) for c in work.cells}
    assert found["same"]["fall_mig"] == table["fall_mig"]
    falls = {found[model]["fall_mig"] for model in ("same", "wide", "long")}
    assert len(falls) == 3
    assert len({found[model]["rms_perturbed"] for model in ("same", "wide", "long")}) == 1


@pytest.mark.slow
def test_the_cause_has_the_tables_models_and_its_controls(folder: Path) -> None:
    work = cause.STUDY.work("smoke")
    assert isinstance(work, Computed)
    found = work.compute(work.cells[0].columns)
    (cell,) = work_of(MAIN, "smoke").cells
    table = work_of(MAIN, "smoke").compute(cell.columns)
    for arm in ("original", "noise", "perturbed"):
        assert found[f"mig_{arm}"] == table[f"mig_{arm}"]
    for control in cause.CONTROLS:
        beyond = number(found, f"mig_{control}") - number(found, "mig_perturbed")
        assert found[f"beyond_{control}_mig"] == pytest.approx(beyond)
        assert number(found, f"rms_{control}") <= 0.175
    assert found["rms_untrained"] == pytest.approx(number(found, "rms_perturbed"), rel=1e-2)
    arms = ("noise", "perturbed", *cause.CONTROLS)
    for mediator in ("angle", "rms"):
        pairs = [(number(found, f"{mediator}_{a}"), -number(found, f"mig_{a}")) for a in arms]
        rank = stats.spearmanr(*zip(*pairs, strict=True)).statistic
        assert found[f"rank_of_{mediator}"] == pytest.approx(rank)


@pytest.mark.slow
def test_a_line_of_strengths_has_the_tables_model_at_its_own(folder: Path) -> None:
    work = figures_4.STUDY.work("smoke")
    assert isinstance(work, Computed)
    (cell,) = work_of(MAIN, "smoke").cells
    table = work_of(MAIN, "smoke").compute(cell.columns)
    found = {(c.columns["arm"], c.columns["factor"]): work.compute(c.columns) for c in work.cells}
    assert len(found) == 2 + len(figures_4.FACTORS)
    for arm in ("original", "noise", "perturbed"):
        assert found[arm, 1.0]["mig"] == table[f"mig_{arm}"]
    assert found["perturbed", 2.0]["mig"] != found["perturbed", 1.0]["mig"]
    assert found["original", 1.0]["entry"] == table["entry"]
    assert found["perturbed", 2.0]["mig_kept"] is None  # all are over-pruned after a dozen steps
