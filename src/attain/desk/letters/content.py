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
"""Why there is no option, where that is not simply that none was found."""
_NOT_REFUSED: Final = {Status.ALREADY_DESIRED: "approved", Status.UNREADABLE: "unreadable"}
_DIGITS: Final = 3
"""Significant digits of computed details."""


@dataclass(frozen=True)
class LetterChange:
    """One detail of an option: its name, its value today and the new one.

    Attributes
    ----------
    low, high, levels
        From `low` to `high`, or with one of the other `levels`, the option holds too, all else as printed; empty where
        that is not known. Where only one of `low` and `high` is empty, the detail cannot go beyond it.
    needed
        Whether the decision needs this change. Otherwise it only keeps the record like those of other people.
    """

    label: str
    before: str
    after: str
    low: str = ""
    high: str = ""
    levels: tuple[str, ...] = ()
    needed: bool = True

    @property
    def other(self) -> bool:
        """Whether other values would do."""
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
    wait, takes, longer
        How long to wait, or how long the changes that the decision needs take, such as `6 months`; how long all take,
        if that is longer; empty where no time is known.
    grows
        The names of details that advance with time, and are counted as they will be then.
    verdict
        What the new record is like; None where that is not known.
    purpose
        "smallest" where it is the smallest change that is enough, "typical" where it asks for more; otherwise empty.
    """

    changes: tuple[LetterChange, ...]
    follows: tuple[LetterChange, ...]
    wait: str
    takes: str
    longer: str
    grows: tuple[str, ...]
    verdict: Verdict | None
    purpose: str


@dataclass(frozen=True)
class Reason:
    """A sentence about one input, and whether the input may change."""

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
        Why the decision was made, the weightiest first; `text` and `free`, whether the detail may change.
    options
        What would lead to another decision.
    absence
        Why there is no option: "nothing free", "certain", "contradiction" or "not found"; otherwise empty.
    fixed
        The names of the details that were held fixed.
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
    most_reasons: int,
    most_options: int,
) -> list[Content]:
    """The contents of the letters to the people at some positions."""
    session = explainer.session(model, target=result.target, probability=result.probability)
    recheck = Recheck(session, result, call_constraints(result))
    _check_decisions(result, recheck, positions)
    printer = Printer(result, recheck)
    refused = [i for i in positions if result.statuses[i] not in _NOT_REFUSED]
    options = OptionWriter(printer, texts).options(refused, most_options)
    why = reasons(result, recheck.usual, texts, refused, most_reasons)
    letters = []
    for i in positions:
        person, status = result.table.labels[i], result.statuses[i]
        if status in _NOT_REFUSED:
            letters.append(Content(person, _NOT_REFUSED[status]))
            continue
        held = [f for f, frozen in zip(result.table.schema, recheck.region.frozen[i], strict=True) if frozen]
        letters.append(
            Content(
                person,
                "refused",
                tuple(why[i]),
                tuple(options.get(i, ())),
                "" if i in options else _ABSENCES.get(status, "not found"),
                tuple(texts.label(feature) for feature in held if not printer.follows(feature)),
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


def _check_decisions(result: Counterfactuals, recheck: Recheck, positions: Sequence[int]) -> None:
    """Refuses people whose search has not ended, and those about whom the model now decides otherwise."""
    stopped = [i for i in positions if result.statuses[i] in (Status.INTERRUPTED, Status.TIME_SPENT, Status.FAILED)]
    if stopped:
        raise AttainError(
            f"the search for {_named(result, stopped)} has not ended or failed; explain these people again"
        )
    read = [i for i in positions if result.statuses[i] is not Status.UNREADABLE]
    now = recheck.decided(np.array(read, dtype=np.intp))
    other = [i for i, met in zip(read, now, strict=True) if met != (result.statuses[i] is Status.ALREADY_DESIRED)]
    if other:
        raise AttainError(
            f"the model decides otherwise about {_named(result, other)} than when the result was made; pass the model "
            "that it was made with, or explain these people again"
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
    """Puts options into the words of a table of texts."""

    printer: Printer
    texts: Texts

    @property
    def _result(self) -> Counterfactuals:
        return self.printer.result

    def options(self, positions: Sequence[int], most: int) -> dict[int, list[LetterOption]]:
        """At most `most` options of each person at some positions, by position."""
        printed, written = self.printer.options(positions, most), dict[int, list[LetterOption]]()
        _check_reviewed(self._result, printed)
        for one in printed:
            written.setdefault(one.owner, []).append(self._option(one))
        return written

    def _option(self, one: PrintedOption) -> LetterOption:
        region, own, owner = self.printer.recheck.region, self._result.table.values[one.owner], np.array([one.owner])
        features = self._result.table.schema.features
        follows = [j for j in np.flatnonzero(~unchanged(own, one.row)).tolist() if j not in one.chosen]
        needed, unneeded = one.row.copy(), [*one.unneeded]
        needed[unneeded] = own[unneeded]
        months, least = region.months(np.stack([one.row, needed]), owner.repeat(2)).tolist()
        waits = bool(region.waits(one.row[None], owner)[0])
        all_of_it, enough = (self.texts.language.duration(time) if time else "" for time in (months, least))
        changes = sorted((self._change(one, j) for j in one.chosen), key=lambda change: not change.needed)
        return LetterOption(
            changes=tuple(changes),
            follows=tuple(self._following(one, j) for j in follows if features[j].clock is None),
            wait=all_of_it if waits else "",
            takes="" if waits else enough,
            longer=all_of_it if months > least else "",
            grows=tuple(self.texts.label(features[j]) for j in follows if features[j].clock is not None),
            verdict=self._result.verdicts[one.option],
            purpose=self._result.option(one.option).purpose,
        )

    def _change(self, one: PrintedOption, j: int) -> LetterChange:
        feature, own = self._result.table.schema.features[j], self._result.table.values[one.owner, j]
        label, after = self.texts.label(feature), self._shown(feature, one.row[j])
        before = self._shown(feature, shown(feature, own))
        low, high = self._ends(feature, *one.ranges[j]) if j in one.ranges else ("", "")
        return LetterChange(
            label[:1].upper() + label[1:],  # it begins a line
            self._shown(feature, own) if before == after else before,
            after,
            low,
            high,
            tuple(self._shown(feature, level) for level in one.levels.get(j, [])),
            j not in one.unneeded,
        )

    def _ends(self, feature: Feature, low: float, high: float) -> tuple[str, str]:
        """Both ends of a range, with the unit once; an end that nothing suggested exceeds is empty."""
        below, above = low <= feature.suggested[0], high >= feature.suggested[1]
        if below or above:
            return "" if below else self._shown(feature, low), "" if above else self._shown(feature, high)
        return self.texts.start(feature, low), self._shown(feature, high)

    def _following(self, one: PrintedOption, j: int) -> LetterChange:
        feature = self._result.table.schema.features[j]
        cells = [float(self._result.table.values[one.owner, j]), float(one.row[j])]
        if feature.numeric:
            short = [cell if cell.is_integer() else float(f"{cell:.{_DIGITS}g}") for cell in cells]
            cells = cells if short[0] == short[1] else short
        before, after = (self._shown(feature, cell) for cell in cells)
        return LetterChange(self.texts.label(feature), before, after)

    def _shown(self, feature: Feature, cell: float) -> str:
        return self.texts.value(feature, self._result.table.layout.value(feature.name, float(cell)))


def reasons(
    result: Counterfactuals, usual: np.ndarray, texts: Texts, positions: Sequence[int], most: int
) -> dict[int, list[Reason]]:
    """By position, at most `most` reasons of a person, the weightiest first; each text once.

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
    """The columns that count against a person, the weightiest first, and whether each may change."""
    known = result.attributions
    if known is None:
        raise AttainError(
            "letters need to know why decisions were made; call explain(..., contributions=True), or `attain explain "
            "--contributions`"
        )
    at = np.flatnonzero(known.person == position)
    if not len(at):
        raise AttainError(
            f"the result has no contributions for {result.table.labels[position]!r}: there were no real people with "
            "the desired decision to compare with"
        )
    return [(int(known.column[c]), bool(known.free[at[0], c])) for c in known.against(int(at[0]))]


def _side(feature: Feature, cell: float, usual: float) -> str:
    if math.isnan(usual) or cell == usual or not ordinary(feature, np.array([cell]))[0]:
        return ""
    return "high" if cell > usual else "low"
