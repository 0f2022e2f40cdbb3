import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.errors import DataError, RangeError, ShapeError

N, D = 20, 3


@pytest.fixture
def arrays(generator: np.random.Generator) -> dict[str, Any]:
    return {
        "mean": generator.normal(size=(N, D)),
        "variance": generator.uniform(0.1, 1.0, size=(N, D)),
        "factors": generator.integers(4, size=(N, 2)),
    }


def write(path: Path, arrays: dict[str, Any]) -> Path:
    np.savez(path / "codes.npz", **arrays)
    return path / "codes.npz"


def test_what_is_saved_is_loaded(tmp_path: Path, arrays: dict[str, Any]) -> None:
    codes = Codes(
        arrays["mean"], arrays["variance"], arrays["mean"] + 1, factors=arrays["factors"],
        factor_names=("a", "b"), factor_sizes=(4, 4), supervised=True, index=np.arange(N),
    )  # fmt: skip
    codes.save(tmp_path / "c.npz")
    back = Codes.load(tmp_path / "c.npz")
    for name in ("mean", "variance", "sample", "factors", "index"):
        np.testing.assert_array_equal(getattr(back, name), getattr(codes, name))
    assert (back.factor_names, back.factor_sizes, back.supervised) == (("a", "b"), (4, 4), True)


@pytest.mark.parametrize(
    ("name", "function"), [("std", np.sqrt), ("logvar", np.log), ("log_var", np.log)]
)
def test_all_spellings_of_the_variance_mean_the_same(
    tmp_path: Path, arrays: dict[str, Any], name: str, function: np.ufunc
) -> None:
    wanted = arrays.pop("variance")
    codes = Codes.load(write(tmp_path, {**arrays, name: function(wanted)}))
    np.testing.assert_allclose(codes.variance, wanted)


def test_a_missing_sample_is_drawn_from_the_posterior_by_seed(
    tmp_path: Path, arrays: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path, arrays)
    with caplog.at_level(logging.INFO, logger="vaescope"):
        codes = Codes.load(path)
    assert "no samples" in caplog.text
    np.testing.assert_array_equal(codes.sample, Codes.load(path).sample)
    assert not np.array_equal(codes.sample, Codes.load(path, seed=1).sample)
    white = (codes.sample - codes.mean) / np.sqrt(codes.variance)
    assert 0.7 < white.std() < 1.3


def test_a_missing_sample_is_drawn_from_the_whole_covariance(tmp_path: Path) -> None:
    """Two latents whose noise differs by a hundredth of it."""
    mean, ones = np.zeros((N, 2)), np.ones((N, 2))
    covariance = np.tile([[1.0, 1.0], [1.0, 1.0001]], (N, 1, 1))
    one = Codes.load(write(tmp_path, {"mean": mean, "std": ones, "covariance": covariance})).sample
    apart = one[:, 1] - one[:, 0]
    assert 0.003 < apart.std() < 0.03 < 0.3 < one[:, 0].std()


def test_covariances_of_no_posterior_are_refused_by_name(tmp_path: Path) -> None:
    mean = np.zeros((3, 2))
    arrays = {"mean": mean, "std": mean + 1, "covariance": np.tile(np.eye(2), (3, 1, 1))}
    arrays["covariance"][1] = [[1.0, 2.0], [2.0, 1.0]]
    with pytest.raises(RangeError, match="eigenvalues of row 1 are from -1 to 3"):
        Codes.load(write(tmp_path, arrays))
    with pytest.raises(ShapeError, match="covariance has shape"):
        Codes.load(write(tmp_path, {**arrays, "covariance": np.ones((3, 2))}))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"mean": None}, "no array `mean`"),
        ({"variance": None}, "no variance"),
        ({"std": np.ones((N, D))}, "variance and std"),
        ({"mean": np.ones(N)}, r"variance has shape|mean has shape \(20,\)"),
        ({"variance": np.ones((N, D + 1))}, r"variance has shape \(20, 4\)"),
        ({"variance": -np.ones((N, D))}, "variance has negative values, least -1"),
        ({"mean": np.full((N, D), np.nan)}, "mean has 60 values that are NaN"),
        ({"factors": np.ones((N, 2))}, "factors has type float64"),
        ({"factors": -np.ones((N, 2), dtype=int)}, "class -1"),
        ({"factors": np.ones((N + 1, 2), dtype=int)}, r"factors has shape \(21, 2\)"),
        ({"factors": np.full((N, 2), 2**40)}, "class 1099511627776; wanted"),
        ({"mean": np.full((N, D), 1e200)}, r"mean has values up to 1e\+200"),
        ({"factor_names": np.array(["a"])}, "factor_names has 1"),
        ({"factor_sizes": np.array([2, 2])}, r"factor_sizes says \[2, 2\]"),
        ({"mean": np.array([["a"] * D] * N)}, "mean has type"),
        ({"format": 2}, "format 2"),
        ({"format": np.array([1, 1])}, "format has 2 values"),
        ({"supervised": np.array("yes")}, "supervised has type"),
        ({"factors": np.full((N, 2), np.nan)}, "factors has 40 values that are NaN"),
        ({"factor_sizes": np.array(["a", "b"])}, "factor_sizes has type"),
        ({"sample": np.array([["a"] * D] * N)}, "sample has type"),
        ({"index": np.zeros(N)}, "index has type float64"),
    ],
)
def test_bad_arrays_are_named(
    tmp_path: Path, arrays: dict[str, Any], change: dict[str, Any], says: str
) -> None:
    arrays["factors"][0] = 3
    changed = {k: v for k, v in {**arrays, **change}.items() if v is not None}
    with pytest.raises((ShapeError, DataError), match=says):
        Codes.load(write(tmp_path, changed))


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    path = write(tmp_path, {"mean": np.array([{"a": 1}], dtype=object)})
    with pytest.raises(DataError, match="plain arrays"):
        Codes.load(path)
    (tmp_path / "x.npz").write_text("not a zip")
    with pytest.raises(DataError):
        Codes.load(tmp_path / "x.npz")


def test_real_codes_load(shared_data: Any) -> None:
    codes = Codes.load(shared_data("pretrained/codes/betaB_dsprites_codes.npz"))
    assert (codes.n, codes.d) == (10_000, 10)
    assert codes.factor_sizes == (3, 6, 40, 32, 32)
