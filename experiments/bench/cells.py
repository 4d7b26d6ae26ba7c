"""One cell of the bench: a method's answers to one classifier's people, checked and measured.

Nothing a method says of itself is believed: its answers are read as a frame, checked against the rules by a second,
plain check, put to the classifier again, and measured against real people, some of whom it has not seen.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from attain.core.errors import ModelError
from attain.population.measuring import BoolArray, FloatArray
from attain.results.status import Status
from attain.schema import Constraints
from attain.tables import Region, Table
from attain.testing.rules import broken_rules
from experiments.bench.cases import Case
from experiments.store import Part

OK, NOT_APPLICABLE, FAILED, STOPPED = "ok", "not applicable", "failed", "stopped"
"""How a cell ended."""
NOBODY: Final = "nobody is refused"
FOUND, NONE, BROKEN, REFUSED = "found", "no answer", "breaks a rule", "still refused"
"""How a person's answer in a cell that is ok was judged."""


class Cell(NamedTuple):
    """Where a cell stands."""

    dataset: str
    classifier: str
    method: str
    seed: int

    @property
    def key(self) -> str:
        """Its name in a store."""
        return f"cell {self.dataset} {self.classifier} {self.method} seed {self.seed}"


@dataclass(frozen=True, eq=False)
class Fitted:
    """A method fitted on the training part of a split, and the CPU seconds that took."""

    method: Any
    seconds: float


@dataclass(frozen=True, eq=False)
class _Judged:
    """A method's answers, person by person: the row that counts, how it was judged, and why."""

    rows: FloatArray
    words: list[str]
    reasons: list[str]

    @property
    def found(self) -> BoolArray:
        return np.array([word == FOUND for word in self.words], dtype=np.bool_)


def measured(case: Case, fitted: Fitted) -> Part:
    """The cell's part: how it ended, and for each person a verdict and the measures."""
    people, desired = case.people, case.split.data.desired
    if not len(people):
        return without_people(NOBODY, "")
    try:
        fitted.method.explain(case.model, people.iloc[:1], target=desired)  # compiles what is to be compiled
        started = time.process_time()
        result = fitted.method.explain(case.model, people, target=desired)
        seconds = (time.process_time() - started) / len(people)
    except ModelError as error:
        return unmeasured(NOT_APPLICABLE, str(error), people)
    if Status.INTERRUPTED in getattr(result, "statuses", ()):
        raise KeyboardInterrupt
    table = Table.read(people, case.split.data.schema)
    judged = _judged(result, people, table, case)
    spent = getattr(result, "person_figures", {}).get("rows_scored")
    arrays = {
        **case.yardstick.measures(table.values, judged.rows, judged.found),
        "rows_scored": np.full(len(people), np.nan) if spent is None else np.asarray(spent, dtype=np.float64),
    }
    facts = {
        "status": OK,
        "reason": "",
        "people": [str(label) for label in people.index],
        "verdicts": judged.words,
        "reasons": judged.reasons,
        "free_features": len(case.split.data.schema.free),
        "accuracy": case.accuracy,
        "cpu_seconds": seconds,
        "fit_seconds": fitted.seconds,
    }
    return Part(facts, arrays)


def unmeasured(status: str, reason: str, people: pd.DataFrame) -> Part:
    """The part of a cell that gave no answers, with its people."""
    return Part({"status": status, "reason": reason, "people": [str(label) for label in people.index]}, {})


def without_people(status: str, reason: str) -> Part:
    """The part of a cell whose people are not known, or that has none."""
    return Part({"status": status, "reason": reason, "people": [None]}, {})


def _judged(result: Any, people: pd.DataFrame, table: Table, case: Case) -> _Judged:
    """Every person's answer: whether there is one, keeps the rules, and turns the decision."""
    schema, columns = table.schema, list(people.columns)
    frame = getattr(result, "frame", result)
    answered = ~frame[columns].isna().all(axis=1).to_numpy()
    own = [_own_reason(result, i) for i in range(len(people))]
    words, reasons = [NONE] * len(people), own
    before, after = people.to_dict("records"), frame[columns].to_dict("records")
    for i in np.flatnonzero(answered):
        wrong = broken_rules(schema, _by_name(before[i]), _by_name(after[i]))
        words[i], reasons[i] = (BROKEN, "; ".join(wrong)) if wrong else (FOUND, "")
    rows = np.full(table.values.shape, np.nan)
    kept = np.flatnonzero([word == FOUND for word in words])
    if kept.size:
        read = frame[columns].iloc[kept].astype(people.dtypes)
        rows[kept] = Table.read(read, schema).values
        allowed = Region.of(table, Constraints()).allows(rows[kept], kept)
        turned = np.asarray(case.model.predict(read)) == case.split.data.desired
        for i, fine, desired in zip(kept, allowed, turned, strict=True):
            if not fine:
                words[i], reasons[i] = BROKEN, "a rule between features, a derived column or a step"
            elif not desired:
                words[i] = REFUSED
    rows[[word != FOUND for word in words]] = np.nan
    return _Judged(rows, words, reasons)


def _own_reason(result: Any, person: int) -> str:
    """Why a person has no answer, where the method tells."""
    outcome = getattr(result, "statuses", ())
    return outcome[person].name.lower().replace("_", " ") if person < len(outcome) else ""


def _by_name(record: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(name): value for name, value in record.items()}
