import errno
import logging
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.errors import DataError, DiskError, RangeError, ShapeError

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
    with pytest.raises(RangeError, match="eigenvalues of row 1 range from -1 to 3"):
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
        ({"variance": -np.ones((N, D))}, "variance has negative values; the smallest is -1"),
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
        ({"factors": np.zeros((N, 0), dtype=int)}, r"factors has shape \(20, 0\)"),
        ({"factors": np.full((N, 2), 2**63 + 5, dtype=np.uint64)}, "factors has the value 9223"),
        ({"factors": np.array([["a", "b"]] * N)}, "factors has type <U1.*np.unique"),
        ({"mu": np.ones((N, D))}, "mean and mu; wanted one"),
        ({"mean": np.zeros((N, D), "m8[s]")}, r"mean has type timedelta64\[s\]"),
        (
            {"variance": None, "logvar": np.full((N, D), np.nan)},
            "logvar has 60 values that are NaN",
        ),
        ({"variance": None, "logvar": np.full((N, D), 2e3)}, "logvar has values up to 2000"),
        (
            {"variance": None, "sigma": np.ones((N, D))},
            "no variance.*Besides mean it has factors, sigma",
        ),
        ({"covariance": np.tile(9 * np.eye(D), (N, 1, 1))}, "not the diagonal of covariance"),
        ({"covariance": np.tile(np.tri(D), (N, 1, 1))}, "not symmetric"),
    ],
)
def test_bad_arrays_are_named(
    tmp_path: Path, arrays: dict[str, Any], change: dict[str, Any], says: str
) -> None:
    arrays["factors"][0] = 3
    changed = {k: v for k, v in {**arrays, **change}.items() if v is not None}
    with pytest.raises((ShapeError, DataError), match=says):
        Codes.load(write(tmp_path, changed))


@pytest.mark.parametrize("kind", ["u1", "u8", ">i4", "?"])
def test_factors_of_every_type_of_integers_mean_the_same(
    tmp_path: Path, arrays: dict[str, Any], kind: str
) -> None:
    classes = arrays["factors"] % 2
    codes = Codes.load(write(tmp_path, {**arrays, "factors": classes.astype(kind)}))
    assert codes.factors is not None and codes.factors.dtype == np.int64
    np.testing.assert_array_equal(codes.factors, classes)
    assert codes.factor_sizes == (2, 2)


@pytest.mark.parametrize(
    ("name", "values", "variance"),
    [
        ("logvar", np.float16(-20), np.exp(-20.0)),
        ("logvar", np.float16(13), np.exp(13.0)),
        ("std", np.float16(1e-4), float(np.float16(1e-4)) ** 2),
        ("logvar", np.float32(-120), np.exp(-120.0)),
        ("std", np.float32(1e-25), 1e-50),
        ("std", np.longdouble(0.5), 0.25),
    ],
)
def test_narrow_types_neither_lose_nor_overflow_a_variance(
    tmp_path: Path, name: str, values: np.floating[Any], variance: float
) -> None:
    full = np.full((N, D), values)
    codes = Codes.load(write(tmp_path, {"mean": np.zeros((N, D), full.dtype), name: full}))
    np.testing.assert_allclose(codes.variance, variance, rtol=1e-5)
    assert {codes.mean.dtype, codes.variance.dtype} <= {np.dtype("f4"), np.dtype("f8")}


def test_variances_are_read_from_covariances(tmp_path: Path) -> None:
    covariance = np.tile([[2.0, 1.0], [1.0, 3.0]], (N, 1, 1))
    codes = Codes.load(write(tmp_path, {"mean": np.zeros((N, 2)), "covariance": covariance}))
    np.testing.assert_array_equal(codes.variance, np.tile([2.0, 3.0], (N, 1)))


@pytest.mark.parametrize("given", [[[1.0, 2.0]], None, np.array([["a"]]), np.array([[True]])])
def test_what_is_no_array_of_numbers_is_refused_by_name(given: Any) -> None:
    one = np.ones((1, 2)) if given is None else np.ones((1, 1))
    with pytest.raises(ShapeError, match=r"variance (is|has type)"):
        Codes(one, given, one)


def damaged_files(path: Path) -> dict[str, bytes]:
    """Name -> what stands in the file."""
    np.savez_compressed(path / "whole.npz", mean=np.random.default_rng(0).normal(size=(99, 3)))
    whole = (path / "whole.npz").read_bytes()
    np.save(path / "one.npy", np.zeros((3, 2)))
    found = {"no end": whole[:500], "empty": b"", "one array": (path / "one.npy").read_bytes(),
             "text": b"a,b\n1,2\n", "pickle": pickle.dumps({"mean": 1}),
             "bits": whole[:100] + b"\xff" * 10 + whole[110:]}  # fmt: skip
    for name, text in {"endless": "'shape': (99999999999, 40), }", "cut": "'sha"}.items():
        head = f"{{'descr': '<f8', 'fortran_order': False, {text}".ljust(117) + "\n"
        with zipfile.ZipFile(path / "made.npz", "w") as archive:
            archive.writestr("mean.npy", b"\x93NUMPY\x01\x00v\x00" + head.encode())
        found[name] = (path / "made.npz").read_bytes()
    return found


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.npz does not exist"):
        Codes.load(tmp_path / "none.npz")


