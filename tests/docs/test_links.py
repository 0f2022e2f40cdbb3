"""The check of links finds what it is for, and every page stands in the site's tree."""

import re
import sys
from fnmatch import fnmatch
from pathlib import Path

from tests.docs.snippets import ROOT

sys.path.append(str(ROOT / "docs" / "site"))
import links


def page(folder: Path, body: str, name: str = "index.html") -> None:
    (folder / name).write_text(f"<html><body>{body}</body></html>", "utf-8")


def test_a_page_whose_links_lead_somewhere_has_no_fault(tmp_path: Path) -> None:
    page(tmp_path, '<h1 id="a">A</h1><a href="other.html#b">b</a><a href="https://x.org">x</a>')
    page(tmp_path, '<p id="b"></p><a href="index.html#a">a</a>', "other.html")
    assert links.faults(tmp_path) == []


def test_missing_pages_places_and_loads_from_elsewhere_are_named(tmp_path: Path) -> None:
    page(
        tmp_path,
        '<a href="gone.html">x</a><a href="#nowhere">y</a><img src="https://x.org/a.png">'
        '<script src="//cdn.x.org/a.js"></script>',
    )
    (tmp_path / "a.css").write_text("@import url('https://fonts.x.org/a.css');", "utf-8")
    found = links.faults(tmp_path)
    assert len(found) == 5
    for word in ("gone.html", "#nowhere", "a.png", "a.js", "a.css"):
        assert sum(word in fault for fault in found) == 1, word


def test_every_page_is_in_a_tree_of_the_site() -> None:
    """Sphinx warns about a page that no toctree holds, and `make docs` takes warnings as errors."""
    docs = ROOT / "docs"
    pages = {file.relative_to(docs).with_suffix("").as_posix() for file in docs.rglob("*.md")}
    entries = {
        (file.parent / line).resolve().relative_to(docs).as_posix()
        for file in docs.rglob("*.md")
        for block in re.findall(r"```{toctree}\n(.*?)```", file.read_text("utf-8"), re.DOTALL)
        for line in block.split()
        if not line.startswith(":")
    }
    # docs/site/build.py adds the tree of studies.
    built = {"index", *(page for page in pages if page.startswith("results/studies/"))}
    reached = {page for page in pages for entry in entries if fnmatch(page, entry)}
    assert pages - reached - built == set()
