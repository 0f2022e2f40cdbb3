"""Models of strangers that are rare but right, and those that must not be read at all."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.decomposition import NMF
from tests.adapters.forms import Core, Form, adapt, pair, sample, std
from tests.adapters.test_forms import assert_codes, read
from torch import Tensor, nn
from torch import distributions as td

from vaescope.adapters import Asked
from vaescope.errors import UsageError
from vaescope.opening import open_model


@dataclass
class Nested:
    z: Tensor
    parameters: dict[str, Tensor]


class ChannelsLast(Form):
    """As models that come from other frameworks."""

    def encode(self, x: Tensor) -> Any:
        if x.shape[1:] != (8, 8, 1):
            raise ValueError(f"channels last wanted, got {tuple(x.shape)}")
        return self.returns(*self.core.posterior(x.flatten(1)))

    def decode(self, z: Tensor) -> Any:
        return self.gives(self.core.logits(z).view(-1, 8, 8, 1))


class Rows(Form):
    """Reads an image row by row, as a sequence."""

    def encode(self, x: Tensor) -> Any:
        if x.ndim != 3:
            raise ValueError(f"sequences wanted, got {tuple(x.shape)}")
        return self.returns(*self.core.posterior(x.flatten(1)))


class InPlace(Form):
    def encode(self, x: Tensor) -> Any:
        return super().encode(x.mul_(0.5).mul_(2.0).sub_(1.0).add_(1.0))

    def decode(self, z: Tensor) -> Any:
        out = super().decode(z)
        z.zero_()
        return out


class VectorQuantizer(nn.Module):
    pass


@pytest.mark.parametrize(
    ("returns", "posterior"),
    [
        (lambda m, s: Nested(sample(m, s), {"mu": m, "logvar": s}), "named,logvar"),
        (lambda m, s: torch.stack([m, s], 1), "halves,logvar"),
    ],
)
def test_nested_dataclasses_and_stacked_tensors_are_read(
    returns: Callable[..., Any], posterior: str, core: Core, digits: Tensor
) -> None:
    model = adapt(Form(core, returns), digits)
    assert read(model, "posterior") == posterior
    assert_codes(model, core, digits)


@pytest.mark.parametrize(
    ("kind", "form"), [(ChannelsLast, "channels last"), (Rows, "without channels")]
)
def test_images_go_in_as_the_encoder_takes_them(
    kind: type[Form], form: str, core: Core, digits: Tensor
) -> None:
    model = adapt(kind(core, pair), digits)
    assert read(model, "input") == form
    assert_codes(model, core, digits)


def test_colours_of_a_decoder_with_channels_last_are_not_scrambled() -> None:
    x = torch.rand(50, 3, 4, 5, generator=torch.Generator().manual_seed(0))
    model = adapt(
        x=x,
        encode=lambda x: {"mean": x.flatten(1), "logvar": -torch.ones(len(x), 60)},
        decode=lambda z: z.view(-1, 3, 4, 5).movedim(1, -1),
    )
    np.testing.assert_allclose(model.decode(model.encode(x).mean).mean, x, atol=1e-5)


def test_outputs_whose_sizes_are_elsewhere_are_refused() -> None:
    x = torch.rand(50, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    with pytest.raises(UsageError, match=r"decode returned shape \(50, 16, 3\); the data have"):
        adapt(x=x, encode=lambda x: (x.flatten(1), -torch.ones(len(x), 48)),
              decode=lambda z: z.view(-1, 16, 3))  # fmt: skip


def test_data_and_latents_that_a_model_changes_in_place_stay_as_they_are(
    core: Core, digits: Tensor
) -> None:
    x = digits.clone()
    model = adapt(InPlace(core, pair), x)
    assert_codes(model, core, x)
    mean = model.encode(x).mean
    before = mean.clone()
    model.decode(mean)
    assert torch.equal(x, digits) and torch.equal(mean, before)


def test_a_wrapper_for_several_devices_is_opened(core: Core, digits: Tensor) -> None:
    assert_codes(adapt(nn.DataParallel(Form(core, pair)), digits), core, digits)


def test_a_posterior_that_is_not_gaussian_is_said(core: Core, digits: Tensor) -> None:
    model = adapt(Form(core, lambda m, s: td.Laplace(m, std(s))), digits)
    assert read(model, "family") == "gaussian"
    assert any("Laplace" in one.why for one in model.inferred)
    gauss = adapt(Form(core, lambda m, s: td.Independent(td.Normal(m, std(s)), 1)), digits)
    assert all(one.what != "family" for one in gauss.inferred)


FLOW = td.transforms.TanhTransform()


@pytest.mark.parametrize(
    ("returns", "says"),
    [
        (lambda m, s: torch.stack([m, s]), r"shape \(2, 256, 6\) as means of 256 examples"),
        (lambda m, s: (m[:1], s[:1]), r"shape \(1, 6\) as means of 256 examples"),
        (lambda m, s: (m.to(torch.complex64), s), "complex64"),
        (lambda m, s: (m, s * torch.nan), "spreads that are NaN"),
        (lambda m, s: {"mu": m, "logvar": s[:, :4]}, r"shape \(256, 4\) beside means of"),
        (lambda m, s: {"mu": m, "var": s}, "variance below 0: pass posterior=logvar"),
        (lambda m, s: {"mu": m, "std": s}, "std below 0: pass posterior=logvar"),
        (
            lambda m, s: td.TransformedDistribution(td.Normal(m, s.exp() + 1e-9), [FLOW]),
            "returned TransformedDistribution: no mean",
        ),
    ],
)
def test_what_is_no_posterior_of_each_example_is_refused(
    returns: Callable[..., Any], says: str, core: Core, digits: Tensor
) -> None:
    with pytest.raises(UsageError, match=says):
        adapt(Form(core, returns), digits)


def test_a_deviation_of_any_sign_is_taken_where_it_is_told(core: Core, digits: Tensor) -> None:
    model = adapt(Form(core, lambda m, s: {"mu": m, "std": -std(s)}), digits, asked=Asked("std"))
    assert_codes(model, core, digits)


@pytest.mark.parametrize("sign", ["indices", "beside", "layer"])
def test_a_quantised_model_is_refused_as_such(sign: str, core: Core, digits: Tensor) -> None:
    returns: dict[str, Callable[..., Any]] = {
        "indices": lambda m, s: m.round().long(),
        "beside": lambda m, s: (m.round(), torch.tensor(0.1), m.argmax(1)),
        "layer": lambda m, s: m.round(),
    }
    form = Form(core, returns[sign])
    if sign == "layer":
        form.quantise = VectorQuantizer()
    with pytest.raises(UsageError, match=r"looks like a VQ-VAE: .*posterior=mean"):
        adapt(form, digits)


def test_a_decoder_that_draws_is_refused(core: Core, digits: Tensor) -> None:
    with pytest.raises(UsageError, match="decode gives different values when called again"):
        adapt(Form(core, pair, lambda y: torch.bernoulli(y.sigmoid())), digits)


def test_a_class_is_no_model(digits: Tensor) -> None:
    with pytest.raises(UsageError, match="Form is a class"):
        adapt(Form, digits)


@pytest.mark.parametrize("asked", [Asked("pair,halves"), Asked(value_range=(0, 1, 2))])  # type: ignore[arg-type]
def test_what_is_said_twice_is_refused(asked: Asked, core: Core, digits: Tensor) -> None:
    with pytest.raises(UsageError, match=r"pair and halves|two numbers"):
        adapt(Form(core, pair), digits, asked=asked)


def test_an_estimator_is_fed_in_its_own_precision(digits: Tensor) -> None:
    rows = digits.flatten(1).numpy()
    nmf = NMF(4, max_iter=5, tol=1.0).fit(rows)
    np.testing.assert_allclose(adapt(nmf, digits).encode(digits).mean, nmf.transform(rows))


@pytest.mark.parametrize("how", ["squeezes", "raises"])
def test_an_encoder_that_fails_on_the_last_batch_is_told_so(
    how: str, core: Core, digits: Tensor
) -> None:
    def encode(x: Tensor) -> tuple[Tensor, Tensor]:
        if how == "raises" and len(x) == 1:
            raise ValueError("more than one row wanted")
        mean, logvar = core.posterior(x.flatten(1))
        return mean.squeeze(), logvar.squeeze()

    opened = open_model(Form(core, pair), digits[:257], encode=encode)
    with pytest.raises(UsageError, match="fails on a batch of 1 after 256 rows"):
        _ = opened.codes


class Normed(Form):
    """Batch norm that in eval mode does nothing, before an encoder."""

    def __init__(self, core: Core) -> None:
        super().__init__(core, pair)
        self.norm = nn.BatchNorm1d(64, eps=1e-8)

    def encode(self, x: Tensor) -> Any:
        return super().encode(self.norm(x.flatten(1)).view_as(x))


def test_the_module_within_a_partial_function_is_put_into_eval_mode(
    core: Core, digits: Tensor
) -> None:
    normed = Normed(core).train()
    encode = partial(lambda model, x: model.encode(x), normed)
    model = adapt(encode=encode, decode=partial(normed.decode), x=digits)
    assert model.module is not None
    assert_codes(model, core, digits)
    assert normed.training and int(normed.norm.num_batches_tracked) == 0


def test_codes_that_depend_on_the_batch_are_refused(core: Core, digits: Tensor) -> None:
    hidden = {"model": Normed(core).train()}
    with pytest.raises(UsageError, match=r"depend on the rest of the batch.*model\.eval\(\)"):
        adapt(encode=lambda x: hidden["model"].encode(+x), decode=core.logits, x=digits)


def test_a_spread_that_was_said_and_is_not_there_is_refused(core: Core, digits: Tensor) -> None:
    with pytest.raises(UsageError, match="posterior=logvar does not fit what encode returned"):
        adapt(Form(core, lambda mean, _: mean), digits, asked=Asked(posterior="logvar"))


class Scriptable(nn.Module):
    """What torch.jit.script compiles: its methods and its noise cannot be watched."""

    def __init__(self, core: Core) -> None:
        super().__init__()
        self.core = core

    @torch.jit.export
    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mean, logvar = self.core.heads(self.core.body(x.flatten(1))).chunk(2, dim=1)
        return mean, logvar

    @torch.jit.export
    def decode(self, z: Tensor) -> Tensor:
        return torch.sigmoid(self.core.back(z)).view(-1, 1, 8, 8)

    def forward(self, x: Tensor) -> Tensor:
        mean, logvar = self.encode(x)
        return self.decode(mean + torch.randn_like(mean) * torch.exp(0.5 * logvar))


def test_a_scripted_module_is_asked_about_and_then_read(core: Core, digits: Tensor) -> None:
    scripted = torch.jit.script(Scriptable(core))
    with pytest.raises(UsageError, match="posterior="):
        adapt(scripted, digits)
    found = adapt(scripted, digits, asked=Asked(posterior="pair,logvar")).encode(digits)
    mean, logvar = core.posterior(digits.flatten(1))
    torch.testing.assert_close(found.mean, mean)
    torch.testing.assert_close(found.variance, logvar.exp())


@pytest.mark.parametrize("said", ["logvar", "std"])
def test_a_distribution_is_not_read_as_what_it_is_not(
    said: str, core: Core, digits: Tensor
) -> None:
    """It has a standard deviation and a variance, and no logarithm of them."""
    model = Form(core, lambda mean, logvar: td.Normal(mean, (0.5 * logvar).exp()))
    if said == "logvar":
        with pytest.raises(UsageError, match="states its own spread; leave posterior= out"):
            adapt(model, digits, asked=Asked(posterior=said))
        return
    found = adapt(model, digits, asked=Asked(posterior=said)).encode(digits)
    torch.testing.assert_close(found.variance, core.posterior(digits.flatten(1))[1].exp())
