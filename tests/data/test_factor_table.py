"""Factors of a folder of images: found by the images' names, never by the order of rows."""

import logging
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vaescope.data.user_files import load_files
from vaescope.errors import DataError, ShapeError, UsageError
from vaescope.settings import from_command_line
from vaescope.specs import digest, public, to_dict
from vaescope.user_data import load_dataset

NAMES = ("b/2.png", "b/10.png", "a/1.png")  # sorted by path: a/1, b/10, b/2
GREYS = {"a/1.png": 10, "b/10.png": 100, "b/2.png": 20}


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    for name, grey in GREYS.items():
        path = tmp_path / "photos" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (4, 4), grey).save(path)
    return tmp_path / "photos"


def write(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    "text",
    [
        "file,grey,hue\nb/2.png,20,red\nb/10.png,100,blue\na/1.png,10,red\n",
        "grey;file;hue\n100;10.png;blue\n20;2.png;red\n10;1.png;red\n",  # names in any column
        "\ufeffhue\tid\tgrey\nred\t1\t10\nblue\t10\t100\nred\t2\t20\nred\t3\t0\n",  # a spare row
        'file,hue,grey\n"photos\\a\\1.png",red,10.0\nb\\10.png,blue,100.0\nb\\2.png,red,20.0\n',
    ],
    ids=["paths", "names", "stems", "windows"],
)
def test_each_image_gets_the_row_that_names_it(photos: Path, tmp_path: Path, text: str) -> None:
    data = load_files(photos, factors=str(write(tmp_path / "f.csv", text)))
    assert data.factors is not None
    classes = data.factors.classes(np.arange(3))
    values = {
        name: data.factors.values[k][classes[:, k]].tolist()
        for k, name in enumerate(data.factors.names)
    }
    np.testing.assert_allclose(255 * data.rows(np.arange(3))[:, 0, 0, 0], values["grey"])
    assert values["hue"] == ["red", "blue", "red"]
    assert set(values) == {"grey", "hue"}  # not the sub-folders' class


def test_numbers_are_in_the_order_of_numbers(photos: Path) -> None:
    table = {"file": ["1", "2", "10"], "rank": np.array([9, 10, 11])}
    data = load_files(photos, factors=table)
    assert data.factors is not None and data.factors.values[0].tolist() == [9, 10, 11]
    assert data.factors.classes(np.arange(3))[:, 0].tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("file,hue\n1.png,red\n", r"names 1 of the 3 images .*column file; 10\.png is missing"),
        ("hue,tone\nred,1.5\n", r"No column .* it has hue, tone, and the first image is a/1\.png"),
        ("file,hue\n1,a\n2,b\n10,a\n2,a\n", r"two rows for 2\."),
        ("file,hue\n1,a\n2,b\n10\n", r"Line 4 of .* has 1 cells; its first line has 2"),
        ("file,hue\n1,a\n2,\n10,a\n", r"'hue' in .* is empty for 1 images"),
        ("file,tone\n1,0.5\n2,1\n10,2\n", r"'tone' in .* has the value 0\.5; wanted whole numbers"),
        ("file,tone\n1,nan\n2,1\n10,2\n", r"'tone' in .* has the value nan"),
        ("file\n1\n2\n10\n", "has file names and no factor"),
        ("file,file\n1,1\n", "wanted different names of columns"),
        ("", "has 0 lines"),
    ],
)
def test_a_table_that_does_not_fit_is_explained(
    photos: Path, tmp_path: Path, text: str, says: str
) -> None:
    with pytest.raises(ShapeError, match=says):
        load_files(photos, factors=write(tmp_path / "f.csv", text))


def test_what_cannot_be_matched_by_name_is_refused(photos: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="which of its rows belongs to which image"):
        load_files(photos, factors=np.zeros((3, 1), int))
    with pytest.raises(DataError, match=r"f\.csv does not exist"):
        load_files(photos, factors=tmp_path / "f.csv")
    np.savez(tmp_path / "a.npz", images=np.zeros((2, 4, 4), np.uint8))
    with pytest.raises(UsageError, match="takes no factors: only images from a folder"):
        load_files(tmp_path / "a.npz", factors="f.csv")


def test_a_run_knows_its_factors_by_content(
    photos: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def experiment(table: Path):  # type: ignore[no-untyped-def]
        where = [f"data.path={photos}", f"data.factors={table}"]
        return from_command_line("vae", ["data.name=files", *where])

    text = "file,hue\n1,red\n2,blue\n10,red\n"
    with caplog.at_level(logging.INFO, "vaescope"):
        first = experiment(write(tmp_path / "f.csv", text))
    assert "f.csv: factors are hue (2 classes)" in caplog.text
    moved = experiment(write(tmp_path / "g.csv", text))
    changed = experiment(write(tmp_path / "h.csv", text.replace("10,red", "10,blue")))
    assert digest(first) == digest(moved) != digest(changed)
    assert public(first).data.factors == "f.csv"  # type: ignore[union-attr]
    plain = from_command_line("vae", ["data.name=files", f"data.path={photos}"])
    assert "factors" not in to_dict(plain)["data"]  # older runs keep their digest


def test_data_passed_themselves_take_factors_too() -> None:
    data = load_dataset(np.zeros((4, 8, 8), np.uint8), factors={"x": [0, 0, 1, 1]})
    assert data.factors is not None and data.factors.names == ("x",)
    with pytest.raises(UsageError, match="size= cannot be combined"):
        load_dataset(np.zeros((4, 8, 8), np.uint8), size=8)
