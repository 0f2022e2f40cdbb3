"""`vaescope study`, in process, on a study that trains nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from vaescope.cli import main
from vaescope.cli.output import wrapped

EXAMPLE = "zietlow2022/worked-example"


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path) -> Any:
    """A call of the command in a folder that is not a checkout: its exit code and its JSON."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, Any]:
        monkeypatch.setattr("sys.argv", ["vaescope", "study", *arguments, "--json", "--quiet"])
        with pytest.raises(SystemExit) as stop:
            main()
        return int(stop.value.code or 0), json.loads(capsys.readouterr().out)

    return run


def test_an_estimate_runs_nothing(study: Any, tmp_path: Path) -> None:
    code, found = study("zietlow2022/table-3.4", "--estimate")
    assert code == 0 and list(tmp_path.iterdir()) == []
    (priced,) = found["studies"]
    assert [priced[key] for key in ("study", "seeds", "cells", "cap")] == [
        "zietlow2022/table-3.4", 16, 96, 48,
    ]  # fmt: skip
    assert priced["core_hours"] > 0 and priced["bytes"] > 0
    assert study("zietlow2022/table-3.4", "--estimate", "--seeds", "+8")[1]["studies"][0][
        "cells"
    ] == 48  # fmt: skip


def test_a_registration_is_written_once_and_runs_nothing(study: Any, tmp_path: Path) -> None:
    first = study("zietlow2022/theorem-2", "--register")[1]["studies"][0]
    again = study("zietlow2022/theorem-2", "--register")[1]["studies"][0]
    assert first == again and first["first"] >= 1000
    lines = (tmp_path / first["registry"]).read_text().splitlines()
    assert len(lines) == 1 and json.loads(lines[0])["claims"] == first["claims"]
    assert not (tmp_path / "studies").exists()


@pytest.mark.slow
def test_seeds_are_added_to_the_table_in_the_folder(study: Any, tmp_path: Path) -> None:
    options = (EXAMPLE, "--scale", "smoke", "--workers", "1", "--seeds", "+2")
    assert study(*options)[1]["verdicts"][0]["votes"] == {"for": 2, "against": 0, "neither": 0}
    verdict = study(*options)[1]["verdicts"][0]
    assert verdict["votes"] == {"for": 4, "against": 0, "neither": 0}
    assert (verdict["kind"], verdict["registered"]) == ("identity", "not registered")
    assert len(list((tmp_path / "studies" / "computed").glob("*.json"))) == 4


def test_seeds_that_are_not_added_are_wrong_usage(study: Any) -> None:
    for words in ("8", "+0", "+x", "-3"):
        code, found = study(EXAMPLE, f"--seeds={words}")
        assert code == 2 and "--seeds +8" in found["error"]["remedy"]


def test_lines_end_at_words_and_paths_stay_whole() -> None:
    path = "studies/zietlow2022-worked-example-smoke/a-folder-of-a-long-name/page.html"
    text = f"supported: 8 of 8 seeds: the loss is least where axes are principal\n    Page: {path}"
    lines = wrapped(text, 40).splitlines()
    assert " ".join(line.strip() for line in lines).split() == text.split()
    assert all(len(line) <= 40 for line in lines if path not in line) and path in lines[-1]
    assert lines[1].startswith("    ") and not lines[0].startswith(" ")
