"""Each person's options, as data that a script in the page searches and shows page by page."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from attain.core.page import Cell, Tone
from attain.core.text import ENGLISH, plain
from attain.results.options import WAITING, Change, Option
from attain.results.sentences import has_room, how_long, interval, not_reviewed, now_and_then, option_facts, worded
from attain.results.status import Status, Verdict
from attain.schema.text import described

if TYPE_CHECKING:
    from attain.results.counterfactuals import Counterfactuals

_WITHOUT_SCRIPT: Final = 20
"""How many people are shown where scripts do not run."""
_REASONS: Final = 4
"""How many inputs are named that count against a person."""
_NEEDS: Final = {
    "needed_for_decision": "needed for the decision",
    "needed_to_stay_typical": "keeps the record typical",
    "needed_by_law": "follows from a law",
}
_WITH_TIME: Final = "advances with time"
"""What is said about clocks beside what changes are needed for."""


def outcomes(result: Counterfactuals) -> list[Verdict | Status | None]:
    """What each person got: the verdict on the best option (None if not known), or why there is no answer."""
    found: list[Verdict | Status | None] = list(result.statuses)
    for owner, kind in zip(result.owners[result.best], result.best_verdicts, strict=True):
        found[owner] = kind
    return found


def outcome_words(outcome: Verdict | Status | None) -> tuple[str, Tone]:
    """An outcome in few words, with a tone."""
    if isinstance(outcome, Status):
        return outcome.short, "muted"
    return ("answer", "good") if outcome is None else (str(outcome), outcome.tone)


def counted_outcomes(result: Counterfactuals) -> list[tuple[Verdict | Status | None, int]]:
    """The outcomes that occur, answers first, and how often."""
    known = [*Verdict, None, *Status]
    return sorted(Counter(outcomes(result)).items(), key=lambda pair: known.index(pair[0]))


def explorer(result: Counterfactuals) -> dict[str, Any]:
    """What the script shows, and the first people as a table for a browser that runs none."""
    content = _content(result)
    first = [
        (name, options[0][2] if options else reason, Cell(*content["outcomes"][outcome][:2]))
        for name, outcome, reason, options, *_ in content["people"][:_WITHOUT_SCRIPT]
    ]
    return {"content": content, "first": first}


def _content(result: Counterfactuals) -> dict[str, Any]:
    """What `people.js` reads; lists instead of objects keep it small."""
    kinds = [kind for kind, _ in counted_outcomes(result)]
    own, why = outcomes(result), _against(result)
    options: dict[int, list[Any]] = {}
    for option in result.all_options:
        changes = [_change(result, change) for change in option.ordered]
        if option.waits:
            clocks = sum(change.follows == "time" for change in option.changes)
            changes.insert(len(changes) - clocks, _wait(result, option))
        options.setdefault(option.position, []).append(
            [*outcome_words(option.verdict), option.sentence, _about(option), changes, *how_long(option)]
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


def _change(result: Counterfactuals, change: Change) -> list[Any]:
    places = (change.current_percentile, change.suggested_percentile)
    gain, needs = None, 2 ** len(_NEEDS)
    if change.follows != "time":
        gain = None if change.gain is None else round(change.gain, 2) + 0.0
        needs = sum(2**k for k, name in enumerate(_NEEDS) if getattr(change, name))
    return [
        result.table.schema.position(change.feature.name), *now_and_then(change), *map(_rounded, places),
        *_held(change), gain, needs,
    ]  # fmt: skip


def _wait(result: Counterfactuals, option: Option) -> list[Any]:
    """How long an option waits, in the form of `_change`."""
    return [len(result.table.schema), "", ENGLISH.duration(option.months), None, None, None, None, "", None, 0]


def _about(option: Option) -> str:
    """What is to be known about an option besides its changes and its verdict, which is beside its name."""
    return " · ".join([*(fact for fact in option_facts(option) if fact != option.verdict), *not_reviewed(option)])


def _held(change: Change) -> tuple[float | None, float | None, str]:
    """The ends of the range in which the feature may lie as percentiles, and the range in words."""
    if change.others:
        return None, None, f"or {', '.join(map(worded, change.others))}"
    if has_room(change):
        ends = _rounded(change.low_percentile), _rounded(change.high_percentile)
        return *ends, interval(change).strip() or "any value"
    return None, None, ""


def _rounded(place: float | None) -> float | None:
    return None if place is None else round(place, 1)


def _against(result: Counterfactuals) -> dict[int, str]:
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
