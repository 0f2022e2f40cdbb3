"""Two models that are the same up to a known map are said to be so, and others are not."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.stats import ortho_group
from tests.adapters.pretrained import many_images, rebuilt
from torch import Tensor, nn

import vaescope as vs
from vaescope.cli.app import main
from vaescope.distributions import FullGaussian, Reparameterised
from vaescope.errors import ShapeError, UsageError
from vaescope.latent_exchange import CLASSES, Exchange
from vaescope.models import OpenModel

DRAWS = 100
D = 4
Matrix = NDArray[np.float64]


class Waves(nn.Module):
    """A decoder that bends its latents, and the encoder that undoes it exactly; both known."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(3)
        mixing = torch.linalg.qr(torch.randn(12, 12, generator=generator))[0][:, :D]
        self.register_buffer("mixing", mixing)

    def decode(self, z: Tensor) -> Tensor:
        bent: Tensor = z + 0.3 * torch.sin(z)
        return 2.0 * bent @ self.mixing.T

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        bent = x @ self.mixing / 2.0
        z = bent.clone()
        for _ in range(30):  # z + 0.3 sin z = bent, by fixed point
            z = bent - 0.3 * torch.sin(z)
        return z, torch.full_like(z, -4.0)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mu, logvar = self.encode(x)
        return self.decode(mu + torch.randn_like(mu) * (0.5 * logvar).exp()), mu, logvar


@pytest.fixture(scope="module")
def base() -> OpenModel:
    return base_model()


def base_model() -> OpenModel:
    rng = np.random.default_rng(0)
    model = Waves()
    z = torch.from_numpy(rng.standard_normal((400, D)).astype(np.float32))
    noise = torch.from_numpy(rng.normal(0, 0.1, (400, 12)).astype(np.float32))
    return vs.open_model(model, (model.decode(z) + noise).numpy(), rows=400)


def mixed(model: OpenModel, matrix: Matrix, shift: float = 0.0, name: str = "mixed") -> OpenModel:
    """The same model with latents W z + c, the decoder compensated."""
    w = torch.from_numpy(np.ascontiguousarray(matrix)).float()
    back = torch.linalg.inv(w)

    def encode(x: Tensor, u: Tensor | None = None) -> Reparameterised:
        q = model.encode(x, u)
        factor = torch.linalg.cholesky(w @ torch.diag_embed(q.variance) @ w.T)
        return FullGaussian(q.mean @ w.T + shift, factor)

    def density(z: Tensor, u: Tensor | None = None) -> object:
        return model.decode((z - shift) @ back.T, u)

    return replace(model, name=name, encode=encode, density=density, decoder=lambda z: z)


def permutation(rng: np.random.Generator) -> Matrix:
    """Neither the identity nor nearly it."""
    while True:
        order = rng.permutation(D)
        signs = rng.choice([-1.0, 1.0], D)
        matrix = np.eye(D)[order] * signs[:, None]
        if np.trace(matrix) < D - 1.5:
            return matrix


def degrees_off_axes(rotation: Matrix) -> float:
    """The largest angle between a new axis and the nearest old one."""
    return float(np.degrees(np.arccos(np.abs(rotation).max(1).clip(max=1.0))).max())


def rotation(rng: np.random.Generator) -> Matrix:
    while True:
        found: Matrix = ortho_group.rvs(D, random_state=rng)
        if degrees_off_axes(found) >= 15:
            return found


def affine(rng: np.random.Generator) -> Matrix:
    """Stretched by 4 along axes that are none of the latents'."""
    left, right = (ortho_group.rvs(D, random_state=rng) for _ in range(2))
    return np.asarray(left @ np.diag([4.0, 1.0, 0.5, 0.25]) @ right)


#: What is drawn, by the class of maps that is the right answer; scripts/exchange_draws.py too.
KINDS: dict[str, Callable[[np.random.Generator], Matrix]] = {
    "identity": lambda rng: np.diag(rng.uniform(0.5, 2.0, D)),
    "permutation": permutation,
    "orthogonal": rotation,
    "affine": affine,
}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "make"), KINDS.items())
def test_a_model_and_its_own_latents_mapped_are_told_in_every_draw(
    base: OpenModel, kind: str, make: Callable[[np.random.Generator], Matrix]
) -> None:
    wrong = []
    for draw in range(DRAWS):
        rng = np.random.default_rng(draw)
        found = vs.exchange(base, mixed(base, make(rng), rng.normal()), seed=draw)
        if not found.says.startswith(CLASSES[kind] + " ("):
            wrong.append((draw, found.recovered))
    assert not wrong, wrong[:3]


@pytest.mark.parametrize(("kind", "make"), [("permutation", permutation), ("orthogonal", rotation)])
def test_one_draw_of_a_kind_is_told(
    base: OpenModel, kind: str, make: Callable[[np.random.Generator], Matrix]
) -> None:
    found = vs.exchange(base, mixed(base, make(np.random.default_rng(7))))
    assert found.sufficient == kind


