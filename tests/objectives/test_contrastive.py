"""Permutation-contrastive learning: the logit, false pairs, and a model without a decoder."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import vaescope as vs
from vaescope.errors import UsageError
from vaescope.objectives import PermutationContrast
from vaescope.objectives.contrastive import Contrast, strangers
from vaescope.settings import from_command_line


def test_the_logit_is_morioka_s_regression_function() -> None:
    contrast = Contrast(3).double()
    g = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in contrast.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=g).double())
        contrast.square.fill_(0.7)
    first, second = torch.randn(2, 5, 3, generator=g).double()
    found = contrast(first, second)
    w, v, b = (p.tolist() for p in (contrast.first, contrast.second, contrast.shift))
    for row in range(5):
        expected = contrast.level.item()
        for i in range(3):
            h, k = first[row, i].item(), second[row, i].item()
            expected += 0.7 * h * h - abs(w[i] * h + v[i] * k + b[i])
        assert found[row].item() == pytest.approx(expected)


def test_a_is_never_below_zero_in_the_loss(make_case: Callable[..., Any]) -> None:
    case = make_case("point")
    case = replace(case, batch=replace(case.batch, pair=case.batch.x + 0.1))
    contrast = Contrast(3).double()
    zero = case(PermutationContrast(contrast)).loss
    with torch.no_grad():
        contrast.square.fill_(-5.0)
    found = case(PermutationContrast(contrast)).loss
    assert contrast.square.item() == 0.0 and torch.isfinite(found) and found != zero


def test_a_false_partner_is_never_the_own_one_and_any_other_equally_often() -> None:
    counts = np.zeros((5, 5))
    g = torch.Generator().manual_seed(0)
    for _ in range(4000):
        other = strangers(torch.randn(5, generator=g)).numpy()
        assert sorted(other.tolist()) == list(range(5))
        counts[np.arange(5), other] += 1
    assert np.trace(counts) == 0
    expected = 1000.0  # each of four others
    assert np.abs(counts[~np.eye(5, dtype=bool)] - expected).max() < 5 * np.sqrt(750.0)


def test_a_contrast_that_knows_nothing_costs_ln_2(make_case: Callable[..., Any]) -> None:
    case = make_case("point")
    case = replace(case, batch=replace(case.batch, pair=case.batch.x))
    contrast = Contrast(3).double()
    with torch.no_grad():
        for parameter in contrast.parameters():
            parameter.zero_()
    assert case(PermutationContrast(contrast)).loss.item() == pytest.approx(np.log(2.0))
    with pytest.raises(UsageError, match="two pairs"):
        make_case("point")(PermutationContrast(contrast))


@pytest.mark.slow
def test_a_run_has_codes_and_measures_and_says_why_it_has_nothing_to_decode(
    tmp_path: Path,
) -> None:
    places = list(range(0, 32, 4))
    grid = {"shape": [0], "scale": [5], "orientation": [0], "x": places, "y": places}
    data = vs.load_dataset("dsprites", size=32, grid=grid)
    run = vs.train(
        "pcl", data, net={"name": "mlp", "encoder": [16]}, latent=2, batch=32, steps=120,
        out=tmp_path,
    )  # fmt: skip
    codes = vs.encode(run)
    assert not codes.stochastic and codes.unused_why.startswith("contrastive learning")
    np.testing.assert_allclose(codes.mean.std(axis=0), 1.0, atol=0.5)  # batch norm's averages
    found = vs.inspect(run, effort="fast")
    assert found.geometry is None and "no decoder" in found.skipped["dto"]
    assert found.to_dict()["metrics"]["mean"]["mig"]["value"] is not None
    found.save(tmp_path / "report.html")
    with pytest.raises(UsageError, match="no decoder"):
        vs.open_model(run).decode(torch.zeros(1, 2))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (["posterior.name=diagonal"], "posterior.name=normalised"),
        (["validation.fraction=0.1"], "needs a held-out ELBO"),
        (["prior.name=conditional", "prior.width=1"], "does not take u"),
    ],
)
def test_settings_that_do_not_go_with_it_are_refused(settings: list[str], says: str) -> None:
    from vaescope.specs import resolve

    with pytest.raises(UsageError) as caught:
        resolve(from_command_line("pcl", settings))
    assert says in f"{caught.value.message} {caught.value.remedy}"
