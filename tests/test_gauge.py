"""The scale of an iVAE's latent is free: nothing that is said of the model may depend on it.

Scaling latent j by c (posterior mean and standard deviation, prior standard deviation; the
decoder's first layer by 1 / c) changes neither distortion nor rate. A result of our own about
grzes2023, which states sigma << 1 for active latents.
"""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from vaescope.build import build_auxiliary, build_data
from vaescope.distributions import rate
from vaescope.geometry.overview import KEYS
from vaescope.inspection import Inspection
from vaescope.inspection.dissect import dissect
from vaescope.inspection.effort import EFFORTS
from vaescope.latents import types
from vaescope.opening import open_vae
from vaescope.pruning.result import plan_of
from vaescope.report import page_of, render
from vaescope.settings import from_command_line
from vaescope.specs import Experiment, resolve
from vaescope.training.loop import new_state, steps
from vaescope.vae import VAE
from vaescope.watching import watch

pytestmark = pytest.mark.slow  # what they share takes seconds

SCALES = (0.05, 1.0, 7.0, 0.3, 2.0, 0.05, 4.0)


@pytest.fixture(scope="module")
def trained() -> tuple[Experiment, VAE]:
    spec = resolve(
        from_command_line(
            "ivae",
            ["data.segments=4", "data.per_segment=100", "prior.width=4", "net.encoder=[16]",
             "net.decoder=[16]", "posterior.name=diagonal", "latent=7", "batch=32", "steps=600",
             "logging.every=60"],
        )
    )  # fmt: skip
    state = new_state(spec, torch.device("cpu"))
    for _ in steps(state, spec, build_data(spec.data), "fp32"):
        pass
    return spec, state.vae.eval()


def _last(network: nn.Module) -> nn.Linear:
    return [layer for layer in network.modules() if isinstance(layer, nn.Linear)][-1]


@torch.no_grad()
def gauged(vae: VAE, scales: tuple[float, ...]) -> VAE:
    """The same model with latent j scaled by scales[j]."""
    vae = copy.deepcopy(vae)
    c = torch.tensor(scales, dtype=next(vae.parameters()).dtype)
    head = _last(vae.encoder)  # means, then log-variances
    head.weight[: len(c)] *= c[:, None]
    head.bias[: len(c)] *= c
    head.bias[len(c) :] += 2.0 * c.log()
    _last(vae.prior.log_variance).bias += 2.0 * c.log()  # type: ignore[arg-type]
    first = next(layer for layer in vae.decoder.modules() if isinstance(layer, nn.Linear))
    first.weight /= c
    return vae


@pytest.mark.slow
def test_scaling_latents_changes_neither_distortion_nor_rate(
    trained: tuple[Experiment, VAE],
) -> None:
    spec, vae = trained
    data = build_data(spec.data)
    auxiliary = build_auxiliary(spec, data)
    assert auxiliary is not None
    rows = np.arange(len(data))
    x, u = (torch.from_numpy(own).double() for own in (data.rows(rows), auxiliary(rows)))
    eps = torch.randn(len(rows), spec.latent, generator=torch.Generator().manual_seed(0)).double()
    found = []
    for scales in ((1.0,) * spec.latent, SCALES):
        own = gauged(copy.deepcopy(vae).double(), scales)
        with torch.no_grad():
            q, p = own.encoder(x, u), own.prior(u)
            z = q.at(eps)
            found.append(
                (-own.decoder(z).log_prob(x).mean().item(), rate(q, p, z).mean().item(),
                 float(p.variance.mean()))
            )  # fmt: skip
    assert found[0][:2] == pytest.approx(found[1][:2], abs=1e-5)
    assert found[0][2] != pytest.approx(found[1][2], rel=0.1)  # what the paper speaks of moved


@pytest.fixture(scope="module")
def inspected(trained: tuple[Experiment, VAE]) -> list[Inspection]:
    """The same model at its own scale and at others."""
    spec, vae = trained
    data = build_data(spec.data)
    models = [open_vae(gauged(vae, own), data, spec=spec) for own in ((1.0,) * 7, SCALES)]
    for model in models:
        assert types(model.codes).rescaled
    effort = replace(EFFORTS["fast"], fits=10, nonlinear=10)
    return [dissect(model, effort) for model in models]


@pytest.mark.slow
def test_types_rates_verdicts_and_histograms_do_not_depend_on_the_scale(
    inspected: list[Inspection],
) -> None:
    one, other = inspected
    assert one.types is not None and other.types is not None
    assert one.types.names == other.types.names
    np.testing.assert_allclose(one.types.kl, other.types.kl, atol=1e-4)
    np.testing.assert_allclose(one.types.mean_ratio, other.types.mean_ratio, rtol=1e-4)
    of = [[(v.id, v.tone, v.says, v.advice) for v in own.verdicts] for own in inspected]
    assert of[0] == of[1]
    np.testing.assert_allclose(one.histograms.edges, other.histograms.edges, rtol=1e-3)
    assert one.traversals is not None and other.traversals is not None
    np.testing.assert_allclose(one.traversals.share, other.traversals.share, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", KEYS)
def test_the_geometry_does_not_depend_on_the_scale(inspected: list[Inspection], name: str) -> None:
    """Jacobians are by latents in standard deviations of the prior, and say so."""
    found = []
    for one in inspected:
        assert one.geometry is not None
        assert any("standard deviations of the prior" in note for note in one.geometry.notes)
        if name == "ima_contrast" and name not in one.geometry.measures:
            # What this short training gives is of full rank on some processors and on others not.
            found.append(one.geometry.skipped[name])
            continue
        found.append(one.geometry.measures[name].value)
    if isinstance(found[0], str):
        assert found[0] == found[1]
        return
    # The contrast has the logarithm of the determinant of a nearly singular J'J, from float32.
    assert found[0] == pytest.approx(found[1], rel=0.03 if name == "ima_contrast" else 2e-3)


def test_prune_and_watch_do_not_depend_on_the_scale(trained: tuple[Experiment, VAE]) -> None:
    spec, vae = trained
    data = build_data(spec.data)
    found = []
    for scales in ((1.0,) * 7, SCALES):
        codes = open_vae(gauged(vae, scales), data, spec=spec).codes
        seen = watch(
            codes.mean, variance=codes.variance, prior_variance=codes.prior.variance,
            memory=np.inf,
        )  # fmt: skip
        assert seen.names == types(codes).names
        found.append((plan_of(codes).dropped, seen.names))
    assert found[0] == found[1]
    assert found[0][0]  # something is dropped


def test_the_report_of_an_ivae_has_no_rule_of_the_standard_normal_and_says_supervised(
    inspected: list[Inspection],
) -> None:
    page = page_of(inspected[1])
    text = render(page)
    assert "N(0, I)" not in text and "mean variance at most 0.1" not in text
    assert "N(0, 1), in units of the prior of each example" in text
    assert "Variances are divided by that of a latent that ignores the data" in text
    assert all(own.says.startswith("(supervised)") for own in page.statements)
