"""Waiting for what must come. How soon is never judged: the limit only ends a test that hangs."""

import subprocess
import time
from collections.abc import Callable

#: Seconds after which a wait is given up: far more than any machine needs.
LIMIT = 600.0


def until(what: Callable[[], object], process: subprocess.Popen[bytes] | None = None) -> None:
    """Returns when `what` is true; fails if `process`, which must outlive that, ends before."""
    last = time.monotonic() + LIMIT
    while not what():
        assert process is None or process.poll() is None, "it ended before it could be disturbed"
        assert time.monotonic() < last, f"nothing came in {LIMIT:g} s"
        time.sleep(0.01)
