"""At which strength each latent of a sweep dies, from how many are in use at each strength."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vaescope.report.page import Column, Figure, PageTable, Section
from vaescope.report.sweep_parts import setting_name, strength_of
from vaescope.tables import Table as Runs
from vaescope.tables import Value

__all__ = ["Death", "collapse_spectrum", "deaths", "spectrum_section"]


@dataclass(frozen=True)
class Death:
    """The latent of one rank in one setting: it is in use up to `last` and no more from `first` on,
    over the seeds; None where the strengths of the sweep do not reach so far."""

    setting: str
    rank: int  # 1 is the latent that dies last
    last: float | None  # the least over seeds
    first: float | None  # the greatest over seeds
    seeds: int


def deaths(strengths: Sequence[float], used: Sequence[float], rank: int) -> tuple[Any, Any]:
    """Of one seed: the last strength with at least `rank` latents in use, and the one after it.

    >>> deaths([1.0, 2.0, 4.0], [3, 2, 2], 3), deaths([1.0, 2.0], [1, 1], 2)
    ((1.0, 2.0), (None, 1.0))
    """
    alive = [place for place, count in enumerate(used) if count >= rank]
    if not alive:
        return None, strengths[0]
    after = alive[-1] + 1
    return strengths[alive[-1]], strengths[after] if after < len(strengths) else None


def collapse_spectrum(runs: Runs) -> list[Death]:
    """All latents that are in use at some strength; empty where no strength varies, or runs did
    not count their latents."""
    strength = strength_of(runs)
    if strength is None or not {"active", "mixed"} <= set(runs.results):
        return []
    at = runs.numbers(strength)
    used = runs.numbers("active") + runs.numbers("mixed")
    others = [name for name in runs.varying() if name not in (strength, "seed")]
    groups: dict[tuple[Value, ...], dict[Value, list[int]]] = {}
    for place in np.flatnonzero(np.isfinite(at) & np.isfinite(used)).tolist():
        key = tuple(runs.settings[name][place] for name in others)
        seed = runs.settings["seed"][place] if "seed" in runs.settings else None
        groups.setdefault(key, {}).setdefault(seed, []).append(place)
    found = []
    for seeds in groups.values():
        series = [sorted(own, key=lambda place: at[place]) for own in seeds.values()]
        series = [own for own in series if len(own) > 1]
        if not series:
            continue
        first_place = series[0][0]
        for rank in range(1, int(max(used[own].max() for own in series)) + 1):
            ends = [deaths(at[own].tolist(), used[own].tolist(), rank) for own in series]
            lows, highs = zip(*ends, strict=True)
            found.append(
                Death(
                    _others_name(runs, first_place, others), rank,
                    None if None in lows else float(min(lows)),
                    None if None in highs else float(max(highs)), len(series),
                )
            )  # fmt: skip
    return found


def _others_name(runs: Runs, place: int, others: list[str]) -> str:
    if not others:
        return "all runs"
    kept = {name: runs.settings[name] for name in ("run", "done", *others) if name in runs.settings}
    return setting_name(Runs(kept, {}), place)


def spectrum_section(runs: Runs) -> Section | None:
    """A part of a sweep's page; None where there is nothing to show."""
    found = collapse_spectrum(runs)
    strength = strength_of(runs)
    if not found or strength is None:
        return None
    name = strength.rpartition(".")[2]
    known = [value for own in found for value in (own.last, own.first) if value is not None]
    least, most = min(known), max(known)
    rows = tuple(
        (
            own.setting, own.rank, own.last, own.first, _words(own, name), own.seeds,
            least if own.last is None else own.last, most if own.first is None else own.first,
        )
        for own in found
    )  # fmt: skip
    logarithmic = least > 0 and most / least > 10
    x = {
        "type": "quantitative", "title": name,
        "scale": {"type": "log"} if logarithmic else {"zero": False},
    }  # fmt: skip
    settings = sorted({own.setting for own in found})
    y: dict[str, Any] = {
        "field": "latent",
        "type": "ordinal",
        "title": "Latent, longest in use first",
    }
    tooltip = {"tooltip": [{"field": key} for key in ("setting", "latent", "dies", "seeds")]}
    spec: dict[str, Any] = {
        "usermeta": {"cell": 640 if len(settings) == 1 else 230, "most": 3},
        "height": {"step": 18},
        "mark": {"type": "bar", "height": 8, "cornerRadius": 3, "color": "var(--accent)"},
        "encoding": {
            "x": {"field": "from", **x}, "x2": {"field": "to"}, "y": y, **tooltip,
        },
    }  # fmt: skip
    if len(settings) > 1:
        header = {"title": None, "labelAnchor": "start"}
        meta = spec.pop("usermeta")
        spec = {
            "usermeta": meta,
            "facet": {"field": "setting", "type": "nominal", "header": header},
            "spec": spec,
        }
    columns = (
        Column("setting"), Column("latent", "number", 0), Column("last", "number", 4),
        Column("first", "number", 4), Column("dies"), Column("seeds", "number", 0),
        Column("from", "number", 4), Column("to", "number", 4),
    )  # fmt: skip
    caption = (
        f"Where each latent becomes passive along {strength}: used up to the bar's left end, "
        "passive from its right end on, over all seeds. Latents are ranked by how long they last."
    )
    alt = f"Ranges of {name} in which {len(found)} latents become passive."
    figure = Figure(caption, alt, spec, PageTable("spectrum", caption, columns, rows))
    return Section(
        "spectrum",
        "Collapse spectrum",
        f"The {name} at which each latent becomes passive.",
        (figure,),
    )


def _words(own: Death, name: str) -> str:
    if own.last is None and own.first is None:
        return "in some seeds only"
    if own.last is None:
        return f"below {name} {own.first:g}"
    if own.first is None:
        return f"above {name} {own.last:g}"
    return f"between {name} {own.last:g} and {own.first:g}"
