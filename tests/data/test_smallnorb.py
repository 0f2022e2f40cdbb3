"""smallNORB's own binary format, compressed or not."""

import gzip
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from vaescope.data.factors import Factors
from vaescope.data.smallnorb import CARD, FACTORS, SmallNorbPart, read, smallnorb
from vaescope.errors import DataError, UsageError

GRID = Factors(FACTORS.names, tuple(value[:2] for value in FACTORS.values))  # 32 rows
MAGIC = {"u1": 0x1E3D4C55, "i4": 0x1E3D4C54}
Real = Callable[[str], Path]


def write(path: Path, values: NDArray[np.uint8] | NDArray[np.int32]) -> Path:
    shape = [*values.shape, 1, 1][: max(3, values.ndim)]
    head = struct.pack(f"<2I{len(shape)}I", MAGIC[values.dtype.str[1:]], values.ndim, *shape)
    content = head + values.tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def part(folder: Path, table: NDArray[np.int64], ending: str = "mat") -> SmallNorbPart:
    """Left images of one grey, which is the row's place on the grid; right ones are white."""
    images = np.full((len(table), 2, 96, 96), 255, np.uint8)
    images[:, 0] = GRID.index(table)[:, None, None]
    info = table[:, 1:] * [1, 1, 2, 1]
    folder.mkdir(exist_ok=True)
    return SmallNorbPart(
        write(folder / f"dat.{ending}", images),
        write(folder / f"cat.{ending}", table[:, 0].astype(np.int32)),
        write(folder / f"info.{ending}", info.astype(np.int32)),
    )


@pytest.mark.parametrize("ending", ["mat", "mat.gz"])
@pytest.mark.parametrize("size", [64, 96])
def test_two_splits_are_sorted_to_one_grid(tmp_path: Path, ending: str, size: int) -> None:
    table = GRID.classes(np.random.default_rng(0).permutation(32))
    parts = [
        part(tmp_path / "training", table[:20], ending),
        part(tmp_path / "testing", table[20:], ending),
    ]
    seen: list[int] = []
    data = read(parts, grid=GRID, size=size, progress=lambda name, done, total: seen.append(done))
    assert data.factors is not None and data.factors.complete and data.shape == (1, size, size)
    rows = data.rows(np.arange(32)) * 255
    np.testing.assert_allclose(rows.mean(axis=(1, 2, 3)), np.arange(32), rtol=1e-5)
    assert seen == [32 * size * size]


def test_rows_that_do_not_fill_the_grid_stay_in_order(tmp_path: Path) -> None:
    table = GRID.classes(np.array([9, 3, 30]))
    data = read([part(tmp_path, table)], grid=GRID)
    assert data.factors is not None and not data.factors.complete
    np.testing.assert_array_equal(data.factors.classes(np.arange(3)), table)
    rows = data.rows(np.arange(3)) * 255
    np.testing.assert_allclose(rows.mean(axis=(1, 2, 3)), [9, 3, 30], rtol=1e-5)


def test_files_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    long = part(tmp_path / "a", GRID.classes(np.arange(5)))
    short = part(tmp_path / "b", GRID.classes(np.arange(4)))
    with pytest.raises(DataError, match=r"info\.mat has 5 rows, .*cat\.mat has 4"):
        read([SmallNorbPart(long.dat, short.cat, long.info)])
    with pytest.raises(DataError, match=r"dat\.mat .*4 images, with 5 labels"):
        read([SmallNorbPart(short.dat, long.cat, long.info)])
    with pytest.raises(DataError, match=r"dat\.mat cannot be read: it holds 5 images"):
        read([SmallNorbPart(long.dat, short.cat, short.info)])
    with pytest.raises(DataError, match=r"classes up to .*wanted below \(2, 2, 2, 2, 2\)"):
        wide = part(tmp_path / "c", GRID.classes(np.arange(4)))
        write(wide.cat, np.array([0, 1, 2, 3], np.int32))
        read([wide], grid=GRID)


@pytest.mark.parametrize("which", ["dat", "cat", "info"])
@pytest.mark.parametrize("kept", [0, 3, 17, -1])
@pytest.mark.parametrize("ending", ["mat", "mat.gz"])
def test_a_truncated_file_is_named(tmp_path: Path, which: str, kept: int, ending: str) -> None:
    whole = part(tmp_path, GRID.classes(np.arange(3)), ending)
    path: Path = getattr(whole, which)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(DataError, match=rf"{which}\.mat"):
        read([whole])


def test_another_format_of_that_name_is_refused(tmp_path: Path) -> None:
    whole = part(tmp_path, GRID.classes(np.arange(3)))
    whole.cat.write_bytes(b"MATLAB 5.0 MAT-file, and so on and on")
    with pytest.raises(DataError, match=r"cat\.mat .* not a NORB matrix"):
        read([whole])
    write(whole.cat, np.zeros(3, np.uint8))
    with pytest.raises(DataError, match=r"cat\.mat is uint8"):
        read([whole])


def test_the_official_fixtures_are_read_as_they_are(shared_data: Real, tmp_path: Path) -> None:
    parts = []
    for split in ("5x46789x9x18x6x2x96x96-training", "5x01235x9x18x6x2x96x96-testing"):
        names = [f"smallnorb-{split}-{kind}.mat" for kind in ("dat", "cat", "info")]
        paths = (shutil.copy(shared_data(f"fixtures_tfds/{name}"), tmp_path) for name in names)
        parts.append(SmallNorbPart(*map(Path, paths)))
    data = read(parts, size=96)
    assert len(data) == 10 and data.factors is not None
    # The testing split begins with category 1, instance 9, elevation 2, azimuth 12, lighting 3.
    assert data.factors.classes(np.array([5]))[0].tolist() == [1, 9, 2, 6, 3]
    content = parts[1].dat.read_bytes()
    left = np.frombuffer(content, np.uint8, 96 * 96, offset=24).reshape(96, 96)
    np.testing.assert_allclose(data.rows(np.array([5]))[0, 0], left / 255, rtol=1e-6)


def test_by_name_all_six_files_are_wanted() -> None:
    with pytest.raises(UsageError, match="64 or 96; got 32"):
        smallnorb(size=32)
    with pytest.raises(DataError, match=r"training-dat\.mat\.gz.*data get smallnorb"):
        smallnorb()
    assert CARD.n == 48_600 and len(CARD.files) == 6
