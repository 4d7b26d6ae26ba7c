"""The people of a report: what each one got, and their options line by line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from attain.core.page import Tone
from attain.core.text import ENGLISH, plain
from attain.results.counterfactuals import Counterfactuals
from attain.results.options import WAITING, Change, Option
from attain.results.sentences import has_room, how_long, interval, not_reviewed, now_and_then, option_facts, worded
from attain.results.status import Status, Verdict
from attain.schema.text import described

_REASONS: Final = 4
"""How many inputs are named that count against a person."""
_SHOWN: Final = 3
"""How many changes are shown next to a person's name."""
_NEEDS: Final = {
    "needed_for_decision": "needed for the decision",
    "needed_to_stay_typical": "keeps the record typical",
    "needed_by_law": "follows from a law",
}
Outcome = Verdict | Status | None


class Line(NamedTuple):
    """A change for reading: both values, their percentiles, the range that holds as well, and what it is needed for."""

    feature: str
    before: str
    after: str
    start: float | None = None
    end: float | None = None
    low: float | None = None
    high: float | None = None
    held: str = ""
    needs: str = ""


def outcome_by_person(result: Counterfactuals) -> list[Outcome]:
    """What each person got: the verdict on the best option (None if not known), or why there is no answer."""
    found: list[Outcome] = list(result.statuses)
    for owner, kind in zip(result.owners[result.best], result.best_verdicts, strict=True):
        found[owner] = kind
    return found


def outcome_words(outcome: Outcome) -> tuple[str, Tone]:
    """An outcome in few words, with a tone."""
    if isinstance(outcome, Status):
        return outcome.short, "muted"
    return ("answer", "good") if outcome is None else (str(outcome), outcome.tone)


def counted_outcomes(result: Counterfactuals) -> list[tuple[Outcome, int]]:
    """The outcomes that occur, answers first, and how often."""
    known = [*Verdict, None, *Status]
    return sorted(Counter(outcome_by_person(result)).items(), key=lambda pair: known.index(pair[0]))


def people(result: Counterfactuals) -> Iterator[dict[str, Any]]:
    """Each person as the template shows them, in the order of the table."""
    why = _against(result)
    for i, outcome in enumerate(outcome_by_person(result)):
        options = result.options_of(i)
        yield {
            "name": plain(result.table.labels[i]),
            "outcome": outcome_words(outcome),
            "gist": _gist(options[0]) if options else "",
            "reason": "" if options else result.reason(i),
            "against": why.get(i, ""),
            "options": [
                (outcome_words(option.verdict), _lines(option), _about(option), option.sentence) for option in options
            ],
        }


def _lines(option: Option) -> list[Line]:
    """The changes in reading order; waiting comes before the clocks."""
    lines = [_line(change) for change in option.ordered]
    if option.waits:
        clocks = sum(change.follows == "time" for change in option.changes)
        lines.insert(len(lines) - clocks, Line(WAITING, "", ENGLISH.duration(option.months)))
    return lines


def _line(change: Change) -> Line:
    needs = ["advances with time"] if change.follows == "time" else _needs(change)
    start, end = _rounded(change.current_percentile), _rounded(change.suggested_percentile)
    low, high, held = _held(change)
    return Line(plain(change.feature.title), *now_and_then(change), start, end, low, high, held, " · ".join(needs))


def _needs(change: Change) -> list[str]:
    """What a change is needed for, and how much of the score it gains."""
    needs = [words for name, words in _NEEDS.items() if getattr(change, name)]
    return needs if change.gain is None else [*needs, f"score {round(change.gain, 2) + 0.0:+.2f}".replace("-", "−")]


def _gist(option: Option) -> str:
    """The first changes of an option, how many more there are, and how long it takes."""
    made = [change for change in option.ordered if change.follows != "time"]
    shown = [f"{plain(change.feature.title)}: {' → '.join(now_and_then(change))}" for change in made[:_SHOWN]]
    more = [f"{len(made) - _SHOWN} more"] if len(made) > _SHOWN else []
    return " · ".join([*shown, *more, *how_long(option)[:1]])


def _about(option: Option) -> str:
    """The facts about an option other than its changes and its verdict."""
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
