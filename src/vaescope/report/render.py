"""A page to one HTML file: no network, everything inlined, everything escaped.

The file's content policy forbids all loading and every script but those whose hash it names, so
that even text that slipped through unescaped could not run.
"""

import base64
import csv
import hashlib
import io
import re
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
from markupsafe import Markup, escape

from vaescope.paths import disk_errors, replace_file
from vaescope.report.page import Column, Figure, Page, PageTable, Picture, Value
from vaescope.runs import strict_json

__all__ = ["asset", "csv_of", "render", "script_json", "write_page"]

_VENDORED = ("vega.min.js", "vega-lite.min.js", "vega-embed.min.js")

MINUS, HOLD = "\N{MINUS SIGN}", "\N{NO-BREAK SPACE}"

#: Rows of a figure's table that are shown; its download has all of them.
SHOWN_ROWS = 1000


@cache
def asset(folder: str, name: str) -> str:
    """The text of a file that comes with the package."""
    return (resources.files("vaescope.report") / folder / name).read_text("utf-8")


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: asset("templates", name)),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        shown=_shown, code=_code, csv=_csv_link, png=_png_link, picture=_picture_link,
        drawing=_drawing, json=script_json,
    )  # fmt: skip
    environment.globals.update(share=_share, shown_rows=SHOWN_ROWS)
    return environment


def script_json(content: Any) -> Markup:
    """JSON that may stand inside a script element: nothing in it can end the element.

    >>> print(script_json("</script>"))
    "\\u003c/script\\u003e"
    """
    text = strict_json(content, separators=(",", ":"))  # ASCII, so U+2028 and U+2029 are escaped
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704, escaped above


def _shown(value: Value, column: Column) -> str:
    if value is None:
        return "\N{EN DASH}"
    if isinstance(value, str) or column.form in ("text", "type"):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    least = 10.0**-column.digits
    if 0.0 < abs(value) < 0.5 * least:  # not zero, but would read as zero
        return f"{'<' if value > 0 else '>' + MINUS}{least:.{column.digits}f}"
    return f"{value:,.{column.digits}f}".replace("-", MINUS)


def _share(table: PageTable, place: int, value: Value) -> str:
    """How much of the longest bar of its column a value is."""
    numbers = [row[place] for row in table.rows]
    longest = max(
        table.columns[place].full, *(float(n) for n in numbers if isinstance(n, int | float)), 0.0
    )
    if longest <= 0.0 or isinstance(value, str | None):
        return "0"
    return f"{max(float(value), 0.0) / longest:.3f}"


def csv_of(table: PageTable) -> str:
    """The table as comma-separated values: seven significant digits, empty where there is none."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([column.label.replace(HOLD, " ") for column in table.columns])
    for row in table.rows:
        writer.writerow([f"{cell:.7g}" if isinstance(cell, float) else cell for cell in row])
    return buffer.getvalue()


def _code(text: str) -> Markup:
    """Escaped text with what stands between backticks as code.

    >>> print(_code("Use `vaescope prune` on <b>."))
    Use <code>vaescope prune</code> on &lt;b&gt;.
    """
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704, escaped


def _csv_link(table: PageTable) -> str:
    return "data:text/csv;charset=utf-8," + quote(csv_of(table), safe=",:;()")


def _png_link(content: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(content).decode("ascii")


def _picture_link(picture: Picture) -> str:
    if picture.png.startswith(b"<svg"):
        return "data:image/svg+xml;base64," + base64.b64encode(picture.png).decode("ascii")
    return _png_link(picture.png)


def _drawing(figure: Figure) -> Markup:
    """What the page's script needs: the chart, and which columns of the download are numbers."""
    words = ("text", "type")
    kinds = {c.label: "string" if c.form in words else "number" for c in figure.table.columns}
    return script_json({"spec": figure.spec, "kinds": kinds})


def _script(text: str) -> Markup:
    # A script that held the end of its own element would be cut there.
    assert "</script" not in text.lower() and "<!--" not in text and "\r" not in text
    return Markup(text)  # noqa: S704, our own files


def _policy(scripts: list[Markup]) -> str:
    hashes = (base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def render(page: Page) -> str:
    """The page as one HTML document; Vega is inlined only where there is a figure to draw."""
    head = _script(asset("templates", "theme.js"))
    body = [_script(asset("vendor", name)) for name in _VENDORED] if page.has_figures else []
    body.append(_script(asset("templates", "report.js")))
    if page.has("sliders"):
        body.append(_script(asset("templates", "sliders.js")))
    if page.has("scattered"):
        body.append(_script(asset("templates", "scattered.js")))
    return (
        _environment()
        .get_template("page.html")
        .render(
            page=page,
            policy=_policy([head, *body]),
            style=Markup(asset("templates", "style.css")),  # noqa: S704, our own file
            head_script=head,
            scripts=body,
            licences=asset("vendor", "NOTICE") if page.has_figures else "",
            titles={section.id: section.title for section in page.sections},
        )
    )


def write_page(page: Page, path: str | Path) -> None:
    """One HTML file that opens from disk, in a folder that is made where there is none."""
    target = Path(path)
    with disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    replace_file(target, render(page).encode())
