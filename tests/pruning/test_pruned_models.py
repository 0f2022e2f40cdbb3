"""Somebody else's models, pruned."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import vaescope as vs
from vaescope.errors import UsageError
from vaescope.pruning import Pruned

N, PIXELS = 600, 12
CONSTANT = 0.4


class Toy(nn.Module):
    """Three latents that copy three values of x; latent 1 is passive and heard by the decoder."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.up = nn.Linear(PIXELS, 3), nn.Linear(3, PIXELS)
        with torch.no_grad():
            self.down.weight.copy_(torch.eye(3, PIXELS))
            self.down.weight[1] = 0.0
            self.down.bias.copy_(torch.tensor([0.0, CONSTANT, 0.0]))
            self.up.weight.copy_(torch.eye(PIXELS, 3))
            self.up.bias.zero_()

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mean = self.down(x)
        logvar = torch.tensor([0.01, 1.0, 0.02]).log().expand_as(mean)
        return mean, logvar

    def decode(self, z: Tensor) -> Tensor:
        return self.up(z)


def vectors() -> np.ndarray[Any, Any]:
    x = np.zeros((N, PIXELS), dtype=np.float32)
    x[:, [0, 2]] = np.random.default_rng(0).standard_normal((N, 2)) * [3.0, 2.0]
    return x


def test_a_module_becomes_a_module_with_the_kept_latents() -> None:
    toy = Toy()
    result = vs.prune(toy, vectors())
    assert (result.before, result.after, result.dropped) == (3, 2, (1,))
    assert result.constants == pytest.approx([CONSTANT])
    assert result.max_reconstruction_change < 1e-6
    small = result.model
    assert isinstance(small, Pruned)
    x = torch.from_numpy(vectors()[:5])
    torch.testing.assert_close(small.encode(x).mean, toy.encode(x)[0][:, [0, 2]])
    torch.testing.assert_close(small.encode(x).variance, torch.tensor([[0.01, 0.02]] * 5))
    torch.testing.assert_close(small.decode(torch.zeros(1, 2))[0, :3], torch.tensor([0, 0.4, 0]))
    torch.testing.assert_close(small(x), toy.decode(toy.encode(x)[0]))


def test_a_model_that_is_open_already_is_pruned_by_itself() -> None:
    opened = vs.open_model(Toy(), vectors())
    with pytest.raises(UsageError, match=r"open already.*Pass that and its data"):
        vs.prune(opened)


def test_the_elbo_gains_rate_and_noise_of_what_is_dropped() -> None:
    result = vs.prune(Toy(), vectors())
    # Squared error: ||x - x'||^2 with x' = c at pixel 1 in both, plus noise of variance 1 before.
    expected = 0.5 * CONSTANT**2 + 1.0
    # A squared normal has standard deviation sqrt(2): what is odd in the noise has cancelled.
    assert result.elbo_error == pytest.approx(np.sqrt(2.0 / N), rel=0.2)
    assert abs(result.elbo_change - expected) < 4.0 * result.elbo_error
    assert result.n == N


@pytest.mark.slow
def test_the_pruned_module_is_dissected_as_any_other() -> None:
    small = vs.prune(Toy(), vectors()).model
    found = vs.inspect(small, vectors(), effort="fast")
    assert [latent.type for latent in found.latents] == ["active", "active"]
    assert found.geometry is not None and "dto_random_decoder" in found.geometry.measures


def test_a_copy_decodes_with_its_own_weights() -> None:
    small = vs.prune(Toy(), vectors()).model
    for other in (copy.deepcopy(small), pickle.loads(pickle.dumps(small))):
        z = torch.ones(1, 2)
        torch.testing.assert_close(other.decode(z), small.decode(z))
        with torch.no_grad():
            other.module.up.weight.zero_()
        assert small.decode(z).abs().max() == 1.0
        assert other.decode(z).abs().max() == 0.0
        assert other.training == small.training


def test_a_pruned_model_follows_its_state_dict_and_mode() -> None:
    toy = Toy()
    small = vs.prune(toy, vectors()).model
    assert {"module.up.weight", "places", "constants"} <= set(small.state_dict())
    small.eval()
    assert not toy.training


@pytest.mark.slow
def test_plain_functions_are_pruned_and_their_weights_never_drawn_anew() -> None:
    toy = Toy()
    for decode in (toy.decode, lambda z: toy.decode(1.0 * z)):
        result = vs.prune(encode=toy.encode, decode=decode, data=vectors())
        assert (result.after, result.dropped) == (2, (1,))
        found = vs.inspect(result.model, vectors(), effort="fast")
        assert found.geometry is not None
        assert "dto_random_decoder" not in found.geometry.measures


class Signed(nn.Module):
    """Takes and gives images in [-1, 1]: the mean of each half, and a passive latent."""

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        assert x.min() < -0.2, "images in [-1, 1] were asked for"
        halves = torch.stack([x[..., :2].mean((1, 2, 3)), x[..., 2:].mean((1, 2, 3))], 1)
        mean = torch.cat([halves, torch.full_like(halves[:, :1], 0.1)], 1)
        logvar = torch.tensor([0.01, 0.01, 1.0]).log().expand_as(mean)
        return mean, logvar

    def decode(self, z: Tensor) -> Tensor:
        left, right = (z[:, i, None, None, None].expand(-1, 1, 4, 2) for i in range(2))
        return torch.cat([left, right], 3) + 0.0 * z[:, 2].reshape(-1, 1, 1, 1)


