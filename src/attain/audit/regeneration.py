"""Making an explanation again with the settings in a log, and comparing the two."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any, Final, NamedTuple

import numpy as np

from attain.audit.canonical import canonical
from attain.audit.entries import Entries, entries_like
from attain.audit.keys import key_id, named, read_key
from attain.audit.lines import Head, chained, parsed
from attain.audit.verification import find_line
from attain.core.errors import AttainError, DataError
from attain.core.frames import Frame, one_row
from attain.methods.base import Explainer
from attain.models import Model
from attain.results.counterfactuals import Counterfactuals
from attain.results.status import Status
from attain.tables import Table

_MEANINGS: Final = {
    "settings.explainer_digest": "another explainer",
    "settings.model.answers_digest": "another model: it scores the training rows differently",
    "settings.model.file_digest": "another file of the model",
    "settings.training.digest": "other training data",
    "sentences.hmac": "other words",
}


class Difference(NamedTuple):
    """A field of a line that is different now; `str` puts it into words."""

    field: str
    recorded: Any
    now: Any

    def __str__(self) -> str:
        meaning = _MEANINGS.get(self.field)
        return f"{self.field}: was {self.recorded!r}, is now {self.now!r}" + (f" ({meaning})" if meaning else "")


@dataclass(frozen=True)
class Regeneration:
    """An explanation that was made again.

    Attributes
    ----------
    line
        The line of the log.
    same
        Whether the line was reproduced byte for byte.
    differences
        The fields that are different; the settings come first.
    result
        The explanation of this person as it is now.
    """

    line: Mapping[str, Any]
    same: bool
    differences: tuple[Difference, ...]
    result: Counterfactuals

    def __bool__(self) -> bool:
        return self.same


def regenerate(
    path: str | os.PathLike[str],
    id: str,
    explainer: Explainer,
    model: Any,
    people: Frame,
    *,
    key: bytes | None = None,
    **arguments: Any,
) -> Regeneration:
    """Explains the person of a line again with the settings in it, and compares every field of the line.

    Parameters
    ----------
    path, id
        The log, and the id of the line or the first digits of it.
    explainer, model
        Those that the explanation was made with; if they are others, the differences say so. Texts call the classes of
        the model as they did then.
    people
        A frame with the person's record, perhaps among others: the row is found by its content.
    key
        The key of the log; by default that in the environment variable ATTAIN_AUDIT_KEY.
    arguments
        Arguments of `explain` that a line cannot hold: `robust`.
    """
    line = find_line(path, id)
    key = read_key() if key is None else key
    _check_line(line, key)
    entries = entries_like(line, key)
    table = Table.read(one_row(people, "people"), explainer.schema_, "people", errors="status")
    position = _position(line, entries, table)
    settings = line["settings"]
    row = table.layout.library.take(table.source, np.array([position]))
    result = _configured(explainer, settings).explain(
        _named_as_then(model, settings),
        row,
        **{**_arguments(settings, explainer, table.labels[position], arguments), **arguments},
    )
    again = {**next(entries.contents(result)), "person": line["person"]}
    differences = tuple(_differences({name: line.get(name) for name in again}, again))
    whole = chained(again, Head(line["number"] - 1, line["previous"]), line["time"], key)
    return Regeneration(line, canonical(whole) == canonical(line), differences, result)


def _check_line(line: Mapping[str, Any], key: bytes | None) -> None:
    if line["kind"] != "explanation":
        raise AttainError(f"line {line['id']} is a {line['kind']}, not an explanation")
    if line["key"] != key_id(key):
        raise AttainError(
            f"line {line['id']} was written with {named(line['key'])}, got {named(key_id(key))}; pass the log's key"
        )
    wrong = parsed(canonical(line), key)[1]
    if wrong is not None and key is not None:
        raise AttainError(f"line {line['id']} is forged: {wrong}")
    if line["status"] in (Status.INTERRUPTED.name, Status.TIME_SPENT.name):
        raise AttainError(f"line {line['id']} has the status {line['status']}: where a search stops cannot be repeated")


def _position(line: Mapping[str, Any], entries: Entries, table: Table) -> int:
    for position in range(len(table)):
        if entries.input_of(table, position) == line["input"]:
            return position
    raise DataError(
        f"none of the {len(table)} rows of people is the record of line {line['id']}; it may have changed since"
    )


def _configured(explainer: Explainer, settings: Mapping[str, Any]) -> Explainer:
    """The explainer, or a copy of it if it had other parameters, which may be set after fitting, or another seed."""
    own, plain = explainer.get_params(deep=False), (bool, int, float, str, type(None))
    changed = {
        name: value
        for name, value in settings["parameters"].items()
        if name in own and isinstance(value, plain) and isinstance(own[name], plain) and own[name] != value
    }
    drawn = settings["parameters"].get("random_state") is None and explainer.drawn_seed_ != settings["seed"]
    if not changed and not drawn:
        return explainer
    again: Explainer = copy(explainer).set_params(**changed)
    again.drawn_seed_ = settings["seed"]
    return again


def _named_as_then(model: Any, settings: Mapping[str, Any]) -> Model:
    """The model, with the recorded names of its classes in texts."""
    wrapped, facts = Model.of(model), settings["model"]
    pairs = zip(facts["classes"], facts["class_names"] or (), strict=False)
    names = {label: name for label, name in pairs if name is not None}
    if wrapped.class_names == names:
        return wrapped
    again = copy(wrapped)
    again.class_names = names
    return again


def _arguments(
    settings: Mapping[str, Any], explainer: Explainer, label: Any, given: Mapping[str, Any]
) -> dict[str, Any]:
    """The recorded arguments of `explain`."""
    if settings["robust"] and "robust" not in given:
        raise AttainError(
            f"{len(settings['robust'])} models were given as robust=, which a line cannot hold; pass them"
        )
    constraints = dict(settings["constraints"])
    own = constraints.pop("own", None)
    if own is not None:
        constraints["people"] = {label: own}
    parameters = signature(explainer.explain).parameters.values()
    names = {one.name for one in parameters if one.kind is Parameter.KEYWORD_ONLY} - {"robust"}
    return {**{name: settings[name] for name in names & settings.keys()}, "constraints": constraints}


def _differences(recorded: Any, now: Any, field: str = "") -> Iterator[Difference]:
    """The fields that differ, by their dotted path."""
    if isinstance(recorded, list) and isinstance(now, list) and len(recorded) == len(now):
        for k, pair in enumerate(zip(recorded, now, strict=True)):
            yield from _differences(*pair, f"{field}[{k}]")
    elif isinstance(recorded, dict) and isinstance(now, dict):
        for name in sorted(recorded.keys() | now.keys(), key=lambda name: (name != "settings", name)):
            yield from _differences(recorded.get(name), now.get(name), f"{field}.{name}" if field else name)
    elif canonical(recorded) != canonical(now):
        yield Difference(field, recorded, now)
