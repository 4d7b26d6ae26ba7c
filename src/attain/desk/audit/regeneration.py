"""Repeating an explanation from its line in a log, and comparing the two."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any, Final, NamedTuple

import numpy as np

from attain.core.errors import AttainError, DataError
from attain.core.frames import Frame, one_row
from attain.desk.audit.keys import check_shown, read_key
from attain.desk.audit.lines import canonical, cells, contents, parsed, shown
from attain.desk.audit.log import read_lines
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
        meaning = f" ({_MEANINGS[self.field]})" if self.field in _MEANINGS else ""
        return f"{self.field}: was {self.recorded!r}, is now {self.now!r}{meaning}"


@dataclass(frozen=True)
class Regeneration:
    """A repeated explanation, compared with its line in the log.

    Attributes
    ----------
    line
        The line of the log.
    differences
        The fields that are different; the settings come first.
    result
        The explanation of this person as it is now.
    """

    line: Mapping[str, Any]
    differences: tuple[Difference, ...]
    result: Counterfactuals

    @property
    def same(self) -> bool:
        """Whether the line was reproduced byte for byte."""
        return not self.differences


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
        Those of the recorded explanation; the differences name any other. Texts call the classes of
        the model as they did then.
    people
        A frame with the person's record, perhaps among others: the row is found by its content.
    key
        The key of the log; by default that in the environment variable ATTAIN_AUDIT_KEY.
    arguments
        Arguments of `explain` that a line cannot hold: `robust`.
    """
    key = read_key() if key is None else key
    line = _repeatable_line(path, id, key)
    inputs = next(iter(line["input"]))
    check_shown(key, inputs)
    table = Table.read(one_row(people, "people"), explainer.population_.schema, "people", errors="status")
    matches = (i for i in range(len(table)) if shown(key, inputs, "input", cells(table, i)) == line["input"])
    position = next(matches, None)
    if position is None:
        raise DataError(
            f"none of the {len(table)} rows of people is the record of line {line['id']}; it may have changed since"
        )
    settings, row = line["settings"], table.layout.library.take(table.source, np.array([position]))
    recorded = _arguments(settings, explainer, table.labels[position], arguments)
    result = _configured(explainer, settings).explain(_named_as_then(model, settings), row, **recorded | arguments)
    again = {**next(contents(result, key, inputs)), "person": line["person"]}
    return Regeneration(line, tuple(_differences({name: line.get(name) for name in again}, again)), result)


def _repeatable_line(path: str | os.PathLike[str], id: str, key: bytes | None) -> dict[str, Any]:
    """The only line whose id starts with these digits; refused if it cannot be repeated."""
    found = [line for line in read_lines(path) if id and line["id"].startswith(id)]
    if len(found) != 1:
        raise AttainError(
            f"{len(found) or 'no'} lines of {str(path)!r} have an id that starts with {id!r}; `attain audit list` "
            "shows them"
        )
    line = found[0]
    if line["kind"] != "explanation":
        raise AttainError(f"line {line['id']} is a {line['kind']}, not an explanation")
    if wrong := parsed(canonical(line), key, signed=True)[1]:
        raise AttainError(f"line {line['id']} was not written with this key: {wrong}")
    if line["status"] in (Status.INTERRUPTED.name, Status.TIME_SPENT.name):
        raise AttainError(f"line {line['id']} has the status {line['status']}: where a search stops cannot be repeated")
    return line


def _configured(explainer: Explainer, settings: Mapping[str, Any]) -> Explainer:
    """A copy of the explainer with the recorded parameters, which may be set after fitting, and seed."""
    own, plain = explainer.get_params(deep=False), bool | int | float | str | None
    recorded = settings["parameters"].items()
    changed = {
        name: value for name, value in recorded if isinstance(value, plain) and isinstance(own.get(name, ()), plain)
    }
    again: Explainer = copy(explainer).set_params(**changed)
    again.drawn_seed_ = settings["seed"]
    return again


def _named_as_then(model: Any, settings: Mapping[str, Any]) -> Model:
    """A copy of the model with the recorded names of its classes."""
    again, facts = copy(Model.of(model)), settings["model"]
    pairs = zip(facts["classes"], facts["class_names"] or (), strict=False)
    again.class_names = {label: name for label, name in pairs if name is not None}
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
