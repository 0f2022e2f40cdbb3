"""Errors reach the user as they were raised, whichever process raised them."""

import pickle

import pytest

from vaescope import errors
from vaescope.errors import Interrupted, VaescopeError

KINDS = [getattr(errors, name) for name in errors.__all__ if name != "Interrupted"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_survives_the_way_between_processes(kind: type[VaescopeError]) -> None:
    back = pickle.loads(pickle.dumps(kind("Got 3.", "Give 4.")))
    assert type(back) is kind and (back.message, back.remedy) == ("Got 3.", "Give 4.")
    assert str(back) == "Got 3. Give 4."


def test_so_does_the_signal_that_interrupted() -> None:
    back = pickle.loads(pickle.dumps(Interrupted("Stopped.", "Go on.", 15)))
    assert (str(back), back.signal) == ("Stopped. Go on.", 15)
