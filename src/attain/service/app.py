"""The service as an application of FastAPI: a page, and a documented JSON API."""

from __future__ import annotations

import mimetypes
import secrets
import warnings
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from functools import cache as cache_of
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from fastapi import FastAPI, Request
from starlette.middleware import Middleware
from starlette.responses import Response

from attain.core.frames import Frame
from attain.methods import Explainer
from attain.service.errors import add_handlers
from attain.service.jobs import Jobs
from attain.service.limits import Limits
from attain.service.pools import Pool
from attain.service.questions import MARK
from attain.service.routes import routes
from attain.service.security import LOOPBACK, Guard
from attain.service.service import Service, Texts

_RECORD = "#/components/schemas/Record"


def documented(app: FastAPI, service: Service) -> dict[str, Any]:
    """The document, in which a record has the features of this service."""
    document = _with_records(FastAPI.openapi(app))
    components = document.setdefault("components", {})
    components.setdefault("schemas", {})["Record"] = _record(service)
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"token": []}]
    document["paths"]["/health"]["get"]["security"] = []
    return document


def _with_records(part: Any) -> Any:
    """The document with one definition of what a record is."""
    if isinstance(part, dict):
        return {"$ref": _RECORD} if part.get(MARK) else {key: _with_records(item) for key, item in part.items()}
    return [_with_records(item) for item in part] if isinstance(part, list) else part


def _record(service: Service) -> dict[str, Any]:
    features = service.schema()["features"]
    return {
        "type": "object",
        "description": "A cell for each feature; null where it is missing.",
        "properties": {feature["name"]: _cell(feature) for feature in features},
        "required": [feature["name"] for feature in features],
        "additionalProperties": False,
        "example": {feature["name"]: feature["default"] for feature in features},
    }


def _cell(feature: dict[str, Any]) -> dict[str, Any]:
    about = ", ".join(filter(None, (feature["label"], feature["unit"], feature["help"])))
    if feature["levels"]:
        return {"enum": [*(level["value"] for level in feature["levels"]), None], "description": about}
    low, high = feature["bounds"]
    limits = {"minimum": low, "maximum": high}
    number = {"type": "number", **{name: value for name, value in limits.items() if value is not None}}
    codes = [code["code"] for code in feature["special"]]
    return {"anyOf": [number, *([{"enum": codes}] if codes else []), {"type": "null"}], "description": about}


# FastAPI ignores this warning itself, but only until a thread restores the filters that it found
warnings.filterwarnings("ignore", "The 'alias' attribute with value")

_QUICK, _QUICK_QUEUE = 4, 256
"""How many threads answer questions that take milliseconds, and how many such questions may wait."""
_DESCRIPTION = """What would have to change to flip a classifier's decision, about single records and whole files.

Every address but `/health` needs the token of the service: `Authorization: Bearer TOKEN`, or the cookie of the page.
Errors are `{"error": {"message": "a sentence", "field": "what is wrong" or null}}`. The same question has the same
answer, which is the library's own.
"""


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
    quick = Pool("attain-quick", _QUICK, _QUICK_QUEUE, limits.seconds)
    slow = Pool("attain-slow", limits.workers, limits.queue, limits.seconds)
    jobs, page = Jobs(limits.jobs), _page()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        for part in (quick, slow, jobs):
            part.close()

    app = FastAPI(
        title=title,
        version=version("attain"),
        description=_DESCRIPTION,
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
    app.state.token, app.state.jobs = token, jobs
    app.state.warm_up = lambda: slow.submit(service.warm_up)
    add_handlers(app)
    _add_page(app, page)
    app.openapi = cache_of(partial(documented, app, service))  # type: ignore[method-assign]
    app.include_router(routes(service, quick, slow, jobs))
    return app


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
