"""Progress is drawn where somebody sees it, on stderr, and nothing is left of it."""

import io
import sys

import numpy as np
import pytest

import vaescope as vs
from vaescope.progress import told


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(progress: object, stream: io.StringIO) -> str:
    with told(progress, "inspect", stream=stream) as tell:  # type: ignore[arg-type]
        tell("a long part")
        tell("codes")
    return stream.getvalue()


def test_parts_are_drawn_over_each_other_and_taken_away() -> None:
    assert drawn(None, Terminal()).split("\r") == [
        "", "inspect: a long part", "inspect: codes      ", " " * 20, "",
    ]  # fmt: skip


def test_nothing_is_drawn_where_nobody_sees_it_or_wants_it() -> None:
    assert drawn(None, io.StringIO()) == ""
    assert drawn(False, Terminal()) == ""
    assert drawn(True, io.StringIO()) != ""


def test_the_line_goes_when_something_fails() -> None:
    stream = Terminal()
    with pytest.raises(ValueError, match="x"), told(None, "inspect", stream=stream) as tell:
        tell("codes")
        raise ValueError("x")
    assert stream.getvalue().endswith("\r")


def test_a_function_gets_the_parts() -> None:
    parts: list[str] = []
    stream = Terminal()
    with told(parts.append, "inspect", stream=stream) as tell:
        tell("codes")
    assert (parts, stream.getvalue()) == (["codes"], "")


def test_an_inspection_tells_its_parts_and_writes_nothing_to_stdout(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    x = np.random.default_rng(0).random((64, 6), dtype=np.float32)
    estimator = vs.VAEEstimator(latent=2, steps=2).fit(x)
    vs.inspect(estimator, x, effort="latents")
    assert capsys.readouterr() == ("", "")
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    vs.inspect(estimator, x, effort="latents")
    vs.compare(estimator, estimator, data=x, images=False)
    assert "inspect: interpreting the model" in stream.getvalue()
    assert "inspect: 1 of 5, codes" in stream.getvalue()
    assert "compare: matching latents" in stream.getvalue()
    assert capsys.readouterr().out == ""
