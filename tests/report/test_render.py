"""The report's file: escaped, offline, small, and what it was yesterday."""

import base64
import csv
import hashlib
import io
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vaescope.codes import Codes
from vaescope.errors import DiskError
from vaescope.figures.charts import factors_chart
from vaescope.inspection import Inspection, Settings, Subject, inspect_codes
from vaescope.report import (
    Column,
    Fact,
    Figure,
    Listing,
    Page,
    PageStatement,
    PageTable,
    Picture,
    Pictures,
    Prose,
    Section,
    page_of,
    render,
    save,
)
from vaescope.report.pictures import rows_of
from vaescope.report.render import csv_of, script_json
from vaescope.traversals import Reconstructions, Traversals, traverse

GOLD = Path(__file__).parent / "gold" / "tiny.html"
EVIL = "<script>alert(1)</script>"


class Elements(HTMLParser):
    """All start tags with their attributes, and the text of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside = tag

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside == "script":
            self.scripts.append((self.tags[-1][1], data))


def tiny_page() -> Page:
    columns = (Column("Latent", "number", 0), Column("Type", "type"), Column("KL", "bar", 2))
    table = PageTable(
        "latents", "Two latents.", columns, ((0, "active", 2.5), (1, "passive", 0.001))
    )
    picture = Picture(b"\x89PNG", "Latent 0 moves.", label="0", note="99%", type="active")
    rows = Pictures("Rows.", (picture,), "rows", ("-1", "1"))
    listing = Listing("spec.yaml", "a: 1\n")
    parts = (Prose("A word."), Prose("An aside.", aside=True), table)
    return Page(
        "tiny",
        "A model.",
        (Fact("active", "1", "of 2", "active"), Fact("rate", "2.50", "nats, n = 4")),
        (
            PageStatement("good", "0.5", "It works.", "Good if 1", "Run `it`.", "latents"),
            PageStatement("warning", "2", "It fails.", "none", "Stop.", "gone", "A", "https://a.b/c"),
        ),
        (
            Section("latents", "Latents", "What they do.", parts),
            Section("pictures", "Pictures", "Seen.", (rows,)),
            Section("settings", "Settings", "Made by.", (listing,), open=False),
        ),
        ("Made by a test.",),
    )  # fmt: skip


def with_figure(name: str = "x") -> Page:
    table = PageTable("n", name, (Column("a"), Column("b", "number")), ((name, 1.0), ("y", None)))
    spec = {"mark": "bar", "title": name, "usermeta": {"cell": 100, "most": 1}}
    section = Section("figure", name, name, (Figure(name, name, spec, table),))
    return replace(tiny_page(), sections=(section,))


def inspection(data: str = "sprites") -> Inspection:
    """Hand-made: two latents that copy two factors, one that does nothing."""
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 4, size=(200, 2))
    mean = np.column_stack([classes - 1.5, np.zeros(200)])
    variance = np.tile([0.01, 0.02, 1.0], (200, 1))
    sample = mean + np.sqrt(variance) * rng.standard_normal(mean.shape)
    codes = Codes(mean, variance, sample, factors=classes, factor_names=(EVIL, "size"))
    subject = Subject("run", data, 200, 200, f"A model of {data}.")
    images = rng.random((4, 1, 8, 8))
    moved = traverse(lambda z: z[:, :1, None, None].expand(-1, 1, 8, 8), np.zeros(3))
    return replace(
        inspect_codes(codes, subject),
        traversals=moved,
        reconstructions=Reconstructions(np.arange(4), images, images, (EVIL, "b", "c", "d")),
        settings=Settings({"data": {"name": data}}, {"device": "cpu"}),
    )


def skeleton(text: str) -> str:
    """Without the style sheet, the scripts and their hashes, which have files of their own."""
    text = re.sub(r"<style>.*?</style>", "<style></style>", text, flags=re.S)
    text = re.sub(r"<script>.*?</script>", "<script></script>", text, flags=re.S)
    return re.sub(r"&#39;sha256-[^;]*;", "HASH", text)


def test_a_tiny_page_is_what_it_was() -> None:
    """`VAESCOPE_GOLD=write pytest tests/report` accepts the page as it is now."""
    got = skeleton(render(tiny_page()))
    if os.environ.get("VAESCOPE_GOLD") == "write":
        GOLD.write_text(got, "utf-8")
    assert got == GOLD.read_text("utf-8")


def test_a_page_is_the_same_whenever_it_is_rendered() -> None:
    assert render(with_figure()) == render(with_figure())


def test_names_appear_as_text_wherever_they_stand() -> None:
    plain, named = Elements(render(with_figure())), Elements(render(with_figure(EVIL)))
    assert len(named.scripts) == len(plain.scripts)
    assert EVIL not in "".join(text for _, text in named.scripts)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in render(with_figure(EVIL))


@pytest.mark.slow
def test_a_dataset_named_like_a_script_appears_as_text() -> None:
    text = render(page_of(inspection(EVIL)))
    assert EVIL not in text
    assert "A model of &lt;script&gt;alert(1)&lt;/script&gt;." in text


@pytest.mark.parametrize("text", ["</script>", "<!--", "]]>&amp;", "\u2028\u2029"])
def test_json_in_a_script_element_cannot_end_it(text: str) -> None:
    written = script_json({"name": text})
    assert not set("<>&\u2028\u2029") & set(written)


def test_the_policy_allows_our_own_scripts_and_nothing_else() -> None:
    elements = Elements(render(with_figure()))
    policy = next(a["content"] for tag, a in elements.tags if a.get("http-equiv"))
    assert policy is not None and policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    ours = [text for attributes, text in elements.scripts if "type" not in attributes]
    for script in ours:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert policy.count("sha256-") == len(ours) == 5


@pytest.mark.slow
def test_nothing_is_loaded_from_anywhere() -> None:
    text = render(page_of(inspection()))
    for tag, attributes in Elements(text).tags:
        assert tag not in ("link", "iframe", "object", "embed", "base")
        source = attributes.get("src")
        assert source is None or source.startswith("data:"), source
        target = attributes.get("href")
        assert target is None or tag == "a", (tag, target)
    style = re.search(r"<style>(.*?)</style>", text, flags=re.S)
    assert style is not None and "url(" not in style[1] and "@import" not in style[1]
    assert "sourceMappingURL" not in text


@pytest.mark.slow
def test_a_report_is_small() -> None:
    assert len(render(page_of(inspection())).encode()) < 1_500_000


def test_a_page_without_figures_carries_no_vega() -> None:
    assert len(render(tiny_page())) < 30_000


@pytest.mark.slow
def test_without_images_a_report_has_no_picture_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "report.html"
    save(inspection(), path, images=False)
    text = path.read_text("utf-8")
    assert "data:image" not in text and "It shows no examples of the data." in text
    inspection().save(path)
    text = path.read_text("utf-8")
    assert "data:image/png" in text and "It shows examples of the data" in text


@pytest.mark.slow
def test_a_report_names_no_path_and_no_user(tmp_path: Path) -> None:
    save(inspection(), tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text("utf-8")
    assert str(tmp_path) not in text and str(Path.home()) + "/" not in text


@pytest.mark.slow
def test_a_report_that_cannot_be_written_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DiskError, match="Choose another"):
        save(inspection(), tmp_path / "file" / "report.html")


def test_csv_reads_back_as_the_rows_of_the_table() -> None:
    columns = (Column("name"), Column("value", "number"))
    table = PageTable("t", "T", columns, (('a, "b"\nc', 0.1), ("d", None), ("e", 3)))
    rows = list(csv.reader(io.StringIO(csv_of(table))))
    assert rows == [["name", "value"], ['a, "b"\nc', "0.1"], ["d", ""], ["e", "3"]]


def test_small_numbers_do_not_read_as_zero() -> None:
    table = PageTable(
        "t", "T", (Column("a"), Column("b", "number", 2)), (("x", 1e-5), ("y", -1e-5))
    )
    page = replace(tiny_page(), sections=(Section("s", "S", "", (table,)),))
    assert "&lt;0.01" in render(page) and "&gt;\N{MINUS SIGN}0.01" in render(page)


def test_long_tables_are_cut_but_their_download_is_whole() -> None:
    rows = tuple((str(i), float(i)) for i in range(1500))
    table = PageTable("t", "T", (Column("a"), Column("b", "number", 0)), rows)
    text = render(replace(tiny_page(), sections=(Section("s", "S", "", (table,)),)))
    assert "The first 1000 of 1500 rows" in text
    assert csv_of(table).count("\n") == 1501


@pytest.mark.slow
def test_a_chart_draws_the_numbers_of_its_table() -> None:
    result = inspection()
    assert result.factors is not None
    chart = factors_chart(result.factors, result.latents)
    page = page_of(result)
    figures = [p for s in page.sections for p in s.parts if isinstance(p, Figure)]
    assert [f.table.name for f in figures] == [
        "latents-figure", "factors", "correlations", "prior",
    ]  # fmt: skip
    assert [c.label for c in figures[1].table.columns] == list(chart.columns)


@pytest.mark.slow
def test_many_latents_of_large_noisy_images_still_make_a_report_to_mail() -> None:
    rng = np.random.default_rng(0)
    d = 100
    mean = rng.standard_normal((50, d))
    codes = Codes(mean, np.full((50, d), 0.01), mean)
    noise = rng.random((d, 11, 3, 80, 80), dtype=np.float32)
    moved = Traversals(np.zeros(d), np.linspace(-1, 1, 11), np.full(d, 1 / d), noise)
    shown = Reconstructions(np.arange(12), noise[:12, 0], noise[:12, 1], ("",) * 12)
    base = inspect_codes(codes, Subject("run", "data", 50, 50, ""))
    text = render(page_of(replace(base, traversals=moved, reconstructions=shown)))
    assert len(text.encode()) < 5_000_000
    assert "The 60 latents of largest variance are left out here." in text


@pytest.mark.parametrize(("side", "shown"), [(28, 56), (32, 64), (64, 64), (100, 50), (256, 64)])
def test_pictures_are_whole_multiples_of_their_images(side: int, shown: int) -> None:
    (png,) = rows_of(np.zeros((1, 3, 1, side, side)))
    width, height = Image.open(io.BytesIO(png)).size
    gap = max(1, shown // 20)
    assert (width, height) == (3 * shown + 2 * gap, shown)