def test_the_map_that_is_found_is_the_one_that_was_made(base: OpenModel) -> None:
    matrix = affine(np.random.default_rng(5))
    other = mixed(base, matrix, 0.7)
    found = vs.exchange(base, other).maps["affine"]
    assert found.matrix == pytest.approx(matrix.T, abs=0.01)
    assert found.shift == pytest.approx(np.full(D, 0.7), abs=0.01)
    module = vs.translate(base, other)
    z = torch.from_numpy(base.codes.mean[:5]).float()
    assert module(z).detach().numpy() == pytest.approx(other.codes.mean[:5], abs=0.05)


def test_costs_fall_from_class_to_class_and_lie_between_own_and_null(base: OpenModel) -> None:
    found = vs.exchange(base, mixed(base, rotation(np.random.default_rng(1))))
    costs = [found.costs[name] for name in CLASSES]
    assert costs[0] > costs[2] and costs[1] > costs[2]
    assert found.own <= min(costs) + 0.05 and found.null > found.costs["orthogonal"] + 1


def test_models_of_other_latents_are_incompatible_and_latents_that_lack_are_named(
    base: OpenModel,
) -> None:
    blind = replace(
        base, name="blind",
        encode=lambda x, u=None: _turned_off(base.encode(x, u)),
        density=lambda z, u=None: base.decode(z, u), decoder=lambda z: z,
    )  # fmt: skip
    found = vs.exchange(base, blind)
    assert 0 in found.lacking and 1 not in found.lacking
    assert "Latent 0 of" in found.says and "not found in blind" in found.says
    shuffled = replace(base, name="shuffled", rows=base.rows, given=(_shuffled(base), None))
    found = vs.exchange(shuffled, base)
    assert found.says.startswith("incompatible"), found.says
    assert all(share <= 0.02 for share in found.recovered.values())


def test_a_side_that_ignores_its_input_is_never_the_same_space(base: OpenModel) -> None:
    """Such a decoder costs the same from any codes, and constant codes tell a decoder nothing."""
    image = base.data.rows(base.rows).mean(0)

    def constant(z: Tensor, u: Tensor | None = None) -> object:
        like = base.decode(z, u)
        return replace(like, loc=torch.from_numpy(image).expand(len(z), -1))

    deaf = replace(base, density=constant, name="deaf")
    for found in (vs.exchange(base, deaf), vs.exchange(deaf, deaf)):
        assert "same" not in found.says, found.says

    def blind(x: Tensor, u: Tensor | None = None) -> Reparameterised:
        q = base.encode(x, u)
        return replace(q, loc=torch.zeros_like(q.mean))

    found = vs.exchange(replace(base, encode=blind, name="blind"), base)
    assert found.says.startswith("incompatible"), found.says


class Mirrored(nn.Module):
    """A model with its latents in the other order, and one of them mirrored."""

    def __init__(self, model: nn.Module, latent: int) -> None:
        super().__init__()
        self.model, self.order = model, torch.eye(latent).flip(1)
        self.order[0] *= -1.0

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mean, logvar = self.model.encode(x)
        return mean @ self.order, logvar.flip(1)

    def decode(self, z: Tensor) -> object:
        return self.model.decode(z @ self.order.T)


@pytest.mark.parametrize("latent", [1, 2])
def test_few_latents_are_not_incompatible_because_shuffled_pairs_fit_by_chance(latent: int) -> None:
    x = vs.known.signals()
    model = vs.known.linear_vae(x, latent=latent)
    reading = {"posterior": "logvar", "likelihood": "gaussian:0.09"}
    pair = [vs.open_model(one, x, **reading) for one in (model, Mirrored(model, latent))]
    for seed in range(20):
        says = vs.exchange(*pair, seed=seed, rows=200).says
        assert says.startswith(CLASSES["permutation"]), (seed, says)


def test_few_images_are_said_to_be_few(base: OpenModel) -> None:
    few = replace(base, rows=base.rows[:12])
    assert "Only 6 images were measured" in vs.exchange(few, few).says


def _turned_off(q: Reparameterised) -> Reparameterised:
    mean = q.mean.clone()
    mean[:, 0] = 0.0
    return FullGaussian(mean, torch.diag_embed(q.variance.sqrt()))


def _shuffled(model: OpenModel) -> vs.Codes:
    order = np.random.default_rng(0).permutation(model.codes.n)
    return replace(model.codes, mean=model.codes.mean[order], variance=model.codes.variance[order])


