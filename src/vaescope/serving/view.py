"""What a reader of the runs page chose: the query of the address, and nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import quote_plus, urlencode

from vaescope.errors import UsageError

__all__ = ["CHOSEN", "FRONTS", "View", "view_of"]

#: Runs that can be chosen.
CHOSEN = 24
FRONTS = ("", "min,min", "min,max", "max,min", "max,max")


@dataclass(frozen=True)
class View:
    """What a reader chose; every field is a part of the address."""

    q: str = ""
    sort: str = ""  # a column; with "-" before it, largest first
    seeds: bool = False  # one row for each run
    open: tuple[str, ...] = ()  # settings whose seeds are shown
    cols: tuple[str, ...] = ()  # columns that were asked for
    page: int = 1
    x: str = ""
    y: str = ""
    front: str = ""  # what is better along x and along y
    sel: tuple[str, ...] = ()  # paths of runs in the basket

    def query(self, **changes: Any) -> str:
        """The address of the same view with some changes; a new filter begins at page one."""
        if changes.keys() & {"q", "sort", "seeds", "cols"}:
            changes = {"page": 1, **changes}
        texts = {**self._texts, **{name: _text(name, value) for name, value in changes.items()}}
        rest = "&".join(text for text in texts.values() if text)
        return f"/?{rest}" if rest else "/"

    @cached_property
    def _texts(self) -> Mapping[str, str]:
        """Each field as a part of the address; a page has hundreds of addresses."""
        return {name: _text(name, getattr(self, name)) for name in _DEFAULTS}

    def toggled(self, field: str, value: str) -> str:
        """The address with `value` put into a list, or taken out of it."""
        values = getattr(self, field)
        if value in values:
            return self.query(**{field: tuple(v for v in values if v != value)})
        before, after = self._around[field]
        return f"{before}{quote_plus(value)}{after}"

    @cached_property
    def _around(self) -> Mapping[str, tuple[str, str]]:
        """What stands in an address around one more value of a list; each row has two of them."""
        found = {}
        for place, field in enumerate(_DEFAULTS, 1):
            texts = [*self._texts.values()]
            before = "".join(f"{text}&" for text in texts[:place] if text)
            after = "".join(f"&{text}" for text in texts[place:] if text)
            found[field] = f"/?{before}{field}=", after
        return found

    def sorted_by(self, column: str) -> str:
        """The address sorted by a column; a second time, the other way round."""
        return self.query(sort=f"-{column}" if self.sort == column else column)


_DEFAULTS: Mapping[str, Any] = {name: getattr(View(), name) for name in View.__dataclass_fields__}


def _text(name: str, value: Any) -> str:
    """A field as a part of the address; empty for what is said by leaving it out."""
    if value == _DEFAULTS[name]:
        return ""
    if isinstance(value, tuple):
        return urlencode([(name, part) for part in value])
    return urlencode({name: int(value) if isinstance(value, bool) else value})


def view_of(pairs: Sequence[tuple[str, str]]) -> View:
    """The view that a query says; what it does not know is left out.

    Raises:
        UsageError: a value is not one that a view can have.
    """
    found: dict[str, Any] = {}
    for name, value in pairs:
        default = _DEFAULTS.get(name)
        if isinstance(default, tuple):
            found[name] = (*found.get(name, ()), value)
        elif isinstance(default, bool):
            found[name] = value == "1"
        elif isinstance(default, int):
            if not (value.isascii() and value.isdecimal() and 1 <= int(value[:9]) <= 10**8):
                raise UsageError(f"There is no page {value[:20]}.", "Give a number of at least 1.")
            found[name] = int(value[:9])
        elif default is not None:
            found[name] = value
    view = View(**found)
    if view.front not in FRONTS:
        raise UsageError(f"front is {view.front[:20]}.", f"Use one of {', '.join(FRONTS[1:])}.")
    if len(view.sel) > CHOSEN:
        raise UsageError(f"{len(view.sel)} runs are chosen.", f"Choose at most {CHOSEN}.")
    return view
