"""Every form in which encoders and decoders return things is read as what it is."""

import math

import numpy as np
import pytest
import torch
from tests.adapters.forms import (
    DECODERS,
    ENCODERS,
    Core,
    Form,
    adapt,
    interleaved,
    pair,
    sample,
    std,
)
from torch import Tensor, nn
from torch import distributions as td

from vaescope.adapters import Asked
from vaescope.distributions import Bernoulli, FullGaussian
from vaescope.errors import ReadingError, UsageError
from vaescope.models import OpenModel


def read(model: OpenModel, what: str) -> str:
    return next(i.read for i in model.inferred if i.what == what)


def assert_codes(model: OpenModel, core: Core, x: Tensor) -> None:
    """Codes and reconstructions are the core's."""
    mean, logvar = core.posterior(x.flatten(1))
    with model.evaluating():
        posterior = model.encode(x)
        image = model.decode(posterior.mean).mean
    np.testing.assert_allclose(posterior.mean, mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(posterior.variance, logvar.exp(), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(image, core.logits(mean).sigmoid().view_as(x), atol=1e-4)


@pytest.mark.slow
def test_the_core_knows_its_digits(core: Core, digits: Tensor) -> None:
    error = (core.logits(core.posterior(digits.flatten(1))[0]).sigmoid() - digits.flatten(1)) ** 2
    assert error.mean() < 0.6 * digits.flatten(1).var(0).mean()


@pytest.mark.slow
@pytest.mark.parametrize("name", ENCODERS)
def test_every_form_of_posterior_gives_the_same_codes(
    name: str, core: Core, digits: Tensor
) -> None:
    returns, wanted = ENCODERS[name]
    model = adapt(Form(core, returns), digits)
    assert read(model, "posterior") == wanted
    assert_codes(model, core, digits)


@pytest.mark.slow
@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("layout", [pair, interleaved])
def test_every_form_of_output_gives_the_same_images(
    name: str, layout: object, core: Core, digits: Tensor
) -> None:
    gives, wanted = DECODERS[name]
    model = adapt(Form(core, layout, gives), digits)  # type: ignore[arg-type]
    assert read(model, "output") == wanted
    assert_codes(model, core, digits)


@pytest.mark.parametrize("low, high", [(0.0, 1.0), (-1.0, 1.0), (0.0, 255.0)])
def test_the_range_of_inputs_is_found(low: float, high: float, core: Core, digits: Tensor) -> None:
    form = Form(core, pair, lambda y: low + (high - low) * y.sigmoid(), low, high)
    model = adapt(form, digits)
    assert read(model, "value_range") == f"{low:g},{high:g}"
    assert_codes(model, core, digits)


def test_inputs_in_another_range_than_outputs_are_found_and_said(
    core: Core, digits: Tensor
) -> None:
    model = adapt(Form(core, pair, torch.sigmoid, -1, 1), digits)
    assert read(model, "value_range") == "-1,1"
    assert any("its outputs are in [0, 1]" in i.why for i in model.inferred)
    assert_codes(model, core, digits)


def test_a_covariance_is_kept(core: Core, digits: Tensor) -> None:
    def returns(mean: Tensor, logvar: Tensor) -> td.MultivariateNormal:
        factor = std(logvar).diag_embed() + torch.full((6, 6), 0.1).tril(-1)
        return td.MultivariateNormal(mean, scale_tril=factor)

    posterior = adapt(Form(core, returns), digits).encode(digits[:5])
    assert isinstance(posterior, FullGaussian)
    wanted = returns(*core.posterior(digits[:5].flatten(1))).covariance_matrix
    np.testing.assert_allclose(posterior.covariance, wanted, rtol=1e-5)
    np.testing.assert_allclose(posterior.variance, wanted.diagonal(dim1=1, dim2=2), rtol=1e-5)


def test_likelihoods_are_those_of_the_outputs_meaning(core: Core, digits: Tensor) -> None:
    x, logits = digits[:9], core.logits(core.posterior(digits[:9].flatten(1))[0])
    nats = {}
    for name in ("logits", "probabilities", "[-1, 1]"):
        model = adapt(Form(core, pair, DECODERS[name][0]), digits)
        nats[name] = model.decode(model.encode(x).mean).log_prob(x)
    bernoulli = Bernoulli(logits).log_prob(x.flatten(1))
    np.testing.assert_allclose(nats["logits"], bernoulli, rtol=1e-5)
    np.testing.assert_allclose(nats["probabilities"], bernoulli, rtol=1e-3)
    squares = (logits.sigmoid() - x.flatten(1)).square().sum(1)
    np.testing.assert_allclose(
        nats["[-1, 1]"], -squares - 32 * math.log(math.pi), rtol=1e-4, atol=1e-3
    )


def test_samples_alone_are_read_by_their_noise(core: Core, digits: Tensor) -> None:
    model = adapt(Form(core, sample), digits)
    assert read(model, "posterior") == "drawn,variance"
    assert_codes(model, core, digits)


def test_samples_of_a_noise_that_is_not_torchs_are_refused_and_called_samples(
    core: Core, digits: Tensor
) -> None:
    rng = np.random.default_rng(0)

    def returns(mean: Tensor, logvar: Tensor) -> Tensor:
        return mean + std(logvar) * torch.from_numpy(rng.normal(size=mean.shape)).float()

    with pytest.raises(UsageError, match=r"these are samples.*returns Normal\(mean, std\)"):
        adapt(Form(core, returns), digits)


def test_encoder_is_asked_where_encode_gives_samples_or_means_only(
    core: Core, digits: Tensor
) -> None:
    for returns in (sample, lambda mean, logvar: mean):
        form = Form(core, returns)
        form.encoder = nn.Sequential(nn.Flatten(), core.body, core.heads)
        model = adapt(form, digits)
        assert read(model, "posterior") == "halves,logvar"
        assert_codes(model, core, digits)


def test_an_autoencoder_has_variance_zero(core: Core, digits: Tensor) -> None:
    form = Form(core, lambda mean, logvar: mean)
    with pytest.raises(ReadingError, match=r"core\.heads.*posterior=mean"):
        adapt(form, digits)  # the dropped half of its heads may be a spread
    model = adapt(form, digits, asked=Asked(posterior="mean"))
    assert read(model, "posterior") == "mean"
    assert float(model.encode(digits).variance.abs().max()) == 0


@pytest.mark.parametrize("asked", ["logstd", "pair,logstd", "variance", "std", "pair,std"])
def test_a_spread_that_looks_like_another_is_asked_about_or_read_right(
    asked: str, core: Core, digits: Tensor
) -> None:
    """Nothing here draws: what is left is what noise costs and what it saves."""
    kind = asked.removeprefix("pair,")
    gives = {"logstd": lambda s: 0.5 * s, "variance": torch.exp, "std": std}[kind]
    form = Form(core, lambda m, s: (m, gives(s)))
    try:
        assert_codes(adapt(form, digits), core, digits)
    except ReadingError as error:
        assert "could be either" in str(error) and f"posterior={kind}" in str(error)
        assert error.tried
    model = adapt(form, digits, asked=Asked(posterior=asked))
    assert model.inferred[0].told
    assert_codes(model, core, digits)


def test_what_is_told_is_taken(core: Core, digits: Tensor) -> None:
    asked = Asked("halves,std", "pixels", (-1.0, 1.0))
    model = adapt(Form(core, interleaved), digits, asked=asked)
    assert [i.read for i in model.inferred[:3]] == ["halves,std", "pixels", "-1,1"]
    assert all(i.told for i in model.inferred[:3])


@pytest.mark.parametrize("asked, says", [
    (Asked(posterior="thirds"), "halves, interleaved"),
    (Asked(posterior="halves"), "can be interpreted as pair"),
    (Asked(output="photons"), "probabilities, logits, pixels"),
    (Asked(output="probabilities"), r"values from -\d.*probabilities, logits, pixels"),
    (Asked(value_range=(1.0, 0.0)), "lower end first"),
])  # fmt: skip
def test_a_wrong_word_is_answered_with_the_choices(
    asked: Asked, says: str, core: Core, digits: Tensor
) -> None:
    with pytest.raises(UsageError, match=says):
        adapt(Form(core, pair, lambda y: y), digits, asked=asked)
