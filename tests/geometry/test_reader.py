"""Decoders of all kinds: each is either measured rightly or refused by name."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from vaescope.errors import RangeError, ShapeError, UsageError
from vaescope.geometry import (
    column_norm,
    distance_to_orthogonality,
    grams,
    ima_contrast,
    jacobians,
    local_decoders,
    od_score,
    overview,
    precision_budget,
    principal_order,
    random_decoder_baseline,
    variance_law,
)


@pytest.fixture
def points(generator: np.random.Generator) -> np.ndarray:
    return generator.normal(size=(12, 3)).astype(np.float32)


def seeded(build: Callable[[], nn.Module]) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return build().eval()


def reverse(decode: Callable[[Tensor], Tensor], z: Tensor) -> np.ndarray:
    """Jacobians by torch's reverse mode, one point after another."""
    each = [
        torch.autograd.functional.jacobian(lambda q: decode(q[None].clone())[0].reshape(-1), one)
        for one in z
    ]
    return torch.stack(each).numpy()


def normed() -> nn.Module:
    """Everything at once: batch norm, dropout, layers in place, odd transposed convolutions."""
    net = nn.Sequential(
        nn.Linear(3, 64), nn.ReLU(inplace=True), nn.Unflatten(1, (16, 2, 2)),
        nn.ConvTranspose2d(16, 8, 4, 2, 1), nn.BatchNorm2d(8), nn.LeakyReLU(0.2, inplace=True),
        nn.Dropout(0.5), nn.ConvTranspose2d(8, 3, 3, stride=2, padding=1, output_padding=1),
        nn.Upsample(scale_factor=2), nn.Conv2d(3, 3, 3, padding=1, padding_mode="reflect"),
        nn.ConvTranspose2d(3, 1, 4, 2, 1), nn.Sigmoid(),
    )  # fmt: skip
    for _ in range(5):  # running statistics that are not 0 and 1
        net(torch.randn(64, 3))
    return net


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRU(3, 5, batch_first=True)

    def forward(self, z: Tensor) -> Tensor:
        return self.cell(z[:, None].expand(-1, 4, -1))[0]


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 32)
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 1)

    def forward(self, z: Tensor) -> Tensor:
        return self.layers(self.first(z).view(len(z), 4, 8))


class ChangesItsInput(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 6)

    def forward(self, z: Tensor) -> Tensor:
        z += 1.0
        return self.layer(z).tanh_()


def patched() -> nn.Module:
    """A layer whose forward somebody has replaced."""
    net = nn.Sequential(nn.Linear(3, 4))
    weight = torch.randn(4, 3)
    net[0].forward = lambda z: torch.tanh(z @ weight.T)  # type: ignore[method-assign]
    return net


def constrained() -> nn.Module:
    return nn.Sequential(
        nn.utils.parametrizations.spectral_norm(nn.Linear(3, 6)), nn.Tanh(),
        nn.utils.parametrizations.weight_norm(nn.Linear(6, 5)),
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "build",
    [normed, Recurrent, Attention, ChangesItsInput, patched, constrained],
    ids=lambda f: f.__name__,
)
def test_modules_of_many_kinds_have_exact_jacobians(
    build: Callable[[], nn.Module], points: np.ndarray
) -> None:
    decode = seeded(build)
    found = jacobians(decode, points)
    assert found.method != "finite differences"
    np.testing.assert_allclose(
        found.values, reverse(decode, torch.from_numpy(points)), atol=1e-5, rtol=1e-4
    )


def test_strides_of_the_codes_do_not_matter(points: np.ndarray) -> None:
    decode = seeded(lambda: nn.Linear(3, 4))

    def viewing(z: Tensor) -> Tensor:
        return decode(z.view(-1).view(-1, 3))  # fails on codes that are not contiguous

    wanted = np.broadcast_to(decode.weight.detach().numpy(), (12, 4, 3))
    column_major = torch.from_numpy(np.asfortranarray(points))
    for given in (column_major, points[::-1, ::-1], torch.from_numpy(points[:1]).expand(12, 3)):
        np.testing.assert_allclose(jacobians(viewing, given).values, wanted, atol=1e-6)
        assert principal_order(viewing, given, np.full((12, 3), 0.1)).n == 12
        assert local_decoders(viewing, given[:2], np.full((2, 3), 0.1)).errors.value < 1e-6


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_arrays_get_the_type_of_the_modules_weights(dtype: torch.dtype, points: np.ndarray) -> None:
    decode = seeded(lambda: nn.Linear(3, 4)).to(dtype)
    found = jacobians(decode, points)
    assert found.method == "forward mode"
    np.testing.assert_allclose(found.values[0], decode.weight.detach().double(), rtol=1e-6)
    assert found.values.dtype == (np.float64 if dtype == torch.float64 else np.float32)


def test_a_single_latent_and_a_single_output_are_enough(points: np.ndarray) -> None:
    one = points[:, :1]
    curve = lambda z: torch.cat([z, z**2], 1)  # noqa: E731
    assert distance_to_orthogonality(curve, one).value == 0.0
    assert od_score(curve, one).value == pytest.approx(0.0, abs=1e-12)
    assert ima_contrast(curve, one).value == pytest.approx(0.0, abs=1e-12)
    number = jacobians(lambda z: z[:, 0] * z[:, 1], points)  # shape (n,)
    np.testing.assert_allclose(number.values[:, 0], points[:, [1, 0, 2]] * [1, 1, 0], rtol=1e-6)
    found = overview(curve, one, np.full_like(one, 0.1), fits=2)
    assert set(found.skipped) >= {"dto", "column_cosine", "ima_contrast"}


