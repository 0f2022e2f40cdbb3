"""Lists in sentences: long ones are folded."""

from collections.abc import Iterable

__all__ = ["FOLD", "folded", "listed"]

#: Items that a sentence names; the rest are counted.
FOLD = 8


def folded(items: Iterable[object]) -> list[str]:
    """All items as text, or the first ones and how many more there are.

    >>> folded(range(60))[-2:]
    ['7', '52 more']
    """
    words = [str(item) for item in items]
    more = len(words) - FOLD
    return words if more <= 1 else [*words[:FOLD], f"{more} more"]


def listed(items: Iterable[object]) -> str:
    """`2`, `2 and 7`, `2, 7 and 9`, `0, 1, 2, 3, 4, 5, 6, 7 and 52 more`.

    >>> listed([2, 7, 9])
    '2, 7 and 9'
    """
    words = folded(items)
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
