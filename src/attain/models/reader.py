"""One model read through one layout: rows of the matrix in, checked answers out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from attain.core.errors import AttainError, ModelError, listed
from attain.models.adapter import (
    AnswerKind,
    Answers,
    Label,
    as_array,
    check_gradient,
    checked,
    joined_answers,
    seen_classes,
)
from attain.models.model import Model

if TYPE_CHECKING:
    from attain.tables import Layout

T = TypeVar("T")

PROBE_ROWS: Final = 256
"""The most training rows that a model is tried out on."""
_LEAST: Final = 1.0
"""The seconds that learning about a model may always take, however short the timeout."""


def spread_positions(total: int, n: int) -> np.ndarray:
    """At most `n` positions spread evenly over `total`."""
    return np.linspace(0, total - 1, min(total, n)).astype(np.intp)


def probe_rows(values: np.ndarray, n: int = PROBE_ROWS) -> np.ndarray:
    """At most `n` rows spread evenly over the training rows, which may be sorted by label."""
    return np.asarray(values[spread_positions(len(values), n)])


class OutOfTime(AttainError):
    """Learning about a model took longer than the timeout."""


@dataclass
class LearningLimit:
    """The seconds that the calls of a model may take while it is learned about.

    Parameters
    ----------
    timeout, people
        `timeout` seconds for each of `people`; no limit where it is None.
    rows
        About how many rows are asked in all, from which errors estimate the timeout to pass.
    """

    timeout: float | None
    people: int
    rows: int
    seconds: float = 0.0
    asked: int = 0

    def check(self) -> None:
        """Raises `OutOfTime` where no further call may begin."""
        if self.timeout is None or self.seconds <= max(self.timeout * self.people, _LEAST):
            return
        rows = max(self.rows, 2 * self.asked)
        needed = math.ceil(self.seconds / self.asked * rows / self.people)
        raise OutOfTime(
            f"learning about the model takes longer than timeout={self.timeout:g} allows: its calls took "
            f"{self.seconds:.3g} s for {self.asked:,} of about {rows:,} rows; pass timeout={needed} or more, or None"
        )


def by_halves(
    ask: Callable[[np.ndarray], T], rows: np.ndarray
) -> tuple[list[tuple[np.ndarray, T]], dict[int, ModelError]]:
    """`ask(rows)`; where that raises a `ModelError`, of either half, down to single rows: at most 2n − 1 calls.

    Returns the parts that succeeded, each as the positions of its rows and what `ask` returned, in order; and by
    position the error of each row that fails alone.
    """
    parts: list[tuple[np.ndarray, T]] = []
    failures: dict[int, ModelError] = {}
    waiting = [np.arange(len(rows))]
    while waiting:
        at = waiting.pop()
        if not len(at):
            continue
        try:
            parts.append((at, ask(rows[at])))
        except ModelError as error:
            if len(at) == 1:
                failures[int(at[0])] = error
            else:
                waiting += [at[len(at) // 2 :], at[: len(at) // 2]]
    return parts, failures


class Reader:
    """A model's answers to rows of the matrix: labels as positions in `classes`, probabilities by class, and scores by
    class or one number per row.

    `settle` learns from the model's answer about the probe what it does not declare: how many classes it has, and for a
    function whether it returns labels or probabilities.

    Parameters
    ----------
    model, layout
        The model, and how the training frame looked: rows reach the model in that form.
    probe
        Rows of the matrix, at least one.
    tolerant
        Whether `read_each` finds the rows that the model fails on. If not, it raises like `read`.
    """

    kinds: tuple[AnswerKind, ...]
    classes: tuple[Label, ...]

    def __init__(self, model: Model, layout: Layout, probe: np.ndarray, *, tolerant: bool = False) -> None:
        self.model, self.title = model, model.adapter.title
        self.layout = layout
        self.probe = probe
        self.tolerant = tolerant
        self.limit: LearningLimit | None = None
        self.rows = 0
        """Rows in all calls, each once per call; those that a compiled score answered count, too."""
        self.seconds = 0.0
        """How long its calls took."""
        self.uncharged = 0
        """Rows charged to nobody: of gradients, of the control, of failed searches, and asked again after an error."""
        self.failed = 0
        """How many rows `read_each` found that the model fails on."""
        self._adapter = model.adapter
        self._closed = True
        self._wanted_names = self._wanted_columns()
        places = {column: j for j, column in enumerate(layout.columns)}
        self._wanted_places = None if self._wanted_names is None else [places[name] for name in self._wanted_names]

    def fresh_copy(self, unseen: Mapping[str, tuple[Any, ...]], model: Model) -> Reader:
        """This reader with counts of zero, for rows with further levels, by column, that the schema does not have.

        `model` is the same model, perhaps wrapped again.
        """
        reader = copy(self)
        reader.rows, reader.seconds, reader.uncharged, reader.failed = 0, 0.0, 0, 0
        reader.model, reader.limit = model, None
        if model.adapter.settle is None:  # one that settles by its first answer has not been asked yet
            reader._adapter = model.adapter
        if unseen:
            reader.layout = replace(self.layout, unseen=unseen)
        return reader

    def settle(self) -> None:
        """Learns the model's kinds of answers and its classes, if need be from its answer about the probe."""
        adapter = self.model.adapter
        classes = adapter.classes
        if adapter.settle is not None or classes is None:
            first = self.read(self.probe, adapter.kinds, raw=True)
            if adapter.settle is not None:
                adapter = adapter.settle(first)
                classes = adapter.classes
            if classes is None:
                classes = self._shown_classes(adapter.kinds[0], first)
        self._adapter, self.kinds, self.classes = adapter, adapter.kinds, classes
        if len(classes) < 2 and self._closed:
            raise ModelError(f"{self.title} has only the class {listed(classes)}; there is no decision to flip")

    def drop_failing_probe(self) -> bool:
        """Drops the rows of the probe that the model fails on; False if these are none or all of them."""
        taken = self._taken(self.probe) if self.tolerant else self.probe
        if len(taken) in (0, len(self.probe)):
            return False
        self.probe = taken
        return True

    def read(self, rows: np.ndarray, kinds: tuple[AnswerKind, ...], *, raw: bool = False) -> Answers:
        """The model's answers of these kinds, checked unless they are to be `raw`; `rows` must not be empty.

        Rows with unseen levels are asked about separately: they may change the dtype of a column.
        """
        if self.layout.unseen:
            unseen = self.layout.has_unseen(rows)
            if unseen.any() and not unseen.all():
                order = np.argsort(np.concatenate((np.flatnonzero(~unseen), np.flatnonzero(unseen))))
                seen, others = self.read(rows[~unseen], kinds), self.read(rows[unseen], kinds)
                return {kind: np.concatenate((seen[kind], others[kind]))[order] for kind in kinds}
        adapter, size, parts = self._adapter, self.model.batch_rows, []
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            batch = self.batch(some)
            part: dict[AnswerKind, np.ndarray] = {}
            for kind in kinds:
                if kind in part:  # it came with an earlier kind
                    continue
                with self._asking(kind, len(some)):
                    if adapter.prepare is not None and not part:
                        batch = adapter.prepare(batch)
                    given = adapter.ask(kind, batch)
                for each, values in given.items():
                    part[each] = as_array(values, len(some), self.title)
            parts.append(part)
        answers = parts[0] if len(parts) == 1 else joined_answers(parts, self.title)
        if raw:
            return answers
        known = {}
        for kind in kinds:
            labels = adapter.model_labels if kind == "labels" else None
            classes = self.classes if labels is None else labels
            known[kind] = checked(kind, answers[kind], classes, self.title, closed=self._closed)
        return known

    @contextmanager
    def _asking(self, what: str, rows: int) -> Iterator[None]:
        """Counts and times one call; what the model raises becomes a `ModelError`, also where it calls `exit`."""
        if self.limit is not None:
            self.limit.check()
        self.count_rows(rows)
        started = time.perf_counter()
        try:
            yield
        except AttainError:
            raise
        except (Exception, SystemExit) as error:
            number = "1 row" if rows == 1 else f"{rows} rows"
            raise ModelError(
                f"{self.title} raised {type(error).__name__} when asked for {what} of {number}: {error}"
            ) from error
        finally:
            seconds = time.perf_counter() - started
            self.seconds += seconds
            if self.limit is not None:
                self.limit.seconds += seconds
                self.limit.asked += rows

    def count_rows(self, rows: int) -> None:
        """Counts one call about `rows` rows, of the model or of its compiled score."""
        if rows:
            self.rows += rows
            self.model.count(rows)

    def read_each(self, rows: np.ndarray, kinds: tuple[AnswerKind, ...]) -> tuple[np.ndarray, Answers, dict[int, str]]:
        """The positions of the rows that the model takes, its answers about these, and why it fails on the others.

        A model that fails on the first row of the probe as well no longer works, and its error is raised.
        """
        if not len(rows):
            return np.arange(0), {}, {}
        before = self.rows
        try:
            return np.arange(len(rows)), self.read(rows, kinds), {}
        except ModelError:
            if not self.tolerant:
                raise
        self.read(self.probe[:1], kinds)
        parts, failures = by_halves(lambda some: self.read(some, kinds), rows)
        self.uncharged += self.rows - before - len(rows) * len(kinds)
        self.failed += len(failures)
        taken = np.concatenate([np.empty(0, dtype=np.intp), *(at for at, _ in parts)])
        answers = {kind: np.concatenate([answer[kind] for _, answer in parts]) for kind in kinds} if parts else {}
        return taken, answers, {i: str(error) for i, error in failures.items()}

    def _taken(self, rows: np.ndarray) -> np.ndarray:
        """The rows that the model takes: those that raise no error, and have no answer that is NaN or infinite."""

        def ask(some: np.ndarray) -> None:
            for answer in self.read(some, self._adapter.kinds, raw=True).values():
                if answer.dtype.kind == "f" and not np.isfinite(answer).all():
                    raise ModelError(f"{self.title} returned NaN or infinite numbers")

        return np.delete(rows, list(by_halves(ask, rows)[1]), axis=0)

    def gradient(self, array: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """By how much class k leads the best other one, (n,), and the gradient of that in the array's cells, (n, p).

        The array has the model's columns; it must not be empty.
        """
        ask, size, parts = self._adapter.gradient, self.model.batch_rows, []
        assert ask is not None
        self.uncharged += len(array)
        for start in range(0, len(array), size):
            some = array[start : start + size]
            with self._asking("the gradient", len(some)):
                lead, gradient = (np.asarray(part, dtype=np.float64) for part in ask(some, k))
            check_gradient(self.title, some, lead, gradient)
            parts.append((lead, gradient))
        leads, gradients = zip(*parts, strict=True)
        return np.concatenate(leads), np.concatenate(gradients)

    @property
    def matrix_columns(self) -> np.ndarray:
        """Which column of the matrix each column of the model's arrays is."""
        positions = self.layout.positions
        return positions if self._wanted_places is None else positions[self._wanted_places]

    def _shown_classes(self, kind: AnswerKind, first: Answers) -> tuple[Label, ...]:
        answer = first.get(kind, first.get("output"))
        assert answer is not None
        if kind == "labels":
            self._closed = False
            return seen_classes(answer, self.title)
        return tuple(range(2 if answer.ndim == 1 else max(2, answer.shape[1])))

    def _wanted_columns(self) -> list[str] | None:
        """The columns the model wants, as the table spells them; None for all of them in the table's order."""
        adapter, columns = self._adapter, self.layout.columns
        if adapter.names is None:
            if adapter.width is not None and adapter.width != len(columns):
                raise ModelError(
                    f"{self.title} was fitted on {adapter.width} columns without names, but the table has "
                    f"{len(columns)}: {listed(columns)}; fit it on the same columns, or with names"
                )
            return None
        spelled = {adapter.spell(column): column for column in columns}
        absent = [name for name in adapter.names if name not in spelled]
        if absent:
            raise ModelError(
                f"{self.title} needs the columns {listed(absent)}, which the table does not have; its columns are "
                f"{listed(columns)}"
            )
        wanted = [spelled[name] for name in adapter.names]
        return None if wanted == list(columns) else wanted

    def batch(self, rows: np.ndarray) -> Any:
        """Rows of the matrix in the form the model takes."""
        accepts = self._adapter.accepts
        if accepts == "numpy":
            return self.array(rows)
        library: str | None = None if accepts in ("native", "frame") else accepts
        if accepts == "frame" and self.layout.library.name not in ("pandas", "polars"):
            library = "pandas"
        return self.layout.frame(rows, library=library, columns=self._wanted_names)

    def array(self, rows: np.ndarray) -> np.ndarray:
        """Rows of the matrix as an array with the columns the model wants, in their order."""
        array = self.layout.array(rows)
        return array if self._wanted_places is None else array[:, self._wanted_places]
