"""Code is found without being run, and what runs is what was hashed."""

import hashlib
import sys
from pathlib import Path

import pytest

from vaescope.errors import RunError, UsageError
from vaescope.own_parts.paths import find, load

MARK = "from pathlib import Path\nPath('ran').touch()\n"


def test_a_source_is_found_and_hashed_without_running_it(lab: Path) -> None:
    (lab / "mylab.py").write_text(MARK + "value = 1\n")
    source = find("mylab:value")
    assert source.sha256 == hashlib.sha256((lab / "mylab.py").read_bytes()).hexdigest()
    assert not (lab / "ran").exists()
    assert load(source) == 1
    assert (lab / "ran").exists()


def test_a_module_is_found_without_importing_the_packages_around_it(lab: Path) -> None:
    (lab / "labs" / "inner").mkdir(parents=True)
    (lab / "labs" / "__init__.py").write_text(MARK)
    (lab / "labs" / "inner" / "__init__.py").write_text("")
    (lab / "labs" / "inner" / "losses.py").write_text("from labs import inner\nvalue = inner\n")
    source = find("labs.inner.losses:value")
    assert source.file == lab / "labs" / "inner" / "losses.py"
    assert "labs" not in sys.modules and not (lab / "ran").exists()
    assert load(source).__name__ == "labs.inner"
    assert (lab / "ran").exists()


def test_changed_source_is_refused_before_it_runs(lab: Path) -> None:
    before = find("mylab:Weighted").sha256
    (lab / "mylab.py").write_text(MARK)
    with pytest.raises(RunError, match="not imported") as caught:
        load(find("mylab:Weighted"), before)
    assert "Restore" in caught.value.remedy
    assert not (lab / "ran").exists()


def test_what_runs_is_what_was_hashed_even_if_the_file_changes_between(lab: Path) -> None:
    (lab / "mylab.py").write_text("value = 1\n")
    source = find("mylab:value")
    (lab / "mylab.py").write_text("value = 2\n")
    assert load(source, source.sha256) == 1
    assert load(find("mylab:value")) == 2


def test_the_callers_own_import_stays_what_it_is(lab: Path) -> None:
    sys.path.append(str(lab))
    import mylab  # type: ignore[import-not-found]

    load(find("mylab:Weighted"))
    assert sys.modules["mylab"] is mylab


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("mylab:", "not an import path"),
        ("my-lab:Weighted", "not an import path"),
        ("../mylab:Weighted", "not an import path"),
        ("mylub:Weighted", "no module mylub"),
        ("mylab.losses:Weighted", "no module mylab.losses"),
        ("mylab:Weihgted", "has no Weihgted"),
        ("subprocess:run", "not a Python file of yours"),
        ("xml.dom.minidom:parse", "not a Python file of yours"),
        ("sys:exit", "not a Python file of yours"),
    ],
)
def test_what_is_not_there_or_not_yours_is_refused(lab: Path, path: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        load(find(path))


def test_a_module_that_fails_is_named_with_its_error_and_leaves_nothing(lab: Path) -> None:
    (lab / "mylab.py").write_text("1 / 0\n")
    with pytest.raises(UsageError, match=r"mylab.py fails.*ZeroDivisionError"):
        load(find("mylab:Weighted"))
    assert "mylab" not in sys.modules
