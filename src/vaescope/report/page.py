"""A page as plain values. Text is text: the renderer escapes all of it.

A part names its template in `kind`: a new part is a dataclass here and a template beside these.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

__all__ = [
    "Column",
    "Dial",
    "Fact",
    "Figure",
    "Listing",
    "Page",
    "PageLearnt",
    "PageLearntRow",
    "PageStatement",
    "PageTable",
    "Part",
    "Picture",
    "Pictures",
    "Prose",
    "Scattered",
    "Section",
    "Sliders",
    "Value",
]

Value = str | int | float | None


@dataclass(frozen=True)
class Column:
    """What stands above a column, and how its values are shown."""

    label: str
    form: Literal["text", "number", "bar", "type"] = "text"
    digits: int = 3  # after the point
    full: float = 0.0  # what a whole bar stands for, at least


@dataclass(frozen=True)
class PageTable:
    """Rows that can be read and downloaded; the download has all digits."""

    kind: ClassVar[str] = "table"
    name: str  # of the downloaded file
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    sortable: bool = False  # by a click on a heading


@dataclass(frozen=True)
class Figure:
    """A Vega-Lite chart, what it shows in words, and the numbers behind it."""

    kind: ClassVar[str] = "figure"
    caption: str
    alt: str
    spec: Mapping[str, Any]
    table: PageTable


@dataclass(frozen=True)
class Picture:
    """One inlined image. `alt` says what it shows to those who cannot see it."""

    png: bytes
    alt: str
    label: str = ""
    extra: str = ""
    note: str = ""
    type: str = ""  # of the latent, where the picture is about one


@dataclass(frozen=True)
class Pictures:
    """Images below each other, each with a label; side by side, with or without labels; one as wide
    as the page, on white; strips below each other; or a large square."""

    kind: ClassVar[str] = "pictures"
    caption: str
    pictures: tuple[Picture, ...]
    layout: Literal["rows", "tiles", "wide", "strips", "maps", "square"]
    scale: tuple[str, ...] = ()  # marks above rows, from left to right
    table: PageTable | None = None  # numbers behind them


@dataclass(frozen=True)
class Prose:
    """A paragraph; an aside stands back."""

    kind: ClassVar[str] = "prose"
    text: str
    aside: bool = False


@dataclass(frozen=True)
class Listing:
    """Text as it stands in a file."""

    kind: ClassVar[str] = "listing"
    caption: str
    text: str


@dataclass(frozen=True)
class Dial:
    """The slider of one latent."""

    latent: int
    low: float
    high: float
    start: float
    type: str
    extra: str = ""


@dataclass(frozen=True)
class Sliders:
    """A decoder that runs on the page: the image of a code that the reader sets."""

    kind: ClassVar[str] = "sliders"
    caption: str
    alt: str
    dials: tuple[Dial, ...]
    network: Mapping[str, Any]  # what the page's script reads: `report/sliders.py`


@dataclass(frozen=True)
class Scattered:
    """Points that the reader colours and turns to other axes, with a picture of each."""

    kind: ClassVar[str] = "scattered"
    caption: str
    alt: str
    content: Mapping[str, Any]  # what the page's script reads: `report/gallery.py`


Part = Prose | PageTable | Figure | Pictures | Listing | Sliders | Scattered


@dataclass(frozen=True)
class Section:
    """Parts under a heading; one that is not open shows its heading and lead only."""

    id: str
    title: str
    lead: str
    parts: tuple[Part, ...]
    open: bool = True


@dataclass(frozen=True)
class PageStatement:
    """A verdict as it is shown: number first, then the sentence and what to do."""

    tone: Literal["good", "note", "warning"]
    number: str
    says: str
    rule: str
    advice: str
    section: str  # id
    source: str = ""  # a paper by its authors
    url: str = ""
    follow: tuple["PageStatement", ...] = ()  # its consequences


@dataclass(frozen=True)
class Fact:
    """A number at the top of the page, with its spread and its n."""

    label: str
    value: str
    note: str = ""
    type: str = ""


@dataclass(frozen=True)
class PageLearntRow:
    """A group of latents or one of them: its name, what it draws, and how much it carries."""

    name: str
    note: str
    type: str
    strips: tuple[Picture, ...]
    rate: str  # in nats
    full: float  # of the longest bar
    change: str
    known: str


@dataclass(frozen=True)
class PageLearnt:
    """The first screen: what the model learnt, or what models share."""

    says: tuple[str, ...]
    rows: tuple[PageLearntRow, ...]
    folded: tuple[str, ...]  # what has no row
    title: str = "What it learnt"
    heads: tuple[str, str, str, str, str] = (
        "Latents", "Outputs, from low to high", "KL, nats", "Share of change",
        "Share encoded",
    )  # fmt: skip


@dataclass(frozen=True)
class Page:
    """All that one file shows."""

    title: str
    lead: str
    facts: tuple[Fact, ...]
    statements: tuple[PageStatement, ...]
    sections: tuple[Section, ...]
    footer: tuple[str, ...] = ()
    learnt: PageLearnt | None = None

    def has(self, kind: str) -> bool:
        return any(part.kind == kind for section in self.sections for part in section.parts)

    @property
    def has_figures(self) -> bool:
        return self.has("figure")
