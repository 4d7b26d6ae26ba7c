"""The service as an application of FastAPI: a page, and a documented JSON API."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from functools import cache as cache_of
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from starlette.middleware import Middleware
from starlette.responses import FileResponse

from attain.core.frames import Frame
from attain.methods import Explainer
from attain.service.errors import add_handlers
from attain.service.questions import MARK
from attain.service.routes import routes
from attain.service.security import LOOPBACK, Guard, Limits
from attain.service.service import Service, Texts
from attain.service.work import Jobs, Pool

# FastAPI ignores this warning itself, but only until a thread restores the filters that it found
warnings.filterwarnings("ignore", "The 'alias' attribute with value")

_PAGE = Path(__file__).parent / "page"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
"""The types of files, which some systems know under other names."""
_RECORD = "#/components/schemas/Record"
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
    quick = Pool("quick", _QUICK, _QUICK_QUEUE, limits.seconds)
    slow = Pool("slow", limits.workers, limits.queue, limits.seconds)
    jobs = Jobs(limits.jobs)
    page = {"/" if path.name == "index.html" else f"/{path.name}": path for path in sorted(_PAGE.iterdir())}

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        for part in (quick, slow, jobs):
            part.close()

    public = {"/health", *page} - {"/"}
    guard = Middleware(Guard, token=token, hosts=hosts, limits=limits, public=public, uploads={"/jobs"})
    app = FastAPI(
        title=title,
        version=version("attain"),
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        middleware=[guard],
    )
    app.state.token, app.state.jobs, app.state.limits = token, jobs, limits
    app.state.warm_up = lambda: slow.submit(service.warm_up)
    add_handlers(app)
    for address, path in page.items():
        app.add_route(address, partial(_file, path), include_in_schema=False)
    app.openapi = cache_of(partial(_documented, app, service))  # type: ignore[method-assign]
    app.include_router(routes(service, quick, slow, jobs))
    return app


async def _file(path: Path, request: Request) -> FileResponse:
    return FileResponse(path, media_type=_TYPES[path.suffix])


def _documented(app: FastAPI, service: Service) -> dict[str, Any]:
    """The document, in which a record has the features of this service."""
    document = _with_records(FastAPI.openapi(app))
    features = service.schema()["features"]
    document["components"]["schemas"]["Record"] = {
        "type": "object",
        "description": "A cell for each feature; null where it is missing.",
        "properties": {feature["name"]: _cell(feature) for feature in features},
        "required": [feature["name"] for feature in features],
        "additionalProperties": False,
        "example": {feature["name"]: feature["default"] for feature in features},
    }
    document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"token": []}]
    document["paths"]["/health"]["get"]["security"] = []
    return document


def _with_records(part: Any) -> Any:
    """The document with one definition of what a record is."""
    if isinstance(part, dict):
        return {"$ref": _RECORD} if part.get(MARK) else {key: _with_records(item) for key, item in part.items()}
    return [_with_records(item) for item in part] if isinstance(part, list) else part


def _cell(feature: dict[str, Any]) -> dict[str, Any]:
    about = ", ".join(filter(None, (feature["label"], feature["unit"], feature["help"])))
    if feature["levels"]:
        return {"enum": [*(level["value"] for level in feature["levels"]), None], "description": about}
    limits = zip(("minimum", "maximum"), feature["bounds"], strict=True)
    number = {"type": "number", **{name: value for name, value in limits if value is not None}}
    codes = [code["code"] for code in feature["special"]]
    return {"anyOf": [number, *([{"enum": codes}] if codes else []), {"type": "null"}], "description": about}
