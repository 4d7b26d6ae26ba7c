"""Each person's options, as data that a script in the page searches and shows page by page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from attain.core.page import Block, Cell, Data, Heading, Paragraph, TableBlock, Tone, asset
from attain.core.text import plain
from attain.results.importance import WAITING
from attain.results.record import Record
from attain.results.sentences import changed_options, interval, now_and_then, option_sentences
from attain.results.status import Status, Typicality
from attain.results.text import how_long, points
from attain.schema.text import described, months

_WITHOUT_SCRIPT: Final = 20
"""How many people are shown where scripts do not run."""
_REASONS: Final = 4
"""How many inputs are named that count against a person."""
_LEVELS: Final[Mapping[str | None, tuple[str, Tone]]] = {
    **{str(kind): (str(kind), kind.tone) for kind in Typicality},
    None: ("answer", "good"),
}
_ENDS: Final[Mapping[Status, str]] = {
    Status.ALREADY_DESIRED: "decided as asked already",
    Status.NOTHING_FREE: "nothing may change",
    Status.RULES_CONFLICT: "rules conflict",
    Status.OUT_OF_REACH: "no answer within reach",
    Status.NO_CHANGE_FOUND: "no answer found",
    Status.SHELLS_SPENT: "no answer nearby",
    Status.NO_RECOURSE: "no answer exists",
    Status.BUDGET_SPENT: "search limit reached",
    Status.TIME_SPENT: "time limit reached",
    Status.UNREADABLE: "unreadable record",
    Status.INTERRUPTED: "interrupted",
}
"""Statuses in few words."""
_NEEDS: Final = {
    "needed_for_decision": "needed for the decision",
    "needed_to_stay_typical": "keeps the record typical",
    "needed_by_law": "follows from a law",
}
_WITH_TIME: Final = "advances with time"
"""What is said about clocks beside what changes are needed for."""
_INTRODUCTION: Final = (
    "Each person's options, the best first. A line runs from percentile 0 to 100 of the training data; the ring is the "
    "value now, the arrow the suggested one, and the band the range that holds as well."
)


def outcomes(result: Record) -> list[str | Status | None]:
    """What each person got: the level of the best option (None without a guard), or why there is no answer."""
    found: list[str | Status | None] = list(result.statuses)
    for i, owner in enumerate(result.owners):
        if result.ranks[i] == 1:
            found[owner] = result.levels[i]
    return found


def outcome_words(outcome: str | Status | None) -> tuple[str, Tone]:
    """An outcome in few words, with a tone."""
    if isinstance(outcome, Status):
        return _ENDS.get(outcome, outcome.name.replace("_", " ").lower()), "muted"
    return _LEVELS[outcome]


def counted_outcomes(result: Record) -> list[tuple[str | Status | None, int]]:
    """The outcomes that occur, answers first, and how often."""
    counts = Counter(outcomes(result))
    known = [*_LEVELS, *Status]
    return sorted(counts.items(), key=lambda pair: known.index(pair[0]))


def explorer(result: Record) -> list[Block]:
    """The section with each person's options."""
    if not len(result):
        return []
    content = _content(result)
    markup, script = (asset("attain.results", f"report_page/people.{ending}") for ending in ("html", "js"))
    data = Data("people-data", content, markup, script, _first(content))
    return [Heading("People"), Paragraph(_INTRODUCTION), data]


def _first(content: Mapping[str, Any]) -> list[Block]:
    """The first people as a table, for a browser that runs no scripts."""
    people = content["people"]
    rows = [
        [name, options[0][2] if options else reason, Cell(*content["outcomes"][outcome][:2])]
        for name, outcome, reason, options, *_ in people[:_WITHOUT_SCRIPT]
    ]
    more = len(people) - len(rows)
    note = (
        [Paragraph(f"{more:,} more people are in this file; a browser that runs scripts shows them.")] if more else []
    )
    return [TableBlock(("person", "what to change", "outcome"), rows), *note]


