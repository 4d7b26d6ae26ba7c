"""The service as an application of FastAPI: a page, and a documented JSON API."""

from __future__ import annotations

import mimetypes
import secrets
import time
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from starlette.middleware import Middleware
from starlette.responses import Response

from attain.core.frames import Frame
from attain.methods import Explainer
from attain.service.encoding import json_bytes, key_of
from attain.service.errors import add_handlers
from attain.service.limits import Limits
from attain.service.people import Which
from attain.service.pools import Cache, Pool
from attain.service.questions import Explain, Predict, dumped
from attain.service.security import LOOPBACK, Guard
from attain.service.service import Service, Texts

_QUICK = 8
"""How many threads answer questions that take milliseconds."""


def create_app(
    explainer: Explainer,
    model: Any,
    *,
    target: Any,
    people: Frame | None = None,
    texts: Texts | None = None,
    title: str = "attain",
    token: str | None = None,
    hosts: Collection[str] = LOOPBACK,
    limits: Limits | None = None,
) -> FastAPI:
    """The service of one explainer and one model, as an ASGI application.

    Parameters
    ----------
    explainer
        A fitted explainer.
    model, target
        As in `explain`.
    people
        Those who can be picked on the page: a frame with one row each, whose row labels are their ids.
    texts
        The texts of letters: a file or a dictionary; see `attain.letters.write`. Without them no letters are written.
    title
        The heading of the page.
    token
        What clients must know; `app.state.token` has it. None draws one at random.
    hosts
        The names under which the service may be reached, without ports; others are refused.
    limits
        How much the service takes on.
    """
    limits = Limits() if limits is None else limits
    token = secrets.token_urlsafe(32) if token is None else token
    service = Service(explainer, model, target=target, people=people, texts=texts, title=title, limits=limits)
    page = _page()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        for pool in (app.state.quick, app.state.slow):
            pool.close()

    app = FastAPI(
        title=title,
        version=version("attain"),
        description=__doc__,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        middleware=[
            Middleware(
                Guard,
                token=token,
                hosts=hosts,
                limits=limits,
                public={"/health", *(f"/{name}" for name in page if name != "index.html")},
                uploads={"/jobs"},
            )
        ],
    )
    app.state.token, app.state.service = token, service
    app.state.quick = Pool("attain-quick", _QUICK, 256, limits.seconds)
    app.state.slow = Pool("attain-slow", limits.workers, limits.queue, limits.seconds)
    app.state.cache = Cache(app.state.slow, limits.cache)
    app.state.warm_up = lambda: app.state.slow.submit(service.warm_up)
    add_handlers(app)
    _add_page(app, page)
    _add_questions(app, service)
    return app


def _add_questions(app: FastAPI, service: Service) -> None:
    quick: Pool = app.state.quick
    cache: Cache = app.state.cache

    @app.get("/health")
    async def health() -> Response:
        """Whether the service runs; needs no token."""
        return _json({"status": "ok", "version": version("attain")})

    @app.get("/schema")
    async def schema() -> Response:
        """What there is to ask about."""
        return _json(await quick.run(service.schema))

    @app.get("/people")
    async def people(
        search: Annotated[str, Query(max_length=200)] = "",
        decision: Which = "all",
        offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
    ) -> Response:
        """Some of the people, with what the model decides."""
        return _json(await quick.run(lambda: service.people.page(search, decision, offset, limit)))

    @app.get("/people/{person}")
    async def person(person: str) -> Response:
        """One of the people."""
        return _json(await quick.run(lambda: service.people.entry(person)))

    @app.post("/predict")
    async def predict(question: Predict) -> Response:
        """What the model decides about records, and what is known about them."""
        return _json(await quick.run(lambda: service.predict(question)))

    @app.post("/explain")
    async def explain(question: Explain) -> Response:
        """What would change the decision."""
        return await _kept(cache, "explain", dumped(question), lambda: service.explain(question))


async def _kept(cache: Cache, kind: str, question: Any, work: Callable[[], dict[str, Any]]) -> Response:
    """The answer to a question, from the cache where it was asked before."""
    started = time.perf_counter()
    answer, known = await cache.answer(key_of(kind, question), lambda: json_bytes(work()))
    head = json_bytes({"cached": known, "seconds": round(time.perf_counter() - started, 4)})
    return Response(head[:-1] + b"," + answer[1:], media_type="application/json")


def _json(answer: Any) -> Response:
    return Response(json_bytes(answer), media_type="application/json")


def _page() -> dict[str, tuple[bytes, str]]:
    """The files of the page: content and type, by the path below its folder."""
    return dict(_files(files("attain.service").joinpath("page"), ""))


def _files(folder: Traversable, above: str) -> list[tuple[str, tuple[bytes, str]]]:
    if not folder.is_dir():
        return []
    found: list[tuple[str, tuple[bytes, str]]] = []
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.is_dir():
            found += _files(item, f"{above}{item.name}/")
        elif not item.name.startswith((".", "_")):
            kind = _TYPES.get(item.name.rpartition(".")[2]) or mimetypes.guess_type(item.name)[0]
            found.append((f"{above}{item.name}", (item.read_bytes(), kind or "application/octet-stream")))
    return found


_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "json": "application/json",
}
"""The types of files, which some systems know under other names."""


def _add_page(app: FastAPI, page: dict[str, tuple[bytes, str]]) -> None:
    for name, (content, kind) in page.items():
        path = "/" if name == "index.html" else f"/{name}"
        app.add_api_route(path, _file(content, kind), include_in_schema=False)


def _file(content: bytes, kind: str) -> Callable[[Request], Any]:
    tag = f'"{sha256(content).hexdigest()[:32]}"'

    async def send(request: Request) -> Response:
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=kind, headers=headers)

    return send
