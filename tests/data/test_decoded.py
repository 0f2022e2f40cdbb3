"""Folders of images of any size: decoded once, under a limit, known by their content."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.command import vaescope

import vaescope as vs
from vaescope.build import build_data
from vaescope.data import user_files
from vaescope.data.user_files import load_files
from vaescope.errors import DataError, DiskError, UsageError
from vaescope.runs import Run
from vaescope.settings import from_command_line
from vaescope.specs import digest

RNG = np.random.default_rng(0)


def photos(folder: Path, n: int = 6, classes: int = 2) -> Path:
    """Images of different sizes: a grey square in the centre of red bars at the longer ends."""
    for i in range(n):
        side, bar, grey = 20 + 7 * i, 10 + i, 20 + 30 * (i % 8)
        pixels = np.full((side, side + 2 * bar, 3), grey, np.uint8)
        pixels[:, :bar] = pixels[:, -bar:] = (255, 0, 0)
        if i % 2:
            pixels = pixels.transpose(1, 0, 2)
        place = folder / f"class{i % classes}" / f"{i}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.ascontiguousarray(pixels)).save(place)
    return folder


def maps() -> list[Path]:
    return sorted(Path(os.environ["VAESCOPE_DATA"], "files").glob("*.npy"))


def spec_of(path: Path, *settings: str, steps: int = 2):  # type: ignore[no-untyped-def]
    given = [f"data.path={path}", "data.size=32", f"steps={steps}", "latent=2", *settings]
    return from_command_line("beta-vae", ["data.name=files", *given])


def test_what_is_kept_is_the_centred_square(tmp_path: Path) -> None:
    data = load_files(photos(tmp_path / "p"), size=8)
    assert data.shape == (3, 8, 8) and data.factors is not None
    order = [0, 2, 4, 1, 3, 5]  # by folder, then by name
    expected = np.array([20 + 30 * i for i in order])[:, None, None, None] / 255
    np.testing.assert_allclose(
        data.rows(np.arange(6)), np.broadcast_to(expected, (6, 3, 8, 8)), atol=1e-6
    )
    assert data.factors.classes(np.arange(6))[:, 0].tolist() == [0, 0, 0, 1, 1, 1]


def test_grey_images_have_one_channel_with_the_weights_of_luminance(tmp_path: Path) -> None:
    Image.new("RGB", (9, 7), (200, 100, 50)).save(tmp_path / "a.png")
    data = load_files(tmp_path, size=4, grey=True)
    luminance = (0.299 * 200 + 0.587 * 100 + 0.114 * 50) / 255  # ITU-R 601-2
    np.testing.assert_allclose(
        data.rows(np.array([0])), np.full((1, 1, 4, 4), luminance), atol=0.5 / 255
    )


def test_photographs_are_as_the_camera_was_held(tmp_path: Path) -> None:
    pixels = np.zeros((8, 8, 3), np.uint8)
    pixels[0] = 255  # white above; turned by 90 degrees it is white at the right
    image = Image.fromarray(pixels)
    exif = image.getexif()
    exif[0x0112] = 6
    image.save(tmp_path / "a.png", exif=exif)
    row = load_files(tmp_path, size=8).rows(np.array([0]))[0, 0]
    np.testing.assert_array_equal(row[:, -1], 1.0)
    np.testing.assert_array_equal(row[:, :-1], 0.0)


@pytest.mark.parametrize("size, said", [(None, True), (8, False)])
def test_rotations_that_are_not_followed_are_said(
    tmp_path: Path, size: int | None, said: bool, caplog: pytest.LogCaptureFixture
) -> None:
    image = Image.new("RGB", (8, 8))
    exif = image.getexif()
    exif[0x0112] = 6
    image.save(tmp_path / "a.jpg", exif=exif)
    image.save(tmp_path / "b.jpg")
    load_files(tmp_path, size=size)
    assert ("the EXIF data of 1 images" in caplog.text) == said


def test_images_are_decoded_once_until_a_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = photos(tmp_path / "p")
    first = load_files(folder, size=8)
    assert isinstance(first.store.pixels.base, np.memmap)  # type: ignore[attr-defined]
    real = user_files._pixels

    def refuse(*_: object) -> None:
        raise AssertionError("decoded again")

    monkeypatch.setattr(user_files, "_pixels", refuse)
    np.testing.assert_array_equal(
        load_files(folder, size=8).rows(np.arange(6)), first.rows(np.arange(6))
    )
    monkeypatch.setattr(user_files, "_pixels", real)
    Image.new("RGB", (9, 9), (1, 2, 3)).save(folder / "class0" / "0.png")
    changed = load_files(folder, size=8).rows(np.arange(6))
    np.testing.assert_allclose(changed[0, :, 0, 0], np.array([1, 2, 3]) / 255, atol=1e-6)


def test_what_is_over_the_limit_is_refused_with_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = photos(tmp_path / "p")
    monkeypatch.setenv("VAESCOPE_CACHE_GB", "0.000001")  # 1,000 bytes; six 8 x 8 images have 1,152
    with pytest.raises(DiskError, match=r"1\.15e-06 GB; the limit .* is 1e-06 GB.*CACHE_GB"):
        load_files(folder, size=8)
    assert not maps()
    assert len(load_files(folder, size=8, grey=True)) == 6  # a third
    monkeypatch.setenv("VAESCOPE_CACHE_GB", "many")
    with pytest.raises(UsageError, match="VAESCOPE_CACHE_GB is 'many'"):
        load_files(folder, size=16)


def test_the_map_that_was_not_used_for_longest_makes_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = photos(tmp_path / "p")
    old = load_files(folder, size=8)
    (first,) = maps()
    load_files(folder, size=9)
    (second,) = set(maps()) - {first}
    os.utime(first, ns=(1, 1))
    os.utime(second, ns=(2, 2))
    load_files(folder, size=8)  # used: now the second one is older
    before = old.rows(np.arange(6))
    monkeypatch.setenv("VAESCOPE_CACHE_GB", "0.0000035")  # 3,500 bytes: two of them, not three
    load_files(folder, size=10)
    assert first in maps() and second not in maps() and len(maps()) == 2
    np.testing.assert_array_equal(old.rows(np.arange(6)), before)


def test_the_digest_is_of_the_content_and_not_of_the_place(tmp_path: Path) -> None:
    spec = spec_of(photos(tmp_path / "p"))
    assert (spec.data.n, spec.data.shape, spec.net.name) == (6, (3, 32, 32), "auto")
    (tmp_path / "p").rename(tmp_path / "moved")
    moved = spec_of(tmp_path / "moved")
    assert moved.data.path != spec.data.path and digest(moved) == digest(spec)
    Image.new("RGB", (40, 40), (1, 2, 3)).save(tmp_path / "moved" / "class0" / "0.png")
    assert digest(spec_of(tmp_path / "moved")) != digest(spec)
    other = photos(tmp_path / "q")
    assert digest(spec_of(other)) == digest(spec)
    (other / "class1" / "5.png").rename(other / "class0" / "5.png")  # another label, another order
    assert digest(spec_of(other)) != digest(spec)


def test_a_relative_path_is_found_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    photos(tmp_path / "p")
    monkeypatch.chdir(tmp_path)
    spec = spec_of(Path("p"))
    monkeypatch.chdir("/")
    assert len(build_data(spec.data)) == 6


@pytest.mark.slow
def test_a_run_on_files_is_opened_without_its_data_and_refuses_others(tmp_path: Path) -> None:
    folder = photos(tmp_path / "p")
    data = vs.load_dataset("files", path=folder.as_posix(), size=32)
    run = vs.train("beta-vae", data, latent=2, steps=2)
    assert run.path.name == Run.of(spec_of(folder), "beta-vae", tmp_path).path.name
    assert vs.encode(run).mean.shape == (6, 2)
    Image.new("RGB", (40, 40)).save(folder / "class0" / "0.png")
    with pytest.raises(DataError, match="has changed since this run began"):
        vs.encode(run)
    (folder / "class0").rename(tmp_path / "elsewhere")
    (folder / "class1").rename(tmp_path / "elsewhere1")
    folder.rmdir()
    with pytest.raises(DataError, match=r"which no longer exists.*--data"):
        vs.encode(run)
    assert run.open().data.n == 6  # the run itself opens
    elsewhere = photos(tmp_path / "other", n=4)  # of other sizes: they become what the run takes
    assert vs.encode(run, elsewhere).mean.shape == (4, 2)


def test_a_size_that_the_rows_do_not_have_is_refused(tmp_path: Path) -> None:
    data = vs.load_dataset("files", path=str(photos(tmp_path / "p")), size=32)
    with pytest.raises(UsageError, match=r"data\.size=64 .* shape \(3, 32, 32\)"):
        vs.train("beta-vae", data, steps=2, size=64)


@pytest.mark.parametrize("header", ["", "height,width,label\n"])
def test_a_csv_has_vectors_and_perhaps_labels(tmp_path: Path, header: str) -> None:
    vectors = RNG.normal(size=(5, 2))
    labels = ["cat", "dog", "cat", "cow", "dog"]
    lines = [
        ",".join([*map(repr, row.tolist()), *([name] if header else [])])
        for row, name in zip(vectors, labels, strict=True)
    ]
    (tmp_path / "x.csv").write_text(header + "\n".join(lines) + "\n")
    data = load_files(tmp_path / "x.csv")
    np.testing.assert_allclose(data.rows(np.arange(5)), vectors, rtol=1e-6)
    if header:
        assert data.factors is not None and data.factors.names == ("class",)
        assert data.factors.classes(np.arange(5))[:, 0].tolist() == [0, 2, 0, 1, 2]
    else:
        assert data.factors is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b\n1,2\n3,x\n", "could not convert string 'x'"),
        ("1,2\n3\n", "cannot be read"),
        ("", "cannot be read|wanted"),
    ],
)
@pytest.mark.filterwarnings("ignore:loadtxt")
def test_a_csv_that_is_no_table_of_numbers_is_named(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(Exception, match=rf"x\.csv.*({says})"):
        load_files(tmp_path / "x.csv")


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return vaescope(*arguments, "--quiet", "--json")


@pytest.mark.slow
def test_500_pngs_of_different_sizes_train_and_are_found_again(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    for i, (width, height) in enumerate(RNG.integers(20, 90, size=(500, 2))):
        (folder / f"class{i % 3}").mkdir(parents=True, exist_ok=True)
        pixels = RNG.integers(256, size=(height, width, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"class{i % 3}" / f"{i}.png")
    settings = ["data.name=files", f"data.path={folder}", "data.size=32", "steps=30"]
    trained = command("train", "beta-vae", *settings, "--out", str(tmp_path / "runs"))
    assert trained.returncode == 0, trained.stderr
    run = json.loads(trained.stdout)["runs"][0]["path"]
    report = tmp_path / "report.html"
    inspected = command("inspect", run, "--fast", "--no-images", "--out", str(report))
    assert inspected.returncode == 0, inspected.stderr
    assert json.loads(inspected.stdout)["n"] == 500 and report.exists()


def test_a_broken_file_is_named_and_nothing_is_trained(tmp_path: Path) -> None:
    folder = photos(tmp_path / "p")
    broken = folder / "class0" / "2.png"
    broken.write_bytes(broken.read_bytes()[:60])  # the header is whole: only decoding finds it
    settings = ["data.name=files", f"data.path={folder}", "data.size=32", "steps=3"]
    ended = command("train", "beta-vae", *settings, "--out", str(tmp_path / "runs"))
    assert ended.returncode == 1
    error = json.loads(ended.stdout)["error"]
    assert str(broken) in error["message"] and "Remove it" in error["remedy"]
    assert not (tmp_path / "runs").exists() and not maps()


@pytest.mark.slow
def test_what_a_published_run_says_of_its_files_is_their_name_alone(tmp_path: Path) -> None:
    data = vs.load_dataset("files", path=str(photos(tmp_path / "photographs")), size=32)
    run = vs.train("beta-vae", data, latent=2, steps=2)
    assert str(tmp_path) in (run.path / "spec.json").read_text()
    found = vs.save_pretrained(run, tmp_path / "hub")
    for file in found.folder.iterdir():
        assert str(tmp_path).encode() not in file.read_bytes(), file.name
    assert vs.load_pretrained(found.folder).open().data.path == "photographs"
