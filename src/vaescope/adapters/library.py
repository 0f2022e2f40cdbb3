"""Which library an object comes from, without importing it."""

from typing import Any

__all__ = ["is_of"]


def is_of(value: Any, library: str) -> bool:
    """Whether a class of the library is among those that the value is of."""
    return any(kind.__module__.partition(".")[0] == library for kind in type(value).__mro__)
