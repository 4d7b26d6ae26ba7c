"""What a letter to one person says, before a template puts it into words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from attain.answers.recheck import Recheck
from attain.core.errors import AttainError, listed
from attain.core.files import as_json
from attain.desk.letters.rounding import PrintedOption, Printer, shown
from attain.desk.letters.texts import Texts, is_coded, level_key
from attain.results.status import Status, Verdict
from attain.schema import Feature
from attain.tables import ordinary, unchanged

if TYPE_CHECKING:
    from attain.methods import Explainer
    from attain.results.counterfactuals import Counterfactuals

_ABSENCES: Final = {
    Status.NOTHING_FREE: "nothing free",
    Status.NO_RECOURSE: "certain",
    Status.RULES_CONFLICT: "contradiction",
}
"""Why there is no option, by status; with any other status, none was found."""
_OTHER_OUTCOMES: Final = {Status.ALREADY_DESIRED: "approved", Status.UNREADABLE: "unreadable"}
"""The outcome of people who are not refused; their letters have neither reasons nor options."""
_DIGITS: Final = 3
"""Significant digits of computed features."""


@dataclass(frozen=True)
class LetterChange:
    """How one feature changes in an option, as text: its name, its value today and the new value.

    Attributes
    ----------
    low, high
        The option was checked with numbers from `low` to `high`, everything else as printed, and holds. An end is empty
        where nothing beyond it is suggested to anybody. Both are empty where that is so of both, and where no other
        numbers were checked, or some of these do not hold.
    levels
        The other levels with which it holds, checked in the same way.
    needed
        Whether the decision needs this change. All others can be left out together; they only make the record more
        like those of real people.
    """

    label: str
    before: str
    after: str
    low: str = ""
    high: str = ""
    levels: tuple[str, ...] = ()
    needed: bool = True

    @property
    def has_alternatives(self) -> bool:
        """Whether the letter names other values that would do."""
        return bool(self.low or self.high or self.levels)


@dataclass(frozen=True)
class LetterOption:
    """A way to another decision.

    Attributes
    ----------
    changes
        What to change; first what the decision needs.
    follows
        What changes along with it.
    wait
        How long to wait, such as `6 months`, where the option takes longer than its changes do; otherwise empty.
    takes
        How long the needed changes take, and `clocks` to stand as they were counted. Empty where that takes no time,
        and where there is a `wait`.
    longer
        How long all changes take; empty where that is no longer than the needed ones.
    clocks
        The names of features that advance with time, and are counted as they will be then.
    verdict
        How typical the new record is; None where that is not known.
    purpose
        "smallest" where it is the smallest change that is enough, "typical" where it asks for more; otherwise empty.
    """

    changes: tuple[LetterChange, ...]
    follows: tuple[LetterChange, ...]
    wait: str
    takes: str
    longer: str
    clocks: tuple[str, ...]
    verdict: Verdict | None
    purpose: str


@dataclass(frozen=True)
class Reason:
    """A sentence about one feature, and whether the feature may change."""

    text: str
    free: bool


@dataclass(frozen=True)
class Content:
    """What a letter to one person says.

    Attributes
    ----------
    person
        The label of their row.
    outcome
        "refused", "approved", or "unreadable" where the record could not be assessed.
    reasons
        What counted most against the person, the weightiest first.
    options
        What would lead to another decision.
    absence
        Why there is no option: "nothing free" where nothing may change, "certain" where it is proven that no allowed
        change is enough, "contradiction" where values that may not change break a rule, and else "not found". Empty
        where there are options.
    fixed
        The names of the features that the search could not change, but for those that follow others or time.
    """

    person: Any
    outcome: str
    reasons: tuple[Reason, ...] = ()
    options: tuple[LetterOption, ...] = ()
    absence: str = ""
    fixed: tuple[str, ...] = ()


def contents(
    result: Counterfactuals,
    explainer: Explainer,
    model: Any,
    texts: Texts,
    positions: Sequence[int],
    max_reasons: int,
    max_options: int,
) -> list[Content]:
    """The contents of the letters to the people at some positions."""
    session = explainer.session(model, target=result.target, probability=result.probability)
    recheck = Recheck(session, result, call_constraints(result))
    _check_ended(result, positions)
    _check_decisions(result, recheck, positions)
    printer = Printer(result, recheck)
    refused = [i for i in positions if result.statuses[i] not in _OTHER_OUTCOMES]
    options = OptionWriter(printer, texts).options(refused, max_options)
    why = reasons(result, recheck.usual, texts, refused, max_reasons)
    letters = []
    for i in positions:
        person, status = result.table.labels[i], result.statuses[i]
        if status in _OTHER_OUTCOMES:
            letters.append(Content(person, _OTHER_OUTCOMES[status]))
            continue
        frozen = [result.table.schema.features[j] for j in np.flatnonzero(recheck.region.frozen[i])]
        letters.append(
            Content(
                person=person,
                outcome="refused",
                reasons=tuple(why[i]),
                options=tuple(options.get(i, ())),
                absence="" if i in options else _ABSENCES.get(status, "not found"),
                fixed=tuple(texts.label(feature) for feature in frozen if not printer.follows(feature)),
            )
        )
    if texts.lacking:
        raise AttainError(
            f"there is no name in {texts.language.code!r} for {listed(texts.lacking, 40)}; a letter needs names in its "
            "own language, in the texts or, in English, in the schema: `attain letter RESULT --texts-template FILE` "
            "writes a table to fill in"
        )
    return letters


def call_constraints(result: Counterfactuals) -> Mapping[str, Any]:
    """The constraints of the call that made a result, from its settings."""
    given = dict(result.settings.get("constraints", {}))
    labels = {repr(as_json(label)): label for label in result.table.labels}
    people = [dict(entry) for entry in given.pop("people", ())]
    return {**given, "people": {labels[repr(entry.pop("person"))]: entry for entry in people}}


def _check_ended(result: Counterfactuals, positions: Sequence[int]) -> None:
    """Refuses people whose search has not ended, or failed."""
    stopped = [i for i in positions if result.statuses[i] in (Status.INTERRUPTED, Status.TIME_SPENT, Status.FAILED)]
    if stopped:
        raise AttainError(
            f"the search for {_named(result, stopped)} has not ended or failed; explain these people again"
        )


def _check_decisions(result: Counterfactuals, recheck: Recheck, positions: Sequence[int]) -> None:
    """Refuses people about whom the model no longer decides as it did when the result was made."""
    readable = [i for i in positions if result.statuses[i] is not Status.UNREADABLE]
    now = recheck.decided(np.array(readable, dtype=np.intp))
    differs = [i for i, met in zip(readable, now, strict=True) if met != (result.statuses[i] is Status.ALREADY_DESIRED)]
    if differs:
        raise AttainError(
            f"the model decides otherwise about {_named(result, differs)} than when the result was made; pass the "
            "model that it was made with, or explain these people again"
        )


def _check_reviewed(result: Counterfactuals, printed: Sequence[PrintedOption]) -> None:
    """Refuses options that change what nobody has reviewed, unless the call allowed that."""
    names = dict.fromkeys(name for one in printed for name in result.option(one.option).unreviewed)
    if names and not result.settings.get("allow_unreviewed"):
        raise AttainError(
            f"options change {listed(names)}, and nobody has reviewed whether people can do that; decide with `attain "
            "review`, and explain again with the reviewed schema, or else with allow_unreviewed=True (attain explain "
            "--allow-unreviewed)"
        )


def _named(result: Counterfactuals, positions: Sequence[int]) -> str:
    return listed(result.table.labels[i] for i in positions)


@dataclass(frozen=True, eq=False)
class OptionWriter:
    """Puts options of a result into words, by a table of texts."""

    printer: Printer
    texts: Texts

    @property
    def _result(self) -> Counterfactuals:
        return self.printer.result

    def options(self, positions: Sequence[int], most: int) -> dict[int, list[LetterOption]]:
        """By position, at most `most` options of each person at some positions; people without any are left out."""
        printed, written = self.printer.options(positions, most), dict[int, list[LetterOption]]()
        _check_reviewed(self._result, printed)
        for one in printed:
            written.setdefault(one.owner, []).append(self._option(one))
        return written

    def _option(self, one: PrintedOption) -> LetterOption:
        region, own, owner = self.printer.recheck.region, self._result.table.values[one.owner], np.array([one.owner])
        features = self._result.table.schema.features
        follows = [j for j in np.flatnonzero(~unchanged(own, one.row)).tolist() if j not in one.chosen]
        # clocks stay where they are in the printed row: it was only checked that the decision holds there
        needed, unneeded = one.row.copy(), [*one.unneeded]
        needed[unneeded] = own[unneeded]
        months, least = region.months(np.stack([one.row, needed]), owner.repeat(2)).tolist()
        waits = bool(region.waits(one.row[None], owner)[0])
        for_all, for_needed = (self.texts.language.duration(time) if time else "" for time in (months, least))
        changes = sorted((self._change(one, j) for j in one.chosen), key=lambda change: not change.needed)
        return LetterOption(
            changes=tuple(changes),
            follows=tuple(self._following(one, j) for j in follows if features[j].clock is None),
            wait=for_all if waits else "",
            takes="" if waits else for_needed,
            longer=for_all if months > least else "",
            clocks=tuple(self.texts.label(features[j]) for j in follows if features[j].clock is not None),
            verdict=self._result.verdicts[one.option],
            purpose=self._result.option(one.option).purpose,
        )

    def _change(self, one: PrintedOption, j: int) -> LetterChange:
        feature, own = self._result.table.schema.features[j], self._result.table.values[one.owner, j]
        label, after = self.texts.label(feature), self._text(feature, one.row[j])
        before = self._text(feature, shown(feature, own))  # rounded, unless the change would not be seen then
        low, high = self._ends(feature, *one.ranges[j]) if j in one.ranges else ("", "")
        return LetterChange(
            label=label[:1].upper() + label[1:],  # it begins a line
            before=self._text(feature, own) if before == after else before,
            after=after,
            low=low,
            high=high,
            levels=tuple(self._text(feature, level) for level in one.levels.get(j, [])),
            needed=j not in one.unneeded,
        )

    def _ends(self, feature: Feature, low: float, high: float) -> tuple[str, str]:
        """Both ends of a range, with the unit once; an end is empty where nothing beyond it is suggested to anybody."""
        below, above = low <= feature.suggested[0], high >= feature.suggested[1]
        if below or above:
            return "" if below else self._text(feature, low), "" if above else self._text(feature, high)
        return self.texts.start(feature, low), self._text(feature, high)

    def _following(self, one: PrintedOption, j: int) -> LetterChange:
        feature = self._result.table.schema.features[j]
        cells = [float(self._result.table.values[one.owner, j]), float(one.row[j])]  # before and after
        if feature.numeric:
            short = [cell if cell.is_integer() else float(f"{cell:.{_DIGITS}g}") for cell in cells]
            cells = cells if short[0] == short[1] else short
        before, after = (self._text(feature, cell) for cell in cells)
        return LetterChange(self.texts.label(feature), before, after)

    def _text(self, feature: Feature, cell: float) -> str:
        return self.texts.value(feature, self._result.table.layout.value(feature.name, float(cell)))


def reasons(
    result: Counterfactuals, usual: np.ndarray, texts: Texts, positions: Sequence[int], most: int
) -> dict[int, list[Reason]]:
    """By position, at most `most` reasons for the decision about a person, the weightiest first; each text once.

    `usual` are the median cells of people with the desired decision, (d,): a value above is high, one below low.
    """
    table, found, lacking = result.table, {}, dict[str, None]()
    for i in positions:
        mine: dict[str, Reason] = {}
        for j, free in _against(result, i):
            if len(mine) == most:
                break
            feature, cell = table.schema.features[j], float(table.values[i, j])
            value = table.layout.value(feature.name, shown(feature, cell))
            text = texts.reason(feature, value, _side(feature, cell, float(usual[j])))
            if not text:
                lacking[f"{feature.name} ({level_key(value)})" if is_coded(feature, value) else feature.name] = None
            mine.setdefault(text, Reason(text, free))
        found[i] = list(mine.values())
    if lacking:
        raise AttainError(
            f"the texts have no reason in {texts.language.code!r} for {listed(lacking, 40)}, which count against "
            "people; a letter needs one for each, and a level or special code, in parentheses, one under its own name "
            "(`level_texts`): `attain letter RESULT --texts-template FILE` writes a table to fill in"
        )
    return found


def _against(result: Counterfactuals, position: int) -> list[tuple[int, bool]]:
    """The columns that count most against a person, as in `Attributions.against`, and whether each may change."""
    known = result.attributions
    if known is None:
        raise AttainError(
            "letters need to know why decisions were made; call explain(..., contributions=True), or `attain explain "
            "--contributions`"
        )
    at = np.flatnonzero(known.person == position)
    if not len(at):
        raise AttainError(
            f"the result has no contributions for {result.table.labels[position]!r}: no real people have the desired "
            "decision, the time ran out, or the model failed; mend that, and explain this person again"
        )
    return [(int(known.column[c]), bool(known.free[at[0], c])) for c in known.against(int(at[0]))]


def _side(feature: Feature, cell: float, usual: float) -> str:
    """On which side of the usual value a cell is, "high" or "low"; empty where it has no order, or is the same."""
    if math.isnan(usual) or cell == usual or not ordinary(feature, np.array([cell]))[0]:
        return ""
    return "high" if cell > usual else "low"
