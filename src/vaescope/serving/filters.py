"""The filter language of the runs page: `beta>=4 active>2 mig>.3 data=dsprites`.

Conditions stand side by side and must all hold. A name is a column or the end of one; a word alone
is looked for in the names of runs. What is missing meets no condition.
"""

import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from vaescope.errors import UsageError

__all__ = ["FilterCondition", "column_named", "holds", "parse_filter"]

#: Characters of a filter, at most.
LONGEST = 1000
_CONDITION = re.compile(r'([\w.\-]+)\s*(>=|<=|!=|>|<|=)\s*("[^"]*"|[^\s"<>=]+)|("[^"]*"|[^\s"]+)')
_EXAMPLE = "Write conditions such as beta>=4 active>2 data=dsprites, separated by spaces."


@dataclass(frozen=True)
class FilterCondition:
    """`name op value`; without an op, the value is looked for in names."""

    name: str
    op: str
    value: str


def parse_filter(text: str) -> tuple[FilterCondition, ...]:
    """The conditions of a filter.

    >>> [(own.name, own.op, own.value) for own in parse_filter('beta>=4 "my run"')]
    [('beta', '>=', '4'), ('', '', 'my run')]

    Raises:
        UsageError: something in it is not a condition.
    """
    if len(text) > LONGEST:
        raise UsageError(f"A filter has at most {LONGEST} characters.", _EXAMPLE)
    found, end = [], 0
    for match in _CONDITION.finditer(text):
        if text[end : match.start()].strip():
            break
        name, op, value, word = match.groups()
        if word is not None and re.search(r"[<>=]", word) and not word.startswith('"'):
            raise UsageError(f"{word} is not a condition.", _EXAMPLE)
        found.append(FilterCondition(name or "", op or "", (value or word).strip('"')))
        end = match.end()
    if rest := text[end:].strip():
        raise UsageError(f"{rest} is not a condition.", _EXAMPLE)
    return tuple(found)


def column_named(name: str, columns: Collection[str]) -> str:
    """The column that a name means: itself, `name.name`, or the only one that ends in `.name`.

    >>> column_named("data", ["data.name", "data.size"]), column_named("mig", ["mean.mig"])
    ('data.name', 'mean.mig')
    """
    for exact in (name, f"{name}.name"):
        if exact in columns:
            return exact
    ends = sorted(column for column in columns if column.endswith(f".{name}"))
    if len(ends) == 1:
        return ends[0]
    if ends:
        raise UsageError(f"{name} may be {', '.join(ends)}.", "Write the whole name.")
    from difflib import get_close_matches

    shorts = {column.rpartition(".")[2]: column for column in columns}
    near = get_close_matches(name, [*columns, *shorts], n=3)
    remedy = f"Did you mean {', '.join(near)}?" if near else "The page lists all columns."
    raise UsageError(f"No column is called {name}.", remedy)


def holds(condition: FilterCondition, value: Any) -> bool:
    """Whether a value meets a condition: numbers by size, words by their letters.

    >>> holds(FilterCondition("beta", ">=", ".5"), 4.0)
    True
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return False
    wanted = _number(condition.value)
    if isinstance(value, bool):
        value = "yes" if value else "no"
    if isinstance(value, int | float) and wanted is not None:
        a, b = float(value), wanted
        return bool(
            {"=": a == b, "!=": a != b, ">": a > b, ">=": a >= b, "<": a < b, "<=": a <= b}[
                condition.op
            ]
        )
    left, right = str(value).casefold(), condition.value.casefold()
    if condition.op == "=":
        return left == right
    return left != right if condition.op == "!=" else False


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
