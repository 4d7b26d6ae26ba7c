"""The explainer named by `--method`, with the parameters given by `--set`."""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attain import methods as explainers
from attain.core.errors import AttainError, listed

if TYPE_CHECKING:
    from attain.methods import Explainer
    from attain.schema import Schema

DEFAULT_METHOD = "CCHVAE"
_OWN_FLAG = {"schema": "--schema", "random_state": "--seed"}
_DEFAULT_AUTOENCODER = "CHVAE"


def method_names() -> list[str]:
    """The names of all methods."""
    return [name for name in explainers.__all__ if name != "Explainer"]


def find_method(text: str) -> type[Explainer]:
    """The method with this name, in upper or lower case, with or without hyphens: `growing-spheres`, `cchvae`."""
    from attain.methods.persistence import class_named

    matching = [name for name in method_names() if _squeezed(name) == _squeezed(text)]
    found = class_named(matching[0]) if matching else None
    if found is None:
        raise AttainError(f"--method must be one of {', '.join(method_names())}, got {text!r}")
    return found


def make_explainer(method: type[Explainer], schema: Schema, seed: int, settings: Sequence[str]) -> Explainer:
    """The unfitted method, with parameters from strings such as `samples=50` or `autoencoder.epochs=20`."""
    known = list(inspect.signature(method).parameters)
    parameters: dict[str, Any] = {}
    nested: dict[str, Any] = {}
    for text in settings:
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals or not key:
            raise AttainError(f"--set must be KEY=VALUE, such as budget=5000, got {text!r}")
        if key.startswith("autoencoder.") and "autoencoder" in known:
            nested[key.removeprefix("autoencoder.")] = _value(value)
        elif key in _OWN_FLAG:
            raise AttainError(f"--set {key}: use {_OWN_FLAG[key]}")
        elif key not in known:
            free = [name for name in known if name not in _OWN_FLAG]
            raise AttainError(
                f"--set {key}: {method.__name__} has no such parameter; its parameters are {', '.join(free)}"
            )
        else:
            parameters[key] = _value(value)
    if nested or isinstance(parameters.get("autoencoder"), str):
        parameters["autoencoder"] = _autoencoder(parameters.get("autoencoder"), schema, seed, nested)
    return method(schema=schema, random_state=seed, **parameters)


def _autoencoder(name: str | None, schema: Schema, seed: int, settings: dict[str, Any]) -> Any:
    from attain import density as autoencoders
    from attain.methods.persistence import autoencoder_named

    kinds = [kind for kind in autoencoders.__all__ if autoencoder_named(kind) and kind != "Autoencoder"]
    wanted = _squeezed(name or _DEFAULT_AUTOENCODER)
    kind = next((autoencoder_named(kind) for kind in kinds if _squeezed(kind) == wanted), None)
    if kind is None:
        raise AttainError(f"--set autoencoder must be one of {', '.join(kinds)}, got {name!r}")
    known = [key for key in inspect.signature(kind).parameters if key != "schema"]
    unknown = [key for key in settings if key not in known]
    if unknown:
        raise AttainError(
            f"--set autoencoder: {kind.__name__} has no {listed(unknown)}; its parameters are {', '.join(known)}"
        )
    return kind(schema=schema, **{"random_state": seed, **settings})


def _squeezed(text: str) -> str:
    return re.sub(r"[-_ ]", "", text).lower()


def _value(text: str) -> Any:
    """A JSON value, `inf` or `none`; anything else is a string."""
    text = text.strip()
    if text.lower() in ("none", "inf"):
        return None if text.lower() == "none" else math.inf
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return tuple(value) if isinstance(value, list) else value
