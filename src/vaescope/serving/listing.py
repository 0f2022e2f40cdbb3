"""The rows of the runs page: settings with their seeds folded, filtered and sorted."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np

from vaescope.errors import UsageError
from vaescope.estimates import Estimate
from vaescope.serving.filters import FilterCondition, column_named, holds, parse_filter
from vaescope.serving.index import OF_RUNS, IndexedRun, Snapshot
from vaescope.serving.view import View
from vaescope.statistics import means_of
from vaescope.tables import Value
from vaescope.types import Array

__all__ = ["Grouped", "Listed", "listed", "pareto"]

_SORTED = json.JSONEncoder(sort_keys=True)  # one for each call takes as long as the text
#: Rows on one page, columns that are shown unasked, points of a scatter.
ROWS, SETTINGS, MEASURES, POINTS = 50, 6, 6, 2000
#: Filters and orders whose rows are kept until the runs change.
SELECTIONS = 16
#: Measures that are shown first; `step` and `loss` only where they are asked for.
FIRST, LAST = ("distortion", "rate", "active"), ("step", "loss")


@dataclass(frozen=True)
class Grouped:
    """A setting: its runs, and which of them its means are over."""

    key: str
    settings: Mapping[str, Value]
    entries: tuple[IndexedRun, ...]
    counted: tuple[int, ...]  # places of finished runs, each seed once
    means: Mapping[str, Estimate]

    @property
    def shown(self) -> IndexedRun:
        """The run whose pictures stand for the setting."""
        return next((e for e in self.entries if e.state == "done"), self.entries[0])


@dataclass(frozen=True)
class Listed:
    """One page of the table, and what stands around it."""

    view: View
    columns: tuple[str, ...]  # settings, then measures
    measures: tuple[str, ...]
    groups: tuple[Grouped, ...]
    total: int  # rows on all pages
    runs: int  # that the filter lets through
    pages: int
    available: tuple[str, ...]  # all columns there are
    damaged: tuple[IndexedRun, ...]
    points: tuple[Mapping[str, Any], ...]
    problem: str = ""


class _Columns:
    """The runs of a snapshot column by column; each is made when it is asked for."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        entries = snapshot.entries
        self.setting = np.array([e.setting for e in entries], dtype=np.int64)
        self.done = np.array([e.state == "done" for e in entries], dtype=bool)
        self.seed = np.array([-1 if e.seed is None else e.seed for e in entries], dtype=np.int64)
        self._shapes = np.array([e.measures for e in entries], dtype=np.int64)
        used = set(self._shapes.tolist())
        names = (n for place in sorted(used) for n in snapshot.measures[place])
        self.measures = tuple(dict.fromkeys(names))
        self.settings = tuple(
            dict.fromkeys(n for p in sorted(set(self.setting.tolist()) - {-1})
                          for n in snapshot.settings[p])
        )  # fmt: skip
        self._numbers: dict[int, Array] = {}
        self._made: dict[str, Array] = {}

    def measure(self, name: str) -> Array:
        """One number for each run, NaN where it has none."""
        if name not in self._made:
            column = np.full(len(self._shapes), np.nan)
            for place, names in enumerate(self.snapshot.measures):
                if name in names:
                    rows = np.flatnonzero(self._shapes == place)
                    column[rows] = self._block(place, rows)[:, names.index(name)]
            self._made[name] = column
        return self._made[name]

    def _block(self, place: int, rows: Array) -> Array:
        if place not in self._numbers:
            entries = self.snapshot.entries
            joined = b"".join(entries[row].numbers for row in rows)
            width = len(self.snapshot.measures[place])
            self._numbers[place] = np.frombuffer(joined, dtype=np.float64).reshape(-1, width)
        return self._numbers[place]


def columns_of(snapshot: Snapshot) -> _Columns:
    if "columns" not in snapshot.kept:
        snapshot.kept["columns"] = _Columns(snapshot)
    found: _Columns = snapshot.kept["columns"]
    return found


