"""Runs with known differences, compared: those are found, and no others."""

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.comparing.hand_made import LOG_VARIANCES, PASSIVE, hand_made, write_run

import vaescope as vs
from vaescope.cli import main
from vaescope.errors import RunError, UsageError
from vaescope.runs import Run, strict_json

Make = Callable[..., Run]


def gaps(content: Any) -> list[dict[str, Any]]:
    """All differences in the JSON, wherever they stand."""
    if isinstance(content, dict):
        own = [content] if "difference" in content else []
        return own + [gap for value in content.values() for gap in gaps(value)]
    return [gap for value in content for gap in gaps(value)] if isinstance(content, list) else []


def latents(found: dict[str, Any]) -> list[list[int | None]]:
    return [row["latents"] for row in found["matching"]]


def test_a_run_differs_from_itself_in_nothing(make: Make) -> None:
    run = make("one")
    comparison = vs.compare(run, run)
    found = comparison.to_dict()
    every = gaps(found)
    assert len(every) > 15
    assert {gap["difference"] for gap in every} == {0.0}
    assert {gap["differs"] for gap in every} == {False}
    assert found["differs"] is False and found["spec_diff"] == {}
    assert latents(found) == [[k, k] for k in range(4)]
    np.testing.assert_allclose([row["correlation"][1] for row in found["matching"]], 1, rtol=1e-12)
    assert "Nothing differs" in comparison.summary()
    for way in found["exchange"]:
        assert way["costs"]["identity"] == pytest.approx(way["own"], rel=1e-6)
    json.loads(strict_json(found))


def permuted(run_name: str, folder: Path, order: list[int], signs: list[int]) -> Run:
    """The hand-made model with its latents in another order and some of them mirrored."""
    spec, vae = hand_made()
    sign = torch.tensor(signs, dtype=torch.float32)
    head, first = vae.encoder.posterior.head, vae.decoder.body[0]
    with torch.no_grad():
        rows = order + [spec.latent + k for k in order]
        head.weight[:], head.bias[:] = head.weight[rows].clone(), head.bias[rows].clone()
        head.weight[: spec.latent] *= sign[:, None]
        head.bias[: spec.latent] *= sign
        first.weight[:] = first.weight[:, order].clone() * sign
    return write_run(folder, run_name, spec, vae)


def test_a_permuted_and_mirrored_model_is_matched_exactly_and_differs_in_nothing(
    make: Make, tmp_path: Path
) -> None:
    order, signs = [2, 3, 1, 0], [1, -1, -1, 1]
    comparison = vs.compare(make("one"), permuted("two", tmp_path, order, signs))
    found = comparison.to_dict()
    assert latents(found) == [[order[k], k] for k in np.argsort(order)]
    assert [row["sign"][1] for row in found["matching"]] == [signs[k] for k in np.argsort(order)]
    assert found["differs"] is False
    assert not any(gap["differs"] for gap in gaps(found))
    assert max(abs(gap["difference"]) for gap in gaps(found)) < 1e-4  # samples too
    there, back = found["exchange"]
    assert (there["a"], there["b"], back["a"], back["b"]) == ("A", "B", "B", "A")
    for way in (there, back):  # nothing was trained: a wrong map may cost less than the right one
        assert way["costs"]["permutation"] <= way["own"] + 1e-4
    assert f"A to B: {there['says']}" in comparison.summary()


def test_what_is_said_of_several_pairs_is_said_once(make: Make) -> None:
    run = make("one")
    comparison = vs.compare(run, run, run, images=False)
    (alike,) = {way.says for way in comparison.exchanges if way.b == "A"}
    (line,) = [line for line in comparison.summary().splitlines() if line.endswith(alike)]
    assert "B to A" in line and "C to A" in line


def test_a_latent_with_more_noise_is_named_and_no_other(make: Make) -> None:
    """Twice the variance costs log(2) / 2 - v / 2 nats of rate."""
    noisier = list(LOG_VARIANCES)
    noisier[2] = math.log(0.04)
    comparison = vs.compare(make("one"), make("two", log_variances=noisier))
    rows = comparison.to_dict()["matching"]
    assert [row["differs"] for row in rows] == [False, False, True, False]
    assert rows[2]["differs_in"] == ["kl", "mean_variance"]
    (gap,) = rows[2]["kl"]["differences"]
    assert gap["difference"] == pytest.approx(-0.5 * math.log(2) + 0.01, rel=1e-4)
    assert gap["over"] == "images" and gap["n"] == 300
    assert "latent differs at the 95% level: A2" in comparison.summary().replace(
        "latents", "latent"
    )
    (rate,) = comparison.to_dict()["metrics"]["rate"]["differences"]
    assert rate["difference"] == pytest.approx(gap["difference"], rel=1e-4) and rate["differs"]
    (over,) = [line for line in comparison.summary().splitlines() if "the interval is over" in line]
    assert over.startswith("B against A: the interval is over images, which says nothing about")
    # The means are the same, so their total correlation is too; and it is said.
    assert "total_correlation_mean (" in over and "rate (" not in over


