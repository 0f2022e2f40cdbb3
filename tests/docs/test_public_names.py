"""Every public name is documented: arguments, what is returned and raised, source, example."""

import inspect
import re
import sys
from dataclasses import is_dataclass

import pytest
from tests.docs.snippets import ROOT

sys.path.append(str(ROOT / "docs" / "site"))
import public
from public import Public

NAMES = [one for one in public.everything() if one.kind != "data"]
#: Needs an extra, or minutes: tests/exporting and tests/tuning run the calls of their pages.
ELSEWHERE = {"export_onnx", "tune_beta"}


def name(one: Public) -> str:
    return one.name


def test_the_walk_finds_the_whole_package() -> None:
    found = {one.name for one in NAMES}
    assert {"inspect", "metrics.mig", "geometry.jacobians", "known.codes"} <= found
    assert len(found) > 200


@pytest.mark.parametrize("one", NAMES, ids=name)
def test_it_says_what_it_is(one: Public) -> None:
    assert one.doc.text, f"{one.name} has no docstring"


@pytest.mark.slow
@pytest.mark.parametrize("one", NAMES, ids=name)
def test_its_arguments_are_described(one: Public) -> None:
    said = set(one.doc.args)
    if one.kind == "class" and is_dataclass(one.value):
        fields = public.comments(one.value)
        said |= {field for field, words in fields.items() if words or field in public.FIELDS}
        said |= set(re.findall(r"`(\w+)`", inspect.getdoc(one.value) or ""))
    missing = set(public.parameters(one.value)) - said
    assert not missing, f"{one.name} does not describe {', '.join(sorted(missing))}"


@pytest.mark.parametrize("one", [one for one in NAMES if one.kind == "function"], ids=name)
def test_it_says_what_it_returns_and_raises(one: Public) -> None:
    assert one.doc.returns, f"{one.name} does not say what it returns"
    source = inspect.getsource(inspect.unwrap(one.value))
    raised = set(re.findall(r"^\s+raise (\w+)\(", source, re.MULTILINE))
    assert raised <= set(one.doc.raises), f"{one.name} raises {', '.join(raised)}"


@pytest.mark.parametrize("one", NAMES, ids=name)
def test_it_has_a_source_in_the_literature_or_a_sentence_on_its_module(one: Public) -> None:
    assert one.doc.reference or one.module_doc


@pytest.mark.parametrize("one", NAMES, ids=name)
def test_it_has_an_example_or_is_returned_by_a_function_that_has_one(one: Public) -> None:
    if one.name in ELSEWHERE:
        return
    example = one.doc.example
    if not example and one.kind == "class":
        short = one.name.split(".")[-1]
        makers = [
            maker for maker in NAMES
            if maker.kind == "function"
            and short in re.findall(r"\w+", inspect.formatannotation(
                inspect.signature(maker.value).return_annotation))
        ]  # fmt: skip
        example = next((maker.doc.example for maker in makers if maker.doc.example), "")
        example = example or next((base.example for base in _parts(one)), "")
    assert ">>>" in example, f"{one.name} has no example"


def _parts(one: Public) -> list[public.Doc]:
    """Docs of results that this one is a field of: its example shows it."""
    short = one.name.split(".")[-1]
    found = []
    for other in NAMES:
        if other.kind == "class" and is_dataclass(other.value) and other is not one:
            kinds = " ".join(str(field.type) for field in other.value.__dataclass_fields__.values())
            if re.search(rf"\b{short}\b", kinds):
                found += [m.doc for m in NAMES if m.kind == "function" and m.doc.example
                          and other.value.__name__ in inspect.formatannotation(
                              inspect.signature(m.value).return_annotation)]  # fmt: skip
    return found
