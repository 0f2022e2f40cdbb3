"""`vaescope doctor`: what is there, what is not, and what to do."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from vaescope.cli import doctor
from vaescope.cli.app import app


def asked(*options: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["doctor", *options])
    return done.exit_code, done.stdout


def test_a_whole_installation_has_no_problem_and_says_how_to_get_extras() -> None:
    code, said = asked("--json")
    found = json.loads(said)
    assert code == 0 and found["problems"] == []
    assert found["packages"]["torch"] and found["device"] == "cpu"
    assert "dsprites" in found["datasets"]["made here"]
    assert set(found["extras"]) >= {"onnx", "ray", "serve"}
    assert not set(found["extras"]) & {"test", "docs", "bench"}


def test_a_package_that_is_missing_or_too_old_is_a_problem_with_a_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = doctor.version

    def version(name: str) -> str:
        if name == "scipy":
            raise doctor.PackageNotFoundError(name)
        return "0.1" if name == "numpy" else real(name)

    monkeypatch.setattr(doctor, "version", version)
    code, said = asked()
    assert code == 1
    assert "scipy is missing" in said and "numpy is 0.1" in said and "pip install 'scipy>=" in said


def test_a_folder_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VAESCOPE_RUNS", str(tmp_path / "file" / "runs"))
    code, said = asked("--json")
    assert code == 1
    assert "VAESCOPE_RUNS" in json.loads(said)["problems"][0]["remedy"]


def test_completion_can_be_shown_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shell that started the tests need not be one that typer knows: it is not looked for."""
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    done = CliRunner().invoke(app, ["--show-completion", "bash"])
    assert done.exit_code == 0 and "vaescope" in done.stdout.lower()
