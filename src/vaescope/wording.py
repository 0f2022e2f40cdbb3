"""Lists, times and formulas in sentences: long lists are folded."""

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["FOLD", "commas", "duration", "listed", "nearest", "unit_scaling"]

#: Items that a sentence names; the rest are counted.
FOLD = 8


def commas(items: Iterable[object]) -> str:
    """`2, 7, 9`; a long list ends as `7 and 52 more`."""
    words = [str(item) for item in items]
    more = len(words) - FOLD
    return ", ".join(words) if more <= 1 else f"{', '.join(words[:FOLD])} and {more} more"


def listed(items: Iterable[object]) -> str:
    """`2`, `2 and 7`, `2, 7 and 9`, `0, 1, 2, 3, 4, 5, 6, 7 and 52 more`.

    >>> listed([2, 7, 9])
    '2, 7 and 9'
    """
    words = [str(item) for item in items]
    if 1 < len(words) <= FOLD + 1:
        return f"{', '.join(words[:-1])} and {words[-1]}"
    return commas(words)


def unit_scaling(low: float, high: float) -> str:
    """The formula that brings values from `low` to `high` into [0, 1].

    >>> unit_scaling(-140.8, 59.2)
    '(x + 140.8) / 200'
    """
    shift = f"x + {-low:g}" if low < 0 else f"x - {low:g}"
    return f"({shift}) / {high - low:g}"


def duration(seconds: float) -> str:
    """
    >>> duration(42), duration(3700)
    ('42 s', '1 h 1 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def nearest(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """What somebody may have meant by a name that is not known; `otherwise` if nothing is near.

    >>> nearest("mgi", ["mig", "sap"])
    'Did you mean mig?'
    """
    near = get_close_matches(name, list(known), n=1)
    return f"Did you mean {near[0]}?" if near else otherwise