def test_damaged_files_are_named(tmp_path: Path) -> None:
    for name, content in damaged_files(tmp_path).items():
        path = tmp_path / f"{name}.npz"
        path.write_bytes(content)
        with pytest.raises(DataError, match=rf"{name}.npz cannot be read: .*np.savez"):
            Codes.load(path)


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


def test_codes_that_could_not_be_written_leave_those_that_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, {"mean": np.zeros((N, D)), "variance": np.ones((N, D))})
    codes, before = Codes.load(path), path.read_bytes()

    def full(file: Any, **_: object) -> None:
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(DiskError, match=r"disk is full\. What was saved before is intact"):
        codes.save(path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def _saved(path: Path, repeats: int, off: float) -> Path:
    rng = np.random.default_rng(0)
    mean = np.repeat(rng.standard_normal((50, 3)), repeats, axis=0)
    variance = np.full(mean.shape, 0.04)
    sample = mean + 0.2 * rng.standard_normal(mean.shape) + off
    np.savez(path, mean=mean, variance=variance, sample=sample)
    return path


def test_samples_that_are_no_draws_are_refused(tmp_path: Path) -> None:
    assert Codes.load(_saved(tmp_path / "right.npz", 1, 0.0)).n == 50
    with pytest.raises(RangeError, match="posterior standard deviations from mean"):
        Codes.load(_saved(tmp_path / "wrong.npz", 1, 1.0))


@pytest.mark.parametrize("repeats, said", [(1, False), (10, True)])
def test_rows_that_repeat_are_said(
    tmp_path: Path, repeats: int, said: bool, caplog: pytest.LogCaptureFixture
) -> None:
    Codes.load(_saved(tmp_path / "codes.npz", repeats, 0.0))
    assert ("only 50 of 500 rows have different means" in caplog.text) == said


def test_samples_that_are_no_draws_are_refused_or_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    noise = np.random.default_rng(0).normal(size=(200, 2))
    plain = {"mean": noise, "variance": np.ones((200, 2))}
    np.savez(tmp_path / "narrow.npz", **plain, sample=noise + 0.01 * noise[::-1])
    Codes.load(tmp_path / "narrow.npz")
    assert "sample is 0.01 posterior standard deviations from mean" in caplog.text
    np.savez(tmp_path / "zero.npz", mean=noise, variance=0 * noise, sample=noise + noise[::-1])
    with pytest.raises(RangeError, match="where variance is 0"):
        Codes.load(tmp_path / "zero.npz")
    half = noise.astype(np.float16)
    np.savez(tmp_path / "half.npz", mean=noise, variance=0 * noise, sample=half)
    assert Codes.load(tmp_path / "half.npz").n == 200


def test_arrays_of_objects_are_named_with_what_to_save(tmp_path: Path) -> None:
    names = np.array(["a", "b"], dtype=object)
    np.savez(
        tmp_path / "a.npz", mean=np.zeros((4, 2)), variance=np.ones((4, 2)), factor_names=names
    )
    with pytest.raises(DataError, match=r"factor_names has Python objects.*dtype=str"):
        Codes.load(tmp_path / "a.npz")


def test_constant_and_repeated_factors_are_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "vaescope")
    np.savez(tmp_path / "a.npz", mean=np.zeros((4, 2)), variance=np.ones((4, 2)),
             factors=np.array([[0, 1], [1, 1]] * 2), factor_names=["same", "same"])  # fmt: skip
    Codes.load(tmp_path / "a.npz")
    assert "do not vary and are left out: same" in caplog.text
    assert "not all different: same, same" in caplog.text


def test_an_unused_variance_is_finite() -> None:
    mean = np.zeros((3, 2))
    with pytest.raises(ShapeError, match="values from 1 to inf"):
        Codes(mean, variance=mean + 1, sample=mean, unused=np.array([1.0, np.inf]))


@pytest.mark.parametrize(
    ("name", "make", "says"),
    [
        ("logvar", np.sqrt, "all latents are wider"),  # standard deviations
        ("variance", lambda v: 1.0 / v, "latents 0 and 1 are wider"),  # precisions
        ("variance", lambda v: v, ""),
        ("logvar", np.log, ""),
        ("std", np.sqrt, ""),
    ],
)
def test_posteriors_that_are_wider_than_the_prior_are_said(
    name: str, make: Any, says: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    variance = np.tile([0.04, 0.1, 0.98], (100, 1))
    np.savez(tmp_path / "codes.npz", mean=np.zeros((100, 3)), **{name: make(variance)})
    with caplog.at_level(logging.WARNING, logger="vaescope"):
        Codes.load(tmp_path / "codes.npz")
    assert (says in caplog.text) if says else not caplog.text


def test_fewer_rows_than_latents_are_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    mean = np.random.default_rng(0).normal(size=(5, 100))
    np.savez(tmp_path / "codes.npz", mean=mean, variance=np.full((5, 100), 0.5))
    Codes.load(tmp_path / "codes.npz")
    assert "transpose the arrays" in caplog.text
