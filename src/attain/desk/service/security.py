"""Access to the service: token, host, origin, rates and limits of requests and connections, and safe headers."""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import time
import traceback
from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any, Final
from urllib.parse import urlsplit

import uvicorn
from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from attain.core.errors import AttainError, check_number
from attain.desk.service.wording import HttpError

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
_BACKLOG = 32
"""How many connections may wait to be accepted."""
_GRACE = 2
"""Seconds to finish answers when the service stops; a model that never returns would keep it forever."""
_CLOSED: Final = """<!doctype html><html lang="en"><meta charset="utf-8"><title>attain</title>
<h1>This page is locked</h1>
<p>Open the address that <code>attain serve</code> printed: it has the key.</p>
<p lang="de">Öffnen Sie die Adresse, die <code>attain serve</code> ausgegeben hat: Sie enthält den Schlüssel.</p>
"""


@dataclass(frozen=True, kw_only=True)
class ServiceLimits:
    """Limits of the service; a request that exceeds one is refused with a sentence.

    Parameters
    ----------
    rows
        The most records of one question to `/predict`.
    body
        The most bytes of a question.
    seconds
        The longest that a client waits for an answer. The work goes on, and its answer is kept for who asks again.
    rate
        The most questions per second, on average.
    burst
        The most questions at once, after a pause.
    workers
        How many questions are worked on at the same time.
    queue
        How many more may wait.
    cache
        The most bytes of answers that are kept.
    connections
        How many connections may be open without a question; those who have waited longest are closed.
    patience
        How many seconds a connection may wait with its next question, or with the next part of one.
    """

    rows: int = 1_000
    body: int = 1_000_000
    seconds: float = 60.0
    rate: float = 50.0
    burst: int = 200
    workers: int = max(2, min(8, os.cpu_count() or 2))
    queue: int = 64
    cache: int = 64_000_000
    connections: int = 100
    patience: float = 10.0

    def __post_init__(self) -> None:
        for item in fields(self):
            check_number(f"limits.{item.name}", getattr(self, item.name), above=0)


