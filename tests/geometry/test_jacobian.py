import copy
import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.func import jacfwd, vmap

from vaescope.distributions import Bernoulli, DiagonalGaussian, Laplace
from vaescope.errors import ShapeError, UsageError
from vaescope.geometry import bernoulli_of_means, grams, grams_of, jacobians
from vaescope.nets import (
    BernoulliLikelihood,
    GaussianLikelihood,
    LaplaceLikelihood,
    SquaredErrorLikelihood,
    conv_pair,
    mlp_pair,
)
from vaescope.vae import Decoder


def relative(got: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.linalg.norm(got - wanted) / np.linalg.norm(wanted))


@pytest.fixture(scope="module")
def conv() -> Decoder:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Decoder(conv_pair((1, 64, 64), 10).decoder, BernoulliLikelihood()).eval()


@pytest.fixture(scope="module")
def points() -> Tensor:
    return torch.randn(6, 10, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def tanh_body() -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return mlp_pair(
            (5,), 3, encoder=[8], decoder=[8, 8], encoder_activation=nn.Tanh,
            decoder_activation=nn.Tanh,
        ).decoder  # fmt: skip


def differences(function: nn.Module, z: Tensor, h: float = 1e-6) -> np.ndarray:
    """Central differences in float64."""
    exact = z.double()
    columns = []
    with torch.no_grad():
        for step in h * torch.eye(z.shape[1], dtype=torch.float64):
            columns.append((function(exact + step) - function(exact - step)).flatten(1) / (2 * h))
    return torch.stack(columns, -1).numpy()


def test_jacobians_of_the_convolutional_decoder_equal_float64_differences(
    conv: Decoder, points: Tensor
) -> None:
    found = jacobians(conv, points, space="logit")
    assert found.method == "forward mode"
    body = conv_pair((1, 64, 64), 10).decoder.double()
    body.load_state_dict(conv.body.state_dict())
    assert relative(found.values, differences(body, points)) < 1e-3


def test_layers_walked_through_give_what_forward_mode_gives(conv: Decoder, points: Tensor) -> None:
    walked = jacobians(conv, points, space="logit").values
    plain = jacobians(lambda z: conv(z).logits, points).values
    with torch.no_grad():
        reference = vmap(jacfwd(lambda z: conv.body(z[None])[0].flatten()))(points).numpy()
    assert relative(walked, reference) < 1e-5
    assert relative(plain, reference) < 1e-5


def test_chunks_do_not_change_the_result(conv: Decoder, points: Tensor) -> None:
    whole = jacobians(conv, points, memory=2**30).values
    single = jacobians(conv, points, memory=1).values
    assert relative(single, whole) < 1e-5


def test_the_three_spaces_of_a_bernoulli_differ_by_its_variance(
    conv: Decoder, points: Tensor
) -> None:
    output, logit, fisher = (
        jacobians(conv, points, space=space).values for space in ("output", "logit", "likelihood")
    )
    with torch.no_grad():
        p = conv(points).mean.flatten(1).unsqueeze(-1).numpy()
    np.testing.assert_allclose(output, logit * p * (1 - p), rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(fisher, logit * np.sqrt(p * (1 - p)), rtol=1e-4, atol=1e-7)


def test_the_default_is_the_likelihoods_own_space_where_it_is_known(
    conv: Decoder, points: Tensor
) -> None:
    plain = lambda z: conv(z).mean  # noqa: E731
    assert jacobians(conv, points).space == "likelihood"
    assert jacobians(plain, points).space == "output"
    given = jacobians(plain, points, likelihood=bernoulli_of_means)
    assert given.space == "likelihood"
    assert relative(given.values, jacobians(conv, points).values) < 1e-3


def test_metric_of_a_location_is_the_plain_one_over_the_squared_scale(tanh_body: nn.Module) -> None:
    z = torch.randn(4, 3, generator=torch.Generator().manual_seed(2))
    plain = grams(tanh_body, z).values
    half = grams(Decoder(tanh_body, SquaredErrorLikelihood()), z)
    assert half.space == "likelihood"
    np.testing.assert_allclose(half.values, 2.0 * plain, rtol=1e-5)
    for likelihood in (GaussianLikelihood(0.1), LaplaceLikelihood(0.1)):
        given = grams(tanh_body, z, likelihood=likelihood)
        np.testing.assert_allclose(given.values, 100.0 * plain, rtol=1e-4)


def bent(z: Tensor) -> Tensor:
    return torch.sin(z @ z.new_tensor([[1.0, 2.0], [0.5, -1.0]]))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda z: DiagonalGaussian(bent(z), 0.3 * z**2),
         lambda p: torch.distributions.Normal(p.loc, p.variance.sqrt())),
        (lambda z: Laplace(bent(z), 0.3 * z**2),
         lambda p: torch.distributions.Laplace(p.loc, p.log_scale.exp())),
        (lambda z: Bernoulli(bent(z)),
         lambda p: torch.distributions.Bernoulli(logits=p.logits)),
    ],
    ids=["gaussian", "laplace", "bernoulli"],
)  # fmt: skip
def test_fisher_metric_is_the_curvature_of_the_divergence(ours: Any, theirs: Any) -> None:
    """Also where the decoder's scale moves with z: KL(z || z + dz) = dz' G dz / 2."""

    z = torch.tensor([[0.3, -0.7]], dtype=torch.float64)
    g = grams(ours, z).values[0]
    for step in (torch.tensor([[1e-4, 0.0]]), torch.tensor([[1e-4, -2e-4]])):
        kl = 0.0
        for moved in (z + step.double(), z - step.double()):  # third order cancels
            between = torch.distributions.kl_divergence(theirs(ours(z)), theirs(ours(moved)))
            kl += 0.5 * float(between.sum())
        move = step.double().numpy()[0]
        assert 0.5 * move @ g @ move == pytest.approx(kl, rel=1e-3)


