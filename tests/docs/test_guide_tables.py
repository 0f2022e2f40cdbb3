"""Measured tables of the guides are what the committed results say."""

import sys

import pytest
from tests.docs.snippets import DOCS, ROOT

sys.path.append(str(ROOT / "scripts"))
import guide_tables


@pytest.mark.parametrize("name", guide_tables.GUIDES)
def test_the_measured_lines_of_a_page_are_those_of_its_committed_result(name: str) -> None:
    page = (DOCS / f"{name}.md").read_text("utf-8")
    assert guide_tables.written(name, page) == page
    assert {"vaescope", "torch"} <= guide_tables.kept(name).keys()


def test_a_number_changed_by_hand_is_found() -> None:
    page = (DOCS / "prune.md").read_text("utf-8")
    start = page.index("<!-- measured: prune -->")
    place = start + page[start:].index("0.0")
    edited = page[:place] + "1" + page[place + 1 :]
    assert guide_tables.written("prune", edited) == page


def test_every_measured_table_says_how_it_was_made() -> None:
    for name in guide_tables.GUIDES:
        page = (DOCS / f"{name}.md").read_text("utf-8")
        assert f"scripts/guide_tables.py {name}" in page
