"""Where models keep their functions, in what state they come, and what cannot be read."""

import math

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA
from tests.adapters.forms import Core, Form, adapt, interleaved, pair
from tests.adapters.test_forms import assert_codes, read
from torch import Tensor, nn

from vaescope.distributions import DiagonalGaussian, FullGaussian
from vaescope.errors import UsageError
from vaescope.nets.likelihoods import GaussianLikelihood
from vaescope.nets.mlp import linear_pair
from vaescope.nets.posteriors import DiagonalPosterior, FullPosterior, PointPosterior
from vaescope.priors.gaussian import StandardNormal
from vaescope.vae import VAE, Decoder, Encoder


class Parts(nn.Module):
    """encoder and decoder, of vectors: an MLP."""

    def __init__(self, core: Core) -> None:
        super().__init__()
        self.encoder = nn.Sequential(core.body, core.heads)
        self.decoder = nn.Sequential(core.back, nn.Sigmoid())


class Noisy(nn.Module):
    """Dropout and batch norm that in eval mode do nothing, before an encoder."""

    def __init__(self, core: Core) -> None:
        super().__init__()
        self.core = core
        self.norm = nn.BatchNorm2d(1, eps=0.0)
        self.drop = nn.Dropout(0.5)

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.core.posterior(self.drop(self.norm(x)).flatten(1))

    def decode(self, z: Tensor) -> Tensor:
        return self.core.logits(z).view(-1, 1, 8, 8)


class Pair(nn.Module):
    """A plain VAE of images, as it is before training."""

    def __init__(self, latents: int = 4, last: nn.Module | None = None) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU())
        self.mean, self.logvar = nn.Linear(32, latents), nn.Linear(32, latents)
        self.back = nn.Sequential(
            nn.Linear(latents, 32), nn.ReLU(), nn.Linear(32, 64), last or nn.Identity()
        )

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = self.body(x)
        return self.mean(h), self.logvar(h)

    def decode(self, z: Tensor) -> Tensor:
        return self.back(z).view(-1, 1, 8, 8)


class Halves(Pair):
    def encode(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return torch.cat(super().encode(x), 1)


def test_an_mlp_gets_vectors(core: Core, digits: Tensor) -> None:
    model = adapt(Parts(core), digits)
    assert read(model, "input") == "flat"
    assert_codes(model, core, digits)


def test_vectors_are_read_as_they_are(core: Core, digits: Tensor) -> None:
    model = adapt(Parts(core), digits.flatten(1))
    guessed = [i.what for i in model.inferred if not i.told]
    assert guessed == ["posterior", "output", "likelihood", "prior"]
    assert_codes(model, core, digits.flatten(1))


def test_vectors_outside_the_unit_range_have_a_squared_error() -> None:
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(200, 5))).float() * 3
    model = adapt(encode=lambda x: {"mean": x[:, :2], "logvar": -torch.ones(len(x), 2)},
                  decode=lambda z: torch.cat([z, torch.zeros(len(z), 3)], 1), x=x)  # fmt: skip
    assert (read(model, "posterior"), read(model, "output")) == ("named,logvar", "values")
    assert isinstance(model.decode(torch.zeros(1, 2)), DiagonalGaussian)


@pytest.mark.parametrize("wrapped", [False, True])
def test_training_mode_changes_no_code_and_is_restored(
    wrapped: bool, core: Core, digits: Tensor
) -> None:
    noisy = Noisy(core).train()
    noisy.core.eval()
    modes = {name: m.training for name, m in noisy.named_modules()}
    functions = {"encode": lambda x: noisy.encode(+x), "decode": lambda z: noisy.decode(+z)}
    model = adapt(x=digits, **functions) if wrapped else adapt(noisy, digits)  # type: ignore[arg-type]
    assert read(model, "mode") == "eval"
    assert_codes(model, core, digits)
    assert {name: m.training for name, m in noisy.named_modules()} == modes
    assert int(noisy.norm.num_batches_tracked) == 0


