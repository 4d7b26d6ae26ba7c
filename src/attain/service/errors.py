"""What the service sends: JSON without what JSON lacks, and one form of error with a sentence in each."""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import Response

from attain.core.errors import AttainError
from attain.core.files import plain_json
from attain.service.wording import translations

_SENTENCES = {
    400: "The request could not be read; its body must be JSON.",
    404: "There is nothing at this address.",
    405: "This address does not take this method.",
}
_WRONG = 422
"""What other errors of the client become."""


def json_bytes(value: Any) -> bytes:
    """Compact JSON, in ASCII, so that any text can be sent."""
    value = value.model_dump() if isinstance(value, BaseModel) else value
    return json.dumps(plain_json(value), separators=(",", ":")).encode("ascii")


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

    async def refuse(request: Request, error: Exception) -> Response:
        return _refusal(error).response()

    for kind in (Refused, AttainError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, refuse)


def _refusal(error: Exception) -> Refused:
    if isinstance(error, Refused):
        return error
    if isinstance(error, HTTPException):
        status = _WRONG if error.status_code == 400 else error.status_code
        return Refused(status, _SENTENCES.get(error.status_code, str(error.detail)))
    if not isinstance(error, RequestValidationError):
        return Refused(_WRONG, str(error))
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return Refused(_WRONG, "The body is not JSON.")
    field = ".".join(str(part) for part in first["loc"] if part not in ("body", "query", "path")) or None
    message = str(first["msg"]).removeprefix("Value error, ").rstrip(".")
    start, cased = ("", str.upper) if field is None else (f"{field}: ", str.lower)
    sentence = f"{start}{cased(message[:1])}{message[1:]}."
    return Refused(_WRONG, sentence, field)
