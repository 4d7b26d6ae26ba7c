"""Who may ask: the token, the host, the origin, how often and how much; and headers that keep pages apart."""

from __future__ import annotations

import hmac
import logging
import threading
import time
import traceback
from collections.abc import Collection
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from attain.core.errors import AttainError
from attain.service.errors import Refused
from attain.service.limits import Limits

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
"""The names of this machine, as browsers write them."""
_SHORTEST_TOKEN: Final = 16
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_CLOSED: Final = """<!doctype html><html lang="en"><meta charset="utf-8"><title>attain</title>
<h1>This page is locked</h1>
<p>Open the address that <code>attain serve</code> printed: it has the key.</p>
<p lang="de">Öffnen Sie die Adresse, die <code>attain serve</code> ausgegeben hat: Sie enthält den Schlüssel.</p>
"""


class Guard:
    """Middleware that lets through what may be asked.

    Parameters
    ----------
    app
        What is guarded.
    token
        What clients must know.
    hosts
        The names under which the service may be reached, without ports.
    limits
        How much is taken on.
    public
        Paths that need no token: they tell nothing about anybody.
    uploads
        Paths whose body may be as large as an uploaded file.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: str,
        hosts: Collection[str],
        limits: Limits,
        public: Collection[str],
        uploads: Collection[str],
    ) -> None:
        if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
            raise AttainError(f"token must have at least {_SHORTEST_TOKEN} printable ASCII characters")
        self._app, self._token, self._limits = app, token.encode(), limits
        self._hosts, self._public, self._uploads = {host.lower() for host in hosts}, public, uploads
        self._rate = Rate(limits.rate, limits.burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or refuses it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        begun = False

        async def send_guarded(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            answer = self._checked(scope)
        except Refused as error:
            answer = error.response()
        if answer is not None:
            await answer(scope, receive, send_guarded)
            return
        try:
            await self._app(scope, self._limited(scope, receive), send_guarded)
        except Exception as error:
            _log(error)
            if not begun:
                await Refused(500, "The service failed to answer; its log says where.").response()(
                    scope, receive, send_guarded
                )

    def _checked(self, scope: Scope) -> Response | None:
        """An answer that needs no more work; None where the request may go on."""
        headers, path = Headers(scope=scope), scope["path"]
        host = headers.get("host", "").lower()
        if _name(host) not in self._hosts:
            raise Refused(403, "This service is not reached under that name; see --allow-host.", "Host")
        origin = headers.get("origin")
        if origin is not None and (urlsplit_host(origin) != host):
            raise Refused(403, "Pages of other origins may not use this service.", "Origin")
        opening = path == "/" and scope["method"] in ("GET", "HEAD")
        if headers.get("sec-fetch-site") in ("cross-site", "same-site") and not opening:
            raise Refused(403, "Pages of other origins may not use this service.", "Sec-Fetch-Site")
        if path in self._public:
            return None
        cookie = f"attain_{host.rpartition(':')[2] if ':' in host else 'token'}".replace("]", "")
        if opening:
            given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
            if given and self._right(given):
                return self._signed_in(scope, cookie)
        if not self._right(_bearer(headers)) and not self._right(_cookie(headers, cookie)):
            if opening:
                return HTMLResponse(_CLOSED, 401)
            raise Refused(401, "Send the token of this service: Authorization: Bearer TOKEN.", "Authorization")
        wait = self._rate.wait()
        if wait > 0:
            raise Refused(429, "That is more questions than this service takes; ask again later.", retry=int(wait) + 1)
        if int_of(headers.get("content-length")) > self._most(path):
            raise self._too_large(path)
        return None

    def _signed_in(self, scope: Scope, cookie: str) -> Response:
        """The token becomes a cookie, and leaves the address."""
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            cookie, self._token.decode(), httponly=True, samesite="strict", secure=scope.get("scheme") == "https"
        )
        return answer

    def _right(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token)

    def _most(self, path: str) -> int:
        return self._limits.upload if path in self._uploads else self._limits.body

    def _too_large(self, path: str) -> Refused:
        return Refused(413, f"The body is larger than {self._most(path):,} bytes; send less.")

    def _limited(self, scope: Scope, receive: Receive) -> Receive:
        """Receives no more than the limit, whatever the length that was announced."""
        left = self._most(scope["path"])

        async def receive_limited() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                error = self._too_large(scope["path"])
                raise HTTPException(error.status, error.message)
            return message

        return receive_limited


class Rate:
    """At most so many per second on average, and so many at once: a bucket of tokens."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, float(burst)
        self._left, self._then = self._burst, time.monotonic()
        self._lock = threading.Lock()

    def wait(self) -> float:
        """0 where one more may come now; otherwise the seconds until one may."""
        with self._lock:
            now = time.monotonic()
            self._left = min(self._burst, self._left + (now - self._then) * self._rate)
            self._then = now
            if self._left < 1:
                return (1 - self._left) / self._rate
            self._left -= 1
            return 0.0


def _log(error: Exception) -> None:
    """Says what failed and where, but nothing that anybody sent: messages may quote it."""
    places = traceback.extract_tb(error.__traceback__)[-3:]
    where = ", ".join(f"{place.filename}:{place.lineno}" for place in reversed(places))
    logging.getLogger("attain.service").error("%s at %s", type(error).__name__, where)


def _name(host: str) -> str:
    """A host without its port."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isascii() and port.isdigit() else host


def urlsplit_host(origin: str) -> str:
    """The host and port of an origin; empty for one that cannot be read, such as `null`."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def int_of(length: str | None) -> int:
    """An announced length; 0 where there is none that can be read."""
    return int(length) if length is not None and length.isascii() and length.isdigit() and len(length) < 20 else 0


def _bearer(headers: Headers) -> str:
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def _cookie(headers: Headers, name: str) -> str:
    cookies = SimpleCookie()
    try:
        cookies.load(headers.get("cookie", ""))
    except CookieError:
        return ""
    return cookies[name].value if name in cookies else ""
