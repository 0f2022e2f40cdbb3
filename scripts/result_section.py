"""One section of a page of results, written anew."""

import re
from collections.abc import Sequence
from pathlib import Path

__all__ = ["write_section"]


def write_section(page: Path, heading: str, lines: Sequence[str]) -> None:
    """Puts `lines` below `## heading`, in the place of what was there; at the end where nothing
    was."""
    text = page.read_text() if page.exists() else ""
    section = f"## {heading}\n\n" + "\n".join(lines).strip() + "\n"
    pattern = re.compile(rf"^## {re.escape(heading)}\n.*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)
    if pattern.search(text):
        text = pattern.sub(lambda _: section + "\n", text)
    else:
        text = f"{text.rstrip()}\n\n{section}"
    page.write_text(text.rstrip() + "\n")
