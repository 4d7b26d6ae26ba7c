"""What a letter to one person says, before a template puts it into words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from attain.core.errors import AttainError, listed
from attain.letters.options import Option, OptionWriter
from attain.letters.printed import Printer
from attain.letters.reasons import Reason, reasons
from attain.letters.texts import Texts
from attain.methods.provenance import as_json
from attain.methods.recheck import Recheck
from attain.results.status import Status

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
    options: tuple[Option, ...] = ()
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
    """What the letters to the people at some positions say."""
    session = explainer.session(model, target=result.target, probability=result.probability)
    recheck = session.recheck(result, call_constraints(result))
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
    return letters


def call_constraints(result: Counterfactuals) -> Mapping[str, Any]:
    """The constraints of the call that a result was made by, from its settings."""
    given = dict(result.settings.get("constraints", {}))
    labels = {repr(as_json(label)): label for label in result.table.labels}
    people = [dict(entry) for entry in given.pop("people", ())]
    return {**given, "people": {labels[repr(entry.pop("person"))]: entry for entry in people}}


def _check_decisions(result: Counterfactuals, recheck: Recheck, positions: Sequence[int]) -> None:
    """Refuses people whose search has not ended, and those about whom the model now decides otherwise."""
    stopped = [i for i in positions if result.statuses[i] in (Status.INTERRUPTED, Status.TIME_SPENT)]
    if stopped:
        raise AttainError(f"the search for {_named(result, stopped)} has not ended; explain these people again")
    read = [i for i in positions if result.statuses[i] is not Status.UNREADABLE]
    now = recheck.decided(np.array(read, dtype=np.intp))
    other = [i for i, met in zip(read, now, strict=True) if met != (result.statuses[i] is Status.ALREADY_DESIRED)]
    if other:
        raise AttainError(
            f"the model decides otherwise about {_named(result, other)} than when the result was made; pass the model "
            "that it was made with, or explain these people again"
        )


def _named(result: Counterfactuals, positions: Sequence[int]) -> str:
    return listed(result.table.labels[i] for i in positions)
