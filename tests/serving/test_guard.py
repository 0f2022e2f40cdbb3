"""What a hostile page, file or stranger tries is refused."""

import io
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient
from tests.serving.conftest import EVIL, HOST, ORIGIN

from vaescope.errors import DataError
from vaescope.serving.app import create_app
from vaescope.serving.confinement import OutsideError, require_inside, require_run
from vaescope.serving.site import Options
from vaescope.serving.uploads import decoded_upload

RUN = "beta-vae-s0-b4"


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8765", "", "192.168.0.9"])
def test_a_foreign_host_is_refused(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("host", [HOST, "localhost:8765", "[::1]:8765"])
def test_names_of_the_loopback_are_answered(client: TestClient, host: str) -> None:
    assert client.get("/api/version", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9999", ""])
def test_a_foreign_origin_is_refused(client: TestClient, origin: str) -> None:
    headers = {"Origin": origin}
    assert client.get("/", headers=headers).status_code == 403
    body = {"path": RUN, "star": True}
    assert client.post("/api/note", json=body, headers=headers).status_code == 403


def test_a_change_without_an_origin_is_refused(client: TestClient) -> None:
    assert client.post("/api/note", json={"path": RUN}).status_code == 403
    assert client.post("/api/cancel", json={"job": ""}).status_code == 403


def test_pictures_for_other_pages_are_refused(client: TestClient) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert client.get(f"/strip?path={RUN}", headers=headers).status_code == 403


@pytest.fixture
def public(folder: Path, tmp_path: Path) -> Iterator[TestClient]:
    app = create_app(Options(folder, host="0.0.0.0", token="s" * 43, cache=tmp_path))
    with TestClient(app, base_url="http://10.0.0.5:8765") as client:
        yield client


def test_without_the_token_nothing_is_shown(public: TestClient) -> None:
    for address in ("/", f"/run?path={RUN}", "/static/serve.js", "/api/version", "/?token=wrong"):
        assert public.get(address).status_code == 401
    bearer = {"Authorization": "Bearer wrong"}
    assert public.get("/", headers=bearer).status_code == 401
    assert public.get("/", headers={"Host": "evil.example"}).status_code == 421


def test_the_token_becomes_a_strict_cookie_and_leaves_the_address(public: TestClient) -> None:
    answer = public.get(f"/run?path={RUN}&token={'s' * 43}", follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"] == f"/run?path={RUN}"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    assert public.get("/").status_code == 200  # with the cookie
    assert "location" not in public.get("//evil.example/?token=x").headers


@pytest.mark.parametrize(
    "path",
    ["../secret", "..", "/etc/passwd", "a/../../secret", "....//secret", "%2e%2e/secret",
     "linked", "linked/x", "x\0y", "x" * 5000, ".", "nothing"],
)  # fmt: skip
def test_paths_stay_inside(tmp_path: Path, client: TestClient, path: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret").mkdir()
    os.symlink(tmp_path / "secret", root / "linked")
    if path != ".":
        with pytest.raises(OutsideError):
            require_inside(root, path)
    for route in ("/run", "/strip", "/report", "/bench", "/made/study", "/study", "/api/live"):
        answer = client.get(f"{route}?path={quote(path)}")
        assert 400 <= answer.status_code < 500, route


def test_a_run_with_a_link_to_elsewhere_is_not_opened(tmp_path: Path) -> None:
    run = tmp_path / "root" / "run"
    run.mkdir(parents=True)
    (tmp_path / "weights").touch()
    os.symlink(tmp_path / "weights", run / "weights.safetensors")
    with pytest.raises(OutsideError, match=r"weights\.safetensors is a link"):
        require_run(tmp_path / "root", "run")


@pytest.mark.slow
def test_a_large_upload_is_refused_before_it_is_read(client: TestClient) -> None:
    def gigabyte() -> Iterator[bytes]:
        for _ in range(1024):
            yield bytes(2**20)

    address = f"/api/bench/encode?path={RUN}"
    said = {**ORIGIN, "Content-Length": str(2**30)}
    assert client.post(address, content=b"", headers=said).status_code == 413
    unsaid = client.post(address, content=gigabyte(), headers=ORIGIN)
    assert 400 <= unsaid.status_code < 500
    endless = {**ORIGIN, "Content-Length": "9" * 5000}
    assert client.post(address, content=b"", headers=endless).status_code == 400
    note = client.post("/api/note", content=b"x" * 70_000, headers=ORIGIN)
    assert note.status_code == 413


def _png(width: int, height: int, data: bytes) -> bytes:
    def chunk(name: bytes, content: bytes) -> bytes:
        whole = name + content
        return struct.pack(">I", len(content)) + whole + struct.pack(">I", zlib.crc32(whole))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", data), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.mark.slow
def test_images_that_are_bombs_or_no_images_are_refused() -> None:
    bomb = _png(60_000, 60_000, zlib.compress(bytes(10**6)))
    with pytest.raises(DataError, match="pixels"):
        decoded_upload(bomb, (1, 8, 8))
    for content in (b"", b"GIF89a", b"<svg xmlns='http://www.w3.org/2000/svg'/>", bytes(1000)):
        with pytest.raises(DataError):
            decoded_upload(content, (1, 8, 8))


def test_an_image_is_fitted_to_the_model() -> None:
    from PIL import Image

    buffer = io.BytesIO()
    image = Image.new("L", (16, 8), 0)
    image.paste(255, (4, 0, 12, 8))  # white in the middle square
    image.save(buffer, "PNG")
    pixels, words = decoded_upload(buffer.getvalue(), (1, 4, 4))
    assert pixels == bytes([255] * 16)
    assert words == "16 x 8 pixels to 4 x 4, the middle of it"


def test_hostile_names_are_only_text(client: TestClient) -> None:
    name = EVIL.replace("/", "_")
    for address in ("/", "/?seeds=1", f"/?q={quote(EVIL)}", f"/run?path={quote(name)}",
                    f"/?sel={quote(EVIL)}", f"/run?path={quote(EVIL)}", "/save"):  # fmt: skip
        text = client.get(address).text
        assert "<img src=x" not in text
        assert "onerror=alert(1)>" not in text.replace("&gt;", "")


def test_pages_allow_no_script_but_the_server_s(client: TestClient) -> None:
    for address in ("/", f"/run?path={RUN}", "/folders", "/nothing"):
        headers = client.get(address).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self';" in policy
        assert headers["x-content-type-options"] == "nosniff"


def test_code_of_a_run_is_not_imported_unless_allowed(tmp_path: Path) -> None:
    from vaescope.errors import RunError
    from vaescope.runs import Run
    from vaescope.serving.worker import require_allowed

    class Own(Run):
        def open(self):  # type: ignore[no-untyped-def]
            class Spec:
                own = True
                data = None

            return Spec

    with pytest.raises(RunError, match="--allow-imports"):
        require_allowed(Own(tmp_path), {"imports": False, "public": False, "root": "/"})
