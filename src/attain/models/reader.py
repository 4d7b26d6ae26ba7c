"""One model read through one layout: rows of the matrix in, checked answers out."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from hashlib import blake2b
from types import MappingProxyType
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
from attain.models.model import Model, RowCounter

if TYPE_CHECKING:
    from attain.tables import Layout

T = TypeVar("T")

_SLOW: Final = 0.1
"""Seconds. What a model answers after it has taken so long is kept while it is learned about."""
_LEAST: Final = 1.0
"""Seconds that a model may take in each attempt to learn about it, however short the time is."""


class OutOfTime(AttainError):
    """The time was up while a model was being learned about."""


def _never() -> bool:
    return False


class Learning:
    """The calls of a model while it is learned about.

    Calls that failed are kept and, once an attempt has taken `_SLOW` seconds, all others. So an attempt that ran out of
    time can be made again, and then goes on where the last one ended.

    Attributes
    ----------
    late
        Whether the time is up; looked at before each new call, once those of this attempt have taken `_LEAST` seconds.
    seconds
        How long the calls of this attempt took, those kept from earlier ones included.
    """

    def __init__(self) -> None:
        self.late: Callable[[], bool] = _never
        self.seconds = self._new_seconds = 0.0
        self._kept: dict[tuple[str, bytes], list[tuple[Any, float]]] = {}
        self._used: Counter[tuple[str, bytes]] = Counter()
        self._known: dict[tuple[str, bytes], dict[int, ModelError]] = {}

    def attempt(self, late: Callable[[], bool] = _never) -> None:
        """Starts the next attempt; without `late` one that never runs out of time, as after the last."""
        self.late, self.seconds, self._new_seconds, self._used = late, 0.0, 0.0, Counter()

    def forget(self) -> None:
        """Forgets all that was kept."""
        self._kept, self._known = {}, {}

    def fails(self, rows: np.ndarray, kinds: tuple[AnswerKind, ...]) -> dict[int, ModelError]:
        """The rows that are known to fail by themselves, by position, each with its error."""
        asked = _call_key(kinds[0], rows)
        if asked not in self._known:  # the same in later attempts, so that they ask about the same parts
            errors = {key: kept[-1][0] for key, kept in self._kept.items() if isinstance(kept[-1][0], ModelError)}
            keys = ((i, _call_key(kind, row)) for i, row in enumerate(rows if errors else ()) for kind in kinds)
            self._known[asked] = {i: errors[key] for i, key in keys if key in errors}
        return self._known[asked]

    def kept(self, kind: AnswerKind, rows: np.ndarray) -> Any:
        """What the model returned or raised when it was asked about these rows in an earlier attempt; None if nothing.

        Raises where a new call would be too late.
        """
        key = _call_key(kind, rows) if self._kept else None
        kept = self._kept.get(key, []) if key else []
        # each kept answer is given once, in order, but a failure every time
        if key and kept and (self._used[key] < len(kept) or isinstance(kept[-1][0], ModelError)):
            answer, seconds = kept[min(self._used[key], len(kept) - 1)]
            self._used[key] += 1
            self.seconds += seconds
            return answer
        if self._new_seconds > _LEAST and self.late():
            raise OutOfTime(
                "the time was up while the model was being learned about: it is slow, or fails, on training rows. "
                "What it has answered is kept, so that another call goes on from there; or give a longer timeout"
            )
        return None

    def keep(self, kind: AnswerKind, rows: np.ndarray, answer: Any, seconds: float) -> None:
        """Takes the answer or the error of a new call."""
        self._new_seconds += seconds
        if self.seconds + seconds > _SLOW or isinstance(answer, ModelError):
            key = _call_key(kind, rows)
            self._kept.setdefault(key, []).append((answer, seconds))
            self._used[key] += 1
        self.seconds += seconds


def _without_traceback(error: ModelError) -> ModelError:
    """The error without what a traceback holds on to."""
    plain = ModelError(str(error))
    plain.__cause__ = None if error.__cause__ is None else error.__cause__.with_traceback(None)
    return plain


def _call_key(kind: AnswerKind, rows: np.ndarray) -> tuple[str, bytes]:
    return kind, blake2b(rows.tobytes(), digest_size=16).digest()


def by_halves(
    ask: Callable[[np.ndarray], T], rows: np.ndarray, known: Mapping[int, ModelError] = MappingProxyType({})
) -> tuple[list[tuple[np.ndarray, T]], dict[int, ModelError]]:
    """`ask(rows)`; where that raises a `ModelError`, of either half, down to single rows: at most 2n − 1 calls.

    Rows that are `known` to fail are left out.

    Returns the parts that succeeded, each as the positions of its rows and what `ask` returned, in order; and by
    position the error of each row that fails by itself.
    """
    parts: list[tuple[np.ndarray, T]] = []
    failures = dict(known)
    waiting = [np.delete(np.arange(len(rows)), list(known))]
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
    """A model's answers to rows of the matrix: labels as positions in `classes`, probabilities and scores by class.

    What a model does not say about itself, its answer about the probe shows: how many classes it has, and for a
    function whether it returns labels or probabilities.

    Parameters
    ----------
    model, layout
        The model, and how the training frame looked: rows reach the model in that form.
    probe
        Rows of the matrix, at least one.
    tolerant
        Whether `read_each` finds the rows that the model fails on. If not, it raises like `read`.
    learning
        What earlier attempts to learn about the model have left.
    """

    def __init__(
        self,
        model: Model,
        layout: Layout,
        probe: np.ndarray,
        *,
        tolerant: bool = False,
        learning: Learning | None = None,
    ) -> None:
        self.model = model
        self.layout = layout
        self.tolerant = tolerant
        self.learning: Learning | None = learning or Learning()
        """None in the readers of single calls."""
        self.count = RowCounter()
        self.uncharged = 0
        """How many of these are rows of gradients, controls and failed searches, or were asked again after an error."""
        self.failed = 0
        """How many rows `read_each` found that the model fails on."""
        self.structure: dict[str, Any] = {}
        """What was learned about the inside of the model, by `attain.models.encoding`."""
        self._adapter = model.adapter
        self._wanted_names = self._wanted_columns()
        places = {column: j for j, column in enumerate(layout.columns)}
        self._wanted_places = None if self._wanted_names is None else [places[name] for name in self._wanted_names]
        self.probe = probe
        """The rows of the probe that the model takes."""
        self.learn_from_probe(self._settle)
        if len(self.classes) < 2 and self._closed:
            raise ModelError(f"{self.title} has only the class {listed(self.classes)}; there is no decision to flip")

    def anew(self, unseen: Mapping[str, tuple[Any, ...]], model: Model) -> Reader:
        """This reader with counts of its own, for rows with further levels, by column, that the schema does not have.

        `model` is the same model, perhaps wrapped again.
        """
        reader = copy(self)
        reader.count, reader.uncharged, reader.failed = RowCounter(), 0, 0
        reader.model, reader.learning = model, None
        if model.adapter.settle is None:  # one that settles by its first answer has not been asked yet
            reader._adapter = model.adapter
        if unseen:
            reader.layout = replace(self.layout, unseen=unseen)
        return reader

    def learn_from_probe(self, learn: Callable[[], None]) -> None:
        """Calls `learn`; if that fails and the reader is tolerant, again without rows that the model fails on."""
        try:
            learn()
        except ModelError:
            taken = self._taken(self.probe) if self.tolerant else self.probe
            if len(taken) in (0, len(self.probe)):
                raise
            self.probe = taken
            learn()

    def _settle(self) -> None:
        """Learns what the model does not say about itself."""
        self._closed = True
        adapter = self._adapter
        classes = adapter.classes
        if adapter.settle is not None or classes is None:
            first = self.read(self.probe, adapter.kinds, raw=True)
            if adapter.settle is not None:
                adapter = adapter.settle(first)
                classes = adapter.classes
            if classes is None:
                classes = self._shown_classes(adapter.kinds[0], first)
        self._adapter = adapter
        self.kinds = adapter.kinds
        self.classes: tuple[Label, ...] = classes

    @property
    def title(self) -> str:
        return self.model.adapter.title

    def read(self, rows: np.ndarray, kinds: tuple[AnswerKind, ...], *, raw: bool = False) -> Answers:
        """The model's answers of these kinds, checked unless they are to be `raw`; `rows` must not be empty.

        Rows with unseen levels are asked about by themselves: they may change the dtype of a column.
        """
        unseen = self.layout.has_unseen(rows)
        if unseen.any() and not unseen.all():
            order = np.argsort(np.concatenate((np.flatnonzero(~unseen), np.flatnonzero(unseen))))
            seen, others = self.read(rows[~unseen], kinds), self.read(rows[unseen], kinds)
            return {kind: np.concatenate((seen[kind], others[kind]))[order] for kind in kinds}
        adapter, size, parts = self._adapter, self.model.batch_rows, []
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            batch = self.batch(part)
            if adapter.prepare is not None:
                with self._asking(kinds[0], part):
                    batch = adapter.prepare(batch)
            given: dict[AnswerKind, np.ndarray] = {}
            for kind in kinds:
                if kind in given:
                    continue
                answer = None if self.learning is None else self.learning.kept(kind, part)
                if answer is None:
                    started = time.perf_counter()
                    try:
                        self.count_rows(len(part))
                        with self._asking(kind, part):
                            answer = self._adapter.ask(kind, batch)
                    except ModelError as error:
                        if self.learning is None:
                            raise
                        answer = _without_traceback(error)
                    if self.learning is not None:
                        self.learning.keep(kind, part, answer, time.perf_counter() - started)
                if isinstance(answer, ModelError):
                    raise answer
                given |= {each: as_array(values, len(part), self.title) for each, values in answer.items()}
            parts.append(given)
        answers = {kind: joined_answers([each[kind] for each in parts], self.title) for kind in parts[0]}
        return answers if raw else {kind: self._checked(kind, answers[kind]) for kind in kinds}

    def _checked(self, kind: AnswerKind, answer: np.ndarray) -> np.ndarray:
        labels = self._adapter.model_labels if kind == "labels" else None
        return checked(kind, answer, self.classes if labels is None else labels, self.title, closed=self._closed)

    @contextmanager
    def _asking(self, what: str, rows: np.ndarray) -> Iterator[None]:
        """What the model raises becomes a `ModelError`, also where it calls `exit`."""
        try:
            yield
        except AttainError:
            raise
        except (Exception, SystemExit) as error:
            number = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
            raise ModelError(
                f"{self.title} raised {type(error).__name__} when asked for {what} of {number}: {error}"
            ) from error

    def count_rows(self, rows: int) -> None:
        """Counts one call about so many rows, of the model or of what stands in for it."""
        if rows:
            self.count.add(rows)
            self.model.count(rows)

    def read_each(
        self, rows: np.ndarray, kinds: tuple[AnswerKind, ...]
    ) -> tuple[np.ndarray, Answers, dict[int, ModelError]]:
        """The positions of the rows that the model takes, its answers about these, and an error for each other one.

        A model that fails on the first row of the probe as well no longer works, and its error is raised.
        """
        if not len(rows):
            return np.arange(0), {}, {}
        before = self.count.rows
        try:
            return np.arange(len(rows)), self.read(rows, kinds), {}
        except ModelError:
            if not self.tolerant:
                raise
        known: Mapping[int, ModelError] = {} if self.learning is None else self.learning.fails(rows, kinds)
        try:
            self.read(self.probe[:1], kinds)
        except ModelError:
            if self.learning is not None:
                self.learning.forget()
            raise
        parts, failures = by_halves(lambda some: self.read(some, kinds), rows, known)
        self.uncharged += self.count.rows - before - len(rows) * len(kinds)
        self.failed += len(failures)
        taken = np.concatenate([np.empty(0, dtype=np.intp), *(at for at, _ in parts)])
        answers = {kind: np.concatenate([answer[kind] for _, answer in parts]) for kind in kinds} if parts else {}
        return taken, answers, failures

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
            self.count_rows(len(some))
            with self._asking("the gradient", some):
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
