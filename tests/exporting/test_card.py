"""The model card has what the results have, in a form that the hub reads."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from tests.exporting.test_hub import VECTORS, run_of

import vaescope as vs
from vaescope.build import OBJECTIVES, PRIORS, data_settings
from vaescope.citations import BIBTEX, METHODS
from vaescope.data import CARDS
from vaescope.data.in_memory import from_arrays
from vaescope.exporting import card, model_card
from vaescope.inspection import Inspection
from vaescope.settings import experiment, from_command_line, from_python
from vaescope.specs import Experiment, digest, resolve

SPEC = resolve(from_command_line("vae", VECTORS))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Inspection:
    run = run_of(tmp_path_factory.mktemp("card"), SPEC)
    return vs.inspect(run, effort="fast", images=False)


def head_of(text: str) -> dict[str, Any]:
    start, head, _ = text.split("---\n", 2)
    assert start == ""
    content: dict[str, Any] = yaml.safe_load(head)
    return content


@pytest.mark.slow
def test_the_head_is_yaml_with_what_the_hub_asks_for(found: Inspection) -> None:
    head = head_of(model_card(found, SPEC, name="mine", licence="mit").text)
    assert (head["library_name"], head["license"]) == ("vaescope", "mit")
    assert head["datasets"] == ["ica-segments"]
    assert "vae" in head["tags"] and "objective-vae" in head["tags"]
    assert head_of(model_card(found, SPEC, name="mine").text)["license"] == "unknown"


@pytest.mark.slow
def test_every_score_is_in_the_head_and_in_the_text_with_its_protocol(found: Inspection) -> None:
    made = model_card(found, SPEC, name="mine")
    assert found.measures is not None
    scores = [
        (on, name, score)
        for on, own in found.measures.scores.items()
        for name, score in own.items()
    ]
    assert made.metrics == len(scores) >= 4
    (index,) = head_of(made.text)["model-index"]
    (result,) = index["results"]
    assert index["name"] == "mine" and result["dataset"]["name"] == "ica-segments"
    for measured, (on, name, score) in zip(result["metrics"], scores, strict=True):
        assert (measured["type"], measured["value"]) == (name, score.value)
        protocol = measured["args"]
        assert (protocol["name"], protocol["n"]) == ("default", 160)
        assert protocol["representation"] == on and protocol["seed"] == 0
        row = next(line for line in made.text.splitlines() if line.startswith(f"| {name} | {on} |"))
        assert f"| {score.value:.4g} |" in row and "name default, n 160" in row and "seed 0" in row
        if "bins" in protocol:
            assert f"bins {protocol['bins']}" in row


def test_every_verdict_is_there_with_number_and_advice(found: Inspection) -> None:
    made = model_card(found, SPEC, name="mine")
    assert made.verdicts == len(found.verdicts) > 0
    for verdict in found.verdicts:
        row = next(line for line in made.text.splitlines() if line.startswith(f"| {verdict.id} |"))
        for part in (verdict.says, verdict.shown, verdict.rule, verdict.advice):
            assert part.replace("|", "\\|") in row


def test_the_card_says_how_to_load_and_what_made_it(found: Inspection) -> None:
    text = model_card(found, SPEC, name="mine").text
    assert "vs.load_pretrained(" in text
    assert digest(SPEC) in text
    assert "vaescope 0." in text and "numpy" in text
    assert "per_segment: 40" in text
    assert text.count("```") % 2 == 0


def spec_on(data: str) -> Experiment:
    vectors = {"pinwheel", "synth-linear", "synth-nonlinear", "linear-gaussian", "ica-segments"}
    net = {"name": "auto"} if data in vectors else {"name": "mlp"}
    return resolve(experiment({"data": {"name": data}, "objective": {"name": "vae"}, "net": net}))


@pytest.mark.parametrize("data", CARDS)
def test_licence_and_bibtex_of_every_dataset(data: str, found: Inspection) -> None:
    text = model_card(found, spec_on(data), name="mine").text
    assert f"Licence of the data: {CARDS[data].licence}." in text
    assert BIBTEX[CARDS[data].citation] in text
    assert BIBTEX["kingma2014"] in text


def test_every_objective_and_every_prior_can_be_cited() -> None:
    assert {METHODS[name] for name in OBJECTIVES} <= set(BIBTEX)
    assert {METHODS[name] for name in card.PRIORS.values()} <= set(BIBTEX)
    assert set(card.PRIORS) == set(PRIORS) - {"normal"}


def test_an_identifiable_vae_cites_its_paper(found: Inspection) -> None:
    spec = resolve(from_command_line("ivae", []))
    assert BIBTEX["khemakhem2020"] in model_card(found, spec, name="mine").text


def test_data_without_factors_have_no_metrics_and_it_is_said(tmp_path: Path) -> None:
    data = from_arrays(np.random.default_rng(0).normal(size=(80, 3)).astype(np.float32))
    spec = from_python("vae", data_settings(data), {"latent": 2})
    results = vs.inspect(run_of(tmp_path, spec), data, effort="fast", images=False)
    made = model_card(results, resolve(spec), name="mine")
    assert made.metrics == 0
    assert "model-index" not in head_of(made.text)
    assert "- not measured: metrics: the codes have neither factors nor" in made.text
    assert spec.data.sha256 in made.text and "Its owner determines licence" in made.text


def test_a_name_cannot_break_the_card(found: Inspection) -> None:
    name = 'a: "b"\n---\n# c | d'
    odd = replace(found, subject=replace(found.subject, data=name))
    text = model_card(odd, SPEC, name=name).text
    head = head_of(text)
    assert head["datasets"] == ['a: "b" --- # c | d']
    assert [line for line in text.splitlines() if line.startswith("# ")] == ['# a: "b" --- # c | d']
