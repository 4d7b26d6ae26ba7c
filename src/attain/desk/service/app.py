"""The service as an application of FastAPI: a page, and a documented JSON API."""

from __future__ import annotations

import asyncio
import json
import secrets
import warnings
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from functools import cache as cache_of
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Query, Request
from fastapi import Path as InPath
from pydantic import BaseModel
from starlette.middleware import Middleware
from starlette.responses import FileResponse, Response

from attain.core.errors import AttainError
from attain.core.frames import Frame
from attain.desk.service import answers, questions
from attain.desk.service.people import Which
from attain.desk.service.review import ReviewDesk
from attain.desk.service.security import LOOPBACK, RequestFilter, ServiceLimits
from attain.desk.service.service import Service, Texts
from attain.desk.service.wording import HttpError, add_handlers, json_bytes, translations
from attain.desk.service.work import Cache, Workers
from attain.methods import Explainer

# FastAPI ignores this warning itself, but only until a thread restores the filters that it found
warnings.filterwarnings("ignore", "The 'alias' attribute with value")

_PAGE = Path(__file__).parent / "page"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
"""The types of files, which some systems know under other names."""
_RECORD = "#/components/schemas/Record"
_QUICK, _QUICK_QUEUE = 4, 256
"""How many threads answer questions that take milliseconds, and how many such questions may wait."""
_DESCRIPTION = """What would have to change to flip a classifier's decision, about one record at a time.

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
    limits: ServiceLimits | None = None,
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
    limits = ServiceLimits() if limits is None else limits
    token = secrets.token_urlsafe(32) if token is None else token
    service = Service(explainer, model, target=target, people=people, texts=texts, title=title, limits=limits)
    quick = Workers("quick", _QUICK, _QUICK_QUEUE, limits.seconds)
    slow = Workers("slow", limits.workers, limits.queue, limits.seconds)
    page = {"/" if path.name == "index.html" else f"/{path.name}": path for path in sorted(_PAGE.iterdir())}

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        for pool in (quick, slow):
            pool.close()

    public = {"/health", *page} - {"/"}
    guard = Middleware(RequestFilter, token=token, hosts=hosts, limits=limits, public=public)
    app = FastAPI(
        title=title,
        version=version("attain"),
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        middleware=[guard],
    )
    app.state.token, app.state.limits = token, limits
    app.state.warm_up = lambda: slow.submit(service.warm_up)
    add_handlers(app)
    for address, path in page.items():
        app.add_route(address, partial(_page_file, path), include_in_schema=False)
    app.openapi = cache_of(partial(_documented, app, service))  # type: ignore[method-assign]
    app.include_router(routes(service, quick, slow))
    return app


async def _page_file(path: Path, request: Request) -> FileResponse:
    return FileResponse(path, media_type=_TYPES[path.suffix])


def _documented(app: FastAPI, service: Service) -> dict[str, Any]:
    """The OpenAPI document, in which a record has the features of this service."""
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
    """The document with references to one definition of a record."""
    if isinstance(part, dict):
        return (
            {"$ref": _RECORD} if part.get(questions.MARK) else {key: _with_records(item) for key, item in part.items()}
        )
    return [_with_records(item) for item in part] if isinstance(part, list) else part


def _cell(feature: dict[str, Any]) -> dict[str, Any]:
    about = ", ".join(filter(None, (feature["label"], feature["unit"], feature["help"])))
    if feature["levels"]:
        return {"enum": [*(level["value"] for level in feature["levels"]), None], "description": about}
    limits = zip(("minimum", "maximum"), feature["bounds"], strict=True)
    number = {"type": "number", **{name: value for name, value in limits if value is not None}}
    codes = [code["value"] for code in feature["special"]]
    return {"anyOf": [number, *([{"enum": codes}] if codes else []), {"type": "null"}], "description": about}


_HTML = "text/html; charset=utf-8"
_REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": answers.ErrorAnswer, "description": description}
    for status, description in {
        401: "The token is missing or wrong.",
        403: "The Host or Origin is foreign.",
        404: "There is no such thing.",
        408: "The rest of the question did not come in time.",
        413: "The question is too large.",
        422: "The question is wrong; the message says how.",
        429: "Too many questions, or one that takes long; see Retry-After.",
    }.items()
}


def routes(service: Service, quick: Workers, slow: Workers) -> APIRouter:
    """All addresses; half of the cache is for what takes milliseconds."""
    router = APIRouter(responses=_REFUSALS)
    _add_quick(router, service, quick)
    _add_searches(router, service, Cache(slow, service.limits.cache // 2))
    _add_review(router, service.review, slow)
    return router


def _add_quick(router: APIRouter, service: Service, quick: Workers) -> None:
    cache = Cache(quick, service.limits.cache // 2)

    @router.get("/health", response_model=dict[str, str])
    async def health() -> Response:
        """Whether the service runs; needs no token."""
        return _json({"status": "ok", "version": version("attain")})

    @router.get("/schema", response_model=answers.SchemaAnswer)
    async def schema() -> Response:
        """What can be asked about: features, rules, classes, methods, limits."""
        return _json(await quick.run(service.schema))

    @router.get("/people", response_model=answers.PeopleAnswer)
    async def people(
        search: Annotated[str, Query(max_length=200, description="Words that the id or the cells contain.")] = "",
        decision: Which = "all",
        offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
    ) -> Response:
        """Some of the people who can be picked, with what the model decides."""
        found = await quick.run(lambda: service.people.page(search, decision, offset, limit))
        return _json(found)

    @router.get("/people/{person}", response_model=answers.PersonAnswer)
    async def person(person: Annotated[str, InPath(max_length=1_000)]) -> Response:
        """One of the people."""
        return _json(await quick.run(lambda: service.people.entry(person)))

    @router.post("/predict", response_model=answers.PredictAnswer)
    async def predict(question: questions.Predict) -> Response:
        """What the model decides about records, and what else is known about them."""
        return _sent(await _answer(cache, service.predict, question))

    @router.post("/evaluate", response_model=answers.EvaluateAnswer)
    async def evaluate(question: questions.Evaluate) -> Response:
        """Compares an edited record with the original one."""
        return _sent(await _answer(cache, service.evaluate, question))


def _add_searches(router: APIRouter, service: Service, cache: Cache) -> None:
    @router.post("/explain", response_model=answers.ExplainAnswer)
    async def explain(question: questions.Explain) -> Response:
        """What would change the decision: the options, with what may change as you say."""
        return _sent(await _answer(cache, service.explain, question))

    @router.post("/compare", response_model=answers.CompareAnswer)
    async def compare(question: questions.Compare) -> Response:
        """The options of several methods; a method that cannot answer says why."""
        wishes = question.model_dump(include=set(questions.Wishes.model_fields))
        for method in question.methods:
            service.others.check(method)

        async def answer(method: str) -> bytes:
            try:
                asked = questions.Explain(**wishes, n=question.n, method=method, details=False)
                found, error = await _answer(cache, service.explain, asked), None
            except (AttainError, HttpError) as failure:
                if isinstance(failure, HttpError) and failure.status != 429:
                    raise
                found, error = b"null", str(failure)
            head = {"method": method, "error": error, "errors": translations(error)}
            return json_bytes(head)[:-1] + b',"answer":' + found + b"}"

        parts = await asyncio.gather(*map(answer, dict.fromkeys(question.methods)))
        return _sent(b'{"methods":[' + b",".join(parts) + b"]}")

    @router.post("/letter", responses=_file("text/html", "A letter, as a page of HTML."))
    async def letter(question: questions.Write) -> Response:
        """A letter to somebody: the decision, the reasons, the options."""
        return _download(await _answer(cache, service.letter, question), "letter.html", _HTML)

    @router.post("/report", responses=_file("text/html", "The report, as a page of HTML."))
    async def report(question: questions.Write) -> Response:
        """The report on somebody's options."""
        return _download(await _answer(cache, service.report, question), "report.html", _HTML)


