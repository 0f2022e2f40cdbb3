"""What `vaescope serve` listens with; what it answers is tested in tests/serving."""

import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

from vaescope.cli.app import app

uvicorn = pytest.importorskip("uvicorn")


def test_answers_are_sent_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """asyncio turns Nagle's algorithm off only for sockets whose protocol is named; with it on,
    every page took 40 ms more."""
    listeners: list[socket.socket] = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: listeners.extend(sockets))
    found = CliRunner().invoke(app, ["serve", str(tmp_path), "--port", "0"])
    assert found.exit_code == 0, found.output
    (listener,) = listeners
    assert listener.proto == socket.IPPROTO_TCP
    listener.close()
