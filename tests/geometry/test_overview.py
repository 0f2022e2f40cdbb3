import json
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm

from vaescope.errors import ShapeError
from vaescope.geometry import (
    bernoulli_of_means,
    distance_to_orthogonality,
    overview,
    reinitialised,
    variance_law,
)
from vaescope.geometry.overview import KEYS
from vaescope.geometry.reader import spaced
from vaescope.nets import SquaredErrorLikelihood
from vaescope.vae import Decoder


def decoder() -> Decoder:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        body = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 8))
    return Decoder(body, SquaredErrorLikelihood()).eval()


MEAN = np.random.default_rng(0).normal(size=(300, 3)).astype(np.float32)
VARIANCE = np.tile(np.array([0.02, 0.05, 0.1], np.float32), (300, 1))


def test_without_fits_the_loss_is_left_out_with_the_reason() -> None:
    found = overview(decoder(), MEAN[:20], VARIANCE[:20], fits=0)
    assert found.to_dict()["stochastic_loss"] is None
    assert "no local decoders were asked for" in found.skipped["stochastic_loss"]


def test_every_key_of_the_interface_is_there_as_strict_json() -> None:
    model = decoder()
    found = overview(
        model, MEAN, VARIANCE, weight=1.0, untrained=lambda seed: reinitialised(model, seed), fits=3
    )
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert tuple(plain) == KEYS
    assert not found.skipped
    for measure in plain.values():
        assert {"value", "interval", "n", "space"} <= set(measure)
    assert {"u", "s", "v"} <= set(plain["od_score"])
    for part in ("jacobian", "linear", "intercept", "tanh", "quadratic"):
        assert {"value", "interval", "n", "space"} <= set(plain["stochastic_loss"][part])
    assert plain["dto"]["n"] == 200
    assert plain["dto"]["space"] == "likelihood"


def test_by_default_linear_local_decoders_are_fitted_at_50_points_and_bent_ones_at_10() -> None:
    loss = overview(decoder(), MEAN, VARIANCE).to_dict()["stochastic_loss"]
    points = {part: loss[part]["n"] for part in ("jacobian", "linear", "tanh", "quadratic")}
    assert points == {"jacobian": 50, "linear": 50, "tanh": 10, "quadratic": 10}


def test_it_says_what_the_single_measures_say() -> None:
    found = overview(decoder(), MEAN[:50], VARIANCE[:50], fits=2)
    alone = distance_to_orthogonality(decoder(), MEAN[:50])
    assert found.measures["dto"].value == pytest.approx(alone.value)
    assert "DtO" in found.summary()


def test_what_is_missing_has_its_reason() -> None:
    model = decoder()
    found = overview(model, MEAN, VARIANCE, fits=2)
    assert found.to_dict()["dto_random_decoder"] is None
    assert "anew" in found.skipped["dto_random_decoder"]
    point = overview(model, MEAN, np.zeros_like(VARIANCE))
    assert set(point.skipped) == {"dto_random_decoder", "variance_law", "stochastic_loss"}
    single = overview(model, MEAN, VARIANCE, columns=[1], fits=2)
    assert {"dto", "column_cosine", "ima_contrast"} <= set(single.skipped)
    assert single.to_dict()["column_norm"] is not None
    nothing = overview(model, MEAN, VARIANCE, columns=[])
    assert set(nothing.skipped) == set(KEYS)
    assert set(nothing.to_dict().values()) == {None}
    with pytest.raises(ShapeError, match="shape of the means"):
        overview(model, MEAN, VARIANCE[:, :2])


def test_a_decoder_that_cannot_be_drawn_anew_loses_that_baseline_only() -> None:
    model = decoder()
    spectral_norm(model.body[0])
    found = overview(
        model, MEAN, VARIANCE, untrained=lambda seed: reinitialised(model, seed), fits=2
    )
    assert set(found.skipped) == {"dto_random_decoder"}
    assert "no reset_parameters()" in found.skipped["dto_random_decoder"]
    assert found.measures["dto"].value == pytest.approx(
        distance_to_orthogonality(model, MEAN[spaced(len(MEAN), 200)]).value
    )


@pytest.mark.slow
@pytest.mark.parametrize(("latents", "outputs"), [(60, 100), (2, 2_000_000)])
def test_what_is_too_large_for_local_decoders_keeps_its_jacobians(
    latents: int, outputs: int
) -> None:
    mean = np.random.default_rng(0).normal(size=(3, latents)).astype(np.float32)
    copies = outputs // latents
    found = overview(lambda z: z.tanh().repeat(1, copies), mean, np.full_like(mean, 0.1))
    assert "stochastic_loss" in found.skipped and "dto" in found.measures
    assert found.measures["column_cosine"].value == pytest.approx(0.0, abs=1e-6)


def test_a_decoder_that_overflows_far_away_keeps_its_jacobians() -> None:
    wide = np.full_like(VARIANCE, 4.0)
    found = overview(lambda z: torch.where(z.abs() > 4, torch.inf, z), MEAN[:20] / 4, wide[:20])
    assert "not finite within the posterior's noise" in found.skipped["stochastic_loss"]
    assert found.measures["column_cosine"].value == pytest.approx(0.0, abs=1e-6)


def test_axes_of_a_decoder_that_ignores_its_codes_are_not_called_orthogonal() -> None:
    found = overview(lambda z: 0.0 * z + 1.0, MEAN[:9], VARIANCE[:9], fits=2)
    assert set(found.measures) == {"column_norm"}
    assert found.measures["column_norm"].value == 0
    assert all("does not change" in reason for reason in found.skipped.values())


def test_finite_differences_are_noted() -> None:
    found = overview(lambda z: torch.tanh(z.detach()), MEAN, VARIANCE, fits=2)
    assert found.method == "finite differences"
    assert any("finite differences" in note for note in found.notes)


@pytest.mark.slow
def test_a_model_of_somebody_else_is_read(third_party: Callable[[str], object]) -> None:
    model = third_party("btcvae_dsprites")
    found = overview(
        model.decode, model.mean, model.variance, columns=model.used, points=30, fits=2,
        likelihood=bernoulli_of_means, untrained=lambda seed: reinitialised(model.decode, seed),
    )  # fmt: skip
    assert found.measures["dto"].value < found.measures["dto_haar"].value
    assert not found.skipped


def test_the_variance_law_gets_weight_reason_and_the_variances_of_chosen_latents() -> None:
    model = decoder()
    none = overview(model, MEAN, VARIANCE, reason="no rate at all", fits=2).to_dict()
    assert none["variance_law"]["ratio"] is None
    assert none["variance_law"]["reason"] == "no rate at all"
    prior = np.array([0.2, 0.5, 1.0])
    found = overview(
        model, MEAN, VARIANCE, weight=2.0, prior_variance=prior, columns=[2, 0], fits=2
    )
    rows = spaced(len(MEAN), 200)
    alone = variance_law(
        model, MEAN[rows], VARIANCE[rows], weight=2.0, prior_variance=prior, columns=[2, 0]
    )
    assert found.to_dict()["variance_law"] == alone.to_dict()
    assert alone.ratio is not None
