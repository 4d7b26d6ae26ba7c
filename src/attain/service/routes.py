"""The addresses of the API."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi import Path as InPath
from pydantic import BaseModel
from starlette.responses import Response

from attain.core.errors import AttainError
from attain.results.counterfactuals import Counterfactuals
from attain.service import answers, questions
from attain.service.answers import written_file
from attain.service.errors import Refused, json_bytes
from attain.service.people import Which
from attain.service.review import Desk
from attain.service.service import Service
from attain.service.uploads import Format, Upload
from attain.service.wording import translations
from attain.service.work import ENDED, Cache, Jobs, Pool

_HTML = "text/html; charset=utf-8"
_FORMS: dict[str, tuple[str, str]] = {
    "csv": ("answers.csv", "text/csv; charset=utf-8"),
    "json": ("answers.json", "application/json"),
    "xlsx": ("answers.xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    "report": ("report.html", _HTML),
}
"""The name and the type of each form of result."""
_REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": answers.ErrorAnswer, "description": description}
    for status, description in {
        401: "The token is missing or wrong.",
        403: "The Host or Origin is foreign.",
        404: "There is no such thing.",
        408: "The rest of the question did not come in time.",
        413: "The question or the file is too large.",
        422: "The question is wrong; the message says how.",
        429: "Too many questions, or one that takes long; see Retry-After.",
    }.items()
}
Name = Annotated[str, InPath(max_length=200, description="The id of a job.")]


def routes(service: Service, quick: Pool, slow: Pool, jobs: Jobs) -> APIRouter:
    """All addresses; half of the cache is for what takes milliseconds."""
    router = APIRouter(responses=_REFUSALS)
    _add_quick(router, service, quick)
    _add_searches(router, service, Cache(slow, service.limits.cache // 2))
    _add_review(router, service.review, slow)
    _add_jobs(router, service, slow, jobs)
    return router


def _add_quick(router: APIRouter, service: Service, quick: Pool) -> None:
    cache = Cache(quick, service.limits.cache // 2)

    @router.get("/health", response_model=answers.Health)
    async def health() -> Response:
        """Whether the service runs; needs no token."""
        return _json({"status": "ok", "version": version("attain")})

    @router.get("/schema", response_model=answers.SchemaAnswer)
    async def schema() -> Response:
        """What there is to ask about: features, rules, classes, methods, limits."""
        return _json(await quick.run(service.schema), answers.SchemaAnswer)

    @router.get("/people", response_model=answers.PeopleAnswer)
    async def people(
        search: Annotated[str, Query(max_length=200, description="Words that the id or the cells contain.")] = "",
        decision: Which = "all",
        offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
    ) -> Response:
        """Some of the people who can be picked, with what the model decides."""
        found = await quick.run(lambda: service.people.page(search, decision, offset, limit))
        return _json(found, answers.PeopleAnswer)

    @router.get("/people/{person}", response_model=answers.PersonAnswer)
    async def person(person: Annotated[str, InPath(max_length=1_000)]) -> Response:
        """One of the people."""
        return _json(await quick.run(lambda: service.people.entry(person)), answers.PersonAnswer)

    @router.post("/predict", response_model=answers.PredictAnswer)
    async def predict(question: questions.Predict) -> Response:
        """What the model decides about records, and what else is known about them."""
        return _sent((await _answer(cache, service.predict, question, answers.PredictAnswer))[0])

    @router.post("/evaluate", response_model=answers.EvaluateAnswer)
    async def evaluate(question: questions.Evaluate) -> Response:
        """An edited record beside the original one."""
        return _sent((await _answer(cache, service.evaluate, question, answers.EvaluateAnswer))[0])


def _add_searches(router: APIRouter, service: Service, cache: Cache) -> None:
    async def explained(question: questions.Explain) -> bytes:
        answer, known = await _answer(cache, service.explain, question)
        return answer.replace(b'{"cached":false', b'{"cached":true', 1) if known else answer

    @router.post("/explain", response_model=answers.ExplainAnswer)
    async def explain(question: questions.Explain) -> Response:
        """What would change the decision: the options, with what may change as you say."""
        return _sent(await explained(question))

    @router.post("/compare", response_model=answers.CompareAnswer)
    async def compare(question: questions.Compare) -> Response:
        """The options of several methods; a method that cannot answer says why."""
        wishes = question.model_dump(include=set(questions.Wishes.model_fields))
        for method in question.methods:
            service.others.check(method)

        async def answer(method: str) -> bytes:
            try:
                found = await explained(questions.Explain(**wishes, n=question.n, method=method, details=False))
                error, errors = None, translations(None)
            except (AttainError, Refused) as failure:
                if isinstance(failure, Refused) and failure.status != 429:
                    raise
                found, error, errors = b"null", str(failure), translations(str(failure))
            return json_bytes({"method": method, "error": error, "errors": errors})[:-1] + b',"answer":' + found + b"}"

        parts = await asyncio.gather(*map(answer, dict.fromkeys(question.methods)))
        return _sent(b'{"methods":[' + b",".join(parts) + b"]}")

    @router.post("/map", response_model=answers.MapAnswer)
    async def people_map(question: questions.Map) -> Response:
        """Where somebody and their options are among real people."""
        return _sent((await _answer(cache, service.map, question))[0])

    @router.post("/letter", responses=_file("text/html", "A letter, as a page of HTML."))
    async def letter(question: questions.Write) -> Response:
        """A letter to somebody: the decision, the reasons, the options."""
        return _download((await _answer(cache, service.letter, question))[0], "letter.html", _HTML)

    @router.post("/report", responses=_file("text/html", "The report, as a page of HTML."))
    async def report(question: questions.Write) -> Response:
        """The report on somebody's options."""
        return _download((await _answer(cache, service.report, question))[0], "report.html", _HTML)


