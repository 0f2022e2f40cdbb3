"""CelebA's images and attributes, from the zip or its folder."""

import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vaescope.data.celeba import ATTRIBUTES, CARD, celeba, read
from vaescope.errors import DataError, UsageError

LISTED = """3
Bald Smiling Young
000001.jpg -1  1  1
000002.jpg  1  1 -1
000003.jpg -1 -1  1
"""


def jpeg(shade: int, width: int = 178, height: int = 218) -> bytes:
    """Grey of one shade in the central 148 pixels, white around it."""
    image = Image.new("RGB", (width, height), "white")
    left, top = (width - 148) // 2, (height - 148) // 2
    image.paste((shade, shade, shade), (left, top, left + 148, top + 148))
    content = BytesIO()
    image.save(content, "JPEG", quality=95)
    return content.getvalue()


@pytest.fixture
def attributes(tmp_path: Path) -> Path:
    path = tmp_path / "list_attr_celeba.txt"
    path.write_text(LISTED)
    return path


@pytest.fixture(params=["img_align_celeba.zip", "img_align_celeba"])
def images(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path: Path = tmp_path / request.param
    pictures = {f"{i:06d}.jpg": jpeg(50 * i) for i in (1, 2, 3)}
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in reversed(pictures.items()):
                archive.writestr(f"img_align_celeba/{name}", content)
    else:
        path.mkdir()
        for name, content in pictures.items():
            (path / name).write_bytes(content)
    return path


def test_rows_follow_the_list_and_show_the_central_crop(images: Path, attributes: Path) -> None:
    data = read(images, attributes)
    assert len(data) == 3 and data.shape == (3, 64, 64) and data.factors is not None
    rows = data.rows(np.arange(3)) * 255
    for row, shade in zip(rows, (50, 100, 150), strict=True):
        inner = row[:, 4:-4, 4:-4]  # JPEG rings at the edge of the crop
        np.testing.assert_allclose(inner, np.full_like(inner, shade), atol=3)
    assert data.factors.names == ("Bald", "Smiling", "Young")
    assert data.factors.classes(np.arange(3)).tolist() == [[0, 1, 1], [1, 1, 0], [0, 0, 1]]


def test_a_wider_crop_shows_what_is_around_and_is_kept_apart(
    images: Path, attributes: Path
) -> None:
    narrow = read(images, attributes, crop=148)
    wide = read(images, attributes, crop=178)
    row = wide.rows(np.array([0]))[0] * 255
    np.testing.assert_allclose(row[:, 0, 0], 255, atol=3)  # white
    np.testing.assert_allclose(row[:, 32, 32], 50, atol=3)
    assert read(images, attributes).rows(np.array([0])).mean() < 0.25
    assert narrow.rows(np.array([0])).mean() < wide.rows(np.array([0])).mean()


def test_a_missing_or_damaged_image_is_named(images: Path, attributes: Path) -> None:
    attributes.write_text(LISTED.replace("3\n", "4\n", 1) + "000004.jpg 1 1 1\n")
    with pytest.raises(DataError, match=r"000004\.jpg"):
        read(images, attributes)
    if images.is_dir():
        (images / "000004.jpg").write_bytes(jpeg(9)[:500])
        with pytest.raises(DataError, match=r"000004\.jpg cannot be read"):
            read(images, attributes)
        (images / "000004.jpg").write_bytes(jpeg(9, 200, 200))
        with pytest.raises(DataError, match=r"000004\.jpg .*\(200, 200\) pixels; wanted 178 x 218"):
            read(images, attributes)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "3\n",
        LISTED[:-10],
        LISTED.replace("3\n", "2\n", 1),
        LISTED.replace("Bald ", ""),
        LISTED.replace("000002", "000007"),
        LISTED.replace("-1 -1", " 0  2"),
    ],
)
def test_a_damaged_list_is_named(images: Path, attributes: Path, text: str) -> None:
    attributes.write_text(text)
    with pytest.raises(DataError, match=r"list_attr_celeba\.txt"):
        read(images, attributes)


def test_a_truncated_zip_is_named(attributes: Path, tmp_path: Path) -> None:
    path = tmp_path / "img_align_celeba.zip"
    path.write_bytes(b"PK\3\4 and no more")
    with pytest.raises(DataError, match=r"img_align_celeba\.zip"):
        read(path, attributes)


def test_by_name_it_says_which_files_to_take_from_where() -> None:
    with pytest.raises(DataError, match=r"img_align_celeba\.zip.*mmlab\.ie\.cuhk\.edu\.hk"):
        celeba()
    with pytest.raises(UsageError, match="64 to 178"):
        celeba(crop=200)
    assert CARD.n == 202_599 and len(set(ATTRIBUTES)) == 40
