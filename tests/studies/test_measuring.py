"""What studies measure of a run."""

import ast
from pathlib import Path

import numpy as np
import torch

import vaescope.studies
from vaescope.build import build_vae, training_rows
from vaescope.codes import Codes
from vaescope.geometry.orthogonality import haar_baseline
from vaescope.models import OpenModel
from vaescope.opening import open_vae
from vaescope.runs import Run
from vaescope.studies.measuring import some, subject, used
from vaescope.studies.zietlow2022.images import geometry
from vaescope.sweeps.grid import plan
from vaescope.training.run import train_run
from vaescope.user_data import load_dataset

GRID = {"shape": [1], "orientation": [0]}


def _subject(name: str, posterior: str = "diagonal") -> OpenModel:
    """An untrained linear model on a grid of sprites, or on rows without factors."""
    settings = {"preset": "ae" if posterior == "point" else "vae", "net.name": "linear"}
    rows = {"data.n": 3000} if name == "synth-linear" else {"data.size": 32, "data.grid": GRID}
    (spec,) = plan([{**settings, "data.name": name, **rows, "latent": 3}])
    data = load_dataset(**spec.data.model_dump())
    return open_vae(build_vae(spec), data, spec=spec, rows=3000)


def test_points_of_a_grid_show_all_of_it() -> None:
    of = _subject("dsprites")
    assert of.codes.factors is not None
    seen = of.codes.factors[some(of, 200)]
    np.testing.assert_array_equal(seen.max(axis=0), of.codes.factors.max(axis=0))


def test_rows_that_were_drawn_are_taken_in_their_order() -> None:
    np.testing.assert_array_equal(some(_subject("synth-linear"), 200), np.arange(200))


def test_an_autoencoder_uses_all_its_latents() -> None:
    np.testing.assert_array_equal(used(_subject("synth-linear", "point")), np.arange(3))


def test_passive_latents_are_not_used() -> None:
    of = _subject("synth-linear")
    mean = np.zeros((len(of.rows), 3), np.float32)
    mean[:, 1] = np.random.default_rng(0).standard_normal(len(mean))
    variance = np.where(np.arange(3) == 1, 0.01, 1.0) * np.ones_like(mean)
    codes = Codes(mean, variance.astype(np.float32), mean)
    of.__dict__["_encoded"] = (codes, None)  # as if the encoder had given these
    np.testing.assert_array_equal(used(of), [1])


def test_orthogonal_columns_of_distinct_norms_have_no_distance_in_any_unit() -> None:
    of = _subject("synth-linear", "point")
    with torch.no_grad():
        weight = next(p for p in of.vae.decoder.parameters() if p.shape == (3, 3))
        weight.copy_(torch.diag(torch.tensor([3.0, 1.0, 2.0])))
    row = geometry(of)
    assert row["dto"] == row["dto_relative"] == row["dto_likelihood"] == 0.0
    assert row["degenerate"] == 0.0 and row["used"] == 3


def test_dto_is_set_against_as_many_random_axes() -> None:
    row = geometry(_subject("synth-linear", "point"))
    assert row["dto"] is not None and row["dto_relative"] is not None
    np.testing.assert_allclose(row["dto"] / row["dto_relative"], haar_baseline(3).value)


def test_a_run_with_a_split_is_measured_on_rows_that_it_never_saw(tmp_path: Path) -> None:
    settings = {"data.name": "synth-linear", "data.n": 1000, "latent": 2, "steps": 2, "seed": 0}
    (spec,) = plan([{"preset": "beta-vae", **settings, "split.shares": [0.8, 0.1, 0.1]}])
    data = load_dataset(**spec.data.model_dump())
    run = Run.of(spec, "beta-vae", tmp_path)
    run.create(spec)
    for _ in train_run(run, spec, data, device=torch.device("cpu")):
        pass
    of = subject(run)
    seen = training_rows(spec, data).sources
    assert of.codes.n == 100 and of.data.sources is not None and seen is not None
    scored = {tuple(row) for row in of.data.sources[of.rows].tolist()}
    assert len(scored) == 100 and len(seen) == 800
    assert not scored & {tuple(row) for row in seen.tolist()}


def test_every_study_names_the_criterion_of_its_types() -> None:
    root = Path(vaescope.studies.__file__).parent
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "types":
                assert "criterion" in {word.arg for word in node.keywords}, path