def test_modes_are_restored_where_reading_fails(core: Core, digits: Tensor) -> None:
    noisy = Noisy(core).train()
    with pytest.raises(UsageError):
        adapt(noisy, digits[:, :, :4])
    assert noisy.training and noisy.drop.training


def test_functions_are_enough(core: Core, digits: Tensor) -> None:
    model = adapt(
        x=digits,
        encode=lambda x: core.posterior(x.flatten(1)),
        decode=lambda z: core.logits(z).view(-1, 1, 8, 8),
    )
    assert model.module is core
    assert_codes(model, core, digits)


def test_one_function_replaces_one_of_the_models(core: Core, digits: Tensor) -> None:
    form = Form(core, lambda mean, logvar: "nonsense")
    model = adapt(form, digits, encode=lambda x: core.posterior(x.flatten(1)))
    assert_codes(model, core, digits)


def test_float64_models_are_fed_float64(core: Core, digits: Tensor) -> None:
    double = Form(Core(), pair)
    double.core.load_state_dict(core.state_dict())
    model = adapt(double.double(), digits)
    assert model.encode(digits).mean.dtype == torch.float64
    assert_codes(model, core, digits)


def test_pca_has_codes_without_noise(digits: Tensor) -> None:
    rows = digits.flatten(1).double().numpy()
    pca = PCA(6).fit(rows)
    model = adapt(pca, digits)
    assert (read(model, "posterior"), read(model, "output")) == ("mean", "pixels")
    posterior = model.encode(digits)
    np.testing.assert_allclose(posterior.mean, pca.transform(rows), atol=1e-5)
    assert float(posterior.variance.max()) == 0
    image = model.decode(posterior.mean).mean
    np.testing.assert_allclose(
        image.flatten(1), pca.inverse_transform(pca.transform(rows)), atol=1e-5
    )


def test_pca_of_bytes_gets_bytes(digits: Tensor) -> None:
    model = adapt(PCA(6).fit(255 * digits.flatten(1).numpy()), digits)
    assert read(model, "value_range") == "0,255"
    assert float((model.decode(model.encode(digits).mean).mean - digits).square().mean()) < 0.05


@pytest.mark.parametrize("posterior", [DiagonalPosterior, FullPosterior, PointPosterior])
def test_our_own_vae_keeps_its_posterior_and_likelihood(
    posterior: type[nn.Module], digits: Tensor
) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        pair = linear_pair((1, 8, 8), 4)
        decoder = Decoder(pair.decoder, GaussianLikelihood(0.2))
        vae = VAE(Encoder(pair.encoder, posterior(64, 4)), decoder, StandardNormal(4))
    model = adapt(vae, digits)
    with model.evaluating():
        q, read = vae.encoder(digits), model.encode(digits)
        np.testing.assert_allclose(read.mean, q.mean)
        np.testing.assert_allclose(read.variance, q.variance, rtol=1e-5)
        assert isinstance(read, FullGaussian) == (posterior is FullPosterior)
        np.testing.assert_allclose(
            model.decode(q.mean).log_prob(digits), vae.decoder(q.mean).log_prob(digits), rtol=1e-5
        )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("last", [None, nn.Sigmoid(), nn.Tanh()])
