"""Ctrl-C and SIGTERM as something to look at: what is under way is saved before the end."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["stop_on_signals"]


@contextmanager
def stop_on_signals() -> Iterator[Callable[[], int]]:
    """A function that gives the number of the signal that came, or 0. The second one kills."""
    got: list[int] = []

    def note(number: int, frame: Any) -> None:
        if got:
            sys.exit(128 + number)
        got.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: got[0] if got else 0
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