def _content(result: Record) -> dict[str, Any]:
    """What `people.js` reads; lists instead of objects keep it small."""
    kinds = [kind for kind, _ in counted_outcomes(result)]
    own, why = outcomes(result), _against(result)
    options: dict[int, list[Any]] = {}
    sentences, held, gains = option_sentences(result), _held(result), _gains(result)
    for cells in changed_options(result):
        first = cells[0]
        i = int(result.owners.searchsorted(first["position"])) + first["option"] - 1
        changes = [_change(result, cell, held, gains) for cell in cells]
        if first["waits"]:
            clocks = sum(result.table.schema[cell["feature"]].clock is not None for cell in cells)
            changes.insert(len(cells) - clocks, _wait(result, first))
        options.setdefault(first["position"], []).append(
            [*outcome_words(first["level"]), sentences[i], _facts(first), changes, *how_long(first)]
        )
    return {
        "features": [*(plain(feature.title) for feature in result.table.schema), WAITING],
        "clocks": list(result.table.schema.clocks),
        "outcomes": [[*outcome_words(kind), count] for kind, count in counted_outcomes(result)],
        "needs": [*_NEEDS.values(), _WITH_TIME],
        "people": [
            [
                plain(label),
                kinds.index(own[i]),
                "" if i in options else result.reason(i),
                options.get(i, []),
                why.get(i, ""),
            ]
            for i, label in enumerate(result.table.labels)
        ],
    }


_Key = tuple[Any, int, str]
"""A changed cell: the person's position, the number of the option, the feature."""


_Range = tuple[float | None, float | None, str]
"""The ends of a range as percentiles from 0 to 100, and in words."""


def _change(
    result: Record, cell: Mapping[str, Any], held: Mapping[_Key, _Range], gains: Mapping[_Key, tuple[float | None, int]]
) -> list[Any]:
    name = cell["feature"]
    feature = result.table.schema[name]
    key = (cell["position"], cell["option"], name)
    ends = (cell["current_percentile"], cell["counterfactual_percentile"])
    places = [None if end is None else round(end, 1) for end in ends]
    gain, needs = (None, 2 ** len(_NEEDS)) if feature.clock is not None else gains.get(key, (None, 0))
    return [
        result.table.schema.position(name), *now_and_then(cell, feature), *places,
        *held.get(key, (None, None, "")), gain, needs,
    ]  # fmt: skip


def _wait(result: Record, cell: Mapping[str, Any]) -> list[Any]:
    """How long an option waits, in the form of `_change`."""
    return [len(result.table.schema), "", months(cell["months"]), None, None, None, None, "", None, 0]


def _facts(cell: Mapping[str, Any]) -> str:
    """What is to be known about the option of a cell besides its changes."""
    facts = [f"total shift {points(cell['total_shift'])} percentile points"] if cell["total_shift"] is not None else []
    facts += how_long(cell)
    if cell["outlier"] is not None:
        facts.append("a local outlier" if cell["outlier"] else "no outlier")
    if cell["connected"] is not None:
        facts.append("connected to real people" if cell["connected"] else "not connected to real people")
    return " · ".join(facts)


def _held(result: Record) -> dict[_Key, _Range]:
    """The range in which each changed feature may lie, where that was asked for."""
    found = result.intervals
    if found is None:
        return {}
    ranges: dict[_Key, _Range] = {}
    for r, (i, j) in enumerate(zip(found.option.tolist(), found.column.tolist(), strict=True)):
        feature = result.table.schema.features[j]
        key = (int(result.owners[i]), int(result.ranks[i]), feature.name)
        low, high = float(found.low[r]), float(found.high[r])
        if found.levels[r]:
            ranges[key] = (None, None, f"or {', '.join(plain(feature.levels[level]) for level in found.levels[r])}")
        elif low < high:
            ends = (_point(found.low_percentile[r]), _point(found.high_percentile[r]))
            ranges[key] = (*ends, interval(low, high, feature).strip() or "any value")
    return ranges


def _point(share: float) -> float | None:
    return None if np.isnan(share) else round(100 * float(share), 1)


def _gains(result: Record) -> dict[_Key, tuple[float | None, int]]:
    """The score gained by each change, and what it is needed for, as bits; where that was asked for."""
    if result.importances is None:
        return {}
    positions = result.owners[result.importances.option]
    return {
        (int(position), entry["option"], entry["feature"]): (
            None if entry["gain"] is None else round(entry["gain"], 2) + 0.0,
            sum(2**k for k, name in enumerate(_NEEDS) if entry[name]),
        )
        for position, entry in zip(positions, result.importance_entries(), strict=True)
    }


def _against(result: Record) -> dict[int, str]:
    """The inputs that count most against each person, by position, where that was asked for."""
    found = result.attributions
    if found is None:
        return {}
    table, texts = result.table, {}
    for p, position in enumerate(found.person.tolist()):
        worst = found.against(p)[:_REASONS]
        inputs = [(table.schema.features[j], float(table.values[position, j])) for j in found.column[worst]]
        texts[position] = ", ".join(
            f"{plain(feature.title)} ({plain(described(table.layout.value(feature.name, cell), feature))})"
            for feature, cell in inputs
        )
    return texts