def listed(
    snapshot: Snapshot,
    view: View,
    stars: frozenset[str] = frozenset(),
    *,
    rows: int | None = ROWS,
) -> Listed:
    """The rows of a view, all where `rows` is None, else those of its page. A filter or sort that
    means nothing is said, and left out."""
    try:
        return _listed(snapshot, view, stars, rows)
    except UsageError as error:
        plain = replace(view, q="", sort="", cols=(), x="", y="")
        return replace(_listed(snapshot, plain, stars, rows), view=view, problem=str(error))


@dataclass(frozen=True, eq=False)
class _Selection:
    """The rows that a filter lets through, in order: the same for all pages of a view."""

    columns: _Columns
    groups: list[tuple[int, list[int]]]  # a setting, or a run, with the places of its runs
    setting: Array  # of each run; its own place where seeds are not folded
    counted: Array
    shown: tuple[str, ...]
    available: tuple[str, ...]
    runs: int
    damaged: tuple[IndexedRun, ...]


def _selected(snapshot: Snapshot, view: View, stars: frozenset[str]) -> _Selection:
    """Kept beside the snapshot: turning a page must not sort ten thousand runs again."""
    kept: dict[Any, _Selection] = snapshot.kept.setdefault("selections", {})
    key = (view.q, view.sort, view.seeds, view.cols, stars)
    found = kept.get(key)
    if found is None:
        found = _select(snapshot, view, stars)
        while len(kept) >= SELECTIONS:
            kept.pop(next(iter(kept)), None)
        kept[key] = found
    return found


def _select(snapshot: Snapshot, view: View, stars: frozenset[str]) -> _Selection:
    columns = columns_of(snapshot)
    available = (*OF_RUNS, *columns.settings, *columns.measures)
    conditions = [
        replace(c, name=column_named(c.name, available)) if c.op else c
        for c in parse_filter(view.q)
    ]
    mask = columns.setting >= 0
    for condition in conditions:
        if condition.name not in columns.measures:
            mask = mask & _meets(condition, columns, stars)
    if view.seeds:
        groups = [(place, [place]) for place in np.flatnonzero(mask).tolist()]
        setting = np.arange(len(mask))
    else:
        groups, setting = _folded(columns.setting, mask), columns.setting
    counted = _counted(columns, mask, setting, distinct=not view.seeds)
    # Of folded seeds the mean is compared: the best seeds alone would make any setting look good.
    for condition in conditions:
        if condition.name in columns.measures:
            means = _means(columns.measure(condition.name), setting, counted)
            groups = [g for g in groups if holds(condition, means.get(g[0]))]
    sort = view.sort.removeprefix("-")
    if sort:
        sort = column_named(sort, available)
        groups = _sorted(groups, sort, columns, setting, counted, stars, view.sort.startswith("-"))
    shown = _shown_columns(view, columns, groups, counted, setting, available)
    if sort and sort not in (*shown, *OF_RUNS):
        shown = (*shown, sort)
    return _Selection(
        columns, groups, setting, counted, shown, available,
        sum(len(places) for _, places in groups),
        tuple(e for e in snapshot.entries if e.setting < 0),
    )  # fmt: skip


def _folded(setting: Array, mask: Array) -> list[tuple[int, list[int]]]:
    """Each setting with the places of its runs, in the order of its first run."""
    found: dict[int, list[int]] = {}
    places = np.flatnonzero(mask)
    for own, place in zip(setting[places].tolist(), places.tolist(), strict=True):
        found.setdefault(own, []).append(place)
    return list(found.items())


