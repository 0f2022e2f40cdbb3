"""All studies: every claim can be decided each way, every scale is valid, every row is covered."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vaescope.errors import UsageError
from vaescope.paper_aliases import PAPERS
from vaescope.studies import (
    SCALES,
    Blocked,
    Case,
    Claim,
    ClaimVerdict,
    Control,
    Gap,
    Study,
    Test,
    Trained,
    decide,
)
from vaescope.studies.blocks import Pooled, Share
from vaescope.studies.catalogue import OUTDATED, REVISED, STUDIES, cases, find
from vaescope.studies.effects import Ratio, Trend, distinct, two_of
from vaescope.studies.registry import read_registry, status, voting_units
from vaescope.studies.running import load_outcome
from vaescope.sweeps.grid import plan
from vaescope.tables import Row, Table, table_of

CLAIMS = [(study, claim) for study in STUDIES for claim in study.claims]
RESULTS = Path(__file__).parents[2] / "docs" / "results" / "studies"
REGISTRY_FILE = RESULTS.parent / "registry.jsonl"

#: Rows of the papers' catalogue, as its tables name them, and the studies that show them.
ROWS = {
    "bonheme2023 Fig 4": ["bonheme2023/figure-4"],
    "bonheme2023 Fig 5": ["bonheme2023/figure-5"],
    "bonheme2023 Fig 6 a,b": ["bonheme2023/figure-6"],
    "bonheme2023 Fig 7": ["bonheme2023/figure-7"],
    "bonheme2023 Fig 8a": ["bonheme2023/figure-8"],
    "bonheme2023 Fig 8b": ["bonheme2023/figure-8"],
    "bonheme2023 Fig 8c": ["bonheme2023/figure-8"],
    "bonheme2023 Fig 9 a-c": ["bonheme2023/figure-9"],
    "bonheme2023 Fig 10 a-c": ["bonheme2023/figure-10"],
    "bonheme2023 Fig 11": ["bonheme2023/figure-11"],
    "bonheme2023 Fig 12": ["bonheme2023/figure-12"],
    "bonheme2023 Fig 13": ["bonheme2023/figure-13"],
    "bonheme2023 Fig 14": ["bonheme2023/figure-14"],
    "bonheme2023 Fig 15-16": ["bonheme2023/figures-15-16"],
    "bonheme2023 Fig 17": ["bonheme2023/figure-17"],
    "bonheme2023 Fig 18 a-d": ["bonheme2023/figure-18"],
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
    **{f"zietlow2022 Tab {k}": [f"zietlow2022/table-{k}"] for k in ("4.2", "4.3", "4.4", "4.5")},
    **{
        f"zietlow2022 {row}": ["zietlow2022/table-4.2"] for row in ("Tab 4.1", "Fig 4.3", "Fig 4.9")
    },
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
#: Schematics, other projects, and what is prepared or missing of chapter 4 of zietlow2022.
LEFT_OUT = re.compile(
    r"zietlow2022 (Fig 2\.4|Fig 4\.(4-4\.7|8|10)|Fig 7\.1)|mathieu2019 Fig 1$|bonheme2023 Fig 1-3$"
)


def test_there_are_twenty_studies_with_names_of_their_own() -> None:
    assert len(STUDIES) >= 20 and len(CLAIMS) >= 45
    assert len({study.id for study in STUDIES}) == len(STUDIES)
    for study in STUDIES:
        assert study.title and study.about and study.panels and study.covers
        assert all(claim.where.startswith(study.paper) for claim in study.claims)
        assert len({claim.words() + claim.says for claim in study.claims}) == len(study.claims)


EVIDENCE = [(study, claim) for study, claim in CLAIMS if claim.kind != "identity"]


#: Tables whose primary claim another study has.
SECONDARY = {"zietlow2022/table-4.2-dsprites"}


def test_every_study_of_trained_models_has_one_primary_claim() -> None:
    """What only computes has none: its claims are formulas."""
    for study in STUDIES:
        kinds = {claim.kind for claim in study.claims}
        assert kinds == {"identity"} or "identity" not in kinds, study.id
        primary = [claim for claim in study.claims if claim.primary]
        none = kinds == {"identity"} or study.id in SECONDARY
        assert len(primary) == (0 if none else 1), study.id
        for claim in primary:
            assert claim.own or 3 < len(claim.quote.split()) <= 25, study.id


def words_of(text: str) -> str:
    """Letters only, without what marks up formulas."""
    text = re.sub(r"\\(beta|nu|gamma)\b", r" \1 ", text)
    text = re.sub(r"\\(mathbf|phi)\b|_\{[^}]*\}|</?\w+>|-\n|- ", " ", text)
    return " ".join(re.findall(r"[A-Za-z]{2,}", text)).lower()


@pytest.mark.parametrize("study", [s for s in STUDIES if any(c.quote for c in s.claims)],
                         ids=lambda study: study.id)  # fmt: skip
def test_quotes_are_the_papers_own_words(study: Study) -> None:
    """Where the papers lie beside the checkout."""
    numbers = {key: number for number, key in PAPERS.items()}
    papers = Path(__file__).parents[3] / "shared" / "papers"
    if not papers.exists():
        pytest.skip("the papers are not beside this checkout")
    (paper,) = papers.glob(f"{numbers[study.paper]}_*.txt")
    text = words_of(paper.read_text("utf-8"))
    for claim in study.claims:
        if claim.quote:
            assert words_of(claim.quote) in text, claim.quote


def levels_of(test: Test | Control, values: np.ndarray, known: dict[Any, np.ndarray]) -> Table:
    """A table in which the effect has these values; arms that earlier effects have set stay."""
    effect = test.effect
    if isinstance(effect, Blocked):
        effect, values = effect.effect, np.repeat(values, effect.size)
    if isinstance(effect, Ratio):
        top, bottom = (
            (effect.measure, tuple(sorted(w.items()))) for w in (effect.top, effect.bottom)
        )
        if top in known and bottom not in known:
            known[bottom] = known[top] / values
        bottoms = known.setdefault(bottom, np.ones(len(values)))
        tops = known.setdefault(top, bottoms * values)
        return two_of(effect.top, effect.bottom, effect.unit, effect.measure, tops, bottoms)
    if not isinstance(effect, Gap):
        return effect.table(values)
    high, low = ((effect.measure, tuple(sorted(w.items()))) for w in (effect.high, effect.low))
    if high in known and low not in known:
        known[low] = known[high] - values
    low_values = known.setdefault(low, np.ones(len(values)))
    high_values = known.setdefault(high, low_values + values)
    return two_of(effect.high, effect.low, effect.unit, effect.measure, high_values, low_values)


def stacked(tables: Sequence[Table]) -> Table:
    """Rows of the same settings as one row; numbers of the first table stay."""
    rows: dict[Any, tuple[dict[str, Any], dict[str, Any]]] = {}
    for table in tables:
        seen: Counter[Any] = Counter()
        for i in range(len(table)):
            settings = {k: v[i] for k, v in table.settings.items() if k not in ("run", "done")}
            settings = {k: v for k, v in settings.items() if v is not None}
            key = tuple(sorted(settings.items()))
            seen[key] += 1
            results = {k: v[i] for k, v in table.results.items()}
            kept = rows.setdefault((key, seen[key]), (settings, {}))[1]
            rows[key, seen[key]][1].update({**results, **kept})
    return table_of(Row(f"r{i}", True, s, r) for i, (s, r) in enumerate(rows.values()))


UNITS = 24
NOT_RUN = cases({})


def sided(test: Test, sign: float) -> np.ndarray:
    """Values on the claimed side of a threshold, or on the other."""
    step = 1.0 + abs(test.threshold)
    apart = np.linspace(0.0, 0.01, UNITS) * step
    if test.side == "within":
        far = test.margin + step if sign < 0 else 0.0
        return test.threshold + far + apart * min(test.margin, 1.0)
    one = 1.0 if test.side == "above" else -1.0
    return test.threshold + sign * one * (step + apart)


def same(table: Table) -> Table:
    return table


def judged(
    claim: Claim,
    values: Sequence[np.ndarray],
    control: np.ndarray,
    change: Callable[[Table], Table] = same,
) -> ClaimVerdict:
    known: dict[Any, np.ndarray] = {}
    tables = [levels_of(t, v, known) for t, v in zip(claim.tests, values, strict=True)]
    if claim.control is not None:
        tables.append(levels_of(claim.control, control, known))
    if claim.needs is not None:
        met = claim.needs.threshold + (1.0 if claim.needs.side == "above" else -1.0)
        tables.append(claim.needs.effect.table(np.full(len(values[0]), met)))
    (family,) = [case.family for case in NOT_RUN if case.claim is claim]
    found = [
        Case(case.claim, case.family, change(stacked(tables)), "registered before")
        if case.claim is claim
        else case
        for case in NOT_RUN
        if case.family == family  # each family has its own level
    ]
    (verdict,) = [v for v in decide(found) if v.claim is claim]
    return verdict


@pytest.mark.slow
@pytest.mark.parametrize(("study", "claim"), EVIDENCE, ids=lambda value: str(value)[:40])
def test_every_claim_can_be_supported_contradicted_not_specific_and_undecided(
    study: Study, claim: Claim
) -> None:
    good, bad = ([sided(test, sign) for test in claim.tests] for sign in (1.0, -1.0))
    assert judged(claim, good, bad[0]).verdict == "supported"
    assert judged(claim, bad, bad[0]).verdict == "contradicted"
    same = judged(claim, good, good[0])
    assert same.verdict == "not specific", same.summary()
    missing = judged(claim, [np.full(UNITS, np.nan) for _ in good], good[0])
    assert missing.verdict in ("undecided", "not specific")
    assert missing.count.votes_for == missing.count.against == 0
    assert max(missing.support, missing.contradiction) < 1.0
    half = [np.where(np.arange(UNITS) % 2, g, b) for g, b in zip(good, bad, strict=True)]
    assert judged(claim, half, bad[0]).verdict == "undecided"


def backwards(table: Table) -> Table:
    return table.select(list(reversed(range(len(table)))))


def with_fraction(table: Table) -> Table:
    """Judged as the scoreboard judges it. A number that is not whole tells copies from counts."""
    results = {**table.results, "more": [0.5] * len(table)}
    return distinct(Table(table.settings, results), "seed")


@pytest.mark.slow
@pytest.mark.parametrize(("study", "claim"), EVIDENCE, ids=lambda value: str(value)[:40])
def test_no_claim_is_decided_by_a_table_that_shows_nothing(study: Study, claim: Claim) -> None:
    """All units at the threshold, one unit, one unit copied, no number in the control, a control
    that is farther; and the order of rows changes nothing."""
    good, bad = ([sided(test, sign) for test in claim.tests] for sign in (1.0, -1.0))
    if all(test.side != "within" for test in claim.tests) and not any(
        isinstance(test.effect, (Trend, Pooled, Share)) for test in claim.tests
    ):
        tied = judged(claim, [np.full(UNITS, test.threshold) for test in claim.tests], bad[0])
        exact = tied.count.neither == UNITS  # thresholds that rounding leaves where they are
        assert tied.verdict == "undecided" or not exact, tied.summary()
    alone = judged(claim, [values[:1] for values in good], bad[0][:1])
    assert alone.verdict == "undecided" and alone.seeds <= 1
    if claim.effect.unit == "seed":
        whole = [np.full(UNITS, values[7]) for values in good]
        copied = judged(claim, whole, np.full(UNITS, bad[0][7]), with_fraction)
        assert copied.verdict == "undecided" and copied.seeds <= 1
    blind = judged(claim, good, np.full(UNITS, np.nan))
    assert blind.verdict == "undecided", blind.summary()
    farther = good[0] + (good[0] - claim.threshold) * 0.5
    if claim.side == "within":
        farther = np.full(UNITS, claim.threshold)
    assert judged(claim, good, farther).verdict == "not specific"
    for sides in (good, bad):
        forth, back = (judged(claim, sides, bad[0], change) for change in (same, backwards))
        assert (forth.verdict, forth.count, forth.e) == (back.verdict, back.count, back.e)


@pytest.mark.parametrize(("study", "claim"), EVIDENCE, ids=lambda value: str(value)[:40])
def test_every_claim_about_trained_models_names_a_control(study: Study, claim: Claim) -> None:
    assert claim.control is not None and claim.control.says
    assert repr(claim.control.effect) != repr(claim.effect)
    effect = claim.effect
    if isinstance(effect, Gap):  # swapping the arms is no control
        swapped = Gap(effect.measure, effect.low, effect.high, effect.unit)
        assert repr(claim.control.effect) != repr(swapped)


@pytest.mark.slow
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
    for paper, section in (
        ("bonheme2023", "### 9.2"),
        ("zietlow2022", "### 9.3"),
        ("mathieu2019", "### 9.5"),
    ):
        body = text.partition(section)[2].partition("\n##")[0]
        for line in body.splitlines()[3:]:
            name = line.split("|")[1].strip() if line.startswith("|") else ""
            if name and name != '"' and set(name) != {"-"} and name != "id":
                found.add(f"{paper} {name}")
    wanted = {row for row in found if not LEFT_OUT.match(row)}
    assert wanted == set(ROWS)


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_every_table_that_is_kept_is_registered_or_shown_as_older(path: Path) -> None:
    outcome = load_outcome(path)
    (study,) = find(outcome.study)
    assert path.stem == study.id.replace("/", "-")
    page = path.with_suffix(".md").read_text("utf-8")
    state = status(study, outcome.digest, outcome.table, read_registry(REGISTRY_FILE))
    older = state == "re-analysed" and not study.formulas_only  # formulas are never registered
    assert ("**Re-analysed**" in page) == older
    if state != "re-analysed":
        assert study.id not in OUTDATED
        units = sorted(unit for unit in voting_units(study, outcome.table) if isinstance(unit, int))
        assert len(outcome.table) == len(study.of_units("laptop", units).cells)
    figure = path.with_suffix(".svg").read_text("utf-8")
    assert page.index(f"({path.stem}.svg)") < page.index(study.about[:40])  # the figure comes first
    assert "prefers-color-scheme:dark" in figure


def test_every_revision_of_a_registration_has_its_reason() -> None:
    lines = Counter(line.study for line in read_registry(REGISTRY_FILE))
    assert {name for name, times in lines.items() if times > 1} == set(REVISED)


@pytest.mark.parametrize("study", [s for s in STUDIES if s.claims[0].kind == "identity"],
                         ids=lambda study: study.id)  # fmt: skip
def test_every_formula_holds_in_every_unit_of_its_table(study: Study) -> None:
    table = load_outcome(RESULTS / f"{study.id.replace('/', '-')}.json").table
    for claim in study.claims:
        (verdict,) = decide([Case(claim, study.paper, table, "re-analysed")])
        assert verdict.verdict == "supported", verdict.summary()


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