@pytest.mark.parametrize("latents", [1, 2, 4])
def test_a_pair_is_never_refused_for_an_untrained_decoder(
    seed: int, last: nn.Module | None, latents: int, digits: Tensor
) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        net = Pair(latents, last)
    model = adapt(net, digits)
    assert read(model, "posterior") == "pair,logvar"
    assert read(model, "reconstruction") == "poor"
    with model.evaluating():
        # A decoder that ends in tanh has its images in [-1, 1], trained or not.
        logvar = net.encode(2 * digits - 1 if isinstance(last, nn.Tanh) else digits)[1]
        np.testing.assert_allclose(model.encode(digits).variance, logvar.exp(), rtol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_one_tensor_of_an_untrained_model_is_refused_with_the_choices(
    seed: int, digits: Tensor
) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        net = Halves()
    with pytest.raises(UsageError, match=r"halves.*interleaved.*posterior="):
        adapt(net, digits)


@pytest.mark.parametrize("latents", [1, 3])
@pytest.mark.parametrize("offset", [0.01, -0.01])
def test_a_collapsed_model_is_read_as_collapsed(
    latents: int, offset: float, digits: Tensor
) -> None:
    """Its log variances are near 0 and may all be above: they are not small deviations."""
    constant = digits.mean(0, keepdim=True)
    model = adapt(
        x=digits,
        encode=lambda x: (0.01 * x.flatten(1)[:, 20 : 20 + latents],
                          offset + 0.001 * x.flatten(1)[:, 30 : 30 + latents]),
        decode=lambda z: torch.logit(constant, eps=1e-4).expand(len(z), -1, -1, -1),
    )  # fmt: skip
    assert (read(model, "posterior"), read(model, "output")) == ("pair,logvar", "logits")
    assert float(model.encode(digits).variance.mean()) == pytest.approx(math.exp(offset), abs=2e-3)


def test_one_tensor_of_a_collapsed_model_is_refused_with_the_choices(digits: Tensor) -> None:
    constant = digits.mean(0, keepdim=True)
    with pytest.raises(UsageError, match=r"halves.*interleaved"):
        adapt(
            x=digits,
            encode=lambda x: 0.01 * x.flatten(1)[:, 20:28],
            decode=lambda z: constant.expand(len(z), -1, -1, -1) + 0 * z[:, :4].sum(),
        )


def test_a_decoder_of_another_width_is_explained(core: Core, digits: Tensor) -> None:
    form = Form(core, lambda mean, logvar: (mean[:, :5], logvar[:, :5]))
    with pytest.raises(UsageError, match=r"decode on shape \(256, 5\): RuntimeError"):
        adapt(form, digits)


def test_images_of_another_size_are_explained(core: Core, digits: Tensor) -> None:
    with pytest.raises(UsageError, match=r"shape \(1, 4, 8\).*of its training size"):
        adapt(Form(core, pair), digits[:, :, :4])


def test_an_encoder_that_raises_is_quoted(core: Core, digits: Tensor) -> None:
    def encode(x: Tensor) -> Tensor:
        raise KeyError("no such thing")

    with pytest.raises(UsageError, match=r"encode= on shape .*KeyError: 'no such thing'"):
        adapt(Form(core, pair), digits, encode=encode)


def test_an_encoder_that_returns_nonsense_is_described(core: Core, digits: Tensor) -> None:
    with pytest.raises(UsageError, match="returned dict with text"):
        adapt(Form(core, lambda mean, logvar: {"text": "hello"}), digits)


def test_values_that_are_not_finite_are_said(core: Core, digits: Tensor) -> None:
    with pytest.raises(UsageError, match="not finite"):
        adapt(Form(core, lambda mean, logvar: (mean * math.nan, logvar)), digits)


def test_spreads_that_can_be_neither_are_refused(core: Core, digits: Tensor) -> None:
    with pytest.raises(UsageError, match="logvar, std, variance, logstd"):
        adapt(Form(core, lambda mean, logvar: (mean, 10 + 0 * logvar)), digits)


@pytest.mark.parametrize("what", ["encode", "decode"])
def test_a_model_without_a_function_is_told_which(what: str, core: Core, digits: Tensor) -> None:
    other = {"encode": "decode", "decode": "encode"}[what]
    with pytest.raises(UsageError, match=f"{what}="):
        adapt(x=digits, **{other: lambda x: x})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="neither encode nor encoder"):
        adapt(core, digits)


def test_too_few_images_are_refused(core: Core, digits: Tensor) -> None:
    with pytest.raises(UsageError, match="at least two"):
        adapt(Form(core, pair), digits[:1])


def test_a_trained_model_of_interleaved_heads_is_not_refused_for_few_images(
    core: Core, digits: Tensor
) -> None:
    assert read(adapt(Form(core, interleaved), digits[:16]), "posterior") == "interleaved,logvar"
