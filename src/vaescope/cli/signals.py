"""Ctrl-C and SIGTERM as something to look at: what is under way is saved before the end."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["ended_by_sigterm", "stop_on_signals"]


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


def ended_by_sigterm() -> Callable[[], int]:
    """From here on SIGTERM interrupts as Ctrl-C does, so that a command says how it ends and leaves
    no scratch files; the second one kills. A function that gives its number once it came, or 0."""
    got, owner = list[int](), os.getpid()

    def interrupt(number: int, frame: Any) -> None:
        if got or os.getpid() != owner:  # a forked worker ends as before
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        got.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, interrupt)
    return lambda: got[0] if got else 0
