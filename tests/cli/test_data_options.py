"""--size and --factors say how the images of --data are taken."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vaescope.cli.data_options import data_from_options
from vaescope.cli.output import as_options
from vaescope.errors import UsageError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VAESCOPE_DATA", str(tmp_path / "cache"))
    photos = tmp_path / "photos"
    photos.mkdir()
    rng = np.random.default_rng(0)
    for number in range(4):
        pixels = rng.integers(0, 256, (10, 14, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(photos / f"{number}.png")
    (tmp_path / "known.csv").write_text("file,x\n3.png,c\n2.png,a\n1.png,b\n0.png,a\n")
    return photos


def test_images_of_a_folder_have_the_size_and_the_factors_that_were_given(folder: Path) -> None:
    data = data_from_options(str(folder), 8, folder.parent / "known.csv")
    assert data.shape == (3, 8, 8)
    assert data.require_factors("this").classes(np.arange(4)).ravel().tolist() == [0, 1, 0, 2]
    assert data_from_options(str(folder), None).__class__ is str


def test_without_data_there_is_nothing_to_apply_them_to() -> None:
    with pytest.raises(UsageError, match="--size and --factors without --data"):
        data_from_options(None, 8, Path("known.csv"))
    assert data_from_options(None, None) is None


def test_a_message_about_the_size_names_the_option() -> None:
    said = as_options("Pass data of its training size, or encode=, a function of (n, 1, 8, 8).")
    assert said.startswith("Pass data of its training size (--size N), or encode=")
