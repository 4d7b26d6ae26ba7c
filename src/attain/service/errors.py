"""What the service answers when it cannot: one form of error, and a sentence in each."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from attain.core.errors import AttainError
from attain.service.encoding import json_bytes
from attain.service.wording import translations

_SENTENCES = {
    400: "The request could not be read; its body must be JSON.",
    404: "There is nothing at this address.",
    405: "This address does not take this method.",
}
_KNOWN = 422
"""What other errors of the client become."""


class Refused(Exception):
    """A question that is not answered, with a status of HTTP and a sentence for whoever asked.

    Parameters
    ----------
    status
        401, 403, 404, 413, 422 or 429.
    message
        Why, and what to do.
    field
        The part of the question that is wrong, where it is one.
    retry
        After how many seconds to ask again.
    """

    def __init__(self, status: int, message: str, field: str | None = None, retry: int | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.field, self.retry = status, message, field, retry

    def response(self) -> Response:
        """The answer."""
        headers = {} if self.retry is None else {"Retry-After": str(self.retry)}
        body = {"error": {"message": self.message, "messages": translations(self.message), "field": self.field}}
        return Response(json_bytes(body), self.status, headers, "application/json")


def add_handlers(app: FastAPI) -> None:
    """Lets every error have the one form."""

    @app.exception_handler(Refused)
    async def refused(request: Request, error: Refused) -> Response:
        return error.response()

    @app.exception_handler(AttainError)
    async def wrong(request: Request, error: AttainError) -> Response:
        return Refused(_KNOWN, str(error)).response()

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        place = [str(part) for part in first["loc"] if part not in ("body", "query", "path")]
        field = ".".join(place) or None
        if first["type"] == "json_invalid":
            return Refused(_KNOWN, "The body is not JSON.").response()
        return Refused(_KNOWN, _sentence(first, field), field).response()

    @app.exception_handler(HTTPException)
    async def plain(request: Request, error: HTTPException) -> Response:
        status = _KNOWN if error.status_code == 400 else error.status_code
        return Refused(status, _SENTENCES.get(error.status_code, str(error.detail))).response()


def _sentence(error: Any, field: str | None) -> str:
    message = str(error["msg"]).removeprefix("Value error, ").rstrip(".")
    message = message[:1].lower() + message[1:]
    return f"{field}: {message}." if field else f"{message[:1].upper()}{message[1:]}."
