"""Who may ask: every request passes here before anything else sees it.

A page that somebody lures the reader to can send requests to the loopback address, by a foreign
Origin or by a name of its own that it makes mean 127.0.0.1 (DNS rebinding). Both are refused. Where
others can reach the server, a token is needed as well.
"""

import hmac
import ipaddress
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

__all__ = ["POLICY", "Guard"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

COOKIE = "vaescope"
#: Of pages that the server makes; reports bring their own, which is stricter.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self'; frame-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'self'"
)
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"x-frame-options", b"SAMEORIGIN"),
)
_SAFE = ("GET", "HEAD")
#: Bytes of a request: of an image, and of anything else.
UPLOAD, BODY = 32 * 2**20, 64 * 2**10


class Guard:
    """ASGI middleware. Without a token only names of this machine's loopback are answered."""

    def __init__(self, app: Any, *, host: str, token: str | None) -> None:
        self._app = app
        self._host = host
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no web sockets
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in scope["headers"]
        }
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _answer(send, *refusal)
            return

        most = UPLOAD if scope["path"].startswith("/api/bench/") else BODY
        if int(headers.get("content-length", "0")) > most:
            await _answer(send, 413, f"A request has at most {most:,} bytes.", [])
            return
        await self._limited(scope, receive, send, most)

    async def _limited(self, scope: Scope, receive: Receive, send: Send, most: int) -> None:
        """The application's answer, or 413 where a body is longer than it said."""
        got, started = 0, False

        async def counted() -> MutableMapping[str, Any]:
            nonlocal got
            message = await receive()
            got += len(message.get("body", b""))
            return {"type": "http.disconnect"} if got > most else message

        async def guarded(message: MutableMapping[str, Any]) -> None:
            nonlocal started
            if got > most and not started:
                return
            started = True
            if message["type"] == "http.response.start":
                own = {name.lower() for name, _ in message["headers"]}
                added = [*_HEADERS, (b"content-security-policy", POLICY.encode())]
                message["headers"] = [
                    *message["headers"],
                    *(header for header in added if header[0] not in own),
                ]
            await send(message)

        try:
            await self._app(scope, counted, guarded)
        except Exception:  # what the application says of a body that ends too early
            if got <= most:
                raise
        if got > most and not started:
            await _answer(send, 413, f"A request has at most {most:,} bytes.", [])

    def _refusal(
        self, scope: Scope, headers: dict[str, str]
    ) -> tuple[int, str, list[tuple[bytes, bytes]]] | None:
        """Status, words and headers of an answer that is not the application's."""
        host = headers.get("host", "")
        if not self._is_ours(host):
            return (
                421,
                "This server does not answer to that name. Use the address that it printed.",
                [],
            )
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 18:
            return 400, "The length of the request is not a number.", []
        origin = headers.get("origin")
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            return 403, "Requests from other pages are refused.", []
        if scope["method"] not in _SAFE and origin is None:
            return 403, "A change needs an Origin header, which browsers send.", []
        site, mode = headers.get("sec-fetch-site"), headers.get("sec-fetch-mode")
        if site in ("cross-site", "same-site") and mode != "navigate":
            return 403, "Requests from other pages are refused.", []
        return None if self._token is None else self._without_token(scope, headers)

    def _is_ours(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name == "localhost" or name == self._host.lower():
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        # An address cannot be made to mean another machine; a foreign name can.
        return address.is_loopback or self._token is not None

    def _without_token(
        self, scope: Scope, headers: dict[str, str]
    ) -> tuple[int, str, list[tuple[bytes, bytes]]] | None:
        if self._matches(_cookie(headers.get("cookie", ""))):
            return None
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._matches(bearer):
            return None
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = dict(pairs).get("token", "")
        if scope["method"] in _SAFE and self._matches(given):
            rest = urlencode([pair for pair in pairs if pair[0] != "token"])
            path = scope["path"] if scope["path"].isascii() else "/"
            place = "/" + path.lstrip("/") + (f"?{rest}" if rest else "")
            cookie = f"{COOKIE}={given}; HttpOnly; SameSite=Strict; Path=/"
            return 303, "", [
                (b"location", place.encode("latin-1", "replace")), (b"set-cookie", cookie.encode())
            ]  # fmt: skip
        return 401, "Open the address with the token that `vaescope serve` printed.", []

    def _matches(self, given: str) -> bool:
        assert self._token is not None
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token.encode())


def _cookie(text: str) -> str:
    try:
        found = SimpleCookie(text).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


async def _answer(send: Send, status: int, words: str, more: list[tuple[bytes, bytes]]) -> None:
    body = words.encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"content-security-policy", b"default-src 'none'"), *_HEADERS, *more,
    ]  # fmt: skip
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
