"""Links of the built site: each leads to a page and a place that are there, and nothing is loaded
from elsewhere."""

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: What a browser loads by itself; a link that a reader follows may leave the site.
_LOADED = {
    ("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("link", "href"),
    ("video", "src"), ("audio", "src"), ("object", "data"), ("embed", "src"),
}  # fmt: skip
_IN_CSS = re.compile(r"""(?:url\(|@import\s+)\s*["']?(https?:)?//""")


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[tuple[str, str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        for name in ("id", "name"):
            if values.get(name):
                self.ids.add(str(values[name]))
        for name in ("href", "src", "data"):
            if values.get(name) and (tag, name) != ("link", "data"):
                self.links.append((tag, name, str(values[name])))
        if tag == "link" and values.get("rel") in ("index", "search", "next", "prev", "canonical"):
            self.links.pop()


@cache
def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text("utf-8"))
    return page


def faults(folder: Path) -> list[str]:
    """A sentence for each link that is broken and each load from elsewhere."""
    found = []
    for path in sorted(folder.rglob("*.html")):
        if path.name == "demo.html":  # a report: its own tests see that it loads nothing
            continue
        for tag, name, target in _read(path).links:
            fault = _fault(folder, path, tag, name, target)
            if fault:
                found.append(f"{path.relative_to(folder)}: {fault}")
    for path in sorted(folder.rglob("*.css")):
        if _IN_CSS.search(path.read_text("utf-8")):
            found.append(f"{path.relative_to(folder)} loads from elsewhere")
    return found


def _fault(folder: Path, path: Path, tag: str, name: str, target: str) -> str:
    parts = urlsplit(target)
    if parts.scheme == "data":
        return ""
    if parts.scheme or target.startswith("//"):
        return f"loads {target}" if (tag, name) in _LOADED else ""
    file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if file.is_dir():
        file = file / "index.html"
    if not file.exists() or not file.is_relative_to(folder.resolve()):
        return f"{target} is not there"
    place = unquote(parts.fragment)
    if place and file.suffix == ".html" and place not in _read(file).ids:
        return f"{target}: no such place on that page"
    return ""
