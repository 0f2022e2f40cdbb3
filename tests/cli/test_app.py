"""How commands end that nobody foresaw."""

import json
import sys
from collections.abc import Callable

import pytest

from vaescope.cli import app as module
from vaescope.cli.output import messages


def ends(
    raised: BaseException, monkeypatch: pytest.MonkeyPatch, *, as_json: bool = True
) -> int | str | None:
    def fail(*, standalone_mode: bool) -> None:
        raise raised

    monkeypatch.setattr(module, "app", fail)
    monkeypatch.setattr(sys, "argv", ["vaescope", "train", *(["--json"] if as_json else [])])
    with pytest.raises(SystemExit) as ended:
        module.main()
    return ended.value.code


@pytest.mark.parametrize(
    ("raised", "kind", "says", "code"),
    [
        (lambda: ValueError("oh"), "ValueError", "ValueError: oh", 1),
        (lambda: MemoryError("Unable to allocate 9 TiB"), "MemoryError", "9 TiB", 1),
        (lambda: RuntimeError("can't allocate memory"), "MemoryError", "Out of memory", 1),
        (lambda: PermissionError(13, "denied", "file"), "PermissionError", "denied", 1),
        (KeyboardInterrupt, "Interrupted", "Stopped", 130),
    ],
)
def test_every_error_is_one_json_document_and_a_code_that_is_not_0(
    raised: Callable[[], BaseException],
    kind: str,
    says: str,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert ends(raised(), monkeypatch) == code
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["type"] == kind and says in error["message"] and error["remedy"]


def test_a_fault_of_ours_shows_where_and_one_of_the_machine_does_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ends(ValueError("oh"), monkeypatch, as_json=False)
    ours = capsys.readouterr()
    assert "Traceback" in ours.err and "report it" in ours.err and not ours.out
    ends(MemoryError("9 TiB"), monkeypatch, as_json=False)
    assert "Traceback" not in capsys.readouterr().err


def test_messages_are_printed_as_they_are_whatever_brackets_they_have(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = "runs [bold]x [/red] :smile: is done."
    messages(quiet=False).print(said, soft_wrap=True)
    assert capsys.readouterr().err == f"{said}\n"
