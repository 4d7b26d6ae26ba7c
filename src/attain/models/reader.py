"""One model read through one layout: rows of the matrix in, checked answers out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from attain.core.errors import ModelError, listed
from attain.models.adapter import AnswerKind, Answers, Label
from attain.models.answers import checked, seen_classes
from attain.models.model import Model, RowCounter

if TYPE_CHECKING:
    from attain.tables import Layout


class Reader:
    """A model's answers to rows of the matrix: labels as positions in `classes`, probabilities and scores by class.

    What a model does not say about itself, its answer about the probe shows: how many classes it has, and for a
    function whether it returns labels or probabilities.
    """

    def __init__(self, model: Model, layout: Layout, probe: np.ndarray) -> None:
        self.model = model
        self.layout = layout
        self.count = RowCounter()
        self.structure: dict[str, Any] = {}
        """What was learned about the inside of the model, by `attain.models.structure`."""
        self._columns = self._wanted_columns()
        position = {column: j for j, column in enumerate(layout.columns)}
        self._positions = None if self._columns is None else [position[name] for name in self._columns]
        self._closed = True
        adapter = model.adapter
        classes = adapter.classes
        if adapter.settle is not None or classes is None:
            first = self._ask(adapter.kinds, probe)
            if adapter.settle is not None:
                adapter = adapter.settle(first)
                classes = adapter.classes
            if classes is None:
                classes = self._shown_classes(adapter.kinds[0], first)
        self._adapter = adapter
        self.kinds = adapter.kinds
        self.classes: tuple[Label, ...] = classes
        if len(classes) < 2 and self._closed:
            raise ModelError(f"{self.title} has only the class {listed(classes)}; there is no decision to flip")

    @property
    def title(self) -> str:
        return self.model.adapter.title

    def read(self, rows: np.ndarray, kinds: Iterable[AnswerKind]) -> Answers:
        """The model's answers of these kinds; `rows` must not be empty."""
        wanted = tuple(kinds)
        adapter = self._adapter
        raw = self.model.ask(adapter, wanted, rows, self.batch, self.count)
        answers: dict[AnswerKind, np.ndarray] = {}
        for kind in wanted:
            classes = adapter.model_labels if kind == "labels" and adapter.model_labels is not None else self.classes
            answers[kind] = checked(kind, raw[kind], classes, self.title, closed=self._closed)
        return answers

    def gradient(self, array: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """By how much class k leads the best other one, (n,), and the gradient of that in the array's cells, (n, p).

        The array has the model's `columns`; it must not be empty.
        """
        return self.model.gradient(self._adapter, array, k, self.count)

    @property
    def columns(self) -> np.ndarray:
        """Which column of the matrix each column of the model's arrays is."""
        positions = self.layout.positions
        return positions if self._positions is None else positions[self._positions]

    def _ask(self, kinds: tuple[AnswerKind, ...], rows: np.ndarray) -> dict[AnswerKind, np.ndarray]:
        return self.model.ask(self.model.adapter, kinds, rows, self.batch, self.count)

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
