"""No sentence says what is false. Each piece of text that verdicts, comparisons and pruning can
produce has a truth (`truths`, `pairs`): it is said where that is so, and nowhere else.

`test_every_text_has_a_truth` reads the sources, so that a new sentence without one fails.
"""

import ast
import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.verdicts.facts import heard, unheard
from tests.verdicts.pairs import COMPARED, OF_COMPARISONS, OF_PRUNING, PRUNED, compared, pruned
from tests.verdicts.situations import ALL, FALLING, SUBJECT, N, Situation, inspected
from tests.verdicts.truths import OF_MODELS

import vaescope
from vaescope import wording
from vaescope.codes import Codes
from vaescope.inspection import inspect_codes
from vaescope.prior_density import SparseDensity
from vaescope.pruning.result import plan_of
from vaescope.verdicts import Verdict
from vaescope.verdicts.of_geometry import orthogonal
from vaescope.verdicts.of_latents import averaged

#: Where sentences are made, and which truths are about them.
SOURCES = {
    **dict.fromkeys(
        [f"verdicts/{name}.py" for name in (
            "of_axes", "of_examples", "of_geometry", "of_latents", "of_maps", "of_prior",
            "of_reconstructions", "of_training", "ranking", "thresholds",
        )], OF_MODELS,
    ),
    "comparing/verdicts.py": OF_COMPARISONS,
    "pruning/result.py": OF_PRUNING,
    "pruning/price.py": OF_PRUNING,
}  # fmt: skip
#: Said of codes that the situations do not have: each has a test of its own below.
APART = (
    "ignores x in a local minimum of the rate", "ignore x in a local minimum of the rate",
    ": dropped too.",
    "The local minimum costs", "Train again with posterior variances", "cannot reach it from above",
    "is neither as certain as an active latent", "are neither as certain as active latents",
    "There are too few examples to tell what encodes", "There are too few examples to tell whether",
    "; the furthest off is latent", "Encode more than these", "Of the active latents,",
    "nearly the same mean in every example", "not distinguish examples",
    "Spatial means of channels", "with `vaescope prune`.",
    # of verdicts/of_examples.py and of few examples: tests/verdicts/test_examples.py
    "have a code of their own", "repeat these", "Intervals and chance levels",
    "leave out copies", "different examples are too few", "Encode more than",
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def unfolded() -> Iterator[None]:
    """Long lists in full, so that every number in a sentence can be checked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wording, "FOLD", 1000)
        yield


def texts(verdicts: tuple[Verdict, ...]) -> list[str]:
    return [text for one in verdicts for text in (one.says, one.advice)]


@cache
def pages() -> list[tuple[Any, list[str], Any]]:
    """Each situation, what is said of it, and the truths about that."""
    found: list[tuple[Any, list[str], Any]] = []
    found += [(what, texts(inspected(what).verdicts), OF_MODELS) for what in ALL]
    found += [(what, texts(compared(what).verdicts), OF_COMPARISONS) for what in COMPARED]
    found += [(what, [pruned(what).summary()], OF_PRUNING) for what in PRUNED]
    return found


def test_there_are_at_least_200_situations() -> None:
    assert len(ALL) >= 200


TRUTHS = [
    (table, fragment) for table in (OF_MODELS, OF_COMPARISONS, OF_PRUNING) for fragment in table
]


@pytest.mark.slow
@pytest.mark.parametrize(("table", "fragment"), TRUTHS, ids=[text for _, text in TRUTHS])
def test_a_text_is_said_where_it_is_true_and_nowhere_where_it_is_false(
    table: Any, fragment: str
) -> None:
    holds, said, unsaid = table[fragment], 0, 0
    for what, every, own in pages():
        if own is not table:
            continue
        found = [text for text in every if re.search(fragment, text)]
        said, unsaid = said + bool(found), unsaid + (not found)
        for text in found:
            assert holds(what, text), (what, text)
    assert said
    assert unsaid


def _literals(path: Path) -> Iterator[str]:
    """Texts of three words or more that a module can say: no docstrings, rules or tables of
    thresholds, which are shown beside their numbers."""
    tree = ast.parse(path.read_text())
    silent: set[int] = set()
    for node in ast.walk(tree):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if documented and ast.get_docstring(node) is not None:
            silent |= {id(inner) for inner in ast.walk(node.body[0])}
        rule = isinstance(node, ast.keyword) and node.arg in ("rule", "section", "shown")
        named = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        rule = rule or (named and node.targets[0].id.lower() == "rule")  # type: ignore[union-attr]
        table = isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") in (
            "THRESHOLDS", "PAPERS",
        )  # fmt: skip
        if rule or table:
            silent |= {id(inner) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if text and id(node) not in silent:
            said = str(node.value).strip()  # type: ignore[attr-defined]
            if len(said.split()) >= 3 and not said.endswith("| None"):
                yield said


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_every_text_has_a_truth(name: str) -> None:
    """Each is said in some situation, within what a truth speaks of."""
    every = [(text, own) for _, all_of, own in pages() for text in all_of]
    for literal in _literals(Path(vaescope.__file__).parent / name):
        if any(literal in apart or apart in literal for apart in APART):
            continue
        found = [(text, own) for text, own in every if literal in text]
        assert found, f"{name}: never said: {literal!r}"
        for text, own in found:
            start = text.index(literal)
            spans = [m.span() for pattern in own for m in re.finditer(pattern, text)]
            assert any(a < start + len(literal) and b > start for a, b in spans), (
                f"{name}: no truth for {literal!r} in {text!r}"
            )


#: Advices that must not be on one page.
CONTRADICTIONS = (
    (
        r"(?<!not )[Dd]rop (the|them|it)\b(?! yet)",
        r"Do not drop|Keep all latents for now|means encode it best",
    ),
    (
        r"`vaescope prune` removes",
        r"Do not drop|keep the passive means|Keep all latents for now|means encode it best",
    ),
    (r"Training has converged", r"(?i)train longer|Train for more steps|Look again when training"),
    (r"(?i)lower beta", r"(?i)raise beta|larger beta|higher beta"),
    (r"Give the model more latents", r"(?i)lower beta\b|closer to the data"),
    (r"can be drawn from the prior", r"before you trust any number|gives values that are"),
    (r"Interpret latents one by one", r"Do not interpret|do not name|without a meaning"),
    (r"Do not interpret latents", r"the axes separate the factors\."),
    (r"larger beta|raise beta", r"lower beta|Lower beta"),
    (r"(?i)train longer, then|^Train longer|\. Train longer", r"(?i)lower learning rate"),
    (r"Training has converged", r"not converged|too noisy"),
    (r"none is passive|none depends on the data", r"decoder still uses|(is|are) passive \("),
    (r"Give the model more latents", r"ignores all latents|posterior collapse"),
    (r"The decoder hardly uses the", r"decoder still uses|ignores all latents"),
    (r"can be drawn from the prior", r"rather than from the prior"),
    (r"Keep it\.$", r"Use [\d.]+ for data like these"),
)


@pytest.mark.slow
@pytest.mark.parametrize(("one", "other"), CONTRADICTIONS)
def test_no_page_contradicts_itself(one: str, other: str) -> None:
    for what, every, table in pages():
        if table is OF_MODELS:
            both = [any(re.search(p, text) for text in every) for p in (one, other)]
            assert not all(both), (what, every)


@pytest.mark.slow
def test_no_factor_is_told_apart_that_the_groups_find_in_several_latents() -> None:
    together = 0
    for what in ALL:
        found = inspected(what)
        if found.groups is None or what.supervised:
            continue
        joint = {n for g in found.groups.groups if len(g.latents) > 1 for n in g.factors}
        together += bool(joint)
        said = next(one.says for one in found.verdicts if one.id == "mig")
        assert not (joint and "separate the factors." in said.replace("do not separate", "")), what
        for some in re.findall(r"separate \d+ of \d+ factors \((.*?)\)", said):
            assert not joint & set(some.split(" and ")), (what, said)
    assert together >= 6


@pytest.mark.slow
def test_causes_come_by_weight_and_consequences_right_under_them() -> None:
    tones = ("warning", "note", "good")
    nested = 0
    for what in ALL:
        said = inspected(what).verdicts
        by_id = {one.id: one for one in said}
        assert len(by_id) == len(said), what
        roots = [one for one in said if one.cause is None]
        assert [one.tone for one in roots] == sorted((o.tone for o in roots), key=tones.index)
        above = None
        for one in said:
            if one.cause is None:
                above = one
                continue
            nested += 1
            assert above is not None and one.cause == above.id, (what, one)
            assert above.tone == "warning", (what, one)
            if one.cause not in ("heard", "turned"):
                assert one.advice.startswith("Look again when "), (what, one)
    assert nested > 200


def test_a_model_that_did_not_train_has_one_cause() -> None:
    said = inspected(
        Situation(("active", "active", "passive"), losses=FALLING, loud=(0, 1), factors="used")
    ).verdicts
    assert [one.id for one in said if one.cause is None] == ["unsettled"]
    assert {one.id for one in said} >= {"unsettled", "polarised", "silent", "mig", "prior"}


@pytest.mark.slow
def test_borderline_is_in_the_sentence_and_in_the_value() -> None:
    near = 0
    for what in ALL:
        for one in inspected(what).verdicts:
            if one.borderline:
                near += 1
                assert " is borderline: " in one.says, (what, one)
    assert near > 5


def test_a_margin_of_dto_is_to_a_limit_that_the_rule_names() -> None:
    met = set()
    for dto, cosine in itertools.product(np.linspace(0.2, 1.0, 81), (0.05, 0.9)):
        pairs = np.array([[1.0, cosine], [cosine, 1.0]])
        measures = {
            "dto": SimpleNamespace(value=dto), "dto_haar": SimpleNamespace(value=1.0),
            "column_norm": SimpleNamespace(per_column=np.array([1.0, 9.0])),
            "column_cosine": SimpleNamespace(pairs=pairs),
        }  # fmt: skip
        geometry: Any = SimpleNamespace(measures=measures, columns=(0, 1))
        found = orthogonal(geometry)
        assert found is not None
        for limit in re.findall(r"DtO is borderline: [\d.]+ \(limit ([\d.]+\d)", found.says):
            assert f"{float(limit):.2f}" in found.rule, (dto, cosine, found)
            met.add((float(limit), cosine))
    assert met == {(0.5, 0.05), (0.5, 0.9), (0.8, 0.9)}


@pytest.mark.slow
def test_where_the_encoder_saw_the_factors_every_verdict_says_so() -> None:
    for what in ALL:
        for one in inspected(what).verdicts:
            assert one.says.startswith("(supervised) ") == what.supervised
            assert one.shown.endswith(", supervised") == what.supervised


@pytest.mark.slow
def test_mixed_is_a_warning_only_where_something_is_wrong() -> None:
    for what in ALL:
        for one in inspected(what).verdicts:
            if one.id == "mixed":
                ignored = bool(what.loud) and unheard(what)
                wrong = ignored or what.indices("constant")
                assert one.tone == ("warning" if wrong else "note"), what


@pytest.mark.slow
def test_passive_latents_that_are_heard_are_warned_of() -> None:
    for what in ALL:
        ids = {one.id for one in inspected(what).verdicts}
        by_place = what.maps == "places" and what.passive
        whole = len(what.passive) == len(what.latents)
        assert ("heard" in ids) == bool(heard(what) and not by_place and not whole), what


@pytest.mark.slow
def test_verdicts_do_not_change_with_the_scale_of_prior_and_codes() -> None:
    """But for the words that say in which units they are."""
    words = r" times that of an unused latent|, a diagonal Gaussian| in units of the prior"
    for what in [one for one in ALL if not one.assumed][::5]:
        alike = [
            [
                (one.id, one.tone, re.sub(words, "", one.says), one.advice, one.latents)
                for one in inspected(replace(what, scale=scale)).verdicts
            ]
            for scale in (1.0, 0.05)
        ]
        assert alike[0] == alike[1], what


@pytest.mark.slow
def test_a_latent_in_a_local_minimum_of_the_rate_is_told_with_its_cost() -> None:
    """The sparse prior's rate has a second minimum at variance 0.47, 1.187 nats; the least is
    0.189 nats (both by quadrature on a grid of 200,001 points)."""
    rng = np.random.default_rng(0)
    prior = SparseDensity(0.8, 0.05, np.zeros(3))
    mean = np.stack([rng.normal(size=N), 0.01 * rng.normal(size=N), np.zeros(N)], axis=1)
    variance = np.tile([0.001, 0.47, 0.0028], (N, 1))
    codes = Codes(mean, variance, mean, prior=prior)
    first = inspect_codes(codes, SUBJECT).verdicts[0]
    assert (first.id, first.tone, first.latents) == ("mixed", "warning", (1,))
    assert "ignores x in a local minimum of the rate" in first.says
    plan = plan_of(codes)
    assert plan.dropped == (1, 2)
    assert plan.reason.startswith("Latent 2 of 3 is passive.")
    assert "1 ignores x but is in a local minimum" in plan.reason
    assert plan.reason.endswith(": dropped too.")
    assert "1 cannot reach it from above. Or drop it with `vaescope prune`." in first.advice
    z = np.linspace(-8.0, 8.0, 200_001)

    def density(v: float) -> NDArray[np.float64]:
        return np.asarray(np.exp(-0.5 * z**2 / v) / np.sqrt(2 * np.pi * v))

    p = 0.2 * density(1.0) + 0.8 * density(0.05**2)
    rates = []
    for v in (0.47, 0.0028):
        q = density(v)
        log_q = -0.5 * z**2 / v - 0.5 * np.log(2 * np.pi * v)
        rates.append(float((q * (log_q - np.log(p))).sum() * (z[1] - z[0])))
    assert f"costs {rates[0] - rates[1]:.2g} nats" in first.says
    for what in ALL:
        assert "local minimum" not in " ".join(texts(inspected(what).verdicts)), what
    assert not any("dropped too" in pruned(what).summary() for what in PRUNED)


def test_a_factor_of_too_many_classes_is_not_called_unknown() -> None:
    """300 classes of 400 examples: chance knows nearly all of them."""
    rng = np.random.default_rng(0)
    mean = rng.normal(size=(N, 2))
    fine = np.column_stack([(mean[:, 0] > 0).astype(np.int64), rng.integers(0, 300, N)])
    codes = Codes(mean, np.full((N, 2), 0.01), mean, factors=fine, factor_names=("a", "b"))
    said = " ".join(texts(inspect_codes(codes, SUBJECT, metrics=["mig"]).verdicts))
    assert "There are too few examples to tell what encodes b." in said
    assert "No latent encodes" not in said


def test_without_kinds_a_mixed_latent_is_only_called_mixed() -> None:
    found = inspected(Situation(("active", "some", "passive")))
    from vaescope.verdicts import judge

    says = judge(found.latents, found.samples)[0].says
    assert "is neither as certain as an active latent nor as uncertain as a passive one" in says


@pytest.mark.parametrize("n", [2, 6, 30])
def test_few_samples_are_not_said_to_follow_the_prior_or_not_to(n: int) -> None:
    mean = np.linspace(-0.6, 0.6, n)[:, None] * np.ones(2)  # a standard deviation of 0.6 or less
    found = inspect_codes(Codes(mean, np.full((n, 2), 1e-4), mean), SUBJECT).verdicts
    says = next(one.says for one in found if one.id == "prior")
    assert says.startswith("There are too few examples to tell whether")


@pytest.mark.slow
def test_an_active_latent_that_is_the_same_in_every_example_is_told() -> None:
    rng = np.random.default_rng(0)
    mean = np.stack([rng.normal(size=N), np.full(N, 2.0)], axis=1)
    codes = Codes(mean, np.full((N, 2), 0.01), mean)
    said = " ".join(texts(inspect_codes(codes, SUBJECT).verdicts))
    assert "Of the active latents, 1 has nearly the same mean" in said
    for what in ALL:
        assert "Of the active" not in " ".join(texts(inspected(what).verdicts)), what


@pytest.mark.parametrize(
    ("nats", "says"),
    [
        ([2.0, 3.0], "Spatial means of channels 0 and 1 are passive, but their positions carry"),
        ([0.0, 3.0], "The spatial mean of channel 1 is passive, but its positions carry"),
    ],
)
def test_one_channel_and_several_are_named_as_such(nats: list[float], says: str) -> None:
    latents: Any = [SimpleNamespace(index=j, type="passive") for j in range(2)]
    found = averaged(latents, cast(Any, SimpleNamespace(kl_nats=np.array(nats))))
    assert found is not None and found.says == f"{says} up to 3 nats each."
