"""The addresses of the API, and uploaded files in the words of the service."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from functools import partial
from importlib.metadata import version
from typing import Annotated, Any, Literal

import pandas as pd
from fastapi import APIRouter, Query, Request
from fastapi import Path as InPath
from starlette.responses import Response, StreamingResponse

from attain.core.errors import AttainError, DataError
from attain.results.counterfactuals import Counterfactuals
from attain.schema import Schema
from attain.service import documents as told
from attain.service.answers import report_of, written_file
from attain.service.encoding import json_bytes, key_of
from attain.service.errors import Refused
from attain.service.jobs import ENDED, Job, Jobs
from attain.service.limits import Limits
from attain.service.people import Which
from attain.service.pools import Cache, Pool
from attain.service.questions import (
    MOST_OPTIONS,
    Compare,
    Evaluate,
    Explain,
    Map,
    Predict,
    Wishes,
    Write,
    dumped,
)
from attain.service.service import Service
from attain.service.wording import translations
from attain.tables.files import read_people

Format = Literal["csv", "parquet"]

_SWELL = 20
"""How many times as large as an upload may be, a compressed file may become."""
_WORDS = {"--index": "index", "--separator": "separator", "; choose another --separator": ""}


def read_upload(
    path: str, form: Format, schema: Schema, limits: Limits, index: str | None, separator: str | None
) -> pd.DataFrame:
    """The people of an uploaded file; messages call it “the file”."""
    try:
        if form == "parquet":
            _check_parquet(path, limits)
        frame = read_people(path, schema, index=index, separator=separator).frame
    except AttainError as error:
        message = str(error).replace(repr(path), "the file")
        for flag, word in _WORDS.items():
            message = message.replace(flag, word)
        raise DataError(message) from None
    _check_number(len(frame), limits)
    if not len(frame):
        raise DataError("the file has no rows")
    return frame


def _check_parquet(path: str, limits: Limits) -> None:
    """Refuses a file that would become too large in memory, before it is read."""
    try:
        import pyarrow.parquet

        about = pyarrow.parquet.read_metadata(path)
    except ImportError:
        raise DataError("Parquet files cannot be read here; send CSV") from None
    except (ValueError, OSError):
        raise DataError("the file cannot be read as Parquet") from None
    _check_number(about.num_rows, limits)
    size = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
    if size > _SWELL * limits.upload:
        raise DataError(f"the file would take {size:,} bytes; send fewer rows or columns")


def _check_number(people: int, limits: Limits) -> None:
    if people > limits.people:
        raise DataError(f"the file has {people:,} rows; at most {limits.people:,} are taken")


_LOOK = 0.1
"""Seconds between two looks at a job whose progress is followed."""
_ALIVE = 100
"""After so many looks without news a comment is sent, so that nobody takes the connection for dead."""
_HTML = "text/html; charset=utf-8"
_EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_FORMS: dict[str, tuple[str, str]] = {
    "csv": ("answers.csv", "text/csv; charset=utf-8"),
    "json": ("answers.json", "application/json"),
    "xlsx": ("answers.xlsx", _EXCEL),
    "report": ("report.html", _HTML),
}
"""The name and the type of each form of result."""
Text = Annotated[str, Query(max_length=200)]
Name = Annotated[str, InPath(max_length=200, description="The id of a job.")]


def routes(service: Service, quick: Pool, slow: Pool, jobs: Jobs) -> APIRouter:
    """All addresses; half of the cache is for what takes milliseconds."""
    router = APIRouter(responses=told.REFUSALS)
    known, cache = (Cache(pool, service.limits.cache // 2) for pool in (quick, slow))
    _add_quick(router, service, quick, known)
    _add_searches(router, service, cache)
    _add_files(router, service, cache)
    _add_jobs(router, service, slow, jobs)
    return router


def _add_quick(router: APIRouter, service: Service, quick: Pool, cache: Cache) -> None:
    @router.get("/health", responses=told.answered(told.Health))
    async def health() -> Response:
        """Whether the service runs; needs no token."""
        return _json({"status": "ok", "version": version("attain")})

    @router.get("/schema", responses=told.answered(told.SchemaAnswer))
    async def schema() -> Response:
        """What there is to ask about: features, rules, classes, methods, limits."""
        return _json(await quick.run(service.schema))

    @router.get("/people", responses=told.answered(told.PeopleAnswer))
    async def people(
        search: Annotated[str, Query(max_length=200, description="Words that the id or the cells contain.")] = "",
        decision: Which = "all",
        offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
    ) -> Response:
        """Some of the people who can be picked, with what the model decides."""
        return _json(await quick.run(lambda: service.people.page(search, decision, offset, limit)))

    @router.get("/people/{person}", responses=told.answered(told.PersonAnswer))
    async def person(person: Annotated[str, InPath(max_length=1_000)]) -> Response:
        """One of the people."""
        return _json(await quick.run(lambda: service.people.entry(person)))

    @router.post("/predict", responses=told.answered(told.PredictAnswer))
    async def predict(question: Predict) -> Response:
        """What the model decides about records, and what else is known about them."""
        key = key_of("predict", dumped(question))
        return _sent((await cache.answer(key, lambda: json_bytes(service.predict(question))))[0])

    @router.post("/evaluate", responses=told.answered(told.EvaluateAnswer))
    async def evaluate(question: Evaluate) -> Response:
        """An edited record beside the original one."""
        key = key_of("evaluate", dumped(question))
        return _sent((await cache.answer(key, lambda: json_bytes(service.evaluate(question))))[0])


def _add_searches(router: APIRouter, service: Service, cache: Cache) -> None:
    async def explained(question: Explain) -> bytes:
        answer, known = await cache.answer(
            key_of("explain", dumped(question)), lambda: json_bytes(service.explain(question))
        )
        return json_bytes({"cached": known})[:-1] + b"," + answer[1:]

    @router.post("/explain", responses=told.answered(told.ExplainAnswer))
    async def explain(question: Explain) -> Response:
        """What would change the decision: the options, with what may change as you say."""
        return _sent(await explained(question))

    @router.post("/compare", responses=told.answered(told.CompareAnswer))
    async def compare(question: Compare) -> Response:
        """The options of several methods; a method that cannot answer says why."""
        wishes = question.model_dump(include=set(Wishes.model_fields))
        for method in question.methods:
            service.others.check(method)

        async def of(method: str) -> bytes:
            try:
                answer = await explained(Explain(**wishes, n=question.n, method=method, details=False))
            except (AttainError, Refused) as error:
                if isinstance(error, Refused) and error.status != 429:
                    raise
                said = str(error)
                return json_bytes({"method": method, "error": said, "errors": translations(said), "answer": None})
            return json_bytes({"method": method, "error": None, "errors": {}})[:-1] + b',"answer":' + answer + b"}"

        parts = await asyncio.gather(*map(of, dict.fromkeys(question.methods)))
        return _sent(b'{"methods":[' + b",".join(parts) + b"]}")

    @router.post("/map", responses=told.answered(told.MapAnswer))
    async def people_map(question: Map) -> Response:
        """Where somebody and their options are among real people."""
        work = partial(lambda: json_bytes(service.map(question)))
        return _sent((await cache.answer(key_of("map", dumped(question)), work))[0])


def _add_files(router: APIRouter, service: Service, cache: Cache) -> None:
    @router.post("/letter", responses=told.sent("text/html", "A letter, as a page of HTML."))
    async def letter(question: Write) -> Response:
        """A letter to somebody: the decision, the reasons, the options."""
        key = key_of("letter", dumped(question))
        answer, _ = await cache.answer(key, lambda: service.letter(question).encode("utf-8", "replace"))
        return _file(answer, "letter.html", _HTML)

    @router.post("/report", responses=told.sent("text/html", "The report, as a page of HTML."))
    async def report(question: Write) -> Response:
        """The report on somebody's options."""
        answer, _ = await cache.answer(key_of("report", dumped(question)), lambda: service.report(question))
        return _file(answer, "report.html", _HTML)