def images() -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(0)
    half = rng.uniform(size=(N, 1, 1, 2)).astype(np.float32)
    return np.repeat(np.repeat(half, 4, axis=2), 2, axis=3)


@pytest.mark.slow
def test_the_pruned_module_takes_images_in_the_range_of_its_model() -> None:
    model = Signed()
    result = vs.prune(model, images(), value_range=(-1.0, 1.0))
    assert result.dropped == (2,) and result.max_reconstruction_change < 1e-6
    x = 2.0 * torch.from_numpy(images()[:9]) - 1.0
    torch.testing.assert_close(result.model.encode(x).mean, model.encode(x)[0][:, :2])
    torch.testing.assert_close(result.model(x), x)


class Full(nn.Module):
    def encode(self, x: Tensor) -> Any:
        covariance = torch.eye(3).expand(len(x), 3, 3)
        return {"mean": x[:, :3], "covariance": covariance}

    def decode(self, z: Tensor) -> Tensor:
        return torch.nn.functional.pad(z, (0, PIXELS - 3))


def test_full_covariances_data_and_folders_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="share their noise"):
        vs.prune(Full(), vectors())
    with pytest.raises(UsageError, match="Only a run records its data"):
        vs.prune(Toy())
    with pytest.raises(UsageError, match="Only a run"):
        vs.prune(Toy(), vectors(), out=tmp_path)


class ThirdParty(nn.Module):
    """The nets of disentangling-vae, from the words of the README beside their weights."""

    def __init__(self, state: dict[str, Tensor]) -> None:
        super().__init__()
        down = {f"conv{i}": nn.Conv2d(1 if i == 1 else 32, 32, 4, 2, 1) for i in (1, 2, 3)}
        self.encoder = nn.ModuleDict(
            down
            | {"conv_64": nn.Conv2d(32, 32, 4, 2, 1), "lin1": nn.Linear(512, 256)}
            | {"lin2": nn.Linear(256, 256), "mu_logvar_gen": nn.Linear(256, 20)}
        )
        self.decoder = nn.ModuleDict(
            {"lin1": nn.Linear(10, 256), "lin2": nn.Linear(256, 256), "lin3": nn.Linear(256, 512)}
            | {n: nn.ConvTranspose2d(32, 32, 4, 2, 1) for n in ("convT_64", "convT1", "convT2")}
            | {"convT3": nn.ConvTranspose2d(32, 1, 4, 2, 1)}
        )
        self.load_state_dict(state)

    def encode(self, x: Tensor) -> Tensor:
        for name in ("conv1", "conv2", "conv3", "conv_64"):
            x = self.encoder[name](x).relu()
        x = x.flatten(1)
        for name in ("lin1", "lin2"):
            x = self.encoder[name](x).relu()
        return self.encoder["mu_logvar_gen"](x)

    def decode(self, z: Tensor) -> Tensor:
        for name in ("lin1", "lin2", "lin3"):
            z = self.decoder[name](z).relu()
        z = z.reshape(-1, 32, 4, 4)
        for name in ("convT_64", "convT1", "convT2"):
            z = self.decoder[name](z).relu()
        return self.decoder["convT3"](z).sigmoid()


@pytest.fixture(scope="module")
def sprites() -> vs.Dataset:
    data = vs.load_dataset("dsprites")
    return data.pick(data.sample(2_000, seed=1))


@pytest.fixture
def third_party(shared_data: Callable[[str], Path]) -> Callable[[str], ThirdParty]:
    def load(name: str) -> ThirdParty:
        path = shared_data(f"pretrained/{name}/model.pt")
        return ThirdParty(torch.load(path, weights_only=True)).eval()

    return load


@pytest.mark.slow
def test_a_third_party_model_goes_from_ten_to_four_latents(
    third_party: Callable[[str], ThirdParty], sprites: vs.Dataset
) -> None:
    result = vs.prune(third_party("betaB_dsprites"), sprites)
    assert (result.before, result.after, result.dropped) == (10, 4, (0, 1, 2, 3, 4, 8))
    assert 0.0 < result.max_reconstruction_change <= 0.05
    found = vs.inspect(result.model, sprites.pick(np.arange(300)), effort="fast")
    assert {latent.type for latent in found.latents} == {"active"}
    assert found.fit is not None and found.reconstructions is not None


@pytest.mark.slow
def test_a_third_party_model_whose_latents_are_all_used_stays_as_it_is(
    third_party: Callable[[str], ThirdParty], sprites: vs.Dataset
) -> None:
    model = third_party("VAE_dsprites")
    result = vs.prune(model, sprites)
    assert result.model is model and result.dropped == () and result.after == 10
    assert "no latent is passive" in result.reason
