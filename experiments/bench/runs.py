"""One run of the benchmark: a method's answers to one classifier's refused rows, checked and measured.

Nothing that a method reports about itself is used: its answers are read as a frame, checked by a second, independent
implementation of the rules, put to the classifier again, and measured against real rows, some of them held out.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from attain.core.errors import ModelError
from attain.metrics import AnswerMatrix
from attain.metrics.comparison import FAILED, NOT_APPLICABLE, OK
from attain.results.status import Status
from attain.schema import Constraints
from attain.tables import Region, Table
from experiments.bench.cases import MEASURES, Case
from experiments.store import Artifact
from tests.changes import faults

STOPPED: Final = "stopped"
NOBODY: Final = "no row is refused"
"""How a run ended, beside those of `attain.metrics.comparison`."""
FOUND, NONE, BROKEN, REFUSED = "found", "no answer", "breaks a rule", "still refused"
"""The verdicts on a row's answer."""


class Run(NamedTuple):
    """Which method on what."""

    dataset: str
    classifier: str
    method: str
    seed: int

    @property
    def key(self) -> str:
        """Its name in a store."""
        return f"run {self.dataset} {self.classifier} {self.method} seed {self.seed}"


@dataclass(frozen=True, eq=False)
class Fitted:
    """A method fitted on the training part of a split, and the CPU seconds that took."""

    method: Any
    seconds: float


def measured(case: Case, fitted: Fitted) -> Artifact:
    """How the run ended, and for each row a verdict and the measures."""
    rows, desired = case.refused, case.split.data.desired
    if not len(rows):
        return without_rows(NOBODY, "")
    try:
        fitted.method.explain(case.model, rows.iloc[:1], target=desired)  # compile before timing
        started = time.process_time()
        result = fitted.method.explain(case.model, rows, target=desired)
        seconds = (time.process_time() - started) / len(rows)
    except ModelError as error:
        return unmeasured(NOT_APPLICABLE, str(error), rows)
    if Status.INTERRUPTED in getattr(result, "statuses", ()):
        raise KeyboardInterrupt
    table = Table.read(rows, case.split.data.schema)
    answers, verdicts, reasons = _judged(result, rows, table, case)
    found = np.array([verdict == FOUND for verdict in verdicts], dtype=np.bool_)
    evaluation = case.real_people.evaluate(AnswerMatrix(table, answers, found, desired), measures=MEASURES.values())
    spent = getattr(result, "person_figures", {}).get("rows_scored")
    arrays = {str(name): column.to_numpy(np.float64) for name, column in evaluation.frame.items() if name != "found"}
    arrays["rows_scored"] = np.full(len(rows), np.nan) if spent is None else np.asarray(spent, dtype=np.float64)
    facts = {
        "status": OK,
        "reason": "",
        "rows": [str(label) for label in rows.index],
        "verdicts": verdicts,
        "reasons": reasons,
        "free_features": len(case.split.data.schema.free),
        "accuracy": case.accuracy,
        "cpu_seconds": seconds,
        "fit_seconds": fitted.seconds,
        "real": evaluation.summary["real"].dropna().to_dict(),
    }
    return Artifact(facts, arrays)


def unmeasured(status: str, reason: str, rows: pd.DataFrame) -> Artifact:
    """A run that gave no answers, with its rows."""
    return Artifact({"status": status, "reason": reason, "rows": [str(label) for label in rows.index]}, {})


def without_rows(status: str, reason: str) -> Artifact:
    """A run whose rows are not known, or that has none."""
    return Artifact({"status": status, "reason": reason, "rows": [None]}, {})


def failed(error: Exception) -> tuple[str, str]:
    """The status and the reason, in one line, of a run that raised."""
    return FAILED, " ".join(f"{type(error).__name__}: {error}".split())


def _judged(result: Any, rows: pd.DataFrame, table: Table, case: Case) -> tuple[np.ndarray, list[str], list[str]]:
    """The answers that count, (n_rows, n_features), NaN for others, and each row's verdict and its reason."""
    schema, columns = table.schema, list(rows.columns)
    frame = getattr(result, "frame", result)
    answered = getattr(result, "found", None)
    answered = ~frame[columns].isna().all(axis=1).to_numpy() if answered is None else answered
    reasons = [_own_reason(result, i) for i in range(len(rows))]
    verdicts = [NONE] * len(rows)
    before, after = rows.to_dict("records"), frame[columns].to_dict("records")
    for i in np.flatnonzero(answered):
        wrong = faults(schema, _by_name(before[i]), _by_name(after[i]))
        verdicts[i], reasons[i] = (BROKEN, "; ".join(wrong)) if wrong else (FOUND, "")
    answers = np.full(table.values.shape, np.nan)
    kept = np.flatnonzero([verdict == FOUND for verdict in verdicts])
    if kept.size:
        read = frame[columns].iloc[kept].astype(rows.dtypes)
        answers[kept] = Table.read(read, schema).values
        allowed = Region.of(table, Constraints()).allows(answers[kept], kept)
        flipped = np.asarray(case.model.predict(read)) == case.split.data.desired
        for i, fine, desired in zip(kept, allowed, flipped, strict=True):
            if not fine:
                verdicts[i], reasons[i] = BROKEN, "a rule between features, a derived column or a step"
            elif not desired:
                verdicts[i] = REFUSED
    answers[[verdict != FOUND for verdict in verdicts]] = np.nan
    return answers, verdicts, reasons


def _own_reason(result: Any, row: int) -> str:
    """Why a row has no answer, if the method says so."""
    statuses = getattr(result, "statuses", ())
    return statuses[row].name.lower().replace("_", " ") if row < len(statuses) else ""


def _by_name(record: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(name): value for name, value in record.items()}