def _add_jobs(router: APIRouter, service: Service, slow: Pool, jobs: Jobs) -> None:
    body = {"requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {"type": "string"}}}}}

    @router.post("/jobs", status_code=202, openapi_extra=body, responses=_started())
    async def start(
        request: Request,
        format: Format,
        n: Annotated[int, Query(ge=1, le=MOST_OPTIONS, description="How many options for each person.")] = 1,
        index: Annotated[Text | None, Query(description="The column with the ids of people.")] = None,
        separator: Annotated[str | None, Query(max_length=10, description="Of CSV files; a comma by default.")] = None,
    ) -> Response:
        """Uploads a file with one row per person, as the body, and starts to answer it."""
        jobs.check_room()
        path = jobs.new_path(format)
        try:
            with open(path, "wb") as file:
                async for chunk in request.stream():
                    file.write(chunk)
        except BaseException:
            os.unlink(path)
            raise
        read = partial(
            read_upload,
            form=format,
            schema=service.explainer.schema_,
            limits=service.limits,
            index=index,
            separator=separator,
        )
        job = jobs.start(path, read, lambda people: service.explain_people(people, n))
        return Response(json_bytes({"id": job.name}), 202, media_type="application/json")

    @router.get("/jobs/{name}", responses=told.answered(told.JobAnswer))
    async def look(name: Name) -> Response:
        """How far a job is."""
        return _json(jobs.find(name).about())

    @router.get(
        "/jobs/{name}/events", responses=told.sent("text/event-stream", "Events with the same as `/jobs/{name}`.")
    )
    async def follow(name: Name) -> Response:
        """The progress of a job as server-sent events, until it has ended."""
        return StreamingResponse(_events(jobs.find(name)), media_type="text/event-stream")

    @router.delete("/jobs/{name}", responses=told.answered(told.JobAnswer))
    async def cancel(name: Name) -> Response:
        """Cancels a job: the answers found until then are its result. A job that has ended is forgotten."""
        return _json(jobs.cancel(name).about())

    @router.get("/jobs/{name}/result", responses=told.sent("application/octet-stream", "The result."))
    async def result(name: Name, format: Literal["csv", "json", "xlsx", "report"] = "csv") -> Response:
        """The answers of a job that has ended."""
        job = jobs.find(name)
        if job.state not in ENDED:
            raise Refused(422, "The job has not ended yet; follow its progress, or cancel it.", "id")
        if job.result is None:
            raise Refused(404, job.message or "The job was cancelled before anybody was answered.", "id")
        title, kind = _FORMS[format]
        return _file(await slow.run(partial(_made, job.result, format)), title, kind)


def _started() -> dict[int | str, dict[str, Any]]:
    return {202: {"model": told.JobStarted, "description": "The job has begun."}}


async def _events(job: Job) -> AsyncIterator[bytes]:
    last, quiet = b"", 0
    while True:
        ended = job.state in ENDED
        about = job.about()
        news = json_bytes({**about, "seconds": None})
        if news != last or ended:
            yield b"data: " + json_bytes(about) + b"\n\n"
            last, quiet = news, 0
        if ended:
            return
        quiet += 1
        if quiet >= _ALIVE:
            yield b": waiting\n\n"
            quiet = 0
        await asyncio.sleep(_LOOK)


def _made(result: Counterfactuals, form: str) -> bytes:
    if form == "json":
        return result.to_json().encode("utf-8", "surrogatepass")
    if form == "report":
        return report_of(result)
    write: Callable[[str], None] = result.to_csv if form == "csv" else result.to_excel
    return written_file(write, _FORMS[form][0])


def _json(answer: Any) -> Response:
    return _sent(json_bytes(answer))


def _sent(body: bytes) -> Response:
    return Response(body, media_type="application/json")


def _file(body: bytes, name: str, kind: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(body, media_type=kind, headers=headers)
