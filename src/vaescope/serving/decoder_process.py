"""The server's end of the process that holds open models: asked by one thread at a time."""

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from vaescope.errors import RunError
from vaescope.reading import parse_json

__all__ = ["DecoderProcess"]

#: Seconds that a task may take; the first one waits for torch to be imported.
PATIENCE = 120.0


class DecoderProcess:
    """Started when it is needed, and again where it died."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, task: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a task.

        Raises:
            RunError: it cannot be done, with the reason.
        """
        with self._lock:
            try:
                answer = self._asked(json.dumps(task).encode() + b"\n")
            except (OSError, ValueError):
                self._kill()
                raise RunError(
                    "The process that decodes died or took too long.",
                    "Try again; there may be too little memory for the model.",
                ) from None
        if "error" in answer:
            raise RunError(str(answer["error"]), "")
        return answer

    def close(self) -> None:
        with self._lock:
            self._kill()

    def _asked(self, line: bytes) -> dict[str, Any]:
        process = self._process
        if process is None or process.poll() is not None:
            process = self._process = subprocess.Popen(
                [sys.executable, "-m", "vaescope.serving.decoding"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(line)
        process.stdin.flush()
        until, answer = time.monotonic() + PATIENCE, b""
        while not answer.endswith(b"\n"):
            left = until - time.monotonic()
            if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
                raise OSError("it took too long")
            got = os.read(process.stdout.fileno(), 1 << 20)
            if not got:
                raise OSError("it died")
            answer += got
        found: dict[str, Any] = parse_json(answer)
        return found

    def _kill(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.wait(5.0)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
