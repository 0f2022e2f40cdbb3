"""What is known of a dataset without opening it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Card", "File"]


@dataclass(frozen=True)
class File:
    """One official file, looked for at `<data folder>/<dataset>/<name>`."""

    name: str
    url: str | None = None  # None: it cannot be downloaded, `Card.how` says what to do
    digest: str | None = None  # "sha256:..." or "md5:..."
    size: int | None = None  # bytes
    also: tuple[str, ...] = ()  # digests of other copies known to be good
    instead: tuple["File", ...] = ()  # taken where this one is not there: unpacked, another format


@dataclass(frozen=True)
class Card:
    """Name, shape, factors, and what may be done with the data."""

    name: str
    shape: tuple[int, ...]
    n: int
    licence: str
    citation: str  # a name that `vaescope cite` knows
    factors: Mapping[str, int] = field(default_factory=dict)
    files: tuple[File, ...] = ()
    how: str = ""  # how to get it where no download is possible
    notes: str = ""
    folders: tuple[str, ...] = ()  # other names that its folder may have

    @property
    def rendered(self) -> bool:
        """Whether it is made here and needs no file."""
        return not self.files
