"""Connections: those that ask nothing are closed, so that nobody keeps the service from answering others."""

from __future__ import annotations

import asyncio
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from attain.service.security import Limits

_BACKLOG = 32
"""How many connections are taken at once, before the first of them is looked at."""
_GRACE = 2
"""Seconds that an answer has when the service is stopped: a model that never returns would keep it for ever."""


def server(app: FastAPI, **config: Any) -> uvicorn.Server:
    """A server for what `create_app` made, to be `run()`; `config` is that of uvicorn, such as `host` and `port`."""
    limits: Limits = app.state.limits
    quiet = {"log_level": "warning", "access_log": False, "server_header": False, "ws": "none"}
    bounded = {
        "http": _impatient(limits.patience, limits.connections),
        "backlog": _BACKLOG,
        "timeout_graceful_shutdown": _GRACE,
    }
    return uvicorn.Server(uvicorn.Config(app, **{**quiet, **bounded, **config}))


def _impatient(seconds: float, most: int) -> type[H11Protocol]:
    """A protocol of HTTP under which at most so many connections have no request under way, each for so long."""
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
