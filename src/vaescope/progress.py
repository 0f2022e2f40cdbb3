"""What a long call is doing, on one line of stderr that is taken away at its end."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

__all__ = ["Progress", "is_watched", "told"]

#: Told before each part, by its name.
Progress = Callable[[str], None]


def is_watched(stream: TextIO) -> bool:
    """Whether somebody sees lines as they are drawn: at a terminal, or in a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return stream.isatty() or type(shell).__name__ == "ZMQInteractiveShell"


@contextmanager
def told(
    progress: Progress | bool | None, label: str, *, stream: TextIO | None = None
) -> Iterator[Progress]:
    """A function to tell the parts of `label` to.

    Args:
        progress: a function that gets them; True or False to draw them or not; None to draw them
            where somebody sees it.
        label: what the parts are of.
        stream: where to draw, by default stderr.
    """
    out = sys.stderr if stream is None else stream
    if callable(progress):
        yield progress
        return
    if not (is_watched(out) if progress is None else progress):
        yield lambda _: None
        return
    longest = 0

    def draw(part: str) -> None:
        nonlocal longest
        text = f"{label}: {part}"
        longest = max(longest, len(text))
        out.write(f"\r{text.ljust(longest)}")
        out.flush()

    try:
        yield draw
    finally:
        out.write(f"\r{' ' * longest}\r")
        out.flush()
