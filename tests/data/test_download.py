"""Downloads resume where they broke off, and a wrong file never gets its name."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from vaescope.data.card import Card, File
from vaescope.data.download import get
from vaescope.data.files import locate, place
from vaescope.errors import DataError, DiskError

CONTENT = bytes(range(256)) * 4000  # one megabyte
DIGEST = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"


@dataclass
class Site:
    """What the server serves, how it behaves, and what it was asked."""

    url: str = ""
    content: bytes = CONTENT
    breaks_after: int | None = None
    knows_ranges: bool = True
    ranges: list[str | None] = field(default_factory=list)

    @property
    def etag(self) -> str:
        return f'"{hashlib.md5(self.content).hexdigest()}"'

    def card(self, digest: str | None = DIGEST) -> Card:
        file = File("toys.npz", f"{self.url}/toys.npz", digest)
        return Card("toys", (1, 2, 2), 3, "CC0", "toys", files=(file,))


def handler_of(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers["Range"]
            site.ranges.append(asked)
            if self.path != "/toys.npz":
                self.send_error(404)
                return
            start, total = 0, len(site.content)
            unchanged = self.headers["If-Range"] in (None, site.etag)
            if asked and site.knows_ranges and unchanged:
                start = int(asked.removeprefix("bytes=").removesuffix("-"))
                if start >= total:
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{total}")
                    self.end_headers()
                    return
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{total - 1}/{total}")
            else:
                self.send_response(200)
            self.send_header("Content-Length", str(total - start))
            self.send_header("ETag", site.etag)
            self.end_headers()
            self.wfile.write(site.content[start : site.breaks_after])

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  its own name
            pass

    return Handler


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("no_proxy", "*")
    site = Site()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(site))
    site.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield site
    server.shutdown()
    server.server_close()
    thread.join()


def leftovers(path: Path) -> list[str]:
    return [p.name for p in path.parent.iterdir() if "part" in p.name or p == path]


def test_a_file_is_downloaded_once_with_progress(site: Site) -> None:
    seen: list[tuple[str, int, int | None]] = []

    def progress(name: str, done: int, total: int | None) -> None:
        seen.append((name, done, total))

    card = site.card()
    (path,) = get(card, progress)
    assert path.read_bytes() == CONTENT
    assert path == locate(card, card.files[0])
    done = [bytes_done for _, bytes_done, _ in seen]
    assert done == sorted(done) and len(done) > 2 and done[-1] == len(CONTENT)
    assert {(name, total) for name, _, total in seen} == {("toys.npz", len(CONTENT))}
    assert get(card) == [path]
    assert len(site.ranges) == 1


@pytest.mark.parametrize("digest", [DIGEST, None])
def test_a_broken_download_goes_on_where_it_stopped(site: Site, digest: str | None) -> None:
    card = site.card(digest)
    site.breaks_after = 700_000
    with pytest.raises(DataError, match=r"toys\.npz .*700,000 bytes are kept.*same command again"):
        get(card)
    path = place(card, card.files[0])
    assert not path.exists()
    assert path.with_name("toys.npz.part").read_bytes() == CONTENT[:700_000]
    site.breaks_after = None
    first: list[int] = []
    get(card, lambda name, done, total: first.append(done))
    assert site.ranges == [None, "bytes=700000-"]
    assert first[0] > 700_000
    assert path.read_bytes() == CONTENT
    assert leftovers(path) == ["toys.npz"]


def test_a_server_without_ranges_sends_all_of_it_again(site: Site) -> None:
    site.breaks_after, site.knows_ranges = 700_000, False
    card = site.card()
    with pytest.raises(DataError):
        get(card)
    site.breaks_after = None
    (path,) = get(card)
    assert path.read_bytes() == CONTENT


def test_two_versions_of_a_file_are_not_mixed(site: Site) -> None:
    card = site.card(digest=None)
    site.breaks_after = 700_000
    with pytest.raises(DataError):
        get(card)
    site.breaks_after, site.content = None, CONTENT[::-1]
    (path,) = get(card)
    assert path.read_bytes() == CONTENT[::-1]


def test_a_part_that_was_all_there_only_gets_its_name(site: Site) -> None:
    card = site.card()
    part = place(card, card.files[0]).with_name("toys.npz.part")
    part.parent.mkdir(parents=True)
    part.write_bytes(CONTENT)
    (path,) = get(card)
    assert path.read_bytes() == CONTENT
    assert site.ranges == [f"bytes={len(CONTENT)}-"]


def test_a_part_that_is_too_long_is_fetched_anew(site: Site) -> None:
    card = site.card()
    part = place(card, card.files[0]).with_name("toys.npz.part")
    part.parent.mkdir(parents=True)
    part.write_bytes(CONTENT + b"more")
    (path,) = get(card)
    assert path.read_bytes() == CONTENT


def test_a_wrong_checksum_is_refused_and_the_file_removed(site: Site) -> None:
    site.content = CONTENT[::-1]
    card = site.card()
    with pytest.raises(DataError, match=rf"toys\.npz .* wanted {DIGEST}.*removed"):
        get(card)
    assert leftovers(place(card, card.files[0])) == []


def test_a_bad_file_in_place_is_replaced(site: Site) -> None:
    card = site.card()
    path = place(card, card.files[0])
    path.parent.mkdir(parents=True)
    path.write_bytes(b"half of")
    assert get(card) == [path]
    assert path.read_bytes() == CONTENT


def test_a_stand_in_on_disk_needs_no_download(site: Site) -> None:
    card = site.card()
    card = replace(card, files=(replace(card.files[0], instead=(File("unpacked"),)),))
    (place(card, card.files[0]).parent / "unpacked").mkdir(parents=True)
    assert [path.name for path in get(card)] == ["unpacked"]
    assert site.ranges == []


def test_an_address_that_fails_is_named_with_the_way_around(site: Site) -> None:
    card = site.card()
    file = replace(card.files[0], url=f"{site.url}/gone")
    with pytest.raises(DataError, match=rf"{file.url}.*404") as caught:
        get(replace(card, files=(file,)))
    assert str(place(card, file)) in caught.value.remedy


def test_what_cannot_be_downloaded_says_what_to_put_where() -> None:
    card = Card("toys", (1,), 1, "", "", files=(File("toys.zip"),), how="Ask the authors.")
    with pytest.raises(DataError, match="Ask the authors") as caught:
        get(card)
    assert str(place(card, card.files[0])) in caught.value.remedy


def test_where_the_folder_cannot_be_made_the_variable_that_names_it_is_said(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_the_way = tmp_path / "data"
    in_the_way.write_text("a file")
    monkeypatch.setenv("VAESCOPE_DATA", str(in_the_way))
    with pytest.raises(DiskError) as caught:
        get(site.card())
    assert "VAESCOPE_DATA" in caught.value.remedy
    assert "--out" not in caught.value.remedy  # which `data get` does not have
