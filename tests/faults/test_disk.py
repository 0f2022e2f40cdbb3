"""A disk that is full while rows are appended is explained, whatever fails after it."""

import errno
import json
from pathlib import Path

import pytest

from vaescope.cli import output
from vaescope.errors import DiskError
from vaescope.paths import appending, disk_errors

FULL = Path("/dev/full")  # every write to it fails as on a full disk


def append(text: str) -> None:
    with appending(FULL) as file, disk_errors(FULL):
        file.write(text)
        file.flush()


@pytest.mark.skipif(not FULL.exists(), reason="a device of Linux")
def test_the_error_of_closing_does_not_hide_what_was_explained() -> None:
    with pytest.raises(DiskError, match="the disk is full"):
        append("a row\n")


def test_rows_that_were_flushed_are_there(tmp_path: Path) -> None:
    with appending(tmp_path / "rows") as file:
        file.write("one\n")
        file.flush()
    with appending(tmp_path / "rows") as file:
        file.write("two\n")
        file.flush()
    assert (tmp_path / "rows").read_text() == "one\ntwo\n"


def test_a_full_disk_that_no_code_foresaw_is_not_one_of_permissions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    output.unexpected(OSError(errno.ENOSPC, "No space left on device"), as_json=True)
    said = json.loads(capsys.readouterr().out)["error"]
    assert said["type"] == "DiskError" and "Free some space" in said["remedy"]
