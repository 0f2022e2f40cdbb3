"""Refusals have at most four lines of a hundred characters, and say what to do; all that was tried
is in `.tried`. The command line names its options."""

import re
import textwrap
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import vaescope as vs
from vaescope.cli.output import as_options
from vaescope.errors import VaescopeError

X = np.random.default_rng(0).random((96, 1, 8, 8), dtype=np.float32)


class Odd(nn.Module):
    """A module that is wrong in one way."""

    def __init__(self, fault: str = "") -> None:
        super().__init__()
        torch.manual_seed(0)
        self.fault = fault
        self.head, self.out = nn.Linear(64, 8), nn.Linear(4, 64)

    def encode(self, x: Any) -> Any:
        whole = self.head(x.flatten(1))
        mean, spread = whole.chunk(2, 1)
        many = "mat1 and mat2 shapes cannot be multiplied (96x64 and 784x400)\nand more " * 9
        if self.fault == "raises":
            raise RuntimeError(many)
        answers = {
            "nan": (mean * np.nan, spread), "text": "hello", "nothing": None,
            "codebook": (whole * 10).long(), "list": [whole, whole, whole],
        }  # fmt: skip
        return answers.get(self.fault, (mean, spread))

    def decode(self, z: Any) -> Any:
        x = self.out(z).reshape(-1, 1, 8, 8).sigmoid()
        if self.fault == "decoder raises":
            raise ValueError("boom " * 80)
        return {"cut": x[:, :, :3], "decoder nan": x * np.nan}.get(self.fault, x)


class Labelled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head, self.out = nn.Linear(74, 8), nn.Linear(14, 64)

    def encode(self, x: Any, y: Any) -> Any:
        return self.head(torch.cat([x.flatten(1), y], 1)).chunk(2, 1)

    def decode(self, z: Any, y: Any) -> Any:
        return self.out(torch.cat([z, y], 1)).sigmoid()


def _inspect(model: Any, data: Any = X, **arguments: Any) -> Callable[[], Any]:
    return lambda: vs.inspect(model, data, effort="latents", **arguments)


FAULTS = ("nan", "text", "nothing", "codebook", "raises", "decoder raises", "cut",
          "decoder nan")  # fmt: skip
REFUSED: dict[str, Callable[[], Any]] = {
    **{fault: _inspect(Odd(fault)) for fault in FAULTS},
    "labels": _inspect(Labelled()), "too few labels": _inspect(Labelled(), condition=np.zeros(3)),
    "layer": _inspect(nn.Linear(64, 8)), "recurrent": _inspect(nn.LSTM(8, 8), X[:, 0]),
    "number": _inspect(3), "no model": _inspect(None), "no folder": _inspect("nowhere"),
    "no data": _inspect(Odd(), None), "no dataset": _inspect(Odd(), "nosuchdata"),
    "nan data": _inspect(Odd(), X * np.nan), "objects": _inspect(Odd(), np.array([object()] * 4)),
    "no rows": _inspect(Odd(), X[:0]), "one row": _inspect(Odd(), X[:1]),
    "other shape": _inspect(Odd(), X[:, :, :5]), "huge data": _inspect(Odd(), X * 1e30),
    "scalar": _inspect(Odd(), 3.0), "dictionary": _inspect(Odd(), {"a": 1}),
    "posterior": _inspect(Odd(), posterior="foo"), "output": _inspect(Odd(), output="foo"),
    "range": _inspect(Odd(), value_range=(1, 0)), "likelihood": _inspect(Odd(), likelihood="foo"),
    "prior": _inspect(Odd(), prior="foo"), "effort": lambda: vs.inspect(Odd(), X, effort="foo"),
    "factors": _inspect(Odd(), factors=np.zeros(3)),
    "raising function": _inspect(None, encode=lambda x: 1 / 0, decode=lambda z: z),
    "one function": _inspect(None, decode=lambda z: z), "preset": lambda: vs.train("nosuch", X),
    "one model": lambda: vs.compare(Odd(), data=X), "no data to compare": lambda: vs.compare(
        Odd(), Odd()), "no data to prune": lambda: vs.prune(Odd()),
}  # fmt: skip


#: Many ways to give labels are tried before they are asked for.
CASES = [pytest.param(n, marks=pytest.mark.slow) if n == "labels" else n for n in REFUSED]


@cache
def refused(name: str) -> VaescopeError:
    with pytest.raises(VaescopeError) as caught:
        REFUSED[name]()
    return caught.value


@pytest.mark.parametrize("name", CASES)
def test_a_refusal_has_at_most_four_lines_and_a_remedy(name: str) -> None:
    error = refused(name)
    lines = [line for part in str(error).splitlines() for line in textwrap.wrap(part, 100)]
    assert len(lines) <= 4, str(error)
    assert len(error.remedy) > 10


def test_what_a_refusal_leaves_out_is_in_tried() -> None:
    error = refused("raises")
    assert len(error.tried) > 1  # type: ignore[attr-defined]


ARGUMENTS = "posterior|output|value_range|likelihood|prior|condition"


@pytest.mark.parametrize("name", CASES)
def test_the_command_line_names_options(name: str) -> None:
    """Functions have none: what encode= and decode= say is only said where they were given."""
    said = as_options(str(refused(name)))
    assert not re.search(rf"\b({ARGUMENTS})=", said)


def test_options_have_their_values_and_the_name_of_the_option() -> None:
    assert as_options("Pass posterior=halves,logvar or value_range=-1,1.") == (
        "Pass --posterior halves,logvar or --value-range -1,1."
    )
    assert as_options("pass prior=.") == "pass --prior."
