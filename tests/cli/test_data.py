"""`vaescope data` and `vaescope cite`, in process: they need no torch and no training."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vaescope.cli import main
from vaescope.data import CARDS
from vaescope.paper_aliases import PAPERS


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str]:
    monkeypatch.setattr("sys.argv", ["vaescope", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0), capsys.readouterr().out


def test_list_names_every_dataset(monkeypatch: Any, capsys: Any) -> None:
    code, out = run(monkeypatch, capsys, "data", "list", "--json")
    rows = json.loads(out)["datasets"]
    assert code == 0
    assert [row["name"] for row in rows] == list(CARDS)
    keys = {"name", "factors", "n", "shape", "on_disk", "rendered", "licence"}
    assert all(row.keys() == keys for row in rows)
    _, text = run(monkeypatch, capsys, "data", "list")
    assert all(name in text for name in CARDS)


def test_info_tells_how_to_get_it_offline(monkeypatch: Any, capsys: Any) -> None:
    _, out = run(monkeypatch, capsys, "data", "info", "shapes3d")
    assert "3dshapes.h5" in out
    assert "267,573,662" in out
    assert "@misc{shapes3d" in out
    code, out = run(monkeypatch, capsys, "data", "info", "shape3d", "--json")
    assert code == 2
    assert "shapes3d" in json.loads(out)["error"]["message"]


def test_get_says_where_to_put_what_cannot_be_downloaded(monkeypatch: Any, capsys: Any) -> None:
    code, out = run(monkeypatch, capsys, "data", "get", "faces3d", "--json")
    error = json.loads(out)["error"]
    assert code == 1
    assert "basel_face_renders.pth" in error["remedy"]


@pytest.mark.slow
def test_render_without_space_points_to_its_own_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    full = SimpleNamespace(free=0)
    monkeypatch.setattr("shutil.disk_usage", lambda _: full)
    out = str(tmp_path / "d.npz")
    code, said = run(monkeypatch, capsys, "data", "render", "digits", "--out", out, "--json")
    remedy = json.loads(said)["error"]["remedy"]
    assert code == 1 and "set --out to" in remedy and "VAESCOPE_DATA" not in remedy


def test_render_says_where_it_writes_and_leaves_no_half_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "d")
    code, said = run(monkeypatch, capsys, "data", "render", "digits", "--out", out, "--json")
    assert code == 2 and "ends in .npz" in json.loads(said)["error"]["remedy"]

    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", die)
    assert run(monkeypatch, capsys, "data", "render", "digits", "--out", f"{out}.npz")[0] == 130
    assert not list(tmp_path.iterdir())


def test_render_writes_what_own_data_can_be_read_from(
    monkeypatch: Any, capsys: Any, tmp_path: Path
) -> None:
    from vaescope.data.user_files import load_files

    out = tmp_path / "sprites.npz"
    settings = ["size=32", "grid.shape=[1]", "grid.orientation=[0]", "grid.x=[0, 5]"]
    code, _ = run(monkeypatch, capsys, "data", "render", "dsprites", "--out", str(out), *settings)
    assert code == 0
    data = load_files(out)
    assert data.factors is not None
    assert (len(data), data.shape, data.factors.names) == (384, (1, 32, 32), ("scale", "x", "y"))
    assert set(np.unique(data.rows(np.arange(9)))) == {0.0, 1.0}


def test_cite_knows_methods_metrics_and_datasets(monkeypatch: Any, capsys: Any) -> None:
    for name, key in [("beta-vae", "higgins2017"), ("mig", "chen2018"), ("mnist", "mnist")]:
        assert f"{{{key}," in run(monkeypatch, capsys, "cite", name)[1]
    (number,) = [old for old, key in PAPERS.items() if key == "zietlow2022"]
    for name in ("zietlow2022", number, "zietlow2022/table-3.4", f"{number}/table-3.4"):
        assert "{zietlow2022," in run(monkeypatch, capsys, "cite", name)[1]
    assert run(monkeypatch, capsys, "cite", "zietlow2022/table-9")[0] == 2
    assert run(monkeypatch, capsys, "cite", "mig/table-1")[0] == 2
    code, out = run(monkeypatch, capsys, "cite", "mnits", "--json")
    assert code == 2
    assert "mnist" in json.loads(out)["error"]["message"]