def _listed(snapshot: Snapshot, view: View, stars: frozenset[str], rows: int | None) -> Listed:
    chosen = _selected(snapshot, view, stars)
    columns, groups = chosen.columns, chosen.groups
    size = rows or max(len(groups), 1)
    pages = max(1, -(-len(groups) // size))
    first = (min(view.page, pages) - 1) * size
    on_page = [places for _, places in groups[first : first + size]]
    is_counted = np.zeros(len(columns.setting), dtype=bool)
    is_counted[chosen.counted] = True
    counted = [tuple(p for p in places if is_counted[p]) for places in on_page]
    measured = tuple(name for name in chosen.shown if name in columns.measures)
    own_settings = [snapshot.settings[snapshot.entries[p[0]].setting] for p in on_page]
    latents = [n if isinstance(n := s.get("latent"), int) else None for s in own_settings]
    means = {
        name: means_of(name, columns.measure(name), counted, latents=latents) for name in measured
    }

    def grouped(row: int) -> Grouped:
        entries = tuple(snapshot.entries[p] for p in on_page[row])
        own = {name: means[name][row] for name in measured}
        key = _key(snapshot, entries[0].setting)
        return Grouped(key, own_settings[row], entries, counted[row], own)

    return Listed(
        replace(view, page=min(view.page, pages)), chosen.shown, measured,
        tuple(grouped(row) for row in range(len(on_page))), len(groups), chosen.runs, pages,
        chosen.available, chosen.damaged, _points(view, snapshot, chosen),
    )  # fmt: skip


def _key(snapshot: Snapshot, setting: int) -> str:
    """A name of a setting that is the same in every snapshot, for addresses."""
    kept: dict[int, str] = snapshot.kept.setdefault("keys", {})
    if setting not in kept:
        text = _SORTED.encode(dict(snapshot.settings[setting]))
        kept[setting] = sha256(text.encode()).hexdigest()[:10]
    return kept[setting]


def _meets(condition: FilterCondition, columns: _Columns, stars: frozenset[str]) -> Array:
    """Which runs meet a condition on what they are, not on what came of them."""
    snapshot = columns.snapshot
    if condition.op and condition.name in columns.settings:
        by_setting = [holds(condition, s.get(condition.name)) for s in snapshot.settings]
        return np.array([*by_setting, False], dtype=bool)[columns.setting]
    word = condition.value.casefold()

    def meets(entry: IndexedRun) -> bool:
        if not condition.op:
            return word in entry.path.casefold()
        return holds(condition, _of_run(entry, condition.name, stars))

    return np.array([meets(entry) for entry in snapshot.entries], dtype=bool)


def _of_run(entry: IndexedRun, name: str, stars: frozenset[str]) -> Value:
    if name == "star":
        return entry.path in stars
    return {"seed": entry.seed, "state": entry.state, "run": entry.path}[name]


def _counted(columns: _Columns, mask: Array, setting: Array, *, distinct: bool) -> Array:
    """Places of the runs that means are over: finished ones where a setting has any, and each seed
    once, as a copy of a run is no second draw."""
    has_done = np.zeros(int(setting.max(initial=0)) + 2, dtype=bool)
    has_done[setting[mask & columns.done]] = True
    places = np.flatnonzero(mask & (columns.done | ~has_done[setting]))
    if not distinct:
        return places
    pairs = np.stack([setting[places], columns.seed[places]], axis=1)
    _, first = np.unique(pairs, axis=0, return_index=True)
    return np.asarray(places[np.sort(first)])


def _means(values: Array, setting: Array, counted: Array) -> dict[int, float]:
    known = counted[np.isfinite(values[counted])]
    if not len(known):
        return {}
    sums = np.bincount(setting[known], weights=values[known])
    counts = np.bincount(setting[known])
    there = np.flatnonzero(counts)
    return dict(zip(there.tolist(), (sums[there] / counts[there]).tolist(), strict=True))


def _sorted(
    groups: list[tuple[int, list[int]]], name: str, columns: _Columns, setting: Array,
    counted: Array, stars: frozenset[str], downwards: bool,
) -> list[tuple[int, list[int]]]:  # fmt: skip
    """Numbers by size, then words by letter; what is missing comes last either way."""
    snapshot = columns.snapshot
    means = _means(columns.measure(name), setting, counted) if name in columns.measures else {}

    def value(group: tuple[int, list[int]]) -> Value:
        entry = snapshot.entries[group[1][0]]
        if name in columns.measures:
            return means.get(group[0])
        if name in columns.settings:
            return snapshot.settings[entry.setting].get(name)
        return _of_run(entry, name, stars)

    known = [(value(group), group) for group in groups]
    there = [pair for pair in known if pair[0] is not None]
    there.sort(key=lambda pair: _rank(pair[0]), reverse=downwards)
    return [group for _, group in there] + [group for v, group in known if v is None]


def _rank(value: Value) -> tuple[bool, float, str]:
    if isinstance(value, str):
        return True, 0.0, value
    return False, float(value or 0), ""


def _shown_columns(
    view: View, columns: _Columns, groups: list[tuple[int, list[int]]], counted: Array,
    setting: Array, available: tuple[str, ...],
) -> tuple[str, ...]:  # fmt: skip
    """Those asked for; else settings that differ, and measures that do."""
    if view.cols:
        return tuple(dict.fromkeys(column_named(name, available) for name in view.cols))
    snapshot = columns.snapshot
    used = {snapshot.entries[places[0]].setting for _, places in groups}
    several = [snapshot.settings[place] for place in used]
    differing = [n for n in columns.settings if len({s.get(n) for s in several}) > 1]
    differing = [n for n in differing if not _follows(n, several)]
    # Those that most rows have first: the others are of one objective, or of one dataset.
    differing.sort(key=lambda n: -sum(s.get(n) is not None for s in several))
    among = np.zeros(int(setting.max(initial=0)) + 2, dtype=bool)
    among[[group for group, _ in groups]] = True
    kept = counted[among[setting[counted]]]

    def differs(name: str) -> bool:
        values = columns.measure(name)[kept]
        known = values[np.isfinite(values)]
        return known.size > 0 and (len(groups) == 1 or bool(np.ptp(known) > 0))

    order = sorted(
        (n for n in columns.measures if n not in LAST), key=lambda n: (n not in FIRST, "." not in n)
    )
    return (*differing[:SETTINGS], *[name for name in order if differs(name)][:MEASURES])


def _follows(name: str, several: Sequence[Mapping[str, Value]]) -> bool:
    """Whether the name of its part says a setting: `data.size` where each `data.name` has one."""
    part = f"{name.partition('.')[0]}.name"
    if part == name or "." not in name:
        return False
    pairs = {(settings.get(part), settings.get(name)) for settings in several}
    return len(pairs) == len({own for own, _ in pairs})


def _points(view: View, snapshot: Snapshot, chosen: _Selection) -> tuple[Mapping[str, Any], ...]:
    """A point for each row that has both numbers, with the run it selects."""
    if not (view.x and view.y):
        return ()
    columns, groups, setting, counted = (
        chosen.columns, chosen.groups, chosen.setting, chosen.counted
    )  # fmt: skip
    numbers = (*columns.settings, *columns.measures)
    axes = [column_named(name, numbers) for name in (view.x, view.y)]
    means = [
        _means(columns.measure(n), setting, counted) if n in columns.measures else {} for n in axes
    ]
    found: list[dict[str, Any]] = []
    for group, places in groups:
        entries = [snapshot.entries[p] for p in places]
        shown = next((e for e in entries if e.state == "done"), entries[0])
        own = snapshot.settings[shown.setting]
        at = [
            m.get(group) if n in columns.measures else own.get(n)
            for n, m in zip(axes, means, strict=True)
        ]
        if all(isinstance(v, int | float) and np.isfinite(v) for v in at):
            found.append({"x": at[0], "y": at[1], "run": shown.path, "n": len(places)})
    if view.front:
        best = pareto([(p["x"], p["y"]) for p in found], view.front)
        found = [{**p, "front": place in best} for place, p in enumerate(found)]
        found.sort(key=lambda p: not p["front"])
    return tuple(found[:POINTS])


def pareto(points: Sequence[tuple[float, float]], front: str) -> set[int]:
    """Places of the points that no other one beats along both axes.

    >>> sorted(pareto([(0, 2), (1, 1), (2, 2), (2, 0)], "min,min"))
    [0, 1, 3]
    """
    x_sign, y_sign = (-1.0 if side == "max" else 1.0 for side in front.split(","))
    order = sorted(range(len(points)), key=lambda i: (x_sign * points[i][0], y_sign * points[i][1]))
    best, kept, last = float("inf"), set(), None
    for place in order:
        y = y_sign * points[place][1]
        if y < best or points[place] == last:
            best, last = min(best, y), points[place]
            kept.add(place)
    return kept
