"""Pages as HTML. Text of users goes through templates only, which escape it."""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import quote_plus, urlencode

import jinja2
from markupsafe import Markup, escape
from starlette.responses import JSONResponse

from vaescope import __version__
from vaescope.estimates import Estimate
from vaescope.report.render import MINUS, asset, script_json
from vaescope.runs import strict_json
from vaescope.serving.index import IndexedRun
from vaescope.serving.listing import Grouped
from vaescope.serving.notes import Note
from vaescope.serving.view import View
from vaescope.tables import Value
from vaescope.wording import duration

__all__ = ["STATIC", "StrictJSONResponse", "link", "page", "static"]

#: Files that pages load, with their type; nothing else is sent from the package.
STATIC = {
    "style.css": "text/css",
    "theme.js": "text/javascript",
    "report.js": "text/javascript",
    "serve.js": "text/javascript",
    "bench.js": "text/javascript",
}


@cache
def _own(name: str) -> str:
    return (resources.files("vaescope.serving") / "templates" / name).read_text("utf-8")


@cache
def static(name: str) -> bytes:
    """A file that pages load: the report's own, or the server's."""
    if name == "style.css":
        return (asset("templates", "style.css") + _own("serve.css")).encode()
    if name in ("theme.js", "report.js"):
        return asset("templates", name).encode()
    return _own(name).encode()


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_own), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters.update(number=_number, json=script_json, time=duration)
    environment.globals.update(link=link, row=row, version=__version__)
    return environment


def page(template: str, **content: Any) -> str:
    """A page of the server."""
    text = _environment().get_template(template).render(**content)
    # What runs say may hold halves of characters, which no page can.
    return text.encode("utf-8", "replace").decode()


class StrictJSONResponse(JSONResponse):
    """JSON that any browser reads: null for what is not finite, ASCII for halves of characters."""

    def render(self, content: Any) -> bytes:
        return strict_json(content).encode()


def link(address: str, /, **query: Any) -> str:
    """An address with its query; a list is repeated."""
    return f"{address}?{urlencode(query, doseq=True)}" if query else address


def _number(value: Value) -> str:
    """Four digits; what is missing is a dash."""
    if isinstance(value, float):  # first: most of a page are such
        return "\N{EN DASH}" if value != value else f"{value:.4g}".replace("-", MINUS)  # noqa: PLR0124
    if value is None:
        return "\N{EN DASH}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _estimate(found: Estimate) -> str:
    """A mean and its interval: digits only."""
    if found.interval is None:
        return _number(found.value)
    low, high = found.interval
    return f"{_number(found.value)}<small>{_number(low)} to {_number(high)}</small>"


def row(
    view: View, columns: Sequence[str], group: Grouped, names: Mapping[str, str],
    notes: Mapping[str, Note], running: Collection[str],
) -> Markup:  # fmt: skip
    """A row. Rows are most of a page, and a template takes three times as long."""
    shown = group.shown
    run = {"seed": shown.seed, "state": shown.state, "run": shown.path}
    parts = [_head(view, group, shown, names, notes, running)]
    for name in columns:
        mean = group.means.get(name)
        text = (
            escape(_number(run.get(name, group.settings.get(name))))
            if mean is None
            else _estimate(mean)
        )
        parts.append(f'<td class="number">{text}</td>')
    return Markup("\n".join(parts))  # noqa: S704


def _head(
    view: View, group: Grouped, shown: IndexedRun, names: Mapping[str, str],
    notes: Mapping[str, Note], running: Collection[str],
) -> str:  # fmt: skip
    """The cells before the numbers: basket, name with seeds and state, traversals."""
    count = len(group.entries)
    path, quoted = escape(shown.path), quote_plus(shown.path)
    chosen = shown.path in view.sel
    put = f"Take {path} out of the basket" if chosen else f"Put {path} into the basket"
    name = path if view.seeds or count == 1 else escape(names[group.key])
    note = notes.get(shown.path)
    about = '<span class="star" title="starred">★</span> ' if note and note.star else ""
    if count == 1:
        about += f"seed {escape(_number(shown.seed))} {_state(shown, running)}"
    else:
        about += (
            f'<a class="toggle" data-keep="open-{group.key}" '
            f'href="{escape(view.toggled("open", group.key))}" role="button" '
            f'aria-expanded="{"true" if group.key in view.open else "false"}">'
            f"{len(group.counted)} of {count} runs</a>"
        )
        other = next((entry for entry in group.entries if entry.state != "done"), None)
        about += f" {_state(other, running)}" if other is not None else ""
    strip = (
        f'<img loading="lazy" src="/strip?path={quoted}&amp;v={shown.inode}" '
        f'alt="Traversals of {path}" width="168" height="72">'
        if shown.state == "done"
        else ""
    )
    return (
        f'<td><a class="choose{" chosen" if chosen else ""}" data-keep="choose-{path}" '
        f'href="{escape(view.toggled("sel", shown.path))}" aria-label="{put}">'
        f"{'✓' if chosen else '+'}</a></td>\n"
        f'<th scope="row"><a href="/run?path={quoted}">{name}</a> '
        f'<span class="about">{about}</span></th>\n<td class="strip">{strip}</td>'
    )


def _state(entry: IndexedRun, running: Collection[str]) -> str:
    word = "running" if entry.path in running else escape(entry.state)
    return f'<span class="state {word}">{word}</span>'
