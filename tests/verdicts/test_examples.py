"""What is said where examples are few or repeat, and where codes lie outside of the traversals."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.verdicts.situations import SUBJECT

from vaescope.codes import Codes
from vaescope.inspection import Inspection, inspect_codes
from vaescope.inspection.codes import judged
from vaescope.latents import mean_against_sample
from vaescope.latents.correlation import by_chance, total_correlation
from vaescope.traversals import traverse


def codes(n: int, *, copies: int = 1, scale: float = 1.0, latents: int = 4) -> Codes:
    """Half of the latents follow the data, the last of these in units of its own; the others are
    passive."""
    rng = np.random.default_rng(0)
    used = latents // 2
    mean = np.concatenate(
        [rng.normal(size=(n, used)), 0.01 * rng.normal(size=(n, latents - used))], axis=1
    )
    variance = np.tile(np.repeat([0.01, 1.0], [used, latents - used]), (n, 1))
    mean[:, used - 1] *= scale
    variance[:, used - 1] = np.where(scale == 1.0, 0.01, 0.2 * scale**2)
    mean, variance = np.repeat(mean, copies, axis=0), np.repeat(variance, copies, axis=0)
    return Codes(mean, variance, mean + np.sqrt(variance) * rng.normal(size=mean.shape))


def said(found: Inspection, name: str) -> str:
    return " ".join(f"{one.says} {one.advice}" for one in found.verdicts if one.id == name)


@pytest.mark.parametrize(("d", "n"), [(2, 4), (6, 8), (6, 12), (40, 200)])
def test_chance_is_the_mean_of_what_independent_latents_have(d: int, n: int) -> None:
    rng = np.random.default_rng(0)
    drawn = [total_correlation(np.cov(rng.normal(size=(n, d)), rowvar=False)) for _ in range(400)]
    error = np.std(drawn) / 20.0
    assert abs(np.mean(drawn) - by_chance(d, n)) < 4.0 * error


def test_total_correlation_by_chance_is_said() -> None:
    """Independent latents of 400 rows: all of their total correlation is chance."""
    says = said(inspect_codes(codes(400, latents=40), SUBJECT), "passive")
    assert (
        "where independent latents have 1.01 at n = 400: the passive latents add little to it"
        in says
    )
    few = said(inspect_codes(codes(400), SUBJECT), "passive")
    assert "independent latents" not in few
    assert few


def test_fewer_examples_than_latents_have_no_total_correlation(
    caplog: pytest.LogCaptureFixture,
) -> None:
    found = inspect_codes(codes(3), SUBJECT)
    says = said(found, "passive")
    assert says == "3 different examples are too few to tell how correlated 4 latents are. " + (
        "Encode more than 4 examples."
    )
    assert "3 examples are too few for the total correlation of 4 latents" in caplog.text
    summary = mean_against_sample(codes(3)).summary()
    assert "n is too small for the total correlation of 4 latents" in summary


def test_copies_of_examples_are_said_and_do_not_count() -> None:
    found = inspect_codes(codes(100, copies=20), SUBJECT)
    assert said(found, "repeated").startswith(
        "Only 100 of 2,000 examples have a code of their own: the others repeat these. "
    )
    # 100 draws from N(0, 1) are this far from it by chance; 2,000 would not be.
    assert found.samples.distance is not None
    assert found.samples.distance[:2].max() > 0.05
    assert "Kolmogorov" not in said(found, "prior")
    assert said(found, "prior").startswith("There are too few examples to tell whether samples")
    assert not said(inspect_codes(codes(2000), SUBJECT), "repeated")
    assert not said(inspect_codes(codes(190, copies=1), SUBJECT), "repeated")


def test_codes_of_few_values_are_not_said_to_follow_the_prior() -> None:
    """Two values, each of half of the examples: copies of two draws, or data of two kinds."""
    mean = np.repeat([[-1.0, -1.0], [1.0, 1.0]], 300, axis=0)
    variance = np.full_like(mean, 0.01)
    sample = mean + 0.1 * np.random.default_rng(0).normal(size=mean.shape)
    found = inspect_codes(Codes(mean, variance, sample), SUBJECT)
    assert "Only 2 of 600 examples" in said(found, "repeated")
    assert "can be drawn from the prior" not in said(found, "prior")
    assert "too few examples to tell whether samples follow the prior" in said(found, "prior")


def test_what_lies_outside_of_the_traversals_is_not_said_to_be_ignored() -> None:
    """The decoder has the second latent in units of 100 standard deviations of the prior, and uses
    it as much as the first."""

    made = codes(400, scale=100.0)
    units = torch.tensor([1.0, 100.0])
    moved = traverse(lambda z: z[:, :2] / units, np.zeros(4, dtype=np.float32))
    assert moved.share[1] < 0.001
    found = judged(replace(inspect_codes(made, SUBJECT), traversals=moved))
    assert found.latents[-1].type != "passive"
    assert "hardly uses" not in said(found, "mixed")
    assert "Keep mixed latents" in said(found, "mixed")
    near = codes(400, scale=0.9)
    ignored = traverse(lambda z: z[:, :1] / units[0], np.zeros(4, dtype=np.float32))
    found = judged(replace(inspect_codes(near, SUBJECT), traversals=ignored))
    assert "the decoder hardly uses 1, though the encoder does" in said(found, "mixed")
