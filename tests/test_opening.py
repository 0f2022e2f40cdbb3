"""One door: what goes in, the one type that comes out, and that nothing else holds a model."""

import dataclasses
import importlib
import os
import pkgutil
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import vaescope as vs
from vaescope.errors import ShapeError
from vaescope.models import OpenModel

SPEC = ("data.name=synth-linear", "data.n=300", "latent=2", "steps=5")
X = np.random.default_rng(0).normal(size=(300, 3)).astype(np.float32)


class Stranger(nn.Module):
    """A linear VAE with a fixed spread."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.mean, self.out = nn.Linear(3, 2), nn.Linear(2, 3)

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mean = self.mean(x)
        logvar = torch.full_like(mean, -1.0)
        return mean, logvar

    def decode(self, z: Tensor) -> Tensor:
        return self.out(z)


def test_one_dataclass_holds_both_an_encoder_and_a_decoder() -> None:
    holders = set()
    for module in pkgutil.walk_packages(vs.__path__, "vaescope."):
        if module.name.endswith("__main__") or ".integrations." in module.name:
            continue  # an integration's library may not be installed
        for value in vars(importlib.import_module(module.name)).values():
            if dataclasses.is_dataclass(value) and isinstance(value, type):
                names = {field.name for field in dataclasses.fields(value)} | set(dir(value))
                if {"encode", "decode"} <= names and value.__module__.startswith("vaescope"):
                    holders.add(value.__name__)
    assert holders == {"OpenModel"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> vs.Run:
    settings = dict(pair.split("=") for pair in SPEC)
    data = vs.load_dataset(settings["data.name"], n=300)
    return vs.train("vae", data, latent=2, steps=5, out=tmp_path_factory.mktemp("runs"))


def test_everything_that_is_a_vae_opens_to_the_same_type(run: vs.Run) -> None:
    estimator = vs.VAEEstimator(latent=2, steps=3, random_state=0).fit(X)
    data = vs.load_dataset("synth-linear", n=300)
    models: list[Any] = [run, run.path, str(run.path)]
    assert all(isinstance(vs.open_model(model), OpenModel) for model in models)
    stranger = Stranger()
    for model in (estimator, stranger):
        assert isinstance(vs.open_model(model, X), OpenModel)
    opened = vs.open_model(vs.load_vae(run), data)
    assert vs.open_model(opened) is opened
    np.testing.assert_array_equal(opened.codes.mean, vs.open_model(run).codes.mean)


def test_distortion_rate_and_elbo_on_rows_are_those_of_the_formulas() -> None:
    stranger = Stranger()
    opened = vs.open_model(stranger, X, output="pixels", posterior="pair,logvar")
    places = np.array([3, 7, 250])
    noise = np.random.default_rng(1).standard_normal((3, 2)).astype(np.float32)
    x = torch.from_numpy(X[opened.rows[places]]).double()
    double = Stranger().double()
    mean, logvar = double.encode(x)
    z = mean + torch.from_numpy(noise).double() * (0.5 * logvar).exp()
    # A Gaussian of variance 1/2: squared error and log pi / 2 for each value.
    distortion = ((double.decode(z) - x) ** 2 + 0.5 * np.log(np.pi)).sum(1)
    rate = 0.5 * (mean**2 + logvar.exp() - 1 - logvar).sum(1)
    np.testing.assert_allclose(opened.distortion(places, noise), distortion.detach(), rtol=1e-5)
    np.testing.assert_allclose(opened.rate(places, noise), rate.detach(), rtol=1e-5)
    np.testing.assert_allclose(opened.elbo(places, noise), -(distortion + rate).detach(), rtol=1e-5)


def test_data_of_another_shape_than_the_runs_are_refused_with_both_shapes(run: vs.Run) -> None:
    with pytest.raises(ShapeError, match=r"\(5,\).*\(3,\)"):
        vs.inspect(run, np.zeros((10, 5), dtype=np.float32))


def test_a_run_and_a_stranger_are_compared_on_the_same_rows(run: vs.Run) -> None:
    data = vs.load_dataset("synth-linear", n=300)
    rows = data.rows(np.arange(300))
    found = vs.compare([run, Stranger()], rows, images=False)
    assert [own.name for own in found.members] == [run.path.name, "Stranger"]
    assert found.n == 300 and {"rate", "distortion"} <= set(found.metrics)
    opened = vs.open_model(Stranger(), rows, rows=5_000)
    measured = found.metrics["rate"].values[1]
    assert measured is not None
    m, v = opened.codes.mean, opened.codes.variance
    np.testing.assert_allclose(measured, 0.5 * (m**2 + v - 1 - np.log(v)).sum(1).mean(), rtol=1e-4)
    assert found.to_dict()["runs"][1]["path"] is None


def test_inspect_runs_few_of_the_packages_files_before_the_dissection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """How far a reader has to go from `vs.inspect(module, images)` to the dissection."""
    root = str(Path(vs.__file__).parent)
    files: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(root):
            files.add(frame.f_code.co_filename.removeprefix(root + os.sep))

    monkeypatch.setitem(vs.inspect.__globals__, "dissect", lambda *_, **__: None)
    vs.inspect(Stranger(), X)  # imports are done
    sys.setprofile(note)
    try:
        vs.inspect(Stranger(), X)
    finally:
        sys.setprofile(None)
    reading = {name for name in files if name.startswith("adapters")}
    # Six were wanted: twelve bring data of any kind and model together, and what a stranger's
    # outputs mean is inferred from several kinds of evidence, a file for each.
    assert len(files - reading) <= 12, sorted(files - reading)
    assert len(reading) <= 24, sorted(reading)
