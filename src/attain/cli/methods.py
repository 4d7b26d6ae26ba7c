"""The explainer named by `--method`, with the parameters given by `--set`."""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attain import methods as explainers
from attain.core.errors import AttainError, did_you_mean, listed

if TYPE_CHECKING:
    from attain.methods import Explainer
    from attain.schema import Schema

DEFAULT_METHOD = "Guarded"
AUTOENCODERS = ("CHVAE", "CVAE", "VAE")
"""The default first; they are listed here because importing them needs JAX."""
_OWN_FLAG = {"schema": "--schema", "random_state": "--seed"}


def method_names() -> list[str]:
    """The names of all methods."""
    return [name for name in explainers.__all__ if name != "Explainer"]


def find_method(text: str) -> type[Explainer]:
    """The method with this name, in upper or lower case, with or without hyphens: `growing-spheres`, `cchvae`."""
    method: type[Explainer] = getattr(explainers, _matching(text, method_names(), "--method"))
    return method


def make_explainer(method: type[Explainer], schema: Schema, seed: int, settings: Sequence[str]) -> Explainer:
    """The unfitted method, with parameters from strings such as `samples=50` or `autoencoder.epochs=20`."""
    known = [name for name in inspect.signature(method).parameters if name not in _OWN_FLAG]
    parameters: dict[str, Any] = {}
    nested: dict[str, Any] = {}
    for text in settings:
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals or not key:
            raise AttainError(f"--set must be KEY=VALUE, such as budget=5000, got {text!r}")
        if key in _OWN_FLAG:
            raise AttainError(f"--set {key}: use {_OWN_FLAG[key]}")
        model, dot, part = key.partition(".")
        if dot and model == "autoencoder" and model in known:
            nested[part] = _value(value)
        elif key in known:
            parameters[key] = _value(value)
        else:
            meant = did_you_mean(key, known) or f"; it has {', '.join(known)}"
            raise AttainError(f"--set {key}: {method.__name__} has no such parameter{meant}")
    if nested or isinstance(parameters.get("autoencoder"), str):
        parameters["autoencoder"] = _autoencoder(parameters.get("autoencoder"), schema, seed, nested)
    return method(schema=schema, random_state=seed, **parameters)


def _autoencoder(name: str | None, schema: Schema, seed: int, settings: dict[str, Any]) -> Any:
    from attain.methods.persistence import autoencoder_named

    kind = autoencoder_named(_matching(name or AUTOENCODERS[0], AUTOENCODERS, "--set autoencoder"))
    known = [key for key in inspect.signature(kind).parameters if key != "schema"]
    unknown = [key for key in settings if key not in known]
    if unknown:
        meant = did_you_mean(unknown[0], known) or f"; it has {', '.join(known)}"
        raise AttainError(f"--set autoencoder: {kind.__name__} has no {listed(unknown)}{meant}")
    return kind(schema=schema, **{"random_state": seed, **settings})


def _matching(text: str, names: Sequence[str], flag: str) -> str:
    for name in names:
        if _squeezed(name) == _squeezed(text):
            return name
    raise AttainError(f"{flag} must be one of {', '.join(names)}, got {text!r}{did_you_mean(text, names)}")


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