def _add_review(router: APIRouter, desk: ReviewDesk, slow: Workers) -> None:
    @router.get("/review", response_model=answers.ReviewAnswer)
    async def review() -> Response:
        """The open questions of the review, and the decisions so far."""
        return _json(await slow.run(desk.look))

    @router.post("/review/outlook", response_model=answers.OutlookAnswer)
    async def outlook(question: questions.Outlook) -> Response:
        """The answers that a choice would lead to; nothing is decided."""
        return _json(await slow.run(partial(desk.outlook, question)))

    @router.post("/review/decide", response_model=answers.ReviewAnswer)
    async def decide(question: questions.Decide) -> Response:
        """Decides a question, and searches for answers again."""
        return _json(await slow.run(partial(desk.decide, question)))

    @router.get("/review/schema", responses=_file("application/toml", "The schema with all decisions."))
    async def schema() -> Response:
        """The schema with all decisions, to fit the explainer with."""
        return _download((await slow.run(desk.schema)).encode(), "schema.toml", "application/toml")


async def _answer(cache: Cache, answer: Callable[[Any], Any], question: BaseModel) -> bytes:
    """The answer to a question, from the cache if it was asked before."""

    def work() -> bytes:
        found = answer(question)
        return found if isinstance(found, bytes) else json_bytes(found)

    key = json.dumps([answer.__name__, question.model_dump(mode="json")], sort_keys=True)  # however it was written
    return await cache.answer(key, work)


def _json(answer: Any) -> Response:
    return _sent(json_bytes(answer))


def _sent(body: bytes) -> Response:
    return Response(body, media_type="application/json")


def _file(kind: str, description: str) -> dict[int | str, dict[str, Any]]:
    """The documentation of an answer that is a file."""
    return {200: {"content": {kind: {}}, "description": description}}


def _download(body: bytes, name: str, kind: str) -> Response:
    return Response(body, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})
