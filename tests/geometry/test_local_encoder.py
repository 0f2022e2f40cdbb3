"""bhowal2024 Lemma 2: what the encoder's rows say, against encoders with a known answer."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.geometry.conftest import ThirdParty
from torch import Tensor, nn

import vaescope as vs
from vaescope.distributions import DiagonalGaussian
from vaescope.errors import RangeError, ShapeError, UsageError
from vaescope.geometry import encoder_jacobians, local_encoder, local_encoder_of

LATENT, INPUTS = 3, 8
DECODER = np.random.default_rng(0).normal(size=(INPUTS, LATENT))
X = np.random.default_rng(1).normal(size=(5, INPUTS))


def test_jacobians_are_those_of_finite_differences() -> None:
    generator = torch.Generator().manual_seed(0)
    layers = nn.Sequential(nn.Linear(INPUTS, 6), nn.Tanh(), nn.Linear(6, LATENT)).double()
    for weight in layers.parameters():
        weight.data = torch.randn(weight.shape, generator=generator, dtype=torch.float64)
    found = encoder_jacobians(layers, X)
    assert found.shape == (5, LATENT, INPUTS) and found.dtype == np.float64
    h = 1e-6
    for k in range(INPUTS):
        step = torch.zeros(INPUTS, dtype=torch.float64)
        step[k] = h
        with torch.no_grad():
            x = torch.from_numpy(X)
            slope = (layers(x + step) - layers(x - step)) / (2 * h)
        # A central difference is off by h^2 and by rounding over h.
        np.testing.assert_allclose(found[:, :, k], slope, atol=1e-8)
    np.testing.assert_array_equal(encoder_jacobians(layers, X, columns=[2, 0]), found[:, [2, 0]])


def test_a_linear_vae_reads_what_it_writes_and_shrinks_by_its_variance() -> None:
    """At the optimum E = (G + v)^-1 J' with v the noise's variance, so that I - E J has the
    posterior variances on its diagonal, and the projection is off by the mean of their squares."""
    x = vs.known.signals()
    model = vs.known.linear_vae(x, latent=3)
    variance = np.exp(model.encode(torch.from_numpy(x[:1]))[1].numpy()[0])
    found = local_encoder(lambda x: model.encode(x)[0], lambda z: model.decode(z).mean, x[:100])
    assert found.n == 100 and found.deficient == 0 and found.chance == 3 / 8
    assert found.value == pytest.approx(1.0, abs=1e-6)
    assert found.rows.value == pytest.approx(0.0, abs=1e-6)
    for error in (found.inversion, found.projection):
        assert error.value == pytest.approx((variance**2).mean(), abs=1e-6)
    assert variance.min() > 1e-3 and "100.0% of the directions" in found.summary()


@pytest.mark.parametrize("g", [torch.tanh, torch.sinh, lambda t: 3.0 * t])
def test_the_nonlinearity_of_each_latent_leaves_the_value(g: object) -> None:
    """mu = g_E(M_E x) with M_E = M_D^+: rows of M_E, whatever g_E is. The rotated one misses."""
    rows = torch.from_numpy(np.linalg.pinv(DECODER))
    columns = torch.from_numpy(DECODER)
    turned = torch.linalg.qr(torch.randn(INPUTS, INPUTS, dtype=torch.float64))[0]
    x = torch.from_numpy(X)
    found = local_encoder(lambda x: g(x @ rows.T), lambda z: z @ columns.T, x)
    assert found.value == pytest.approx(1.0)
    missed = local_encoder(lambda x: g(x @ (rows @ turned).T), lambda z: z @ columns.T, x)
    assert missed.value < 0.9


def test_the_loss_and_the_measure_see_no_mixing_of_the_latents() -> None:
    """Lemma 2: another U_E and S_E, with the decoder's inverse, change nothing; the rows' cosine,
    which is about axes, they do change. With the decoder left as it is, the loss changes."""
    pseudo_inverse = np.linalg.pinv(DECODER)
    mixing = np.random.default_rng(2).normal(size=(LATENT, LATENT))
    mixed, unmixed = mixing @ pseudo_inverse, DECODER @ np.linalg.inv(mixing)
    before = local_encoder_of(pseudo_inverse[None], DECODER[None])
    after = local_encoder_of(mixed[None], unmixed[None])
    for found in (before, after):
        assert found.value == pytest.approx(1.0)
        assert found.inversion.value == pytest.approx(0.0, abs=1e-12)
        assert found.projection.value == pytest.approx(0.0, abs=1e-12)
    assert abs(before.rows.value - after.rows.value) > 0.01

    def loss(encoder: np.ndarray, decoder: np.ndarray) -> np.ndarray:
        return ((X - X @ (decoder @ encoder).T) ** 2).sum(axis=1)

    np.testing.assert_allclose(loss(mixed, unmixed), loss(pseudo_inverse, DECODER))
    assert np.abs(loss(mixed, DECODER) - loss(pseudo_inverse, DECODER)).min() > 0.01
    one_sided = local_encoder_of(mixed[None], DECODER[None])
    assert one_sided.value == pytest.approx(1.0)  # the directions are the same,
    assert one_sided.inversion.value > 0.1  # but the encoder does not undo the decoder


def test_lemma_2_fixing_the_loss_does_not_fix_v_e() -> None:
    """Any basis of the rows has the same loss, and so has the mirror image of their space in a
    plane that x lies in. A space at another angle to x has another loss."""
    u = np.linalg.qr(DECODER)[0]
    x, other = X[0], X[1]
    normal = other - x * (other @ x) / (x @ x)
    mirrored = u - 2.0 * np.outer(normal, normal @ u) / (normal @ normal)
    swapped = u @ np.linalg.qr(np.random.default_rng(3).normal(size=(LATENT, LATENT)))[0]

    def loss(basis: np.ndarray) -> float:
        return float(((x - basis @ (basis.T @ x)) ** 2).sum())

    assert loss(mirrored) == pytest.approx(loss(u)) == pytest.approx(loss(swapped))
    assert local_encoder_of(mirrored.T[None], u[None]).value < 0.99
    assert local_encoder_of(swapped.T[None], u[None]).value == pytest.approx(1.0)
    assert np.abs(swapped - u).max() > 0.1
    turned = np.linalg.qr(u + 0.3 * normal[:, None])[0]
    assert abs(loss(turned) - loss(u)) > 0.01


def test_the_errors_are_their_formulas_and_see_no_mixing_where_they_are_not_0() -> None:
    generator = np.random.default_rng(6)
    encoder, mixing = (
        generator.normal(size=(LATENT, INPUTS)),
        generator.normal(size=(LATENT, LATENT)),
    )
    inverse = np.linalg.pinv(DECODER)
    loss = DECODER @ (encoder @ DECODER - np.eye(LATENT)) @ inverse
    off = DECODER @ encoder - np.linalg.pinv(encoder) @ encoder
    for e, j in ((encoder, DECODER), (mixing @ encoder, DECODER @ np.linalg.inv(mixing))):
        found = local_encoder_of(e[None], j[None])
        assert found.inversion.value == pytest.approx((loss**2).sum() / LATENT)
        assert found.projection.value == pytest.approx((off**2).sum() / LATENT)


def test_the_cosine_of_the_rows_is_the_encoders() -> None:
    rows = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    found = local_encoder_of(rows[None], np.eye(3)[:, :2][None])
    assert found.rows.value == pytest.approx(np.sqrt(0.5))


@pytest.mark.parametrize("angle", [0.0, 0.4, np.pi / 2])
def test_one_direction_that_is_turned_away_counts_by_its_squared_cosine(angle: float) -> None:
    basis = np.eye(INPUTS)[:, :LATENT]
    turned = basis.copy()
    turned[[0, INPUTS - 1], 0] = np.cos(angle), np.sin(angle)
    found = local_encoder_of(turned.T[None], basis[None])
    assert found.value == pytest.approx(1.0 - np.sin(angle) ** 2 / LATENT)
    assert found.inversion.value == pytest.approx((1.0 - np.cos(angle)) ** 2 / LATENT)
    # J E - E^+ E is (e_0 - v) v' with v the turned direction: 2 - 2 cos(angle).
    assert found.projection.value == pytest.approx((2.0 - 2.0 * np.cos(angle)) / LATENT, abs=1e-12)


def test_an_encoder_may_undo_the_decoder_and_read_other_directions_too() -> None:
    """E = J^+ + B with B J = 0 and J of orthonormal columns: E J = I, so that codes are kept, but J
    is not E^+. ||J E - E^+ E||^2 = ||J E||^2 - d for E J = I, which is ||B||^2 here."""
    j = np.linalg.qr(DECODER)[0]
    more = np.random.default_rng(5).normal(size=(LATENT, INPUTS)) @ (np.eye(INPUTS) - j @ j.T)
    found = local_encoder_of((j.T + more)[None], j[None])
    assert found.inversion.value == pytest.approx(0.0, abs=1e-12)
    assert found.projection.value == pytest.approx((more**2).sum() / LATENT)
    # Angles: the rows J' + B have cosines 1 / sqrt(1 + b^2), b the singular values of B.
    b = np.linalg.svd(more, compute_uv=False)
    assert found.value == pytest.approx((1.0 / (1.0 + b**2)).mean())


def test_random_directions_share_latents_over_inputs() -> None:
    generator = np.random.default_rng(4)
    encoders, decoders = generator.normal(size=(2, 4000, LATENT, INPUTS))
    found = local_encoder_of(encoders, decoders.swapaxes(1, 2))
    assert found.chance == LATENT / INPUTS
    standard_error = found.per_point.std() / np.sqrt(found.n)
    assert abs(found.value - found.chance) < 4.0 * standard_error
    assert standard_error < 0.01


def test_passive_latents_are_left_out_by_columns_and_else_leave_no_point_of_full_rank() -> None:
    rows = torch.from_numpy(np.linalg.pinv(DECODER)).clone()
    columns = torch.from_numpy(DECODER).clone()
    rows[1], columns[:, 1] = 0.0, 0.0
    x = torch.from_numpy(X)
    encode, decode = (lambda x: x @ rows.T), (lambda z: z @ columns.T)
    all_of_them = local_encoder(encode, decode, x)
    assert all_of_them.n == 0 and all_of_them.deficient == 5 and np.isnan(all_of_them.value)
    used = local_encoder(encode, decode, x, columns=[0, 2], batch=2)
    assert used.columns == (0, 2) and used.n == 5 and used.chance == 2 / 8
    expected = local_encoder_of(
        np.repeat(rows[[0, 2]].numpy()[None], 5, 0),
        np.repeat(columns[:, [0, 2]].numpy()[None], 5, 0),
    )
    assert used.value == pytest.approx(expected.value) and 0.5 < used.value < 1.0


def test_images_and_distributions_are_taken() -> None:
    rows = torch.from_numpy(np.linalg.pinv(DECODER)).float()
    columns = torch.from_numpy(DECODER).float()

    def encode(x: Tensor) -> DiagonalGaussian:
        return DiagonalGaussian(x.flatten(1) @ rows.T, torch.zeros(len(x), LATENT))

    images = X.reshape(5, 2, 2, 2)
    found = local_encoder(encode, lambda z: (z @ columns.T).reshape(-1, 2, 2, 2), images)
    assert found.value == pytest.approx(1.0, abs=1e-6)
    assert found.to_dict()["projection"]["value"] == pytest.approx(0.0, abs=1e-6)


def test_what_has_no_local_map_is_refused_by_name() -> None:
    rows = torch.from_numpy(np.linalg.pinv(DECODER)).float()
    decode = lambda z: z @ torch.from_numpy(DECODER).float().T  # noqa: E731
    with pytest.raises(UsageError, match="no derivative by x"):
        encoder_jacobians(lambda x: (x @ rows.T).detach(), X)
    with pytest.raises(UsageError, match="random, or depends on"):
        encoder_jacobians(lambda x: x @ rows.T + torch.randn(len(x), LATENT), X)
    with pytest.raises(UsageError, match="random, or depends on"):
        local_encoder(lambda x: (x - x.mean(0)) @ rows.T, decode, X)
    with pytest.raises(RangeError, match="not finite"):
        encoder_jacobians(lambda x: (0.0 * x @ rows.T).sqrt(), X)
    with pytest.raises(ShapeError, match="means of shape"):
        encoder_jacobians(lambda x: (x @ rows.T, x), X)
    with pytest.raises(ShapeError, match="at least one"):
        encoder_jacobians(lambda x: x @ rows.T, X[:0])
    with pytest.raises(ShapeError, match="Decode to the shape of x"):
        local_encoder(lambda x: x @ rows.T, lambda z: decode(z)[:, :5], X)
    with pytest.raises(ShapeError, match="Columns are"):
        local_encoder(lambda x: x @ rows.T, decode, X, columns=[3])


class ThirdPartyEncoder(nn.Module):
    """Four convolutions and two linear layers; means and log-variances are interleaved."""

    def __init__(self, state: dict[str, Tensor]) -> None:
        super().__init__()
        self.conv1, self.conv2, self.conv3, self.conv_64 = (
            nn.Conv2d(channels, 32, 4, 2, 1) for channels in (1, 32, 32, 32)
        )
        self.lin1, self.lin2 = nn.Linear(512, 256), nn.Linear(256, 256)
        self.mu_logvar_gen = nn.Linear(256, 20)
        own = {k.removeprefix("encoder."): v for k, v in state.items() if k.startswith("encoder.")}
        self.load_state_dict(own)

    def forward(self, x: Tensor) -> Tensor:
        for layer in (self.conv1, self.conv2, self.conv3, self.conv_64):
            x = layer(x).relu()
        x = self.lin2(self.lin1(x.flatten(1)).relu()).relu()
        return self.mu_logvar_gen(x)[:, 0::2]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["VAE_dsprites", "betaB_dsprites", "btcvae_dsprites"])
def test_trained_networks_are_not_the_pair_that_the_lemma_assumes(
    name: str,
    third_party: Callable[[str], ThirdParty],
    shared_data: Callable[[str], Path],
) -> None:
    """Squares as the models' own README draws them. The encoder finds the decoder's directions far
    better than chance, yet most of what it reads lies outside of them."""
    model = third_party(name)
    state = torch.load(shared_data(f"pretrained/{name}/model.pt"), weights_only=True)
    y, x = np.mgrid[0:64, 0:64]
    squares = np.stack([
        (abs(x - 15.5 - 32 * (k // 32) / 31) <= 4.8) & (abs(y - 15.5 - 32 * (k % 32) / 31) <= 4.8)
        for k in range(0, 1000, 50)
    ])  # fmt: skip
    found = local_encoder(
        ThirdPartyEncoder(state).eval(),
        model.decode,
        squares[:, None].astype(np.float32),
        columns=model.used,
    )
    assert found.interval is not None and found.deficient == 0
    assert found.interval[0] > 10.0 * found.chance
    assert found.interval[1] < 0.5 and found.projection.value > 1.0