def test_a_list_gives_a_matrix_and_fewer_latents_have_no_identity(base: OpenModel) -> None:
    model = Waves()
    narrow = vs.open_model(
        encode=lambda x: tuple(part[:, : D - 1] for part in model.encode(x)),
        decode=lambda z: model.decode(torch.cat([z, torch.zeros(len(z), 1)], 1)),
        data=base.data, posterior="pair,logvar", name="narrow", rows=400,
    )  # fmt: skip
    found = vs.exchange([base, narrow])
    assert found.names == (base.name, "narrow")
    assert np.isnan(found.recovered("identity")[0, 1]) and found.recovered("affine")[0, 0] == 1
    there = found.pairs[0, 1]
    assert there.costs["identity"] is None and there.sufficient == "permutation"
    assert there.lacking == (D - 1,)


def test_one_model_alone_and_an_unknown_class_are_refused(base: OpenModel) -> None:
    with pytest.raises(UsageError, match="Give two"):
        vs.exchange(base)
    with pytest.raises(UsageError, match="Give one of identity"):
        vs.translate(base, mixed(base, np.eye(D)), by="projective")


class Far(Waves):
    """Decodes to where no data are."""

    def decode(self, z: Tensor) -> Tensor:
        return super().decode(z) + 9.0


def test_where_nothing_can_be_exchanged_no_map_is_chosen_unless_it_is_named(
    base: OpenModel,
) -> None:
    far = vs.open_model(Far(), base.data, rows=400, posterior="logvar")
    with pytest.raises(UsageError, match=r"no better than the mean image.*give by="):
        vs.translate(base, far)
    assert vs.translate(base, far, by="affine")(torch.zeros(2, D)).shape == (2, D)


class Maps(nn.Module):
    """Latents (n, 2, 4, 4) of images (n, 1, 8, 8)."""

    def __init__(self, size: int = 2) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.down = nn.Conv2d(1, 4, size, size)
        self.up = nn.ConvTranspose2d(2, 1, size, size)

    def encode(self, x: Tensor) -> tuple[Tensor, ...]:
        mu, logvar = self.down(x).chunk(2, 1)
        return mu, logvar - 4.0

    def decode(self, z: Tensor) -> Tensor:
        return self.up(z)


def _fitted(size: int, images: Tensor) -> Maps:
    model = Maps(size)
    optimiser = torch.optim.Adam(model.parameters(), lr=2e-2)
    for _ in range(150):
        loss = (model.decode(model.encode(images)[0]) - images).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model.eval()


class Swapped(nn.Module):
    """The same with its channels swapped and one mirrored."""

    def __init__(self, inner: Maps) -> None:
        super().__init__()
        self.inner = inner

    def encode(self, x: Tensor) -> tuple[Tensor, ...]:
        mu, logvar = self.inner.encode(x)
        return torch.stack([-mu[:, 1], mu[:, 0]], 1), logvar.flip(1)

    def decode(self, z: Tensor) -> Tensor:
        return self.inner.decode(torch.stack([z[:, 1], -z[:, 0]], 1))


@pytest.mark.slow
def test_maps_are_exchanged_by_channel() -> None:
    images = torch.rand(200, 1, 2, 2, generator=torch.Generator().manual_seed(1))
    images = images.repeat_interleave(4, 2).repeat_interleave(4, 3)
    images = images + 0.1 * torch.rand(200, 1, 8, 8, generator=torch.Generator().manual_seed(2))
    images = images / images.max()
    model = _fitted(2, images)
    told = {"posterior": "pair,logvar", "output": "pixels", "value_range": (0, 1)}
    found = vs.exchange(model, Swapped(model), images, **told)
    assert found.sufficient == "permutation", found.recovered
    other = vs.open_model(_fitted(4, images), images, rows=200, **told)
    with pytest.raises(ShapeError, match="same size"):
        vs.exchange(vs.open_model(model, images, rows=200, **told), other)


@pytest.mark.slow
def test_third_party_models_are_related_as_measured(shared_data: Callable[[str], Path]) -> None:
    """Figures of a first measurement by other code had a rotation explain 72% from VAE_mnist to
    betaH_mnist, and nothing between VAE_mnist and betaB_mnist better than the mean image."""
    images = many_images("mnist", shared_data)
    models = [rebuilt(name, shared_data) for name in ("VAE_mnist", "betaH_mnist", "betaB_mnist")]
    near: Exchange = vs.exchange(models[0], models[1], images)
    assert near.recovered["orthogonal"] == pytest.approx(0.72, abs=0.1)
    far = vs.exchange(models[0], models[2], images)
    assert far.recovered["permutation"] < near.recovered["permutation"] < 0.5


def test_the_command_exchanges_two_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [vs.train("vae", "synth-linear", latent=2, seed=seed, steps=60, out=tmp_path)
            for seed in (0, 1)]  # fmt: skip
    given = ["vaescope", "exchange", *(str(run.path) for run in runs), "--json"]
    monkeypatch.setattr(sys, "argv", given)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (0, None)
    said = json.loads(capsys.readouterr().out)
    assert set(said["costs"]) == set(CLASSES) and said["n"] == 1_000
    assert ("no better" in said["says"]) == (said["own"] >= said["mean_image"])
    assert said["costs"]["affine"] <= said["costs"]["identity"] + 1
