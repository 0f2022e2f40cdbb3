"""The user's own images: what can be understood is said, what cannot is explained."""

import logging
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vaescope.data.in_memory import from_arrays
from vaescope.data.user_files import load_files
from vaescope.errors import DataError, RangeError, ShapeError

RNG = np.random.default_rng(0)
BYTES = RNG.integers(256, size=(6, 5, 7, 3), dtype=np.uint8)
FLOATS = RNG.uniform(size=(6, 3, 5, 7)).astype(np.float32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mine.npz"


@pytest.fixture(autouse=True)
def _hear_everything(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "vaescope")


def test_channels_last_are_moved_first_and_said(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    np.savez(path, images=BYTES)
    data = load_files(path)
    assert data.name == "mine" and data.shape == (3, 5, 7) and data.card.n == 6
    np.testing.assert_allclose(
        data.rows(np.arange(6)), BYTES.transpose(0, 3, 1, 2) / 255, rtol=1e-6
    )
    assert "channels last" in caplog.text
    np.savez(path, images=FLOATS.transpose(0, 2, 3, 1))
    np.testing.assert_array_equal(load_files(path).rows(np.arange(6)), FLOATS)


def test_channels_first_stay_and_nothing_is_said(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    np.savez(path, images=FLOATS)
    np.testing.assert_array_equal(load_files(str(path)).rows(np.array([4, 1])), FLOATS[[4, 1]])
    assert caplog.text == ""


def test_grey_images_get_a_channel_and_it_is_said(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    np.save(path.with_suffix(".npy"), FLOATS[:, 0])
    data = load_files(path.with_suffix(".npy"))
    np.testing.assert_array_equal(data.rows(np.arange(6)), FLOATS[:, :1])
    assert "grey" in caplog.text


@pytest.mark.parametrize("dtype", [np.uint8, np.bool_])
def test_bytes_of_zero_and_one_are_black_and_white(path: Path, dtype: type) -> None:
    bits = FLOATS > 0.5
    np.savez(path, imgs=bits.astype(dtype))
    np.testing.assert_array_equal(load_files(path).rows(np.arange(6)), bits)


def test_floats_in_two_dimensions_are_vectors(path: Path) -> None:
    vectors = RNG.normal(size=(6, 4))
    np.savez(path, x=vectors)
    data = load_files(path)
    assert data.shape == (4,)
    np.testing.assert_allclose(data.rows(np.arange(6)), vectors, rtol=1e-6)


@pytest.mark.parametrize(
    ("images", "remedy"),
    [
        (255 * FLOATS, "Divide them by 255"),
        (2 * FLOATS - 1, r"\(x \+ 1\) / 2"),
        (4 * FLOATS - 2, "standardisation"),
        (FLOATS * np.float32(1.001), "np.clip"),
        (BYTES.astype(np.int64), r"astype\(np.uint8\)"),
        (BYTES.astype(np.uint16) * 257, r"\(x - 0\) / 65535"),
        (np.where(FLOATS > 0.9, np.nan, FLOATS), "NaN"),
    ],
)
def test_values_outside_the_range_are_refused_with_the_remedy(
    path: Path, images: object, remedy: str
) -> None:
    np.savez(path, images=np.asarray(images))
    with pytest.raises(RangeError, match=rf"mine\.npz.*{remedy}|mine\.npz.*NaN"):
        load_files(path)


def test_the_first_row_that_is_not_finite_is_named_also_where_float32_overflows(path: Path) -> None:
    for bad in (np.nan, np.inf, 1e300):
        vectors = np.zeros((5000, 2))
        vectors[4321, 1] = bad
        np.savez(path, images=vectors)
        with pytest.raises(RangeError, match="first in row 4321"):
            load_files(path)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, bool])
def test_vectors_that_are_no_floats_get_the_remedy_for_vectors(path: Path, dtype: type) -> None:
    np.savez(path, images=np.arange(12).reshape(6, 2).astype(dtype))
    with pytest.raises((RangeError, ShapeError), match=r"Vectors are floats: use \.astype"):
        load_files(path)


@pytest.mark.parametrize(
    "given", [[[1.0, 2.0], [3.0]], np.array([["a", "b"]]), np.ones((3, 2)) + 1j, {}, "no numbers"]
)
def test_what_is_no_array_of_numbers_is_refused(given: object) -> None:
    with pytest.raises(ShapeError, match=r"The images in your array (are|cannot be converted)"):
        from_arrays(given)


@pytest.mark.parametrize("shape", [(6,), (6, 5, 7, 9), (6, 3, 5, 7, 2), (0, 3, 5, 7), (6, 4)])
def test_shapes_that_are_no_images_are_refused(path: Path, shape: tuple[int, ...]) -> None:
    np.savez(path, images=np.full(shape, 9, np.uint8))
    with pytest.raises(ShapeError, match=r"mine\.npz .*shape .*wanted"):
        load_files(path)


def test_factors_on_the_full_grid_can_be_looked_up(path: Path) -> None:
    factors = np.stack(np.unravel_index(np.arange(6), (2, 3)), axis=1) * 10
    np.savez(path, images=FLOATS, factors=factors, factor_names=["colour", "size"])
    data = load_files(path)
    assert data.card.factors == {"colour": 2, "size": 3}
    assert data.factors is not None and data.factors.values[1].tolist() == [0, 10, 20]
    np.testing.assert_array_equal(data.observe(np.array([[1, 2]]))[0], FLOATS[5])


def test_labels_sources_and_constant_factors(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    labels = np.array(["dog", "cat", "cat", "dog", "cow", "cow"])
    sources = RNG.normal(size=(6, 2))
    np.savez(path, images=FLOATS, labels=labels, factor_values=sources)
    data = load_files(path)
    assert data.factors is not None and data.factors.names == ("class",)
    assert data.factors.classes(np.arange(6))[:, 0].tolist() == [2, 0, 0, 2, 1, 1]
    assert data.sources is not None
    np.testing.assert_array_equal(data.sources, sources)
    np.savez(path, images=FLOATS, factors=np.array([[7, 0], [7, 1]] * 3))
    data = load_files(path)
    assert data.card.factors == {"factor_1": 2}
    assert "do not vary and are left out: factor_0" in caplog.text
    np.savez(path, images=FLOATS, labels=np.zeros(6, np.int64))
    assert load_files(path).factors is None


def test_factors_that_do_not_fit_are_explained(path: Path) -> None:
    for factors in (np.zeros((5, 2), np.int64), RNG.uniform(size=(6, 2)), np.zeros((6, 1, 1), int)):
        np.savez(path, images=FLOATS, factors=factors)
        with pytest.raises(ShapeError, match=r"factors in .*mine\.npz .*wanted integers or names"):
            load_files(path)
    np.savez(path, images=FLOATS, factors=np.arange(12).reshape(6, 2), factor_names=["a"])
    with pytest.raises(ShapeError, match=r"factor_names in .*mine\.npz"):
        load_files(path)
    np.savez(path, images=FLOATS, factor_values=np.zeros((5, 2)))
    with pytest.raises(ShapeError, match=r"factor_values in .*mine\.npz"):
        load_files(path)


def test_files_that_cannot_be_used_are_explained(path: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"mine\.npz does not exist"):
        load_files(path)
    np.savez(path, pictures=FLOATS)
    with pytest.raises(DataError, match=r"has the arrays pictures; wanted `images`"):
        load_files(path)
    np.savez(path, images=np.array([None, {}], dtype=object))
    with pytest.raises(DataError, match=r"mine\.npz cannot be read.*without Python objects"):
        load_files(path)
    path.write_bytes(b"PK\3\4")
    with pytest.raises(DataError, match=r"mine\.npz cannot be read"):
        load_files(path)
    (tmp_path / "mine.txt").write_text("images")
    with pytest.raises(DataError, match=r"mine\.txt is neither"):
        load_files(tmp_path / "mine.txt")


def picture(path: Path, seed: int, mode: str = "RGB", size: tuple[int, int] = (7, 5)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(256, size=(size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).convert(mode).save(path)
    return path


def test_a_folder_is_read_in_the_order_of_its_names(tmp_path: Path) -> None:
    paths = [picture(tmp_path / f"{name}.png", seed) for seed, name in enumerate("cab")]
    (tmp_path / "._a.png").write_bytes(b"not an image")
    (tmp_path / "notes.txt").write_text("not an image")
    data = load_files(tmp_path)
    assert data.shape == (3, 5, 7) and len(data) == 3 and data.factors is None
    for row, path in zip(data.rows(np.arange(3)), sorted(paths), strict=True):
        np.testing.assert_allclose(
            row, np.asarray(Image.open(path)).transpose(2, 0, 1) / 255, rtol=1e-6
        )


def test_endings_in_capitals_are_files_and_folders_called_so_are_not(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", images=BYTES)
    (tmp_path / "a.npz").rename(tmp_path / "A.NPZ")
    assert len(load_files(tmp_path / "A.NPZ")) == len(BYTES)
    picture(tmp_path / "pictures" / "a.PNG", 0)
    (tmp_path / "pictures" / "more.png").mkdir()
    assert len(load_files(tmp_path / "pictures")) == 1


def test_sub_folders_are_classes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for seed, name in enumerate(["dog/1.png", "dog/2.png", "cat/1.png"]):
        picture(tmp_path / name, seed)
    data = load_files(tmp_path)
    assert data.factors is not None and data.factors.values[0].tolist() == ["cat", "dog"]
    assert data.factors.classes(np.arange(3))[:, 0].tolist() == [0, 1, 1]
    assert "sub-folders" in caplog.text


def test_grey_and_mixed_folders_have_one_mode(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    picture(tmp_path / "a.png", 0, "L")
    assert load_files(tmp_path).shape == (1, 5, 7)
    assert "are read as" not in caplog.text
    picture(tmp_path / "b.png", 1, "RGBA")
    assert load_files(tmp_path).shape == (3, 5, 7)
    assert "mode L, RGBA are read as RGB" in caplog.text
    assert "transparency is ignored" in caplog.text


def test_frames_after_the_first_are_not_left_out_unsaid(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    frames = [Image.new("L", (7, 5), shade) for shade in (10, 200)]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    data = load_files(tmp_path)
    assert len(data) == 1 and abs(float(data.rows(np.array([0])).max()) - 10 / 255) < 1e-6
    assert "1 files have more than one frame or page" in caplog.text


def test_a_picture_that_does_not_fit_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no images"):
        load_files(tmp_path)
    picture(tmp_path / "a.png", 0)
    odd = picture(tmp_path / "b.png", 1, size=(9, 5))
    with pytest.raises(ShapeError, match=r"b\.png is 9 x 5 pixels; .*a\.png is 7 x 5"):
        load_files(tmp_path)
    Image.fromarray(np.zeros((5, 7), np.uint16)).save(odd)
    with pytest.raises(RangeError, match=r"b\.png has more than 8 bits"):
        load_files(tmp_path)
    odd.write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"b\.png cannot be read"):
        load_files(tmp_path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_a_picture_too_large_to_open_is_named(tmp_path: Path) -> None:
    Image.new("1", (20_000, 20_000)).save(tmp_path / "large.png")
    with pytest.raises(DataError, match=r"large\.png cannot be read: .*pixels"):
        load_files(tmp_path)


def test_names_of_factors_that_are_numbers_become_text(path: Path) -> None:
    np.savez(path, images=np.zeros((4, 8, 8)), factors=np.arange(4)[:, None], factor_names=[7])
    found = load_files(path)
    assert found.factors is not None and found.factors.names == ("7",)