class RequestFilter:
    """Middleware that lets through requests with the token, from this origin, within the limits.

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
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: str,
        hosts: Collection[str],
        limits: ServiceLimits,
        public: Collection[str],
    ) -> None:
        if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
            raise AttainError(f"token must have at least {_SHORTEST_TOKEN} printable ASCII characters")
        self._app, self._token, self._limits = app, token.encode(), limits
        self._hosts, self._public = {host.lower() for host in hosts}, public
        self._rate = Rate(limits.rate, limits.burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or refuses it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        if scope["type"] != "http":
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
            answer = self._checked(HTTPConnection(scope))
            if answer is None:
                await self._app(scope, self._limited(receive), send_guarded)
                return
        except HttpError as error:
            answer = error.response()
        except Exception as error:
            _log(error)
            if begun:
                return
            answer = HttpError(500, "The service failed to answer; its log says where.").response()
        await answer(scope, receive, send_guarded)

    def _checked(self, request: HTTPConnection) -> Response | None:
        """An immediate answer, or None if the request may go on."""
        headers, path = request.headers, request.scope["path"]
        host = headers.get("host", "").lower()
        name, colon, port = host.rpartition(":")
        if (name if colon and port.isascii() and port.isdigit() else host) not in self._hosts:
            raise HttpError(403, "This service is not reached under that name; see --allow-host.", "Host")
        if "origin" in headers and _host_of(headers["origin"]) != host:
            raise HttpError(403, "Pages of other origins may not use this service.", "Origin")
        opening = path == "/" and request.scope["method"] in ("GET", "HEAD")
        if headers.get("sec-fetch-site") in ("cross-site", "same-site") and not opening:
            raise HttpError(403, "Pages of other origins may not use this service.", "Sec-Fetch-Site")
        if path in self._public:
            return None
        # browsers send cookies to every port of a machine, so the name of the cookie has the port
        cookie = f"attain_{port.rstrip(']') if colon else 'token'}"
        if opening and self._is_right(request.query_params.get("token", "")):
            return self._signed_in(request, cookie)
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        given = (bearer.strip() if kind.lower() == "bearer" else "", request.cookies.get(cookie, ""))
        if not any(map(self._is_right, given)):
            if opening:
                return HTMLResponse(_CLOSED, 401)
            raise HttpError(401, "Send the token of this service: Authorization: Bearer TOKEN.", "Authorization")
        wait = self._rate.wait()
        if wait > 0:
            raise HttpError(
                429, "That is more questions than this service takes; ask again later.", retry=int(wait) + 1
            )
        length = headers.get("content-length", "")
        if length.isascii() and length.isdigit() and float(length) > self._limits.body:
            raise self._too_large()
        return None

    def _signed_in(self, request: HTTPConnection, cookie: str) -> Response:
        """Moves the token from the address into a cookie."""
        answer = RedirectResponse("/", 303)
        secure = request.scope.get("scheme") == "https"
        answer.set_cookie(cookie, self._token.decode(), httponly=True, samesite="strict", secure=secure)
        return answer

    def _is_right(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token)

    def _too_large(self) -> HttpError:
        return HttpError(413, f"The body is larger than {self._limits.body:,} bytes; send less.")

    def _limited(self, receive: Receive) -> Receive:
        """Receives at most the limit, whatever length was announced, and gives up when a part does not come in time."""
        left, more = self._limits.body, True

        async def receive_limited() -> Message:
            nonlocal left, more
            try:
                message = await asyncio.wait_for(receive(), self._limits.patience if more else None)
            except TimeoutError:
                raise HTTPException(408, "The rest of the question did not come; send it again.") from None
            left, more = left - len(message.get("body", b"")), message.get("more_body", False)
            if left < 0:
                error = self._too_large()
                raise HTTPException(error.status, error.message)
            return message

        return receive_limited


class Rate:
    """A token bucket: at most `rate` requests per second on average, and `burst` at once."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, float(burst)
        self._left, self._then = self._burst, time.monotonic()

    def wait(self) -> float:
        """The seconds until another request may come; 0 if it may come now."""
        now = time.monotonic()
        self._left = min(self._burst, self._left + (now - self._then) * self._rate)
        self._then = now
        if self._left < 1:
            return (1 - self._left) / self._rate
        self._left -= 1
        return 0.0


def _log(error: Exception) -> None:
    """Logs the kind and the place of an error, not its message, which may quote what was sent."""
    places = traceback.extract_tb(error.__traceback__)[-3:]
    where = ", ".join(f"{place.filename}:{place.lineno}" for place in reversed(places))
    logging.getLogger("attain.service").error("%s at %s", type(error).__name__, where)


def _host_of(origin: str) -> str:
    """The host and port of an origin; empty for one that cannot be read, such as `null`."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def server(app: FastAPI, **config: Any) -> uvicorn.Server:
    """A server for what `create_app` made, to be `run()`; `config` is that of uvicorn, such as `host` and `port`."""
    limits: ServiceLimits = app.state.limits
    quiet = {"log_level": "warning", "access_log": False, "server_header": False, "ws": "none"}
    bounded = {
        "http": _impatient(limits.patience, limits.connections),
        "backlog": _BACKLOG,
        "timeout_graceful_shutdown": _GRACE,
    }
    return uvicorn.Server(uvicorn.Config(app, **{**quiet, **bounded, **config}))


def _impatient(seconds: float, most: int) -> type[H11Protocol]:
    """An HTTP protocol that keeps at most `most` idle connections, each for at most `seconds`."""
    waiting: dict[Impatient, asyncio.TimerHandle] = {}  # those who have waited longest come first

    class Impatient(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._look()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._look()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._look()

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget()
            super().connection_lost(exc)

        def _look(self) -> None:
            if self.cycle is not None and not self.cycle.response_complete:
                self._forget()
            elif self not in waiting and not self.transport.is_closing():
                if len(waiting) >= most:
                    oldest = next(iter(waiting))
                    oldest._forget()
                    oldest.transport.abort()
                waiting[self] = self.loop.call_later(seconds, self.transport.close)

        def _forget(self) -> None:
            if self in waiting:
                waiting.pop(self).cancel()

    return Impatient
