"""The command that resumes a run, or why there is none."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

from vaescope.errors import VaescopeError
from vaescope.runs import Run
from vaescope.settings import experiment, from_command_line, preset
from vaescope.specs import digest, resolve, to_dict

__all__ = ["resume_command"]

_NAME = re.compile(r"(.+)-s\d+-[0-9a-f]{8}")


def resume_command(folder: Path) -> str | None:
    """`vaescope train ...` whose run is this folder: tried, not guessed. None where no command of
    settings makes this run, as with objects of Python."""
    named = _NAME.fullmatch(folder.name)
    if named is None:
        return None
    try:
        spec = Run(folder).open()
        if spec.own:  # checking the command would import the code it names
            return None
        wanted, base = to_dict(resolve(spec)), to_dict(resolve(experiment(preset(named[1]))))
        settings = [f"{name}={_text(value)}" for name, value in _changed(wanted, base)]
        again = from_command_line(named[1], settings)
        if digest(again) != digest(spec):
            return None
    except VaescopeError:
        return None
    return shlex.join(["vaescope", "train", named[1], *settings, "--out", str(folder.parent)])


def _changed(wanted: Any, base: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """Settings that differ; the name of a group first, as it resets the others."""
    found: list[tuple[str, Any]] = []
    for name, value in sorted(wanted.items(), key=lambda item: item[0] != "name"):
        if prefix == "" and name in ("format", "logging"):
            continue
        before = base.get(name) if isinstance(base, dict) else None
        if isinstance(value, dict) and isinstance(before, dict):
            reset = value.get("name") != before.get("name")
            found += _changed(value, {} if reset else before, f"{prefix}{name}.")
        elif value != before:
            found.append((prefix + name, value))
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