def test_columns_can_be_restricted(conv: Decoder, points: Tensor) -> None:
    some = jacobians(conv, points, columns=[7, 2])
    assert some.columns == (7, 2)
    np.testing.assert_allclose(some.values, jacobians(conv, points).values[:, :, [7, 2]], atol=1e-6)
    with pytest.raises(ShapeError, match="0 to 9"):
        jacobians(conv, points, columns=[10])
    with pytest.raises(ShapeError, match="at least one"):
        jacobians(conv, points, columns=[])


def test_grams_are_products_of_jacobians(conv: Decoder, points: Tensor) -> None:
    found = jacobians(conv, points)
    np.testing.assert_allclose(
        grams(conv, points).values, grams_of(found.values).values, rtol=1e-5, atol=1e-9
    )


def hidden_by_detach(z: Tensor) -> Tensor:
    return torch.tanh(z.detach())


def hidden_in_numpy(z: Tensor) -> Tensor:
    return torch.from_numpy(np.tanh(z.numpy()))


def hidden_by_inference_mode(z: Tensor) -> Tensor:
    with torch.inference_mode():
        return torch.tanh(z)


@pytest.mark.parametrize(
    "decode",
    [hidden_by_detach, hidden_in_numpy, hidden_by_inference_mode],
    ids=lambda f: f.__name__,
)
def test_what_forward_mode_cannot_see_is_differenced_and_said(
    decode: object, caplog: pytest.LogCaptureFixture
) -> None:
    z = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    found = jacobians(decode, z)
    assert found.method == "finite differences"
    assert found.note and found.note in found.summary()
    assert "finite differences" in caplog.text
    wanted = torch.diag_embed(1 - torch.tanh(z) ** 2).numpy()
    np.testing.assert_allclose(found.values, wanted, atol=2e-3)


class Square(torch.autograd.Function):
    """Knows its derivative, but not how to be batched."""

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x**2

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_forward(inputs[0])

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Tensor:
        return 2 * ctx.saved_tensors[0] * tangent


def test_what_cannot_be_batched_is_still_exact_column_by_column() -> None:
    z = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    found = jacobians(Square.apply, z)
    assert found.method == "forward mode by column"
    np.testing.assert_allclose(found.values, torch.diag_embed(2 * z).numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    ("dtype", "close"), [(torch.float64, 1e-6), (torch.float16, 5e-3), (torch.bfloat16, 4e-2)]
)
def test_decoders_of_another_precision_than_the_points_are_exact_to_theirs(
    tanh_body: nn.Module, dtype: torch.dtype, close: float
) -> None:
    """Differences of numbers of eight bits would be mostly rounding."""
    z = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    other = copy.deepcopy(tanh_body).to(dtype)
    found = jacobians(lambda z: other(z.to(dtype)), z)
    assert found.method == "forward mode"
    assert relative(found.values, jacobians(tanh_body, z).values) < close


def test_a_constant_decoder_has_jacobian_zero() -> None:
    found = jacobians(lambda z: 0.0 * z + 1.0, torch.zeros(3, 2))
    assert found.method == "forward mode"
    assert not found.values.any()


def test_callers_in_inference_mode_get_the_same(conv: Decoder, points: Tensor) -> None:
    wanted = jacobians(conv, points).values
    with torch.inference_mode():
        np.testing.assert_array_equal(jacobians(conv, points * 1.0).values, wanted)


def test_wrong_decoders_and_spaces_are_named() -> None:
    z = torch.zeros(3, 2)
    with pytest.raises(ShapeError, match="outputs of 2 codes"):
        jacobians(lambda z: z.sum(0, keepdim=True), z)
    with pytest.raises(ShapeError, match="shape"):
        jacobians(torch.tanh, torch.zeros(3))
    with pytest.raises(UsageError, match="needs a likelihood"):
        jacobians(torch.tanh, z, space="logit")
    with pytest.raises(UsageError, match="no logits"):
        jacobians(torch.tanh, z, likelihood=SquaredErrorLikelihood(), space="logit")
    with pytest.raises(UsageError, match="Spaces are output, logit, likelihood"):
        jacobians(torch.tanh, z, space="pixel")  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_thousand_points_take_less_than_a_gigabyte() -> None:
    code = """
import resource, torch
from vaescope.geometry import jacobians
from vaescope.nets import BernoulliLikelihood, conv_pair
from vaescope.vae import Decoder
torch.set_num_threads(1)
decoder = Decoder(conv_pair((1, 64, 64), 10).decoder, BernoulliLikelihood())
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert jacobians(decoder, torch.randn(1000, 10)).n == 1000
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert math.isfinite(float(run.stdout))
    assert float(run.stdout) < 1e9
