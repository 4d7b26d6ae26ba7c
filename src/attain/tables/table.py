"""Frames as a float64 matrix, and rows of the matrix as frames of the same kind; labels and groups of rows.

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
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from attain.core.arrays import BoolArray, FloatArray, is_missing, unchanged
from attain.core.errors import DataError, listed
from attain.core.frames import Frame, Library, library_named, open_frame
from attain.core.intervals import bands
from attain.core.text import plain
from attain.engine.cells import on_grid
from attain.schema.feature import Feature, ordinary
from attain.schema.reading import ReadRows, check_columns, read_columns, read_rows
from attain.schema.schema import Schema
from attain.schema.text import described

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
        kinds = ((j, self.library.narrow(self.dtypes[name])) for j, name in enumerate(self.schema.names))
        return {j: kind for j, kind in kinds if kind is not None}

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
        numbers = all(isinstance(level, int | float) for feature in features for level in feature.levels)
        cells = ordered if numbers else ordered.astype(object)
        for j, feature in enumerate(features):
            if not feature.numeric:
                missing = math.nan if numbers else self.library.missing(self.dtypes[feature.name])
                levels = np.array([*feature.levels, missing], dtype=cells.dtype)
                codes = np.where(np.isnan(ordered[:, j]), len(feature.levels), ordered[:, j])
                cells[:, j] = levels[codes.astype(np.intp)]
        return cells

    def value(self, name: str, cell: float) -> Any:
        """One cell of the matrix for display: a number, a level, or None where it is missing."""
        feature = self.schema[name]
        if math.isnan(cell):
            return None
        if not feature.numeric:
            return (*feature.levels, *self.unseen.get(name, ()))[int(cell)]
        integral = feature.integral or self.library.is_integer(self.dtypes[name])
        return int(cell) if integral and cell.is_integer() else cell


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
        check_columns(name, columns, schema.names)
        if extra := [column for column in columns if column not in schema]:
            raise DataError(
                f"{name} has columns that the schema does not have: {listed(extra)}; drop them, or add them to the "
                "schema (as immutable, if they only describe the row)"
            )
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


_MOST: Final = 8
"""A column with more distinct numbers than this is cut into bands."""


def read_labels(y: Any, rows: Sequence[Any], part: str = "") -> np.ndarray:
    """The labels as an array of Python objects, one for each row; None where one is missing.

    `rows` are the row labels of X. A pandas series whose index holds the same row labels in another order is reordered.
    With `part="_test"` messages are about `y_test` and `X_test`.
    """
    y = _in_order(y, rows)
    values = y.to_numpy() if hasattr(y, "to_numpy") else y.to_pylist() if hasattr(y, "to_pylist") else y
    try:
        array = np.asarray(values)
    except ValueError:
        raise DataError(f"y{part} must hold one label for each row, got rows of different lengths") from None
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"y{part} must hold one label for each row, got {array.ndim} dimensions")
    if len(array) != len(rows):
        raise DataError(f"y{part} has {len(array)} labels, but X{part} has {len(rows)} rows")
    items = array.tolist()
    result = np.empty(len(items), dtype=object)
    result[:] = [None if is_missing(item) else item for item in items]
    if all(item is None for item in result):
        raise DataError(f"y{part} has no labels, only missing values; omit it if the labels are unknown")
    return result


def _in_order(y: Any, rows: Sequence[Any]) -> Any:
    """A pandas series in the order of the rows, if its index holds the same labels, each once."""
    index = getattr(y, "index", None)
    if index is None or callable(index) or not hasattr(y, "reindex"):
        return y
    own, wanted = list(index), list(rows)
    same_labels = len(own) == len(wanted) == len(set(wanted)) and set(own) == set(wanted)
    return y.reindex(wanted) if own != wanted and same_labels else y


def desired_labels(labels: np.ndarray, target: Any) -> np.ndarray:
    """Which labels equal the target."""
    desired = np.array([label is not None and label == target for label in labels], dtype=bool)
    if not desired.any():
        seen = dict.fromkeys(label for label in labels if label is not None)
        raise DataError(
            f"the target is {target!r}, but the labels are {listed(seen)}; call the model's "
            "classes by the same names. To change only what texts say, use class_names (--class-names)"
        )
    return desired


def column_groups(table: Table, column: str) -> list[str]:
    """The group of each row: a level, or a band of numbers; special codes and missing cells are groups of their own."""
    feature, cells = table.schema[column], table.values[:, table.schema.position(column)]
    shown = [plain(described(table.layout.value(column, float(cell)), feature)) for cell in cells]
    names = np.array(shown, dtype=object)
    known = ordinary(feature, cells)
    if feature.numeric and len(np.unique(cells[known])) > _MOST:
        names[known] = bands(cells[known])
    return names.tolist()
