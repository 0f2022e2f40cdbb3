"""Devices: nothing is left behind on the CPU, and what a device computes can be compared."""

import dataclasses
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from vaescope.build import build_data, build_objective, build_vae
from vaescope.cli.app import main
from vaescope.data import Dataset
from vaescope.data.in_memory import from_arrays
from vaescope.objectives.elbo import BetaVAE
from vaescope.presets import PRESETS
from vaescope.settings import from_command_line
from vaescope.specs import Experiment, resolve
from vaescope.training import device_check
from vaescope.training.device_check import check_device
from vaescope.training.loop import State, _accumulate, _gradients, fetch, noise_at
from vaescope.vae import VAE

CPU, META = torch.device("cpu"), torch.device("meta")


def rows_of(width: int, index: np.ndarray) -> np.ndarray:
    return np.ones((len(index), width), np.float32)


def a_step(spec: Experiment, device: torch.device, vae: VAE) -> State:
    """All that a step computes on the device, up to the optimiser."""
    rows = np.random.default_rng(0).uniform(size=(8, *spec.data.shape)).astype(np.float32)
    objective = build_objective(spec)
    for module in objective.modules.values():
        module.to(device)
    state = State(vae, objective, {}, device)
    width = getattr(spec.prior, "width", None)  # of u, where there is one
    batch = fetch(from_arrays(rows), np.arange(8), device, width and (lambda i: rows_of(width, i)))
    if spec.pairs is not None:
        shared = torch.zeros(8, dtype=torch.long, device=device)
        batch = replace(batch, pair=batch.x.clone(), shared=shared)
    shape = (objective.draws, 8, spec.latent)
    noise = noise_at(0, 0, shape, device)
    terms = objective(vae, batch, torch.tensor(0.0, device=device), noise)
    _gradients(terms, state)
    _accumulate(state.window, terms, vae, batch.u)
    return state


@pytest.fixture
def _no_autocast_of_meta(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch refuses to say whether `meta` casts; it does not."""
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda device=None: False)


@pytest.mark.slow
@pytest.mark.usefixtures("_no_autocast_of_meta")
@pytest.mark.parametrize("name", PRESETS)
def test_a_step_of_every_preset_leaves_nothing_on_the_cpu(name: str) -> None:
    """On `meta` operations check devices and shapes but compute nothing: a tensor that stayed on
    the CPU fails here as it would on a GPU."""
    if name == "weak-gan":
        pytest.skip("it checks the number of the shared factor, and `meta` has no values")
    spec = resolve(from_command_line(name, []))
    vae = build_vae(spec).to(META)
    state = a_step(spec, META, vae)
    places = {p.grad.device for p in vae.parameters() if p.grad is not None}
    assert places == {META}
    assert {value.device for value in state.window.values()} == {META}


@pytest.mark.usefixtures("_no_autocast_of_meta")
@pytest.mark.parametrize("left", ["encoder", "decoder"])
def test_a_part_left_on_the_cpu_is_found_on_meta(left: str) -> None:
    spec = resolve(from_command_line("beta-vae", []))
    vae = build_vae(spec)
    for name, part in vae.named_children():
        if name != left:
            part.to(META)
    with pytest.raises((RuntimeError, NotImplementedError), match=r"[Mm]eta|device"):
        a_step(spec, META, vae)


def data_of(spec: Experiment) -> Dataset:
    return build_data(spec.data)


SMALL = ["data.name=synth-linear", "data.n=200", "latent=2", "optimiser.lr=1e-2"]


def test_the_cpu_agrees_with_itself() -> None:
    spec = from_command_line("beta-vae", SMALL)
    found = check_device(spec, data_of(spec), CPU)
    assert found.agrees and found.difference == 0.0 and found.steps == 20
    assert found.precision == "fp32" and "agrees with the CPU" in found.summary()


def test_another_arithmetic_is_found_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rate that is wrong by one part in ten on one of the two sides."""
    spec = from_command_line("beta-vae", [*SMALL, "objective.beta=1"])
    real, calls = BetaVAE.__call__, 0

    def wrong(self, vae, batch, step, noise):  # type: ignore[no-untyped-def]
        nonlocal calls
        calls += 1
        terms = real(self, vae, batch, step, noise)
        if calls > 20:  # the reference comes second
            return terms
        parts = {**terms.parts, "rate": 1.1 * terms.parts["rate"]}
        return dataclasses.replace(
            terms, parts=parts, loss=terms.parts["distortion"] + parts["rate"]
        )

    monkeypatch.setattr(BetaVAE, "__call__", wrong)
    found = check_device(spec, data_of(spec), CPU)
    assert not found.agrees and "DIFFERS" in found.summary()
    assert found.difference > found.tolerance


def test_bf16_is_compared_with_float32_to_its_own_tolerance(
    monkeypatch: pytest.MonkeyPatch, small_sprites: Dataset
) -> None:
    monkeypatch.setattr(device_check, "choose", lambda *_: "bf16")
    monkeypatch.setattr(device_check, "STEPS", 3)
    spec = from_command_line("beta-vae", ["data.size=32", "batch=16"])
    found = check_device(spec, small_sprites, CPU)
    assert found.precision == "bf16" and found.tolerance > 2.0**-10
    assert 0.0 < found.difference <= found.tolerance


def test_the_command_compares_and_writes_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["vaescope", "train", "beta-vae", *SMALL, "--check", "--json", "--device", "cpu"]
    monkeypatch.setattr(sys, "argv", [*words, "--out", str(tmp_path / "runs")])
    with pytest.raises(SystemExit) as ended:
        main()
    (found,) = json.loads(capsys.readouterr().out)["checks"]
    assert ended.value.code == 0 and found["agrees"] and found["steps"] == 20
    assert not (tmp_path / "runs").exists()
    monkeypatch.setitem(device_check.TOLERANCES, "fp32", -1.0)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert not json.loads(capsys.readouterr().out)["checks"][0]["agrees"]
