"""`vaescope doctor`: what is installed here, what is missing, and how to get it."""

import os
import platform
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

from vaescope.cli.output import JsonOption, result
from vaescope.paths import data_folder, runs_folder

__all__ = ["doctor"]

_REQUIREMENT = re.compile(
    r"""^([\w.-]+)\s*(?:>=([\d.]+))?[^;]*(?:;\s*extra == ["']([\w-]+)["'])?"""
)
#: Extras that are for work on vaescope itself.
_OWN = ("test", "docs", "bench")


def doctor(as_json: JsonOption = False) -> None:
    """Show versions, device, precision, data folders and extras, what is missing and how to install
    it. Exit code 1 if something that vaescope needs is missing or too old.

    Example: vaescope doctor
    """
    import typer

    found = _found()
    result(found, _text(found), as_json=as_json)
    if found["problems"]:
        raise typer.Exit(1)


def _found() -> dict[str, Any]:
    packages: dict[str, str | None] = {}
    extras: dict[str, bool] = {}
    problems: list[dict[str, str]] = []
    for name, least, extra in _requirements():
        there = _version(name)
        old = there is not None and least is not None and _numbers(there) < _numbers(least)
        if extra is None:
            packages[name] = there
            if there is None or old:
                what = (
                    f"{name} is {there or 'missing'}; {least or 'any version'} or newer is needed."
                )
                problems.append({"what": what, "remedy": f"pip install '{name}>={least}'"})
        elif extra not in _OWN:
            extras[extra] = extras.get(extra, True) and there is not None and not old
    device, precision, problem = _device()
    if problem:
        problems.append({"what": problem, "remedy": "Install torch again: see pytorch.org."})
    folders = {"runs": _folder(runs_folder()), "data": _folder(data_folder())}
    for name, own in folders.items():
        if not own["writable"]:
            remedy = f"Set VAESCOPE_{name.upper()} to a folder that can be written."
            problems.append({"what": f"{own['path']} cannot be written.", "remedy": remedy})
    return {
        "vaescope": _version("vaescope"),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "device": device,
        "precision": precision,
        "packages": packages,
        "extras": extras,
        "folders": folders,
        "datasets": _datasets(),
        "problems": problems,
    }


def _requirements() -> Iterator[tuple[str, str | None, str | None]]:
    for line in requires("vaescope") or []:
        match = _REQUIREMENT.match(line)
        if match is not None:
            yield match[1], match[2], match[3]


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text.split("+", maxsplit=1)[0])[:3])


def _device() -> tuple[str | None, str | None, str]:
    """The device that `auto` takes, the arithmetic of large networks on it, and what is wrong."""
    try:
        from vaescope.training.api import choose_device
        from vaescope.training.precision import has_bf16
    except (ImportError, OSError) as error:  # a torch that was built for another machine
        return None, None, f"torch cannot be imported: {error}."
    device = choose_device("auto")
    return str(device), "bf16" if has_bf16(device) else "fp32", ""


def _folder(path: Path) -> dict[str, Any]:
    there = path.absolute()
    while not there.exists():
        there = there.parent
    writable = there.is_dir() and os.access(there, os.W_OK)
    return {"path": str(path), "exists": path.is_dir(), "writable": writable}


def _datasets() -> dict[str, list[str]]:
    try:
        from vaescope.data import CARDS
        from vaescope.data.files import on_disk
    except (ImportError, OSError):
        return {}
    kinds: dict[str, list[str]] = {"made here": [], "on disk": [], "to fetch": []}
    for name, card in CARDS.items():
        kind = "made here" if card.rendered else "on disk" if on_disk(card) else "to fetch"
        kinds[kind].append(name)
    return kinds


def _text(found: dict[str, Any]) -> str:
    packages = ", ".join(f"{name} {own or 'missing'}" for name, own in found["packages"].items())
    there = [name for name, whole in found["extras"].items() if whole]
    missing = [name for name, whole in found["extras"].items() if not whole]
    lines = [
        f"vaescope {found['vaescope']}, Python {found['python']}, {found['platform']}, "
        f"{found['cores']} cores",
        f"Device {found['device']}, precision of large networks {found['precision']}",
        f"Packages: {packages}",
        f"Extras here: {', '.join(there) or 'none'}",
    ]
    if missing:
        lines.append(
            f"Extras not here: {', '.join(missing)}. For one of them: "
            f"{Path(sys.executable).name} -m pip install 'vaescope[{missing[0]}]'"
        )
    for name, own in found["folders"].items():
        made = "" if own["exists"] else " (made when it is needed)"
        lines.append(f"Folder for {name}: {own['path']}{made}; VAESCOPE_{name.upper()} changes it")
    for kind, names in found["datasets"].items():
        if names:
            hint = "; `vaescope data info NAME` says how" if kind == "to fetch" else ""
            lines.append(f"Datasets {kind}: {', '.join(names)}{hint}")
    lines += [f"Problem: {own['what']} {own['remedy']}" for own in found["problems"]]
    if not found["problems"]:
        lines.append("Nothing that vaescope needs is missing.")
    return "\n".join(lines)
