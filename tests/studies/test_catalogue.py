"""All studies: every claim can be decided each way, every scale is valid, every row is covered."""

import re
from pathlib import Path

import numpy as np
import pytest

from vaescope.errors import UsageError
from vaescope.studies import SCALES, Claim, Study, Trained, decide
from vaescope.studies.catalogue import OUTDATED, STUDIES, TOTAL, find
from vaescope.studies.running import load_outcome
from vaescope.studies.verdict import Judgement
from vaescope.sweeps.grid import plan

CLAIMS = [(study, claim) for study in STUDIES for claim in study.claims]
RESULTS = Path(__file__).parents[2] / "docs" / "results" / "studies"

#: Rows of the papers' catalogue, as its tables name them, and the studies that show them.
ROWS = {
    "zietlow2022 Fig 1.1": ["zietlow2022/figure-3.6"],
    "zietlow2022 Fig 2.1-2.3": ["zietlow2022/theorem-2"],
    "zietlow2022 Tab 3.2": ["zietlow2022/table-3.2-synth", "zietlow2022/table-3.2-images"],
    "zietlow2022 Tab 3.3": [
        "zietlow2022/table-3.3-synth",
        "zietlow2022/table-3.3-dsprites",
        "zietlow2022/table-3.3-mnist",
    ],
    "zietlow2022 Fig 3.4": ["zietlow2022/figure-3.4"],
    "zietlow2022 Tab 3.4, Fig 3.5": ["zietlow2022/table-3.4"],
    "zietlow2022 Fig 3.6": ["zietlow2022/figure-3.6"],
    "zietlow2022 Fig 3.7": ["zietlow2022/figure-3.7-synth", "zietlow2022/figure-3.7-dsprites"],
    "zietlow2022 Fig 7.6": ["zietlow2022/figure-7.6"],
    "mathieu2019 Fig 2 top": ["mathieu2019/figure-2-anisotropic"],
    "mathieu2019 Fig 2 bottom": ["mathieu2019/figure-2-student-t"],
    "mathieu2019 Fig 3": ["mathieu2019/figure-3"],
    "mathieu2019 Fig 4 left": ["mathieu2019/figure-4"],
    "mathieu2019 Fig 4 centre": ["mathieu2019/figure-4"],
    "mathieu2019 Fig 4 right": ["mathieu2019/figure-4"],
    "mathieu2019 Fig 5-6": ["mathieu2019/figure-6"],
    "mathieu2019 Tab 1": ["mathieu2019/figure-3", "mathieu2019/figure-4"],
    "mathieu2019 Thm 1-2, Cor 1-2": ["mathieu2019/theorems"],
    "mathieu2019 App C": ["mathieu2019/appendix-c-estimator", "mathieu2019/appendix-c-training"],
}
#: Schematics, other projects, and chapter 4 of zietlow2022, which comes with the perturbations.
LEFT_OUT = re.compile(r"zietlow2022 (Fig 2\.4|Tab 4|Fig 4|Fig 7\.1)|mathieu2019 Fig 1$")


def test_there_are_twenty_studies_and_forty_five_claims_with_names_of_their_own() -> None:
    assert len(STUDIES) >= 20
    assert TOTAL == len(CLAIMS) >= 45
    assert len({study.id for study in STUDIES}) == len(STUDIES)
    for study in STUDIES:
        assert study.title and study.about and study.panels and study.covers
        assert all(claim.where.startswith(study.paper) for claim in study.claims)
        assert len({claim.words() + claim.says for claim in study.claims}) == len(study.claims)


@pytest.mark.parametrize(("study", "claim"), CLAIMS, ids=lambda value: str(value)[:40])
def test_every_claim_can_be_supported_contradicted_and_undecided(
    study: Study, claim: Claim
) -> None:
    one = 1.0 if claim.side == "above" else -1.0
    step = 1.0 + abs(claim.threshold)
    jitter = 0.01 * step * np.array([1.0, -1.0, 0.5, -0.5, 0.2, -0.2, 0.0, 0.4])
    tables: dict[Judgement, np.ndarray] = {
        "supported": claim.threshold + one * step + jitter,
        "contradicted": claim.threshold - one * step + jitter,
        "undecided": claim.threshold + step * np.array([1.0, -1.0] * 4) + jitter,
    }
    for expected, values in tables.items():
        (verdict,) = decide([(claim, claim.effect.table(values))], total=TOTAL)
        assert verdict.verdict == expected, f"{claim.says} {claim.words()}"


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.id)
def test_the_work_of_every_scale_is_valid(study: Study, scale: str) -> None:
    work = study.work(next(one for one in SCALES if one == scale))
    assert work.cells
    if isinstance(work, Trained):
        assert len(plan([dict(cell.settings) for cell in work.cells])) <= len(work.cells)
        assert all("seed" in cell.columns for cell in work.cells)


@pytest.mark.parametrize(("row", "ids"), ROWS.items(), ids=str)
def test_every_row_of_the_catalogue_has_its_studies(row: str, ids: list[str]) -> None:
    known = {study.id: study for study in STUDIES}
    for name in ids:
        assert name in known
    assert any(row in known[name].covers for name in ids), f"no study says that it covers {row}"


def test_the_rows_are_those_of_the_papers_reference() -> None:
    """Where the implementers' reference lies beside the checkout."""
    reference = Path(__file__).parents[3] / "shared" / "reference" / "papers.md"
    if not reference.exists():
        pytest.skip("the papers' reference is not beside this checkout")
    text = reference.read_text("utf-8")
    found = set()
    for paper, section in (("zietlow2022", "### 9.3"), ("mathieu2019", "### 9.5")):
        body = text.partition(section)[2].partition("\n##")[0]
        for line in body.splitlines()[3:]:
            name = line.split("|")[1].strip() if line.startswith("|") else ""
            if name and name != '"' and set(name) != {"-"} and name != "id":
                found.add(f"{paper} {name}")
    wanted = {row for row in found if not LEFT_OUT.match(row)}
    assert wanted == set(ROWS)


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_every_table_that_is_kept_is_of_its_study_as_it_stands_or_named_as_older(
    path: Path,
) -> None:
    outcome = load_outcome(path)
    (study,) = find(outcome.study)
    assert path.stem == study.id.replace("/", "-")
    assert (outcome.digest == study.digest("laptop")) != (study.id in OUTDATED)
    if study.id in OUTDATED:
        assert "**To be run again**" in path.with_suffix(".md").read_text("utf-8")
    assert len(outcome.table) == len(study.work("laptop").cells)
    assert path.with_suffix(".md").exists() and path.with_suffix(".png").exists()


def test_the_beginning_of_an_id_finds_its_parts() -> None:
    assert [study.id for study in find("bonheme2023/figure-10")] == ["bonheme2023/figure-10"]
    parts = find("zietlow2022/table-3.3")
    assert len(parts) > 1 and all(study.id.startswith("zietlow2022/table-3.3-") for study in parts)
    assert {study.paper for study in find("mathieu2019")} == {"mathieu2019"} and len(
        find("mathieu2019")
    ) > 5


def test_an_unknown_id_is_answered_with_what_is_like_it() -> None:
    with pytest.raises(UsageError, match=r"no study zietlow2022/tabel-3\.4") as caught:
        find("zietlow2022/tabel-3.4")
    assert "Did you mean zietlow2022/table-3.4" in caught.value.remedy
    with pytest.raises(UsageError, match="no study nothing") as caught:
        find("nothing")
    assert "vaescope study" in caught.value.remedy