def test_columns_without_any_effect_leave_no_number_by_accident(points: np.ndarray) -> None:
    """Warnings are errors here: no mean over nothing."""
    noise = np.full((12, 3), 0.1)
    flat = lambda z: z * torch.tensor([1.0, 2.0, 0.0])  # noqa: E731
    assert np.isnan(precision_budget(flat, points, noise).value)
    assert np.isnan(variance_law(flat, points, noise).value)
    assert ima_contrast(flat, points).n == 0
    found = overview(flat, points, noise, fits=2)
    assert set(found.skipped) == {"dto_random_decoder", "ima_contrast", "variance_law"}


def test_steep_functions_stay_with_forward_mode(points: np.ndarray) -> None:
    """Differences are wrong there, and must not talk us out of what is exact."""
    found = jacobians(lambda z: torch.sin(1000 * z), points)
    assert found.method == "forward mode"
    wanted = 1000 * torch.cos(1000 * torch.from_numpy(points))
    np.testing.assert_allclose(np.diagonal(found.values, axis1=1, axis2=2), wanted, rtol=1e-5)


def test_one_point_on_a_kink_does_not_end_forward_mode() -> None:
    z = torch.tensor([[0.0], [1.0], [2.0], [-1.0]])
    assert jacobians(torch.relu, z).method == "forward mode"


def test_what_is_hidden_from_forward_mode_in_part_only_is_differenced(points: np.ndarray) -> None:
    found = jacobians(lambda z: torch.sin(z) + torch.cos(2 * z).detach(), points)
    assert found.method == "finite differences"
    z = torch.from_numpy(points)
    wanted = torch.cos(z) - 2 * torch.sin(2 * z)
    np.testing.assert_allclose(np.diagonal(found.values, axis1=1, axis2=2), wanted, atol=2e-3)


def test_a_mask_of_latents_is_understood(points: np.ndarray) -> None:
    assert grams(torch.sin, points, columns=np.array([True, False, True])).columns == (0, 2)
    with pytest.raises(ShapeError, match="each once"):
        grams(torch.sin, points, columns=[1, 1])


@pytest.mark.parametrize(
    ("decode", "error", "says"),
    [
        (nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5)), UsageError, "training mode"),
        (nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8)), UsageError, "training mode"),
        (nn.BatchNorm1d(3, track_running_stats=False).eval(), UsageError, "one"),
        (lambda z: nn.functional.dropout(z.repeat(1, 64), 0.5), UsageError, "random"),
        (lambda z: z + torch.randn_like(z), UsageError, "random"),
        (lambda z: z - z.mean(0), UsageError, "other codes of its batch"),
        (lambda z: (z, z), UsageError, "tuple"),
        (lambda z: z.detach().numpy(), UsageError, "ndarray"),
        (lambda z: torch.distributions.Bernoulli(logits=z), UsageError, "Bernoulli"),
        (lambda z: z.reshape(12, 3), UsageError, "failed on codes of shape"),
        (lambda z: z @ torch.eye(3, dtype=torch.float64), UsageError, "tensor of that type"),
        (nn.Linear(4, 2), UsageError, "shape .2, 3."),
        (3, UsageError, "not callable"),
        (lambda z: (z > 0).long(), ShapeError, "int64"),
        (torch.fft.fft, ShapeError, "complex"),
        (lambda z: z[:, :0], ShapeError, "0 numbers"),
        (lambda z: z.sum(), ShapeError, "0 outputs of 2 codes"),
        (lambda z: torch.log(z - 100), RangeError, "not finite"),
    ],
)
def test_what_cannot_be_measured_is_named(
    decode: Any, error: type[Exception], says: str, points: np.ndarray
) -> None:
    with pytest.raises(error, match=says):
        jacobians(decode, points)


def test_a_derivative_that_is_not_finite_is_named_with_its_point() -> None:
    z = torch.ones(6, 2)
    z[4] = 0.0
    with pytest.raises(RangeError, match="first at point 4"):
        grams(lambda z: z.sqrt(), z)


@pytest.mark.parametrize("bad", [np.zeros(3), np.zeros((0, 3)), np.zeros((3, 0))])
def test_codes_of_another_shape_are_named(bad: np.ndarray) -> None:
    with pytest.raises(ShapeError, match="codes of shape"):
        column_norm(torch.sin, bad)


def test_codes_that_are_not_finite_and_noise_of_another_shape_are_named(
    points: np.ndarray,
) -> None:
    with pytest.raises(ShapeError, match="that of the means"):
        variance_law(torch.sin, points, np.ones(12))
    points[3, 1] = np.nan
    with pytest.raises(RangeError, match="1 of 12 points"):
        distance_to_orthogonality(torch.sin, points)


def test_measuring_leaves_the_decoder_as_it_was(points: np.ndarray) -> None:
    decode = seeded(normed)
    before = copy.deepcopy(decode.state_dict())
    distance_to_orthogonality(decode, points)
    assert not decode.training
    for name, value in decode.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_untrained_decoders_are_put_into_evaluation_mode(points: np.ndarray) -> None:
    def untrained(seed: int) -> nn.Module:
        return nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.5))

    assert random_decoder_baseline(untrained, points, seeds=2).n == 2
