"""Numbers of a dissection whose answers are known beforehand."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from vaescope.build import build_data, build_vae
from vaescope.codes import Codes, central
from vaescope.inspection import (
    Inspection,
    MomentSummary,
    Subject,
    Training,
    inspect,
    inspect_codes,
)
from vaescope.inspection.codes import describe_codes, judged
from vaescope.prior_density import GaussianDensity, SparseDensity, StudentTDensity
from vaescope.report import page_of
from vaescope.runs import Run, strict_json
from vaescope.settings import from_command_line
from vaescope.training.checkpoint import weights_bytes
from vaescope.traversals import traverse
from vaescope.verdicts import THRESHOLDS, Verdict, judge

SUBJECT = Subject("run", "data", 400, 400, "A model.")
N = 400
SIZE = len(build_data(from_command_line("demo", []).data))


def codes_of(
    variances: list[float], *, factors: bool = False, spread: float | None = None
) -> Codes:
    """One latent per variance; means such that samples follow the prior."""
    rng = np.random.default_rng(0)
    variance = np.tile(variances, (N, 1))
    mean = rng.standard_normal((N, len(variances))) * np.sqrt(np.maximum(1.0 - variance, 0.0))
    sample = mean + np.sqrt(variance) * rng.standard_normal(mean.shape)
    if spread is not None:
        variance[::2, 0] += spread
    if not factors:
        return Codes(mean, variance, sample)
    classes = rng.integers(0, 8, size=(N, 2))
    mean[:, :2] = (classes - 3.5) / 2.3  # latent 0 copies the first factor, latent 1 the second
    return Codes(mean, variance, sample, factors=classes, factor_names=("hue", "size"))


def verdict(verdicts: tuple[Verdict, ...], name: str) -> Verdict:
    return {one.id: one for one in verdicts}[name]


def test_latents_are_sorted_by_mean_posterior_variance_and_typed() -> None:
    latents = inspect_codes(codes_of([1.0, 0.01, 0.5, 0.02]), SUBJECT).latents
    assert [latent.index for latent in latents] == [1, 3, 2, 0]
    assert [latent.type for latent in latents] == ["active", "active", "mixed", "passive"]
    np.testing.assert_allclose([z.mean_variance for z in latents], [0.01, 0.02, 0.5, 1.0])


def test_rows_of_the_table_hold_population_statistics() -> None:
    codes = codes_of([0.01, 1.0], spread=0.04)
    first = inspect_codes(codes, SUBJECT).latents[0]
    assert first.variance_of_variance == pytest.approx(0.02**2)
    assert first.variance_of_mean == pytest.approx(codes.mean[:, 0].var())


def test_a_point_posterior_has_no_rate_and_no_type_is_judged() -> None:
    result = inspect_codes(codes_of([0.0, 0.0]), SUBJECT)
    assert [latent.kl_nats for latent in result.latents] == [None, None]
    assert not {"full", "polarised", "mixed"} & {one.id for one in result.verdicts}


def test_histograms_are_densities_that_leave_nothing_out() -> None:
    codes = codes_of([0.01, 1.0])
    codes.sample[0, 0] = 9.0
    histograms = inspect_codes(codes, SUBJECT).histograms
    width = np.diff(histograms.edges)
    np.testing.assert_allclose((histograms.mean * width).sum(axis=1), 1.0)
    np.testing.assert_allclose((histograms.sample * width).sum(axis=1), 1.0)
    assert histograms.edges[-1] == 9.0
    assert histograms.prior.max() == pytest.approx(1.0 / math.sqrt(2.0 * math.pi))


@pytest.mark.slow
def test_a_latent_knows_the_factor_that_it_copies() -> None:
    result = inspect_codes(codes_of([0.01, 0.02, 1.0], factors=True), SUBJECT)
    first, second, passive = result.latents
    assert (first.factor, second.factor, passive.factor) == ("hue", "size", None)
    assert first.knowledge == pytest.approx(1.0)
    assert verdict(result.verdicts, "mig").tone == "good"


@pytest.mark.parametrize(
    ("variances", "name", "tone", "latents"),
    [
        ([0.01, 1.0, 0.02], "polarised", "good", (0, 2)),
        ([0.01, 0.5, 1.0], "mixed", "note", (1,)),
        ([1.0, 1.0], "collapsed", "warning", (0, 1)),
        ([0.01, 0.02], "full", "note", (0, 1)),
    ],
)
def test_one_verdict_says_how_polarised_the_model_is(
    variances: list[float], name: str, tone: str, latents: tuple[int, ...]
) -> None:
    found = verdict(inspect_codes(codes_of(variances), SUBJECT).verdicts, name)
    assert (found.tone, found.latents) == (tone, latents)


def test_samples_that_miss_the_prior_are_named() -> None:
    latents = inspect_codes(codes_of([0.01, 0.02]), SUBJECT).latents
    far = MomentSummary(np.array([0.0, 0.7]), np.array([1.0, 1.0]), N)
    found = verdict(judge(latents, far), "prior")
    assert (found.tone, found.number, found.latents) == ("warning", pytest.approx(0.7), (1,))


def test_shares_of_a_linear_decoder_are_its_squared_columns() -> None:
    columns = torch.tensor([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    moved = traverse(lambda z: z @ columns, np.zeros(3), span=2.0, steps=5)
    np.testing.assert_allclose(moved.share, [0.8, 0.2, 0.0], atol=1e-12)
    assert moved.outputs is not None and moved.outputs.shape == (3, 5, 2)
    np.testing.assert_allclose(moved.outputs[0, [0, -1], 0], [-4.0, 4.0])


def test_a_passive_latent_that_the_decoder_hears_is_a_warning() -> None:
    result = inspect_codes(codes_of([0.01, 1.0]), SUBJECT)
    loud, quiet = torch.tensor([[1.0], [1.0]]), torch.tensor([[1.0], [0.05]])
    heard = judge(
        result.latents, result.samples, traversals=traverse(lambda z: z @ loud, np.zeros(2))
    )
    silent = judge(
        result.latents, result.samples, traversals=traverse(lambda z: z @ quiet, np.zeros(2))
    )
    assert verdict(heard, "heard").latents == (1,)
    assert verdict(silent, "silent").number < THRESHOLDS["share"].value


def test_a_decoder_that_ignores_all_latents_is_said_to_do_so() -> None:
    result = inspect_codes(codes_of([0.01, 1.0]), SUBJECT)
    moved = traverse(lambda z: torch.ones(len(z), 4), np.zeros(2))
    found = judge(result.latents, result.samples, traversals=moved)
    assert not moved.share.any()
    assert verdict(found, "deaf").tone == "warning"
    assert not {"heard", "silent"} & {one.id for one in found}


def test_the_central_row_is_the_nearest_to_the_average_code() -> None:
    assert central(np.array([[0.0, 0.0], [1.0, 1.0], [5.0, 5.0]])) == 1


def training_of(losses: list[float]) -> Training:
    n = len(losses)
    zeros = np.zeros(n, dtype=np.int64)
    loss = np.array(losses)
    active = np.array([0] * (n - 4) + [2] * 4)
    return Training(np.arange(1, n + 1) * 10, loss, loss, loss, active, zeros, 3 - active)


def test_training_has_settled_when_the_last_quarter_changes_little() -> None:
    latents = inspect_codes(codes_of([0.01, 0.02, 1.0]), SUBJECT)
    flat = judge(latents.latents, latents.samples, training=training_of([9.0] * 12))
    falling = judge(latents.latents, latents.samples, training=training_of([*range(24, 12, -1)]))
    assert verdict(flat, "settled").number == 0.0
    assert "since step 90" in verdict(flat, "settled").says
    # Means of the last two quarters of 24 ... 13: (18 + 17 + 16) / 3 and (15 + 14 + 13) / 3.
    assert verdict(falling, "unsettled").number == pytest.approx(3.0 / 17.0)


def test_a_loss_that_fell_with_its_strength_is_judged_after_that() -> None:
    latents = inspect_codes(codes_of([0.01, 0.02, 1.0]), SUBJECT)
    training = training_of([*range(24, 12, -1), *[12.0] * 8])  # records every 10 steps
    late = judge(latents.latents, latents.samples, training=replace(training, since=120))
    assert verdict(late, "settled").number == 0.0
    soon = judge(latents.latents, latents.samples, training=replace(training, since=150))
    assert not {"settled", "unsettled"} & {one.id for one in soon}  # too few records to judge by


def untrained(folder: Path, *settings: str) -> Run:
    """A finished run whose weights are those of its first step."""
    spec = from_command_line("demo", ["steps=20", *settings])
    run = Run.of(spec, "demo", folder)
    run.create(spec)
    run.weights.write_bytes(weights_bytes(build_vae(spec)))
    row = {"step": 20, "loss": 5.0, "distortion": 4.0, "rate": 1.0}
    run.history.write_text(strict_json({**row, "active": 0, "mixed": 3, "passive": 7}) + "\n")
    run.finish({})
    return run


@pytest.fixture(scope="module")
def inspection(tmp_path_factory: pytest.TempPathFactory) -> Inspection:
    return inspect(untrained(tmp_path_factory.mktemp("runs")), effort="fast")


@pytest.mark.slow
def test_a_run_is_dissected_on_all_of_its_small_data(inspection: Inspection) -> None:
    assert (inspection.subject.n, inspection.subject.of) == (SIZE, SIZE)
    assert len(inspection.latents) == 10
    assert inspection.factors is not None and inspection.factors.names == ("scale", "x", "y")
    assert inspection.traversals is not None and inspection.traversals.outputs is not None
    assert inspection.traversals.outputs.shape == (10, 11, 1, 32, 32)
    assert inspection.reconstructions is not None
    assert inspection.reconstructions.outputs.shape == (12, 1, 32, 32)
    assert inspection.training is not None and inspection.training.distortion.tolist() == [4.0]


@pytest.mark.slow
def test_the_fit_is_the_rate_of_the_latents_and_the_distortion_of_a_fair_coin(
    inspection: Inspection,
) -> None:
    assert inspection.fit is not None
    rates = [latent.kl_nats for latent in inspection.latents]
    assert inspection.fit.rate_nats == pytest.approx(math.fsum(r or 0.0 for r in rates), rel=0.05)
    # An untrained decoder has logits near zero: log 2 nats per pixel.
    assert inspection.fit.distortion_nats == pytest.approx(32 * 32 * math.log(2.0), rel=0.02)


def test_the_dictionary_has_the_shape_of_the_interface(inspection: Inspection) -> None:
    content = json.loads(strict_json(inspection.to_dict()))
    assert content["d"] == 10 and content["n"] == SIZE
    assert set(content["latents"]) >= {"types", "mean_variance", "kl", "variance_of_mean"}
    assert set(content["verdicts"][0]) >= {
        "id", "says", "number", "threshold", "advice", "latents", "section",
    }  # fmt: skip
    by_number = {latent.index: latent.mean_variance for latent in inspection.latents}
    assert content["latents"]["mean_variance"] == [by_number[index] for index in range(10)]


@pytest.mark.slow
def test_a_run_without_images_keeps_no_picture(tmp_path: Path) -> None:
    result = inspect(untrained(tmp_path), images=False)
    assert result.reconstructions is None
    assert result.traversals is not None and result.traversals.outputs is None
    assert result.traversals.share.sum() == pytest.approx(1.0)


@pytest.mark.slow
def test_the_degenerate_case_is_a_note_of_the_demo_only(
    inspection: Inspection, tmp_path: Path
) -> None:
    assert "degenerate" in inspection.notes[0]
    other = untrained(tmp_path, "data.grid.y=[0, 31]", "data.grid.x=[0, 31]", "data.grid.shape=[1]")
    assert inspect(other).notes == ()


def test_vectors_and_point_posteriors_are_dissected_too(tmp_path: Path) -> None:
    run = untrained(
        tmp_path, "data.name=synth-linear", "data.n=500", "latent=2",
        "posterior.name=point", "objective.name=ae",
    )  # fmt: skip
    run.history.write_text(
        '{"step": 9, "loss": 1, "distortion": 1, "active": 2, "mixed": 0, "passive": 0}\n'
    )
    run.finish({})  # sealed again
    result = inspect(run)
    assert result.fit is None and result.factors is None
    assert result.training is not None and np.isnan(result.training.rate).all()
    titles = [section.title for section in page_of(result).sections]
    assert titles == [
        "Latents", "Traversals", "Codes", "Reconstructions", "Mean against sample", "Geometry",
        "Metrics", "Decomposition", "Prior", "Training", "Settings",
    ]  # fmt: skip
    assert result.traversals is not None and result.traversals.outputs is not None
    assert result.traversals.outputs.shape == (2, 11, 3)


def test_the_summary_has_one_line_per_verdict(inspection: Inspection) -> None:
    assert len(inspection.summary().splitlines()) == len(inspection.verdicts)
    odd = replace(inspection.verdicts[0], says="<b>")
    assert "<b>" not in replace(inspection, verdicts=(odd,))._repr_html_()


@pytest.mark.slow
def test_histograms_stand_against_the_prior_of_each_latent(generator: np.random.Generator) -> None:
    """Densities of the spike, which is finer than a bin, are means over bins, so that codes drawn
    from the prior have its histogram."""
    prior = SparseDensity(0.8, 0.05, np.zeros(2))
    z = prior.draw(generator, 40_000)
    histograms = inspect_codes(Codes(z, np.full_like(z, 1e-3), z, prior=prior), SUBJECT).histograms
    np.testing.assert_allclose(histograms.sample, histograms.prior, atol=0.05)
    assert histograms.says == prior.says and histograms.top > histograms.prior.max() > 2.0


@pytest.mark.slow
def test_histograms_under_a_prior_of_each_row_are_in_its_units(
    generator: np.random.Generator,
) -> None:
    prior = GaussianDensity(10.0 * generator.normal(size=(5000, 1)), np.full((5000, 1), 25.0))
    z = prior.draw(generator, 5000)
    codes = Codes(prior.mean, prior.variance, z, prior=prior)
    histograms, samples = (
        getattr(inspect_codes(codes, SUBJECT), name) for name in ("histograms", "samples")
    )
    assert histograms.edges[-1] < 6.0 and "in units of the prior of each example" in histograms.says
    np.testing.assert_allclose(histograms.sample, histograms.prior, atol=0.06)
    assert samples.mean[0] == pytest.approx(0.0, abs=0.1)
    assert samples.variance[0] == pytest.approx(1.0, abs=0.1)


@pytest.mark.slow
def test_the_prior_verdict_judges_by_the_prior_of_the_codes(generator: np.random.Generator) -> None:
    """Draws from a t with 2 degrees of freedom, which has no variance, follow it and not N(0, I);
    draws from N(0, I) do not follow a prior of twice the scale."""
    heavy = StudentTDensity(2.0, np.zeros(2), np.ones(2))
    z = heavy.draw(generator, 4000)
    narrow = np.full_like(z, 1e-3)
    normal = generator.normal(size=z.shape)
    wide = StudentTDensity(2.0, np.zeros(2), np.full(2, 2.0))
    told = {
        name: verdict(inspect_codes(codes, SUBJECT).verdicts, "prior")
        for name, codes in {
            "own": Codes(z, narrow, z, prior=heavy),
            "assumed": Codes(z, narrow, z),
            "other": Codes(normal, narrow, normal, prior=wide),
        }.items()
    }
    assert [told[name].tone for name in told] == ["good", "warning", "warning"]
    assert "Student-t with 2 degrees of freedom" in told["own"].says
    assert "in normal scores of the prior" in told["own"].says
    assert "assumed to be N(0, I)" in told["assumed"].says and "prior=" in told["assumed"].advice


def test_latents_that_are_used_for_some_examples_are_no_fault() -> None:
    """Definition 2 of bonheme2023: mixed latents are part of the regime."""
    half = np.repeat([0.001, 1.0], 50)
    mean = np.where(half < 0.5, np.linspace(-2.0, 2.0, 100), 0.0)
    some = inspect_codes(Codes(mean[:, None], half[:, None], mean[:, None]), SUBJECT)
    assert some.measures is not None
    assert some.measures.types.kind_of_mixed == ("used for some examples only",)
    assert verdict(some.verdicts, "mixed").tone == "note"
    every = inspect_codes(codes_of([0.5, 0.5]), SUBJECT)
    assert every.measures is not None
    assert every.measures.types.kind_of_mixed == ("uncertain in every example",) * 2
    assert verdict(every.verdicts, "mixed").tone == "note"
    assert "used for some examples" not in verdict(every.verdicts, "mixed").says


def test_where_no_unused_posterior_is_known_the_verdict_says_so() -> None:
    codes = replace(codes_of([0.01, 1.0]), unused=np.full(2, np.nan), unused_why="it has no rate")
    first = inspect_codes(codes, SUBJECT).verdicts[0]
    assert first.id == "untyped" and "it has no rate" in first.says


def test_types_and_rates_alone_know_the_kind_of_mixed_too() -> None:
    """Effort "latents" measures nothing else."""
    half = np.repeat([0.001, 1.0], 50)
    mean = np.where(half < 0.5, np.linspace(-2.0, 2.0, 100), 0.0)
    codes = Codes(mean[:, None], half[:, None], mean[:, None])
    found = judged(describe_codes(codes, SUBJECT, measured=False))
    assert found.measures is None
    assert "0 is used for some examples only" in verdict(found.verdicts, "mixed").says
    assert found.to_dict()["latents"]["kind_of_mixed"] == ["used for some examples only"]
