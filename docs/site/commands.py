"""The page of commands, from the command line's own help."""

import contextlib
import io
from pathlib import Path
from typing import Any


def write_page(path: Path) -> None:
    """Every command with its arguments, options and example."""
    from typer.main import get_command

    from vaescope.cli.app import app

    root: Any = get_command(app)
    lines = [
        "# Commands", "",
        "Written from `vaescope COMMAND --help`. Every command takes `--json`: one document on "
        "stdout.",
        "`vaescope --install-completion` sets up completion for bash, zsh, fish or PowerShell.", "",
    ]  # fmt: skip
    for name, command in sorted(root.commands.items()):
        if command.hidden:
            continue
        for words, one in _below(f"vaescope {name}", command):
            lines += [f"## {words}", "", "```text", _help(one, words), "```", ""]
    path.write_text("\n".join(lines), "utf-8")


def _below(words: str, command: Any) -> list[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        return [(words, command)]
    return [(f"{words} {name}", one) for name, one in sorted(inner.items())]


def _help(command: Any, words: str) -> str:
    context = command.make_context(words, ["--help"], resilient_parsing=True)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        text = command.get_help(context)
    return str(text or printed.getvalue()).strip()
