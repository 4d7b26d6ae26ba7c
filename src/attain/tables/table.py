"""Frames as a float64 matrix, and rows of the matrix as frames of the same kind.

`Table.read` checks a frame against a schema and holds it as a matrix. A `Layout` remembers how the frame looked
(library, column order, dtypes), so that rows of the matrix can be written the same way, for the model and for the
result. See `docs/contribute/decisions.md` for what a cell of the matrix stands for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from attain.core.arrays import BoolArray, FloatArray, unchanged
from attain.core.errors import DataError, listed
from attain.core.frames import Frame, Library, library_named, open_frame
from attain.engine.cells import on_grid
from attain.schema.feature import Feature
from attain.schema.reading import ReadRows, read_columns, read_rows
from attain.schema.schema import Schema

Errors: TypeAlias = Literal["raise", "status"]
"""How a row that cannot be read is reported: by an exception, or by its status."""


@dataclass(frozen=True)
class Layout:
    """How a frame looked: its library, the order of its columns and their dtypes."""

    schema: Schema
    library: Library
    columns: tuple[str, ...]
    dtypes: dict[str, Any]
    unseen: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """By column, levels that the schema does not have; in the matrix they follow the schema's: K, K + 1, …"""

    @cached_property
    def places(self) -> dict[str, tuple[int, Feature, Feature]]:
        """By column of the frame: its matrix column, its feature, and the same with its unseen levels."""
        found = {}
        for name in self.columns:
            j, unseen = self.schema.position(name), self.unseen.get(name)
            feature = self.schema.features[j]
            found[name] = j, feature, replace(feature, levels=(*feature.levels, *unseen)) if unseen else feature
        return found

    @cached_property
    def positions(self) -> np.ndarray:
        """The matrix column of each column of the frame."""
        return np.array([j for j, _, _ in self.places.values()], dtype=np.intp)

    @property
    def narrow(self) -> dict[int, type[np.floating[Any]]]:
        """By position, the columns whose floats have fewer than 64 bits."""
        found = {}
        for j, name in enumerate(self.schema.names):
            kind = self.library.narrow(self.dtypes[name])
            if kind is not None:
                found[j] = kind
        return found

    def frame(self, values: np.ndarray, library: str | None = None, columns: Sequence[str] | None = None) -> Frame:
        """Rows of the matrix as a frame with the dtypes and the column order of the one that was read.

        `library` names another kind of frame ("pandas", "polars", "pyarrow"), `columns` other columns.
        """
        target = self.library if library is None else library_named(library)
        dtypes = self.dtypes if target is self.library else {}
        made = {}
        for name in self.columns if columns is None else columns:
            j, feature, wider = self.places[name]
            if wider is not feature and (values[:, j] >= len(feature.levels)).any():
                feature = wider
            made[name] = values[:, j], feature, dtypes.get(name)
        return target.build(made, len(values))

    def has_unseen(self, rows: np.ndarray) -> np.ndarray:
        """Which rows of the matrix have a level that the schema does not have."""
        found = np.zeros(len(rows), dtype=bool)
        for name in self.unseen:
            j, feature, _ = self.places[name]
            found |= rows[:, j] >= len(feature.levels)
        return found

    def array(self, values: np.ndarray) -> np.ndarray:
        """Rows of the matrix in the frame's column order: an array of floats, or of objects if levels are strings."""
        ordered = values[:, self.positions]
        features = []
        for j, feature, wider in self.places.values():
            features.append(wider if (values[:, j] >= len(feature.levels)).any() else feature)
        if all(f.numeric for f in features):
            return ordered
        if all(f.numeric or all(isinstance(level, int | float) for level in f.levels) for f in features):
            for j, feature in enumerate(features):
                if not feature.numeric:
                    ordered[:, j] = _gathered(np.array([*feature.levels, math.nan], dtype=np.float64), ordered[:, j])
            return ordered
        objects = ordered.astype(object)
        for j, feature in enumerate(features):
            if not feature.numeric:
                missing = self.library.missing(self.dtypes[feature.name])
                objects[:, j] = _gathered(np.array([*feature.levels, missing], dtype=object), ordered[:, j])
        return objects

    def value(self, name: str, cell: float) -> Any:
        """One cell of the matrix for display: a number, a level, or None where it is missing."""
        feature = self.schema[name]
        if math.isnan(cell):
            return None
        if not feature.numeric:
            return (*feature.levels, *self.unseen.get(name, ()))[int(cell)]
        integral = feature.integral or self.library.is_integer(self.dtypes[name])
        return int(cell) if integral and cell.is_integer() else cell


def _gathered(levels_then_missing: np.ndarray, codes: np.ndarray) -> np.ndarray:
    return levels_then_missing[np.where(np.isnan(codes), len(levels_then_missing) - 1, codes).astype(np.intp)]


