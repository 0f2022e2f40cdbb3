"""Hugging Face datasets and AnnData are taken as they are, by what they look like."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import vaescope as vs
from vaescope.errors import RangeError, ShapeError, UsageError
from vaescope.user_data import as_dataset

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(256, size=(300, 6, 5, 3), dtype=np.uint8)
LABELS = RNG.integers(3, size=300)
NAMES = ["cat", "cow", "dog"]


def pictures(columns: dict[str, Any]) -> Any:
    datasets = pytest.importorskip("datasets", reason="Hugging Face datasets is not installed")
    kinds: dict[str, Any] = {"picture": datasets.Image()}
    if "animal" in columns:
        kinds["animal"] = datasets.ClassLabel(names=NAMES)
    return datasets.Dataset.from_dict(columns, features=datasets.Features(kinds))


def as_images(pixels: np.ndarray) -> list[Any]:
    from PIL import Image

    return [Image.fromarray(one) for one in pixels]


def test_images_and_labels_of_hugging_face_are_rows_and_factors() -> None:
    data = as_dataset(pictures({"picture": as_images(PIXELS), "animal": LABELS.tolist()}))
    np.testing.assert_allclose(
        data.rows(np.arange(300)), PIXELS.transpose(0, 3, 1, 2) / 255, rtol=1e-6
    )
    assert data.factors is not None and data.factors.names == ("animal",)
    assert data.factors.values[0].tolist() == NAMES
    np.testing.assert_array_equal(data.factors.classes(np.arange(300))[:, 0], LABELS)


def test_of_hugging_face_at_most_the_rows_that_are_asked_for_are_read() -> None:
    table = pictures({"picture": as_images(PIXELS), "animal": LABELS.tolist()})
    data = as_dataset(table, most=260)
    assert len(data) == 260 and data.factors is not None
    given = as_dataset(table, LABELS % 2, most=260)
    assert given.factors is not None and given.factors.sizes == (2,)


def test_what_of_hugging_face_cannot_be_taken_is_explained() -> None:
    datasets = pytest.importorskip("datasets", reason="Hugging Face datasets is not installed")
    odd = pictures({"picture": as_images(PIXELS[:2]) + as_images(PIXELS[:1, :4])})
    with pytest.raises(ShapeError, match=r"shapes \[\(4, 5, 3\), \(6, 5, 3\)\].*map"):
        as_dataset(odd)
    with pytest.raises(UsageError, match=r"splits train.*data\['train'\]"):
        as_dataset(datasets.DatasetDict({"train": odd}))
    with pytest.raises(UsageError, match="is streamed"):
        as_dataset(odd.to_iterable_dataset())
    with pytest.raises(UsageError, match="columns words; wanted images"):
        as_dataset(datasets.Dataset.from_dict({"words": ["a", "b"]}))


def test_vectors_of_hugging_face_train(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="Hugging Face datasets is not installed")
    x = RNG.normal(size=(30, 3)).astype(np.float32)
    table = datasets.Dataset.from_dict({"x": x.tolist()})
    run = vs.train("vae", table, steps=2, latent=2, out=tmp_path)
    assert vs.train("vae", x, steps=2, latent=2, out=tmp_path).path == run.path


X = RNG.poisson(0.3, size=(50, 7)).astype(np.float32)


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix, scipy.sparse.csc_array])
def test_cells_of_anndata_are_rows_and_their_categories_factors(kind: Any, tmp_path: Path) -> None:
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    import pandas as pd

    kinds = np.array(["B", "T"])[np.arange(50) % 2]
    obs = pd.DataFrame(
        {"type": pd.Categorical(kinds), "age": np.arange(50.0),
         "donor": pd.Categorical([None, *["d"] * 49])}, index=[str(i) for i in range(50)],
    )  # fmt: skip
    cells = anndata.AnnData(kind(X), obs=obs)
    data = as_dataset(cells)
    np.testing.assert_array_equal(data.rows(np.array([3, 1, 49])), X[[3, 1, 49]])
    assert data.shape == (7,) and data.store.range == (0.0, X.max())
    assert data.factors is not None and data.factors.names == ("type",)  # a donor is missing
    np.testing.assert_array_equal(data.factors.classes(np.arange(50))[:, 0], np.arange(50) % 2)
    run = vs.train("vae", cells, steps=2, latent=2, out=tmp_path)
    assert vs.train("vae", X, steps=2, latent=2, out=tmp_path).path == run.path


def cells_like(x: Any) -> Any:
    """What an AnnData is taken for: the adapter names no package."""
    obs = SimpleNamespace(columns=[])
    return SimpleNamespace(X=x, obs=obs, var_names=[], isbacked=False)


def test_sparse_cells_stay_sparse_and_bad_ones_are_refused() -> None:
    data = as_dataset(cells_like(scipy.sparse.csr_matrix(X)), np.arange(50) % 3)
    assert type(data.store).__name__ == "Sparse" and data.factors is not None
    np.testing.assert_array_equal(data.rows(np.arange(50)), X)
    np.testing.assert_array_equal(data.pick(np.array([4, 2])).rows(np.array([1])), X[[2]])
    bad = X.copy()
    bad[3, 3] = np.nan
    with pytest.raises(RangeError, match="NaN or infinite"):
        as_dataset(cells_like(scipy.sparse.csr_matrix(bad)))


@pytest.mark.slow
def test_no_optional_package_is_imported_by_the_adapters() -> None:
    import subprocess

    code = (
        "import sys, vaescope.user_data, vaescope.loggers, vaescope.training.api\n"
        "sys.exit(any(name in sys.modules for name in "
        "('datasets', 'anndata', 'pandas', 'lightning', 'wandb', 'mlflow', 'tensorboard')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
