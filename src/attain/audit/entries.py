"""What a line of a log says about the explanation of one person."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import numpy as np

from attain.audit.keys import check_key, hmac_of
from attain.core.checks import check_choice
from attain.core.errors import AttainError
from attain.methods.provenance import as_json
from attain.results.record import Record
from attain.results.sentences import option_sentences
from attain.tables import Table, unchanged

_ELSEWHERE: Final = {"person", "option", "label", "counterfactual"}
"""Columns of `ranges` and `importance` whose content a line has in other fields, or does not need."""
Shown = Literal["hmac", "plain"]
"""Whether personal data are stored in plain text, or as an HMAC that only a holder of the key can compare with."""


@dataclass(frozen=True)
class Entries:
    """Turns people of a result into the contents of lines.

    Parameters
    ----------
    key
        The secret key; required for HMACs.
    inputs
        How people's records and row labels are stored.
    answers
        How the options are stored: the new values of changed features, and figures. Sentences have the current values,
        too, so they are stored in plain text only where both are.
    """

    key: bytes | None = None
    inputs: Shown = "hmac"
    answers: Shown = "plain"

    def __post_init__(self) -> None:
        check_key(self.key)
        for name in ("inputs", "answers"):
            check_choice(name, getattr(self, name), get_args(Shown))
            if getattr(self, name) == "hmac" and self.key is None:
                raise AttainError(
                    f"{name}='hmac' needs a key: pass key=attain.audit.read_key(path), or set ATTAIN_AUDIT_KEY; "
                    "`attain audit key` creates one"
                )

    def contents(self, result: Record) -> Iterator[dict[str, Any]]:
        """The content of each person's line."""
        details, reasons, sentences = _details(result), _contributions(result), option_sentences(result)
        for position in range(len(result)):
            own = np.flatnonzero(result.owners == position).tolist()
            told = [sentences[i] for i in own] or [_why_none(result, position)]
            options = [_option(result, i) | details[i] for i in own]
            yield self._content(result, position, options, told, reasons.get(position))

    def _content(
        self,
        result: Record,
        position: int,
        options: list[dict[str, Any]],
        sentences: list[str],
        contributions: dict[str, float] | None,
    ) -> dict[str, Any]:
        label = as_json(result.table.labels[position])
        return {
            "kind": "explanation",
            "person": self._shown(self.inputs, "person", label),
            "input": self._shown(self.inputs, "input", cells(result.table, position)),
            "settings": _own_settings(result.settings, label),
            "status": result.statuses[position].name,
            "reason": result.unreadable.get(position) if self.inputs == "plain" else None,
            "options": self._shown(self.answers, "answer", options),
            "sentences": self._shown("plain" if self._all_plain else "hmac", "sentences", sentences),
            "contributions": contributions,
            "figures": {name: _figure(values[position]) for name, values in result.person_figures.items()},
        }

    @property
    def _all_plain(self) -> bool:
        return self.inputs == self.answers == "plain"

    def input_of(self, table: Table, position: int) -> Any:
        """The field `input` of a person's line."""
        return self._shown(self.inputs, "input", cells(table, position))

    def _shown(self, shown: Shown, purpose: str, value: Any) -> Any:
        if shown == "plain":
            return {"plain": value}
        assert self.key is not None
        return {"hmac": hmac_of(self.key, purpose, value)}


def _why_none(result: Record, position: int) -> str:
    """Why a person has no option. The sentence about an unreadable record names its row, whose label may change."""
    return result.statuses[position].reason if position in result.unreadable else result.reason(position)


def entries_like(line: Mapping[str, Any], key: bytes | None) -> Entries:
    """Entries that are stored in the way of this line."""
    inputs, answers = (next(iter(line[part])) for part in ("input", "options"))
    return Entries(key, inputs, answers)


def cells(table: Table, position: int) -> dict[str, Any]:
    """A record by column, equal for every frame library and dtype; a record that cannot be read, as it is."""
    if position in table.refused:
        source = table.layout.library.read(table.source)
        return {name: as_json(source[name][position]) for name in table.layout.columns}
    row = (table.values[position] + 0.0).tolist()  # turns -0.0 into 0.0
    return {
        feature.name: cell
        if feature.numeric and not math.isnan(cell)
        else as_json(table.layout.value(feature.name, cell))
        for feature, cell in zip(table.schema, row, strict=True)
    }


def _option(result: Record, i: int) -> dict[str, Any]:
    """The new values of what an option changes, and its figures."""
    own, row = result.table.values[result.owners[i]], result.rows[i]
    names, value = result.table.schema.names, result.table.layout.value
    return {
        "changes": {names[j]: as_json(value(names[j], float(row[j]))) for j in np.flatnonzero(~unchanged(own, row))},
        "figures": {name: _figure(values[i]) for name, values in result.option_figures.items()},
    }


def _details(result: Record) -> dict[int, dict[str, Any]]:
    """The ranges and the importance of the changes of each option, if they were asked for."""
    details: dict[int, dict[str, Any]] = {i: {} for i in range(len(result.owners))}
    parts = (
        ("ranges", result.intervals, result.range_entries),
        ("importance", result.importances, result.importance_entries),
    )
    for name, found, entries in parts:
        if found is not None:
            for i, entry in zip(found.option.tolist(), entries(), strict=True):
                kept = {key: as_json(value) for key, value in entry.items() if key not in _ELSEWHERE}
                details[i].setdefault(name, []).append(kept)
    return details


def _contributions(result: Record) -> dict[int, dict[str, float]]:
    """What each input contributes to each person's score, if that was asked for; not the person's values."""
    found = result.attributions
    if found is None:
        return {}
    names = [result.table.schema.names[column] for column in found.column]
    return {
        int(position): dict(zip(names, values.tolist(), strict=True))
        for position, values in zip(found.person, found.contribution, strict=True)
    }


def _own_settings(settings: Mapping[str, Any], label: Any) -> dict[str, Any]:
    """The settings without the constraints of other people."""
    constraints = dict(settings["constraints"])
    own = [entry for entry in constraints.pop("people", ()) if entry["person"] == label]
    if own:
        constraints["own"] = {name: value for name, value in own[0].items() if name != "person"}
    return {**settings, "constraints": constraints}


def _figure(value: Any) -> Any:
    number = value.item()
    return number if math.isfinite(number) else None