@dataclass(frozen=True)
class Table:
    """A frame that fits its schema, as a float64 matrix."""

    schema: Schema
    values: np.ndarray
    layout: Layout
    labels: Sequence[Any]
    source: Frame
    refused: Mapping[int, str] = field(default_factory=dict)
    """The rows that cannot be read, by position, each with a sentence that says why; the cells concerned are NaN."""

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def read(cls, frame: Frame, schema: Schema, name: str = "X", *, errors: Errors = "raise") -> Table:
        """The frame as a table.

        New numbers are multiples of the feature's step and of that of its dtype: 1 for integers, one unit in the last
        place for decimals.

        Parameters
        ----------
        frame, schema
            What is read, and what its columns are.
        name
            What messages call the frame.
        errors
            What a cell does that its feature does not take: "raise" a `DataError` that names the column, the row, the
            value and the remedy; or with "status" put its row among the `refused`.
        """
        native, library, columns = open_frame(frame, name, schema.names)
        _check_columns(columns, schema, name)
        labels, opened = library.labels(native), library.opened(native)
        dtypes = dict(zip(opened, map(library.dtype, opened.values()), strict=True))
        schema = _with_steps(schema, library, dtypes)
        if errors == "raise":
            rows = ReadRows(read_columns(opened, schema.features, labels, library), {}, {})
        else:
            rows = read_rows(opened, schema.features, labels, library)
        layout = Layout(schema, library, columns, dtypes, rows.unseen)
        return cls(schema, rows.values, layout, labels, native, rows.refused)

    @property
    def readable(self) -> np.ndarray:
        """The positions of the rows that could be read."""
        return np.setdiff1d(np.arange(len(self)), list(self.refused))

    def replaced(self, rows: np.ndarray) -> Frame:
        """The frame with these rows of the matrix in it; only cells that differ are written."""
        columns = {}
        for name, (j, feature, _) in self.layout.places.items():
            at = np.flatnonzero(~unchanged(rows[:, j], self.values[:, j]))
            columns[name] = (at, rows[at, j], feature)
        return self.layout.library.replace(self.source, columns)

    def take(self, positions: np.ndarray, rows: np.ndarray) -> Frame:
        """A frame with one row for each position, holding these rows of the matrix instead of the original ones."""
        chosen = Table(
            self.schema,
            self.values[positions],
            self.layout,
            [self.labels[p] for p in positions],
            self.layout.library.take(self.source, positions),
        )
        return chosen.replaced(rows)


def _with_steps(schema: Schema, library: Library, dtypes: Mapping[str, Any]) -> Schema:
    """The schema in which new numbers are multiples of what their dtype can hold, too."""
    features = list(schema.features)
    for j, feature in enumerate(features):
        least = library.step(dtypes[feature.name]) if feature.numeric else None
        if least != feature.step:
            step = _common_multiple(feature.step, least)
            features[j] = feature if step == feature.step else replace(feature, step=step)
    return schema if tuple(features) == schema.features else replace(schema, features=tuple(features))


def _common_multiple(step: float | None, other: float | None) -> float | None:
    """The least multiple of both steps: 1 for 0.01 and 1, and 5 for 2.5 and 1."""
    if step is None or other is None:
        return other if step is None else step
    a, b = (Fraction(repr(one)).limit_denominator(10**9) for one in (step, other))
    if a == 0 or b == 0:
        return max(step, other)
    return float(Fraction(math.lcm(a.numerator, b.numerator), math.gcd(a.denominator, b.denominator)))


def _check_columns(columns: Sequence[str], schema: Schema, name: str) -> None:
    absent = sorted(set(schema.names).difference(columns), key=schema.position)
    if absent:
        raise DataError(
            f"{name} lacks columns that the schema has: {listed(absent)}; its columns are {listed(columns)}"
        )
    extra = sorted(set(columns).difference(schema.names), key=list(columns).index)
    if extra:
        raise DataError(
            f"{name} has columns that the schema does not have: {listed(extra)}; drop them, or add them to the schema "
            "(as immutable, if they only describe the row)"
        )


def is_on_grid(values: np.ndarray, step: float | None) -> np.ndarray:
    """Whether each value is a grid value."""
    return np.asarray(on_grid(values, step) == values)


def ordinary_cells(schema: Schema, rows: FloatArray) -> BoolArray:
    """Which cells of rows, (n, d), hold a value on their feature's own scale: neither missing nor a special code."""
    known = ~np.isnan(rows)
    if schema.codes.size:
        known &= ~(rows[:, :, None] == schema.codes).any(axis=2)
    return known


def without_unseen(schema: Schema, rows: FloatArray) -> FloatArray:
    """The rows with levels that the schema does not have as missing; only immutable columns can have any."""
    for j in schema.immutable_columns:
        unseen = rows[:, j] >= (len(schema.features[j].levels) or np.inf)
        if unseen.any():
            rows = rows.copy()
            rows[unseen, j] = np.nan
    return rows
