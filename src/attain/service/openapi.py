"""The documentation of the API: what FastAPI knows, and what a record of this service is."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from attain.service.questions import MARK
from attain.service.service import Service

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
