"""One model read through one layout: rows of the matrix in, checked answers out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from attain.core.errors import ModelError, listed
from attain.models.adapter import AnswerKind, Answers, Label
from attain.models.answers import checked, seen_classes
from attain.models.model import Model, RowCounter
from attain.models.watch import SUSPECTED, SlowModelError, Watch

if TYPE_CHECKING:
    from attain.tables import Layout

T = TypeVar("T")


def by_halves(
    ask: Callable[[np.ndarray], T], rows: np.ndarray, owners: np.ndarray | None = None
) -> tuple[list[tuple[np.ndarray, T]], dict[int, ModelError]]:
    """`ask(rows)`; where that raises a `ModelError`, of either half, down to single rows: at most 2n − 1 calls.

    Where it raises a `SlowModelError`, of the rows of either half of the owners, (n,), by default one for each row:
    a row on which the model hangs is not looked for among those of its owner, each of which may take as long.

    Returns the parts that succeeded, each as the positions of its rows and what `ask` returned, in order; and by
    position the error of each row that fails by itself, or whose owner is too slow.
    """
    owners = np.arange(len(rows)) if owners is None else owners
    parts: list[tuple[np.ndarray, T]] = []
    failures: dict[int, ModelError] = {}
    waiting = [np.arange(len(rows))]
    while waiting:
        at = waiting.pop()
        try:
            parts.append((at, ask(rows[at])))
        except ModelError as error:
            slow = isinstance(error, SlowModelError)
            of = np.unique(owners[at] if slow else at)
            if len(of) == 1:
                failures |= dict.fromkeys(at.tolist(), error)
                continue
            first = (owners[at] if slow else at) < of[len(of) // 2]
            waiting += [at[~first], at[first]]
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
    timeout
        How many seconds longer than usual a call may take; `read_each` then finds the rows that take so long.
    """

    def __init__(
        self, model: Model, layout: Layout, probe: np.ndarray, *, tolerant: bool = False, timeout: float | None = None
    ) -> None:
        self.model = model
        self.layout = layout
        self.tolerant = tolerant
        self.watch = None if timeout is None else Watch(timeout, self.title)
        self.count = RowCounter()
        self.uncharged = 0
        """How many of the rows counted are those of gradients, or were asked again by `read_each` after an error."""
        self.failed = 0
        """How many rows `read_each` found that the model fails on."""
        self.structure: dict[str, Any] = {}
        """What was learned about the inside of the model, by `attain.models.structure`."""
        self._columns = self._wanted_columns()
        position = {column: j for j, column in enumerate(layout.columns)}
        self._positions = None if self._columns is None else [position[name] for name in self._columns]
        self.probe = probe
        """The rows of the probe that the model takes."""
        self.on_the_probe(self._settle)
        if len(self.classes) < 2 and self._closed:
            raise ModelError(f"{self.title} has only the class {listed(self.classes)}; there is no decision to flip")

    def on_the_probe(self, learn: Callable[[], None]) -> None:
        """Calls `learn`, which asks about the probe; if tolerant, again without rows that the model fails on."""
        if self.watch is not None:
            self.watch.learning = True
        try:
            try:
                learn()
            except SlowModelError:  # a single row shows how long many may take
                self._ask(self.model.adapter.kinds[:1], self.probe[:1])
                learn()
        except ModelError:
            taken = self._taken(self.probe) if self.tolerant else self.probe
            if len(taken) in (0, len(self.probe)):
                raise
            self.probe = taken
            learn()
        finally:
            if self.watch is not None:
                self.watch.learning = False

    def _settle(self) -> None:
        """Learns what the model does not say about itself."""
        self._closed = True
        adapter = self.model.adapter
        classes = adapter.classes
        if adapter.settle is not None or classes is None:
            first = self._ask(adapter.kinds, self.probe)
            if adapter.settle is not None:
                adapter = adapter.settle(first)
                classes = adapter.classes
            if classes is None:
                classes = self._shown_classes(adapter.kinds[0], first)
        self._adapter = adapter
        self.kinds = adapter.kinds
        self.classes: tuple[Label, ...] = classes

    def with_unseen(self, unseen: Mapping[str, tuple[Any, ...]]) -> Reader:
        """This reader for rows with further levels, by column, that the schema does not have."""
        reader = copy(self)
        reader.layout = replace(self.layout, unseen=unseen)
        return reader

    @property
    def title(self) -> str:
        return self.model.adapter.title

    def read(self, rows: np.ndarray, kinds: Iterable[AnswerKind]) -> Answers:
        """The model's answers of these kinds; `rows` must not be empty.

        Rows with unseen levels are asked about by themselves: they may change the dtype of a column.
        """
        wanted = tuple(kinds)
        return self._within_time(lambda: self._read(rows, wanted), rows)

    def _within_time(self, call: Callable[[], T], rows: np.ndarray, share: float = 1.0, *, alone: bool = False) -> T:
        return call() if self.watch is None else self.watch.run(call, len(rows), share, alone=alone)

    def _read(self, rows: np.ndarray, wanted: tuple[AnswerKind, ...]) -> Answers:
        unseen = self.layout.has_unseen(rows)
        if unseen.any() and not unseen.all():
            order = np.argsort(np.argsort(unseen, kind="stable"), kind="stable")
            seen, others = self._read(rows[~unseen], wanted), self._read(rows[unseen], wanted)
            return {kind: np.concatenate((seen[kind], others[kind]))[order] for kind in wanted}
        adapter = self._adapter
        raw = self.model.ask(adapter, wanted, rows, self.batch, self.count)
        answers: dict[AnswerKind, np.ndarray] = {}
        for kind in wanted:
            classes = adapter.model_labels if kind == "labels" and adapter.model_labels is not None else self.classes
            answers[kind] = checked(kind, raw[kind], classes, self.title, closed=self._closed)
        return answers

    def count_compiled(self, rows: int) -> None:
        """Counts rows that a compiled score answered in place of the model."""
        if rows:
            self.count.add(rows)
            self.model.count(rows)

    def read_each(
        self, rows: np.ndarray, kinds: Iterable[AnswerKind], owners: np.ndarray | None = None
    ) -> tuple[np.ndarray, Answers, dict[int, ModelError]]:
        """The positions of the rows that the model takes, its answers about these, and an error for each other one.

        With a timeout, all rows of an owner for which the model takes too long have a `SlowModelError`, tolerant or
        not. A model that fails on a row of the probe, too, has stopped to work, and its error is raised.
        """
        wanted = tuple(kinds)
        owners = np.arange(len(rows)) if owners is None else owners
        one, before = bool((owners == owners[0]).all()), self.count.rows
        try:
            answers = self._within_time(lambda: self._read(rows, wanted), rows, alone=one)
            return np.arange(len(rows)), answers, {}
        except SlowModelError as error:
            if one:
                self.uncharged += self.count.rows - before - len(rows) * len(wanted)
                return np.empty(0, dtype=np.intp), {}, dict.fromkeys(range(len(rows)), error)
        except ModelError:
            if not self.tolerant:
                raise
        self.read(self.probe[:1], wanted)

        def ask(at: np.ndarray) -> Answers:
            alone = bool((owners[at] == owners[at[0]]).all())
            return self._within_time(lambda: self._read(rows[at], wanted), at, 1.0 if alone else SUSPECTED, alone=alone)

        parts, failures = by_halves(ask, np.arange(len(rows)), owners)
        self.uncharged += self.count.rows - before - len(rows) * len(wanted)
        broken = [error for error in failures.values() if not isinstance(error, SlowModelError)]
        if broken and not self.tolerant:
            raise broken[0]
        self.failed += len(broken)
        taken = np.concatenate([np.empty(0, dtype=np.intp), *(at for at, _ in parts)])
        answers = {kind: np.concatenate([answer[kind] for _, answer in parts]) for kind in wanted} if parts else {}
        return taken, answers, failures

    def _taken(self, rows: np.ndarray) -> np.ndarray:
        """The rows that the model takes: those that raise no error, and have no answer that is NaN or infinite."""
        adapter = self.model.adapter

        def ask(some: np.ndarray) -> None:
            for answer in self._ask(adapter.kinds, some).values():
                if answer.dtype.kind == "f" and not np.isfinite(answer).all():
                    raise ModelError(f"{self.title} returned NaN or infinite numbers")

        return np.delete(rows, list(by_halves(ask, rows)[1]), axis=0)

    def gradient(self, array: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """By how much class k leads the best other one, (n,), and the gradient of that in the array's cells, (n, p).

        The array has the model's `columns`; it must not be empty.
        """
        self.uncharged += len(array)
        return self._within_time(lambda: self.model.gradient(self._adapter, array, k, self.count), array)

    @property
    def columns(self) -> np.ndarray:
        """Which column of the matrix each column of the model's arrays is."""
        positions = self.layout.positions
        return positions if self._positions is None else positions[self._positions]

    def _ask(self, kinds: tuple[AnswerKind, ...], rows: np.ndarray) -> dict[AnswerKind, np.ndarray]:
        model = self.model
        return self._within_time(lambda: model.ask(model.adapter, kinds, rows, self.batch, self.count), rows)

    def _shown_classes(self, kind: AnswerKind, first: Answers) -> tuple[Label, ...]:
        answer = first.get(kind, first.get("output"))
        assert answer is not None
        if kind == "labels":
            self._closed = False
            return seen_classes(answer, self.title)
        return tuple(range(2 if answer.ndim == 1 else max(2, answer.shape[1])))

    def _wanted_columns(self) -> list[str] | None:
        """The columns the model wants, as the table spells them; None for all of them in the table's order."""
        adapter, columns = self.model.adapter, self.layout.columns
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
        accepts = self.model.adapter.accepts
        if accepts == "numpy":
            return self.array(rows)
        library: str | None = None if accepts in ("native", "frame") else accepts
        if accepts == "frame" and self.layout.library.name not in ("pandas", "polars"):
            library = "pandas"
        return self.layout.frame(rows, library=library, columns=self._columns)

    def array(self, rows: np.ndarray) -> np.ndarray:
        """Rows of the matrix as an array with the columns the model wants, in their order."""
        array = self.layout.array(rows)
        return array if self._positions is None else array[:, self._positions]
