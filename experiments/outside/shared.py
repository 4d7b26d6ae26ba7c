"""Shared by the adapters of other packages: one row at a time, what it may reach, and how answers are read back."""

from __future__ import annotations

import hashlib
import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from attain.schema import Feature, Schema


@dataclass(frozen=True, eq=False)
class FrameResult:
    """Answers as a frame like the factuals, with missing rows if there is none, and figures per row."""

    frame: pd.DataFrame
    person_figures: dict[str, np.ndarray]


def each(
    X: pd.DataFrame,
    schema: Schema,
    answer: Callable[[pd.DataFrame], dict[str, Any] | None],
    spent: Callable[[], int] | None = None,
) -> FrameResult:
    """Answers one row at a time; `spent` returns the number of rows scored so far."""
    rows, scored = [], [0 if spent is None else spent()]
    for i in range(len(X)):
        person = X.iloc[i : i + 1]
        found = answer(person)
        scored.append(0 if spent is None else spent())
        rows.append([np.nan] * X.shape[1] if found is None else _row(found, person, schema))
    frame = pd.DataFrame(rows, index=X.index, columns=X.columns, dtype=object)
    return FrameResult(frame, {} if spent is None else {"rows_scored": np.diff(scored).astype(np.float64)})


def _row(found: dict[str, Any], person: pd.DataFrame, schema: Schema) -> list[Any]:
    return [_cell(schema[str(name)], person[name].iloc[0], found[name]) for name in person.columns]


def _cell(feature: Feature, own: Any, new: Any) -> Any:
    """A cell as the schema has it: the factual's own, or a number on its step, if equal in 32 bits."""
    if not feature.numeric:
        known = {str(level): level for level in feature.levels}
        return known.get(str(new), own if pd.isna(new) else new)
    if pd.isna(new) or np.float32(new) == np.float32(own):
        return own
    if feature.step is not None:
        near = round(float(new) / feature.step) * feature.step
        return near if np.float32(near) == np.float32(new) else float(new)
    return float(new)


def movable(feature: Feature, own: Any) -> bool:
    """Whether a cell may change: it is free, not missing, and not a special code."""
    return feature.searched and not pd.isna(own) and not (feature.numeric and own in feature.special)


def reachable(feature: Feature, own: Any, months: float | None = None) -> list[Any]:
    """The levels that a row may reach, by direction, range, transitions, and by pace in some months."""
    levels = list(feature.levels)
    at = levels.index(own)
    down, up = feature.range if feature.ordered else (None, None)
    low = at if feature.direction == "increase" else 0 if down is None else at + down
    high = at if feature.direction == "decrease" else len(levels) if up is None else at + up
    if months is not None and feature.pace is not None:
        furthest = round(feature.pace * months, 6) // 1 if feature.ordered else len(levels)
        low, high = max(low, at - furthest), min(high, at + furthest)
    allowed = [level for level in feature.transitions.get(own, levels) if level not in feature.avoid]
    return [level for place, level in enumerate(levels) if level == own or (low <= place <= high and level in allowed)]


def seed(seed: int, person: pd.DataFrame) -> int:
    """A seed of the row's own, which does not depend on the rest of the batch."""
    text = f"{seed} {list(person.iloc[0])}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big")


@contextmanager
def quiet() -> Iterator[None]:
    """Suppresses output and warnings of other packages."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
