"""`attain fit` and `attain inspect`: an explainer, fitted on a table, in one file, and what is in such a file."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Mapping
from inspect import signature
from typing import Any, Final

from attain import methods
from attain.cli.commands import METHODS
from attain.cli.inputs import read_people
from attain.cli.layer import Arguments, write_config
from attain.cli.schema import as_dictionary
from attain.cli.terminal import say, say_json
from attain.core.errors import AttainError, did_you_mean, matching
from attain.core.files import check_writable
from attain.core.text import plain
from attain.methods.base import Explainer
from attain.methods.persistence import HOLDS, autoencoder_named, check_needs_no_rows
from attain.methods.persistence import inspect as described
from attain.schema import Schema
from attain.schema.text import read_file

_AUTOENCODERS: Final = ("CHVAE", "CVAE", "VAE")
"""The default first."""
_OWN_FLAG: Final = {"schema": "--schema", "random_state": "--seed"}


def fit(arguments: Arguments) -> None:
    """Fits and saves."""
    target = check_writable(arguments.out)
    schema = read_file(arguments.schema)
    explainer = make_explainer(arguments.method, schema, arguments.seed, arguments.set)
    name = type(explainer).__name__
    if arguments.reference == "none":
        check_needs_no_rows(explainer)
    held_out = {}
    if arguments.calibration is not None:
        if not isinstance(explainer, methods.Guarded):
            raise AttainError(f"--calibration is for the method Guarded; {name} does not use it")
        others = read_people(arguments, arguments.calibration, schema, label=arguments.label)
        held_out["calibration"] = (others.frame, others.labels)
    people = read_people(arguments, arguments.data, schema, label=arguments.label)
    started = time.perf_counter()
    explainer.fit(people.frame, people.labels, **held_out)
    seconds = time.perf_counter() - started
    explainer.save(arguments.out, reference=arguments.reference)
    config = write_config(arguments.out)
    labelled = people.labels is not None
    if arguments.json:
        facts = {"explainer": name, "people": len(people.frame), "features": len(schema), "labels": labelled}
        facts |= {"reference": arguments.reference, "left_out": people.left_out, "seconds": round(seconds, 3)}
        say_json({"out": arguments.out, "config": config, **facts})
        return
    say(
        f"{name} fitted on {len(people.frame):,} people in {seconds:.1f} s: {len(schema)} features, "
        f"{len(schema.immutable)} of them immutable, {'with' if labelled else 'without'} labels."
    )
    say(f"Written: {arguments.out} ({target.stat().st_size / 1e3:,.0f} kB), {config}")
    say(HOLDS[arguments.reference])


def inspect(arguments: Arguments) -> None:
    """Describes a saved explainer, without loading it."""
    found = described(arguments.explainer)
    schema = found.pop("schema")
    if arguments.json:
        say_json({**found, "schema": as_dictionary(schema)})
        return
    labels = "with" if found["labels"] else "without"
    parameters = ", ".join(f"{key}={plain(_shown(value))}" for key, value in found["parameters"].items())
    say(f"{found['training_rows']}\n\n{found['explainer']}, fitted on {found['rows']:,} people, {labels} labels kept.")
    say(f"Parameters: {parameters}")
    say("Written with " + ", ".join(f"{name} {plain(text)}" for name, text in found["versions"].items()))
    say()
    print(schema)


def _shown(value: Any) -> str:
    """A parameter as Python writes it; a nested estimator as its constructor."""
    if not isinstance(value, dict):
        return repr(value)
    parts = []
    for name, given in value.items():
        inner = isinstance(given, dict) and ", ".join(f"{key}={_shown(item)}" for key, item in given.items())
        parts.append(f"{name}: {given!r}" if inner is False else f"{name}({inner})")
    return ", ".join(parts)


def make_explainer(name: str, schema: Schema, seed: int, settings: Iterable[str]) -> Explainer:
    """The unfitted method with a name such as `growing-spheres`, with parameters such as `autoencoder.epochs=20`."""
    parameters: dict[str, Any] = {}
    nested: dict[str, Any] = {}
    for text in settings:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not key:
            raise AttainError(f"--set must be KEY=VALUE, such as budget=5000, got {text!r}")
        model, _, part = key.partition(".")
        (nested if part and model == "autoencoder" else parameters)[part or key] = _value(value)
    own = parameters.get("autoencoder")
    if nested or isinstance(own, str):
        kind = autoencoder_named(matching("--set autoencoder", own or _AUTOENCODERS[0], _AUTOENCODERS))
        parameters["autoencoder"] = _made(kind, schema, seed, nested)
    explainer: Explainer = _made(getattr(methods, matching("--method", name, METHODS)), schema, seed, parameters)
    return explainer


def _made(kind: Any, schema: Schema, seed: int, parameters: Mapping[str, Any]) -> Any:
    known = [name for name in signature(kind).parameters if name not in _OWN_FLAG]
    for key in parameters:
        if key in _OWN_FLAG:
            raise AttainError(f"--set {key}: use {_OWN_FLAG[key]}")
        if key not in known:
            meant = did_you_mean(key, known) or f"; it has {', '.join(known)}"
            raise AttainError(f"--set {key}: {kind.__name__} has no such parameter{meant}")
    return kind(schema=schema, random_state=seed, **parameters)


def _value(text: str) -> Any:
    """A JSON value, `inf` or `none`; anything else is a string."""
    if text.lower() in ("none", "inf"):
        return None if text.lower() == "none" else math.inf
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return tuple(value) if isinstance(value, list) else value