def _add_review(router: APIRouter, desk: Desk, slow: Pool) -> None:
    @router.get("/review", response_model=answers.ReviewAnswer)
    async def review() -> Response:
        """What the answers rest on, and what somebody has to decide about it."""
        return _json(await slow.run(desk.look), answers.ReviewAnswer)

    @router.post("/review/outlook", response_model=answers.OutlookAnswer)
    async def outlook(question: questions.Outlook) -> Response:
        """What a choice would do to the answers; nothing is decided."""
        return _json(await slow.run(partial(desk.outlook, question)), answers.OutlookAnswer)

    @router.post("/review/decide", response_model=answers.ReviewAnswer)
    async def decide(question: questions.Decide) -> Response:
        """Takes a decision; the answers are found again."""
        return _json(await slow.run(partial(desk.decide, question)), answers.ReviewAnswer)

    @router.get("/review/schema", responses=_file("application/toml", "The schema with all decisions."))
    async def schema() -> Response:
        """The schema with who decided what and when, to fit the explainer with."""
        return _download((await slow.run(desk.schema)).encode(), "schema.toml", "application/toml")


def _add_jobs(router: APIRouter, service: Service, slow: Pool, jobs: Jobs) -> None:
    body = {"requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {"type": "string"}}}}}
    limits = service.limits

    @router.post("/jobs", status_code=202, openapi_extra=body, response_model=answers.JobStarted)
    async def start(
        request: Request,
        format: Format,
        n: Annotated[int, Query(ge=1, le=questions.MOST_OPTIONS, description="How many options for each person.")] = 1,
        index: Annotated[str | None, Query(max_length=200, description="The column with the ids of people.")] = None,
        separator: Annotated[str | None, Query(max_length=10, description="Of CSV files; a comma by default.")] = None,
    ) -> Response:
        """Uploads a file with one row per person, as the body, and starts to answer it."""
        job = jobs.add()
        path = jobs.path(job, format)
        try:
            with open(path, "wb") as file:
                async for chunk in request.stream():
                    file.write(chunk)
            limited = limits.people, limits.memory, limits.seconds
            upload = Upload(path, format, service.explainer.schema_, index, separator, *limited)
            jobs.start(job, path, upload.read, lambda people: service.explain_people(people, n))
        except BaseException:
            jobs.forget(job)
            os.unlink(path)
            raise
        return Response(json_bytes({"id": job.id}), 202, media_type="application/json")

    @router.get("/jobs/{name}", response_model=answers.JobAnswer)
    async def look(name: Name) -> Response:
        """How far a job is."""
        return _json(jobs.find(name), answers.JobAnswer)

    @router.delete("/jobs/{name}", response_model=answers.JobAnswer)
    async def cancel(name: Name) -> Response:
        """Cancels a job: the answers found until then are its result. A job that has ended is forgotten."""
        return _json(jobs.cancel(name), answers.JobAnswer)

    @router.get("/jobs/{name}/result", responses=_file("application/octet-stream", "The result."))
    async def result(name: Name, format: Literal["csv", "json", "xlsx", "report"] = "csv") -> Response:
        """The answers of a job that has ended."""
        job = jobs.find(name)
        if job.state not in ENDED:
            raise Refused(422, "The job has not ended yet; follow its progress, or cancel it.", "id")
        if job.result is None:
            raise Refused(404, job.message or "The job was cancelled before anybody was answered.", "id")
        title, kind = _FORMS[format]
        return _download(await slow.run(partial(_written, job.result, format)), title, kind)


def _written(result: Counterfactuals, form: str) -> bytes:
    if form == "json":
        return result.to_json().encode("utf-8", "surrogatepass")
    write: dict[str, Callable[..., None]] = {"csv": result.to_csv, "xlsx": result.to_excel, "report": result.report}
    return written_file(write[form], _FORMS[form][0])


async def _answer(
    cache: Cache, answer: Callable[[Any], Any], question: BaseModel, model: type[BaseModel] | None = None
) -> tuple[bytes, bool]:
    """What the service answers, and whether it was known."""

    def work() -> bytes:
        found = answer(question)
        return found if isinstance(found, bytes) else _json_of(found, model)

    key = json.dumps([answer.__name__, question.model_dump(mode="json")], sort_keys=True)  # however it was written
    return await cache.answer(key, work)


def _json_of(answer: Any, model: type[BaseModel] | None) -> bytes:
    return json_bytes(answer if model is None else model.model_validate(answer))


def _json(answer: Any, model: type[BaseModel] | None = None) -> Response:
    return _sent(_json_of(answer, model))


def _sent(body: bytes) -> Response:
    return Response(body, media_type="application/json")


def _file(kind: str, description: str) -> dict[int | str, dict[str, Any]]:
    """The documentation of an answer that is a file."""
    return {200: {"content": {kind: {}}, "description": description}}


def _download(body: bytes, name: str, kind: str) -> Response:
    return Response(body, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})
