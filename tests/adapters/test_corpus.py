"""Models of strangers: each is read right, or asked about; none is misread in silence."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any

import numpy as np
import pytest
import torch
from tests.adapters.corpus import STYLES
from tests.adapters.corpus.judging import outcome_of, silently_wrong
from tests.adapters.corpus.refusals import REFUSED
from tests.adapters.corpus.style import Style, digits, labels, one_hot
from tests.adapters.corpus.training import STATES, beta_in, model_in, truth_of
from torch import Tensor, nn
from torch import distributions as td

import vaescope as vs
from vaescope.errors import UsageError

RIGHT_AT_FIRST = 0.9
DRAWS = 400
#: Two of the common ones, for the fast tests.
COMMON = ("returns/Normal", "wrappers/encoder, decoder")
BY_NAME = {style.name: style for style in STYLES}


@pytest.mark.parametrize("name", COMMON)
def test_a_common_style_is_read_right_at_the_first_call(name: str) -> None:
    outcome = outcome_of(BY_NAME[name], "trained")
    assert outcome.word == "right", str(outcome)


@pytest.mark.slow
def test_the_collapsed_basic_example_is_never_called_healthy() -> None:
    outcome = outcome_of(BY_NAME["returns/basic"], "collapsed")
    assert not silently_wrong(outcome), str(outcome)


#: Trained styles that need to ask; the others are right at the first call.
ASK = (
    "modes/labels, one-hot, in both", "modes/labels in the decoder", "modes/labels as numbers",
    "modes/labels beside latents", "densities/norm after the draws",
    "stated/couplings as prior", "stated/outputs by other names",
)  # fmt: skip


def test_nine_in_ten_are_right_at_the_first_call() -> None:
    assert len(STYLES) - len(ASK) >= RIGHT_AT_FIRST * len(STYLES)


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.name)
def test_no_style_is_misread_in_silence(style: Style) -> None:
    """All that takes trained models of a style, so that they are trained once."""
    outcomes = {state: outcome_of(style, state) for state in STATES}
    for outcome in outcomes.values():
        assert outcome.word in ("right", "asked then right"), str(outcome)
    if style.name not in ASK:
        assert outcomes["trained"].word == "right", str(outcomes["trained"])
    assert_collapsed(style)
    assert_truth_is_drawn(style)


@pytest.mark.parametrize("name", REFUSED)
def test_a_model_without_one_gaussian_posterior_is_refused_in_four_lines(name: str) -> None:
    torch.manual_seed(0)
    with pytest.raises(UsageError) as caught:
        vs.inspect(REFUSED[name]().eval(), digits(), effort="fast", images=False)
    assert len(str(caught.value)) <= 4 * 100


def test_there_are_at_least_48_styles_and_no_two_of_one_name() -> None:
    assert len(BY_NAME) == len(STYLES) >= 48


def assert_collapsed(style: Style) -> None:
    """A collapsed model has collapsed and a trained one has not: else the corpus would lie."""
    if style.deterministic:
        return
    assert beta_in(style, "collapsed") >= 1000 * style.beta
    rates = {state: truth_of(style, model_in(style, state)).rate for state in STATES[1:]}
    assert rates["collapsed"] < 0.5 < 1.0 < rates["trained"]


#: Means of the pixels, of logits.
MEANS = {
    "logits": torch.sigmoid,
    "continuous-bernoulli": lambda y: td.ContinuousBernoulli(logits=y).mean,
}


def _image(output: Any, n: int, pixels: int) -> Tensor | None:
    """The reconstruction among what forward gives: the first thing of an image's size."""
    if isinstance(output, td.Distribution):
        output = output.mean
    if isinstance(output, Tensor):
        return output.reshape(n, pixels) if output.numel() == n * pixels else None
    if is_dataclass(output):
        output = vars(output)
    values = output.values() if isinstance(output, Mapping) else output
    if not isinstance(output, tuple | list | Mapping):
        return None
    images = (_image(value, n, pixels) for value in values)
    return next((image for image in images if image is not None), None)


def _forward(style: Style, model: Any, x: Tensor) -> Any:
    if style.name.startswith("wrappers/config"):
        return model({"data": x})
    if "as numbers" in style.name:
        return model(x, labels()[: len(x)])
    return model(x, one_hot(labels()[: len(x)])) if style.conditional else model(x)


def assert_truth_is_drawn(style: Style) -> None:
    """The mean of every pixel and the variance over all, over many calls of the class's own
    forward, are those of outputs at draws from the posterior that the corpus calls true."""
    model = model_in(style, "trained")
    if not isinstance(model, nn.Module) or type(model).forward is nn.Module.forward:
        return
    if "in training only" in style.name:
        model.train()
    x = style.takes(style.images())[:8].to(next(model.parameters()).dtype)
    pixels = x[0].numel()
    given = style.images()[:8] if "shifts" in style.name else x
    extra = (one_hot(labels()[:8]),) if style.conditional else ()
    with torch.no_grad(), torch.random.fork_rng():
        torch.manual_seed(3)
        own = [_image(_forward(style, model, given), 8, pixels) for _ in range(DRAWS)]
        mean, variance = style.posterior(model, x, *extra)
        drawn = [
            style.output(model, mean + variance.sqrt() * torch.randn_like(mean), *extra)
            .reshape(8, -1)[:, :pixels]
            for _ in range(DRAWS)
        ]  # fmt: skip
    assert own[0] is not None
    first, second = (torch.stack(parts).double() for parts in (own, drawn))
    if style.trained_with in MEANS and first.min() >= 0 > second.min():  # forward gives means
        second = MEANS[style.trained_with](second)
    first, second = first.numpy(), second.numpy()
    spread = first.std(axis=0) + second.std(axis=0) + 1e-6
    assert np.abs(first.mean(axis=0) - second.mean(axis=0)).max() < 0.35 * spread.max()
    ratio = (first.var(axis=0).sum() + 1e-9) / (second.var(axis=0).sum() + 1e-9)
    assert 0.85 < ratio < 1.18
