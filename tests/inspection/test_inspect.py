"""`vs.inspect` on models that are not ours: answers known beforehand."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import vaescope as vs
from vaescope.errors import UsageError
from vaescope.geometry.overview import KEYS
from vaescope.inspection import Inspection
from vaescope.inspection.dissect import first_layer_norms
from vaescope.runs import strict_json

N, PIXELS, LATENT = 600, 64, 4


def orthonormal() -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.linalg.qr(torch.randn(PIXELS, LATENT, generator=generator)).Q


BASIS = orthonormal()
SCALE = torch.tensor([3.0, 2.0, 1.0])  # of the three latents that are used; the fourth is passive


def vectors() -> np.ndarray[Any, Any]:
    """x = W diag(scale) z: the best linear VAE of these is known."""
    z = np.random.default_rng(0).standard_normal((N, 3)).astype(np.float32)
    return np.asarray(z * SCALE.numpy() @ BASIS[:, :3].numpy().T)


def encode(x: Tensor) -> tuple[Tensor, Tensor]:
    z = x @ BASIS[:, :3] / SCALE
    mean = torch.cat([z, 0.001 * z[:, :1]], dim=1)
    logvar = torch.tensor([0.01, 0.02, 0.05, 1.0]).log().expand_as(mean)
    return mean, logvar


def decode(z: Tensor) -> Tensor:
    return (z[:, :3] * SCALE) @ BASIS[:, :3].T


@pytest.fixture(scope="module")
def linear() -> Inspection:
    return vs.inspect(encode=encode, decode=decode, data=vectors(), effort="fast")


@pytest.mark.slow
def test_two_functions_are_enough(linear: Inspection) -> None:
    kinds = {z.index: z.type for z in linear.latents}
    assert kinds == {0: "active", 1: "active", 2: "active", 3: "passive"}
    assert {one.what: one.read for one in linear.inferred}["posterior"] == "pair,logvar"


def test_orthogonal_columns_of_distinct_length_have_no_distance(linear: Inspection) -> None:
    assert linear.geometry is not None
    assert linear.geometry.measures["dto"].value == pytest.approx(0.0, abs=1e-4)
    assert {v.id for v in linear.verdicts} >= {"polarised", "passive", "orthogonal"}


def turned(angle: float) -> Inspection:
    """The same model in latents of which the first two are turned: columns are not orthogonal."""
    c, s = np.cos(angle), np.sin(angle)
    turn = torch.tensor([[c, s], [-s, c]], dtype=torch.float32)

    def encode_turned(x: Tensor) -> tuple[Tensor, Tensor]:
        mean, logvar = encode(x)
        return torch.cat([mean[:, :2] @ turn, mean[:, 2:]], dim=1), logvar

    def decode_turned(z: Tensor) -> Tensor:
        return decode(torch.cat([z[:, :2] @ turn.T, z[:, 2:]], dim=1))

    return vs.inspect(encode=encode_turned, decode=decode_turned, data=vectors(), effort="fast")


@pytest.mark.slow
def test_turned_latents_are_farther_from_orthogonal_and_the_verdict_says_so() -> None:
    found = turned(np.pi / 4)
    assert found.geometry is not None
    # V turns by 45 degrees in one plane: ||V - P||_F^2 = 4 (1 - cos 45).
    distance = np.sqrt(4 * (1 - np.cos(np.pi / 4)))
    assert found.geometry.measures["dto"].value == pytest.approx(distance, rel=0.02)
    verdicts = {v.id: v for v in found.verdicts}
    assert verdicts.get("turned", verdicts.get("orthogonal")).tone != "good"  # type: ignore[union-attr]


def test_the_passive_verdict_names_which_to_drop_and_which_to_keep(linear: Inspection) -> None:
    verdict = {v.id: v for v in linear.verdicts}["passive"]
    assert verdict.latents == (3,)
    # The mean of latent 3 copies that of latent 0: all correlation goes with it.
    assert verdict.tone == "warning" and verdict.number > 1
    assert "0, 1 and 2" in verdict.advice


def test_plain_data_have_every_key_of_the_interface(linear: Inspection) -> None:
    content = json.loads(strict_json(linear.to_dict()))
    wanted = {"n", "d", "metrics", "skipped", "latents", "correlation", "decomposition",
              "versions", "geometry", "verdicts"}  # fmt: skip
    assert wanted <= set(content)
    assert set(content["geometry"]) == set(KEYS)
    for key in KEYS:
        own = content["geometry"][key]
        assert (own is None) == (key in content["skipped"])
        if own is not None:
            assert {"value", "interval", "n", "space"} <= set(own)
    assert all({"id", "says", "number", "threshold", "advice", "latents", "section"} <= set(v)
               for v in content["verdicts"])  # fmt: skip


def test_importance_weights_tighten_the_bound(linear: Inspection) -> None:
    fit = linear.fit
    assert fit is not None and fit.log_likelihood_nats is not None
    assert fit.elbo_nats == pytest.approx(-fit.distortion_nats - fit.rate_nats)
    assert fit.log_likelihood_nats > fit.elbo_nats
    assert fit.distortion_of_means is not None and fit.distortion_of_means < fit.distortion_nats


def test_every_verdict_points_at_a_section_of_its_report(
    linear: Inspection, tmp_path: Path
) -> None:
    linear.save(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    for verdict in linear.verdicts:
        assert f'id="{verdict.section}"' in page
    assert "Inferred about the model" in page


class Autoencoder(nn.Module):
    """A trained-like module: a linear pair with a dropout that must not be heard."""

    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.5)
        self.first = nn.Linear(LATENT, PIXELS, bias=False)
        self.first.weight.data = torch.cat([BASIS[:, :3] * SCALE, torch.zeros(PIXELS, 1)], dim=1)

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mean, logvar = encode(self.drop(x))
        return mean, logvar

    def decode(self, z: Tensor) -> Tensor:
        out: Tensor = self.first(z)
        return out


@pytest.mark.slow
def test_a_module_in_training_mode_is_read_in_eval_mode_and_put_back(linear: Inspection) -> None:
    module = Autoencoder().train()
    found = vs.inspect(module, vectors(), effort="fast")
    assert module.training and module.drop.training
    assert [z.mean_variance for z in found.latents] == [z.mean_variance for z in linear.latents]
    assert "mode" in {one.what for one in found.inferred}


@pytest.mark.slow
def test_the_first_layer_tells_how_strongly_each_latent_is_heard() -> None:
    found = vs.inspect(Autoencoder(), vectors(), effort="fast")
    assert found.column_norm is not None
    np.testing.assert_allclose(found.column_norm, [3, 2, 1, 0], atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_the_first_layer_is_found_in_any_precision(dtype: torch.dtype) -> None:
    layer = nn.Linear(2, 1).to(dtype)
    layer.weight.data.copy_(torch.tensor([[3.0, 4.0]]))
    norms = first_layer_norms(layer, lambda z: layer(z.to(dtype)), torch.full((1, 2), 0.3))
    assert norms is not None
    np.testing.assert_array_equal(norms, [3, 4])


def test_a_point_encoder_is_inspected_without_types() -> None:
    found = vs.inspect(encode=lambda x: encode(x)[0], decode=decode, data=vectors(), effort="fast")
    assert not {"polarised", "passive"} & {v.id for v in found.verdicts}
    assert found.fit is None


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: vs.inspect(Autoencoder()), "Only a run records its data"),
        (lambda: vs.inspect(decode=encode, data=vectors()), "both functions"),
        (lambda: vs.inspect(nn.Linear(2, 2), vectors()), "neither encode nor encoder"),
        (lambda: vs.inspect(Autoencoder(), vectors(), effort="lazy"), "no effort"),
        (lambda: vs.inspect(Autoencoder(), vectors(), posterior="sideways"), "interleaved"),
    ],
)
def test_what_cannot_be_inspected_says_what_to_do(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        call()


def test_a_decoder_that_cannot_be_differentiated_leaves_geometry_out_with_a_reason() -> None:
    def through_numpy(z: Tensor) -> Tensor:
        return torch.from_numpy(decode(z).detach().numpy().copy())

    found = vs.inspect(encode=encode, decode=through_numpy, data=vectors(), effort="fast")
    content = found.to_dict()
    for key in KEYS:
        assert content["geometry"][key] is not None or key in content["skipped"]


@pytest.mark.slow
def test_what_was_inferred_stands_above_the_verdicts_everywhere(tmp_path: Path) -> None:
    found = vs.inspect(Autoencoder(), vectors(), effort="fast", images=False)
    assert found.summary().startswith(
        "Inferred: posterior pair,logvar (mean and log variance, as two tensors); output "
    )
    assert found._repr_html_().index("Inferred: posterior") < found._repr_html_().index("latents")
    found.save(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert page.index("Inferred: posterior pair,logvar") < page.index(found.verdicts[0].says[:20])
    (first, *_) = found.to_dict()["inferred"]
    assert first["what"] == "posterior" and set(first) == {"what", "value", "why", "margin"}


@pytest.mark.slow
def test_a_model_that_does_not_reconstruct_is_told_so_first() -> None:
    deaf = vs.inspect(encode=encode, decode=lambda z: decode(0 * z), data=vectors(), effort="fast")
    assert deaf.verdicts[0].id == "unreconstructed"
    half = vs.inspect(
        encode=encode, decode=lambda z: 0.5 * decode(z), data=vectors(), effort="fast"
    )
    assert "unreconstructed" not in {verdict.id for verdict in half.verdicts}
    # Half of each example is missed: a quarter of its square.
    np.testing.assert_allclose(half.unexplained or 0, 0.25, rtol=0.02)
