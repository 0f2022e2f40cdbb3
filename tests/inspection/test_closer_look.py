"""Diagnostics of models whose answers are known in closed form."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import vaescope as vs
from vaescope.decomposition import overlap
from vaescope.inspection.closer_look import DIAGNOSTICS, CloserLook, closer_look, overlap_to_dict
from vaescope.inspection.dissect import dissect
from vaescope.inspection.effort import EFFORTS
from vaescope.report.sections import page_of

GRID = np.stack(np.meshgrid(*3 * [np.arange(6)], indexing="ij"), -1).reshape(-1, 3)
SCALES = np.array([3.0, 2.0, 1.0])
NOISE = 0.3


def decode(z: Tensor) -> Tensor:
    return z * torch.tensor(SCALES, dtype=z.dtype)


def encode(x: Tensor) -> torch.distributions.Normal:
    """The exact posterior of z ~ N(0, I), x = scales z + noise."""
    scales = torch.tensor(SCALES, dtype=x.dtype)
    precision = 1.0 + scales**2 / NOISE**2
    mean = x * scales / NOISE**2 / precision
    return torch.distributions.Normal(mean, precision.rsqrt().expand_as(mean))


@pytest.fixture(scope="module")
def model() -> vs.OpenModel:
    data = ((GRID - 2.5) / np.sqrt(35 / 12) * SCALES).astype("f4")
    return vs.open_model(
        encode=encode, decode=decode, data=data, factors=GRID, prior="normal",
        likelihood=f"gaussian:{NOISE**2}", output="pixels", kind="signals",
    )  # fmt: skip


@pytest.fixture(scope="module")
def look(model: vs.OpenModel) -> CloserLook:
    return closer_look(model)


def test_every_diagnostic_has_a_number_and_a_sentence(look: CloserLook) -> None:
    assert not look.skipped
    assert tuple(look.found) == tuple(DIAGNOSTICS)
    for name, one in look.found.items():
        assert one.name == name and one.n > 0
        assert one.value is not None and np.isfinite(one.value)
        assert one.says.endswith((".", ")")) and len(one.says) > 60


def test_a_linear_vae_at_its_optimum_has_the_numbers_of_theory(look: CloserLook) -> None:
    value = {name: float(one.value or 0.0) for name, one in look.found.items()}
    assert value["precision_budget"] == pytest.approx(1.0, abs=0.02)
    assert abs(value["reconstruction_parts"]) < 0.1  # a linear decoder does not bend
    assert value["data_bias"] == pytest.approx(0.0, abs=1e-3)
    # mu(Dec(z)) = z s^2 / (s^2 + noise^2), so that it misses by the square of the rest.
    missed = (NOISE**2 / (SCALES**2 + NOISE**2)) ** 2
    assert value["self_consistency"] == pytest.approx(missed.mean(), rel=0.5)
    # Encoder and decoder are diagonal, and (E J - 1)^2 is what a small step misses.
    assert value["local_encoder"] == pytest.approx(1.0, abs=1e-6)
    assert f"squared error of {missed.mean():.2g}." in look.found["local_encoder"].says
    assert "No two of the used latents" in look.found["coordinates"].says
    assert "is reached" in look.found["delta_kl"].says


def test_the_price_of_a_rotation_is_that_of_squeezing_the_rotated_posterior(
    look: CloserLook,
) -> None:
    # Posteriors are exact, so the price is KL(diagonal || rotated): half of the sum of log L_jj
    # minus log det L, with L the rotated precision.
    precision = np.diag(1.0 + SCALES**2 / NOISE**2)
    prices = []
    for turn in vs.geometry.random_rotations(3, 4):
        turned = turn @ precision @ turn.T
        prices.append(0.5 * (np.log(np.diag(turned)).sum() - np.linalg.slogdet(turned)[1]))
    assert look.found["rotation_price"].value == pytest.approx(np.mean(prices), rel=0.15)


def test_what_a_model_does_not_allow_is_left_out_with_its_reason(model: vs.OpenModel) -> None:
    data = model.data.rows(np.arange(216))
    point = vs.open_model(encode=lambda x: x, decode=decode, data=data, kind="signals")
    found = closer_look(point)
    assert not found.found
    assert "no noise" in found.skipped["delta_kl"]
    assert "factors" in found.skipped["data_bias"]


@pytest.fixture(scope="module")
def thorough(model: vs.OpenModel) -> Any:
    small = replace(EFFORTS["fast"], decoded=50, weighted=5, closer=True)
    return dissect(model, small, images=False)


def test_they_are_in_the_json_and_on_the_page(thorough: Any) -> None:
    content = thorough.to_dict()
    assert set(content["diagnostics"]) == set(DIAGNOSTICS)
    sections = {one.id: str(one.parts) for one in page_of(thorough, images=False).sections}
    for name in DIAGNOSTICS:
        assert content["diagnostics"][name]["says"] in sections["diagnostics"].replace("\\'", "'")


def test_overlap_has_the_interfaces_fields_and_the_verdict_of_two_ends(
    thorough: Any,
) -> None:
    content = thorough.to_dict()["overlap"]
    assert {"effective_number", "bhattacharyya", "verdict"} <= set(content)
    number = content["effective_number"]
    wanted = (
        "lookup table" if number < 2 else "lost" if number > content["n"] / 2 else "appropriate"
    )
    assert content["verdict"] == wanted
    assert 1.0 <= content["effective_number"] <= 216
    sections = {one.id: str(one.parts) for one in page_of(thorough, images=False).sections}
    assert "share a code" in sections["decomposition"]
    assert overlap_to_dict(None) is None


def test_overlap_of_a_few_rows_is_judged_for_all_of_them() -> None:
    """Two of a hundred posteriors meet: a lookup table, if there are not a thousand times more."""
    mean = np.arange(100.0)[:, None] * 100.0
    mean[1] = mean[0]
    found = overlap(vs.Codes(mean, np.ones_like(mean), mean))
    alone, many = overlap_to_dict(found), overlap_to_dict(found, 100_000)
    assert alone is not None and many is not None
    assert (alone["verdict"], many["verdict"]) == ("lookup table", "appropriate")
    assert alone["rows"] == 100 and alone["among_rows"] == alone["effective_number"]
    assert "of all 100,000" in many["says"] and "of all" not in alone["says"]


def test_polar_codes_are_named_with_their_factors() -> None:
    angle, radius = (one.ravel() for one in np.meshgrid(np.arange(24), np.arange(1, 9)))
    turn = 2.0 * np.pi * angle / 24
    mean = np.column_stack([radius * np.cos(turn), radius * np.sin(turn)]) / 4.0
    codes = vs.Codes(
        mean, np.full_like(mean, 0.01), mean, factors=np.column_stack([angle, radius - 1]),
        factor_names=("hue", "size"), factor_sizes=(24, 8),
    )  # fmt: skip
    says = DIAGNOSTICS["coordinates"](SimpleNamespace(codes=codes, used=[0, 1])).says  # type: ignore[arg-type]
    assert "Latents 0 and 1 encode hue as their angle and size as their radius" in says
