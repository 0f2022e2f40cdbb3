"""A progress bar of plain text, for terminals and notebooks."""

import sys
import time
from collections.abc import Iterator
from typing import TextIO

from vaescope.training.run import Progress

__all__ = ["shown"]

#: Seconds between two drawings.
PAUSE = 0.2
WIDTH = 24


def shown(
    steps: Iterator[Progress], label: str, *, stream: TextIO | None = None
) -> Iterator[Progress]:
    """The steps as they come, drawn on `stream`, by default stderr, over the same line."""
    out = sys.stderr if stream is None else stream
    started = drawn = time.monotonic()
    first, last, what, longest = None, None, "", 0
    try:
        for step in steps:
            first, last = first or step, step
            if step.record is not None:
                kinds = ", ".join(f"{n} {name}" for name, n in step.record.types.items())
                what = f" loss {step.record.loss:.2f}, {kinds}"
            now = time.monotonic()
            if now - drawn >= PAUSE or step.step == step.steps:
                drawn = now
                longest = _draw(out, _line(label, first, step, now - started) + what, longest)
            yield step
    finally:
        if first is not None and last is not None:
            _draw(out, _line(label, first, last, time.monotonic() - started) + what, longest)
            out.write("\n")
            out.flush()


def _line(label: str, first: Progress, step: Progress, seconds: float) -> str:
    full = WIDTH * step.step // step.steps
    speed = (step.step - first.step) / max(seconds, 1e-9)
    bar = "#" * full + "-" * (WIDTH - full)
    return f"{label} [{bar}] {step.step}/{step.steps} {speed:.1f} steps/s"


def _draw(out: TextIO, text: str, longest: int) -> int:
    longest = max(longest, len(text))
    out.write("\r" + text.ljust(longest))
    out.flush()
    return longest