def test_another_latent_in_its_place_is_no_counterpart(make: Make, tmp_path: Path) -> None:
    spec, vae = hand_made()
    with torch.no_grad():  # latent 3 now says what latent 2 says, turned a little
        head = vae.encoder.posterior.head
        head.weight[3] = torch.randn(8, generator=torch.Generator().manual_seed(5))
    found = vs.compare(make("one"), write_run(tmp_path, "two", spec, vae)).to_dict()
    weak = [k for k, row in enumerate(found["matching"]) if row["correlation"][1] ** 2 < 0.5]
    strange = [k for k, row in enumerate(found["matching"]) if "counterpart" in row["differs_in"]]
    assert strange == [k for k in weak if k != PASSIVE]


def test_passive_latents_are_not_judged(make: Make) -> None:
    other = list(LOG_VARIANCES)
    other[PASSIVE] = math.log(0.95)
    row = vs.compare(make("one"), make("two", log_variances=other)).to_dict()["matching"][PASSIVE]
    assert row["types"] == ["passive", "passive"] and row["matched_by"][1] == "rest"
    assert row["differs"] is False and row["mean_variance"]["differences"][0]["differs"] is None
    assert row["mean_variance"]["values"][1] == pytest.approx(0.95)


def test_a_latent_that_only_one_run_uses_differs(make: Make) -> None:
    collapsed = list(LOG_VARIANCES)
    collapsed[3] = 0.0
    rows = vs.compare(make("one"), make("two", log_variances=collapsed)).to_dict()["matching"]
    (lost,) = [row for row in rows if row["types"] == ["active", "passive"]]
    assert lost["latents"][0] == 3 and lost["differs"] and lost["matched_by"][1] == "rest"


def test_a_latent_that_one_run_has_no_place_for_differs(make: Make) -> None:
    smaller = make("two", "latent=3", log_variances=LOG_VARIANCES[:3])
    for runs in ((make("one"), smaller), (smaller, make("one"))):
        found = vs.compare(*runs)
        (alone,) = [latent for latent in found.latents if None in latent.match]
        assert alone.differs_in(0) == ("counterpart",)
        assert alone.measured["kl"].gaps[0].difference is None
        assert "has no counterpart" in found.summary()


def test_settings_that_differ_are_listed_with_the_value_of_each_run(make: Make) -> None:
    runs = [
        make("one", "objective.beta=1"),
        make("two", "objective.beta=4", "seed=3"),
        make("three", 'objective.beta={"name": "linear", "start": 1, "stop": 2, "steps": 5}'),
    ]
    found = vs.compare(*runs, images=False).to_dict()
    assert found["spec_diff"] == {
        "objective.beta": [1.0, 4.0, None],
        "objective.beta.name": [None, None, "linear"],
        "objective.beta.start": [None, None, 1.0],
        "objective.beta.stop": [None, None, 2.0],
        "objective.beta.steps": [None, None, 5],
        "seed": [0, 3, 0],
    }
    assert [run["setting"] for run in found["runs"]] == [0, 1, 2]


def test_logging_and_seeds_make_no_setting(make: Make) -> None:
    found = vs.compare(make("one"), make("two", "seed=5", "logging.every=7"), images=False)
    assert {member.setting for member in found.members} == {0}
    assert found.to_dict()["spec_diff"] == {"seed": [0, 5], "logging.every": [100, 7]}


def one_model(folder: Path, name: str, seed: int, variance: float, *settings: str) -> Run:
    """The same weights whatever the seed says; latent 2 has this variance."""
    variances = list(LOG_VARIANCES)
    variances[2] = math.log(variance)
    spec, vae = hand_made(*settings, log_variances=variances)
    return write_run(folder, name, spec.model_copy(update={"seed": seed}), vae)


@pytest.mark.slow
def test_three_seeds_of_two_settings_are_compared_in_pairs(tmp_path: Path) -> None:
    """Variances are 0.02 times (1, 1.1, 1.3), and twice that."""
    factors = (1.0, 1.1, 1.3)
    runs = [
        one_model(tmp_path, f"{beta}-{seed}", seed, base * factor, f"objective.beta={beta}")
        for beta, base in ((1, 0.02), (4, 0.04))
        for seed, factor in enumerate(factors)
    ]
    found = vs.compare(*runs, images=False)
    (side,) = found.sides
    assert (side.first, side.second, side.basis) == ((0, 1, 2), (3, 4, 5), "paired seeds")
    gap = found.latents[2].measured["mean_variance"].gaps[0]
    differences = 0.02 * np.array(factors)
    half = 4.302652729911275 * differences.std(ddof=1) / math.sqrt(3)  # t of 2 degrees
    assert gap.interval is not None and gap.n == 3
    np.testing.assert_allclose(
        gap.interval, [differences.mean() - half, differences.mean() + half], rtol=1e-4
    )
    assert [k for k, latent in enumerate(found.latents) if latent.differs] == [2]


@pytest.mark.slow
def test_the_odd_one_of_five_seeds_is_found(tmp_path: Path) -> None:
    variances = (0.02, 0.021, 0.019, 0.08, 0.0205)
    runs = [one_model(tmp_path, f"s{seed}", seed, v) for seed, v in enumerate(variances)]
    found = vs.compare(*runs, images=False)
    assert [side.basis for side in found.sides] == ["other seeds"] * 5
    odd = [[k for k in range(5) if latent.differs_in(k)] for latent in found.latents]
    assert odd == [[], [], [3], []]
    assert "D against the others: 1 of 3 latents differs" in found.summary()
    assert "D against the others: the interval is over seeds." in found.summary()


def test_a_pruned_run_is_compared_with_what_it_was_made_of(make: Make, tmp_path: Path) -> None:
    run = make("one")
    pruned = vs.prune(run, out=tmp_path / "pruned").model
    found = vs.compare(run, pruned).to_dict()
    assert latents(found) == [[0, 0], [1, None], [2, 1], [3, 2]]
    assert not any(row["differs"] for row in found["matching"])
    assert found["matching"][PASSIVE]["kl"]["differences"][0]["difference"] is None
    assert found["metrics"]["passive"]["values"] == [1.0, 0.0]
    back = vs.compare(pruned, run).to_dict()
    assert latents(back) == [[0, 0], [1, 2], [2, 3], [None, PASSIVE]]


def test_an_autoencoder_is_compared_in_what_it_has(make: Make) -> None:
    plain = make("ae", "objective.name=ae", "posterior.name=point", log_variances=())
    found = vs.compare(make("vae"), plain).to_dict()
    assert found["metrics"]["rate"]["values"][1] is None and "rate" in found["skipped"]
    assert found["metrics"]["distortion"]["differences"][0]["interval"] is not None
    assert all(row["kl"]["values"][1] is None for row in found["matching"])
    json.loads(strict_json(found))


def test_likelihoods_that_differ_leave_the_distortion_out(make: Make) -> None:
    found = vs.compare(make("one"), make("two", "likelihood.name=laplace"), images=False)
    assert "elbo" not in found.metrics and "likelihoods differ" in found.skipped["distortion"]


def test_other_data_of_the_same_shape_are_said(make: Make) -> None:
    found = vs.compare(make("one"), make("two", "data.noise=0.1"), images=False)
    assert "B (synth-linear) was trained on data other than A's" in found.notes[0]


def test_data_that_are_given_replace_those_of_the_first_run(make: Make) -> None:
    run = make("one")
    width = run.open().data.shape[0]
    rows = np.random.default_rng(0).standard_normal((50, width)).astype(np.float32)
    found = vs.compare(run, make("two", "seed=1"), data=rows)
    assert found.n == 50 and "the given data" in found.notes[0]
    assert "mig" in found.skipped and "mig" not in found.metrics


def test_runs_of_different_shapes_are_refused(make: Make) -> None:
    other = make("other", "data.name=linear-gaussian")
    with pytest.raises(RunError, match="takes rows of shape"):
        vs.compare(make("one"), other)


def test_what_cannot_be_compared_is_an_error_that_says_so(make: Make, tmp_path: Path) -> None:
    run = make("one")
    with pytest.raises(UsageError, match="at least two models"):
        vs.compare(run)
    with pytest.raises(UsageError, match="no metric nonsense"):
        vs.compare(run, run, metrics=["nonsense"])
    with pytest.raises(RunError, match="not a run folder"):
        vs.compare(run, tmp_path / "nowhere")
    (run.path / "done.json").unlink()
    with pytest.raises(RunError, match="not finished"):
        vs.compare(run, run)


def command(monkeypatch: pytest.MonkeyPatch, *words: object) -> int | str | None:
    """The exit code of `vaescope compare`."""
    monkeypatch.setattr(sys, "argv", ["vaescope", "compare", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code


def test_the_command_prints_one_json_document(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run, page = make("one").path, tmp_path / "deep" / "page.html"
    assert command(monkeypatch, run, run, "--json", "--out", page) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"runs", "matching", "metrics", "spec_diff"} <= set(found)
    assert found["differs"] is False and found["page"] == str(page) and page.exists()


def test_one_run_is_wrong_usage_of_the_command(
    make: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, make("one").path, "--json") == 2
    assert json.loads(capsys.readouterr().out)["error"]["type"] == "UsageError"
