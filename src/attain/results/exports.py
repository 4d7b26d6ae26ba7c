"""A result as tables for spreadsheets: CSV and Excel."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

import numpy as np
import pandas as pd

from attain.core.checks import check_boolean, check_choice, free_name
from attain.core.errors import AttainError
from attain.core.files import check_ending, write_atomically
from attain.core.frames import Frame, library_named
from attain.core.spreadsheets import csv_bytes, excel_bytes
from attain.results.options import Option
from attain.results.record import Record
from attain.schema import Feature

if TYPE_CHECKING:
    from attain.results.counterfactuals import Counterfactuals

Table: TypeAlias = "Callable[[Counterfactuals], pd.DataFrame]"

_CSV: Final = (".csv", ".tsv", ".txt")
_SHARES: Final = ("total_shift", "max_shift", "easiest_shift")
"""Figures that are shares of a column's people; in files they are percentile points, as everywhere for reading."""


def to_csv(
    result: Counterfactuals, path: str | os.PathLike[str], table: str, labels: bool, separator: str = ","
) -> None:
    """Writes one of the tables."""
    check_choice("table", table, TABLES)
    check_boolean("labels", labels)
    check_ending(path, *_CSV)
    write_atomically(path, csv_bytes(made(result, table, labels), separator))


def to_excel(result: Counterfactuals, path: str | os.PathLike[str], labels: bool) -> None:
    """Writes all tables that the result has, each as a sheet."""
    check_boolean("labels", labels)
    check_ending(path, ".xlsx")
    write_atomically(path, excel_bytes({name: made(result, name, labels) for name in _present(result)}))


def made(result: Counterfactuals, table: str, labels: bool = False) -> pd.DataFrame:
    """One of the tables as a pandas frame, whatever library the result is of."""
    frame = TABLES[table](result)
    return frame.rename(columns=_headings(result, frame.columns)) if labels and table == "answers" else frame


def flattened(settings: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Nested settings as pairs of a dotted name and a value."""
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from flattened(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


class AnswerRows(NamedTuple):
    """The rows of the table of answers: each option, and each person without an answer, who keeps their own record.

    Attributes
    ----------
    owners, rows
        The position of the person (n,), and the row of the matrix (n, d).
    leading
        person, option (None where there is none), status, sentence and level (None where it is not known), as lists.
    figures
        The figures of person and option, by name.
    """

    owners: np.ndarray
    rows: np.ndarray
    leading: dict[str, list[Any]]
    figures: dict[str, np.ndarray]


def answer_rows(result: Counterfactuals) -> AnswerRows:
    """The rows in the order of the people, the best option first."""
    table = result.table
    without = np.setdiff1d(np.arange(len(table)), result.owners)
    owners = np.concatenate([result.owners, without])
    rows = np.concatenate([result.rows, table.values[without]])
    order = np.argsort(owners, kind="stable")
    owners, rows, answered = owners[order], rows[order], order < len(result.owners)
    figures = {name: np.asarray(values)[owners] for name, values in result.person_figures.items()}
    for name, values in result.option_figures.items():
        figures[name] = np.full(len(owners), np.nan)
        figures[name][answered] = _in_points(name, values[order[answered]])
    nothing = [None] * len(without)
    ranks, levels = [*result.ranks.tolist(), *nothing], [*result.levels, *nothing]
    sentences = [*(option.sentence for option in result.views), *(result.reason(i) for i in without)]
    leading = {
        "person": [table.labels[i] for i in owners],
        "option": [ranks[k] for k in order],
        "status": [result.statuses[i].name for i in owners],
        "sentence": [sentences[k] for k in order],
        "level": [levels[k] for k in order],
    }
    return AnswerRows(owners, rows, leading, figures)


def _answers(result: Counterfactuals) -> pd.DataFrame:
    """Person, option, status, sentence, level if any is known, the features, the figures of person and option."""
    owners, rows, leading, figures = answer_rows(result)
    features = _as_pandas(result, result.table.take(owners, rows)).reset_index(drop=True)
    taken = set(features.columns)
    made: dict[str, Any] = {
        _person_column(result) if name == "person" else free_name(name, taken): values
        for name, values in leading.items()
        if name != "level" or any(values)
    }
    made[free_name("option", taken)] = pd.array(leading["option"], dtype="Int64")
    named_figures = {free_name(name, taken): values for name, values in figures.items()}
    return pd.concat([pd.DataFrame(made), features, pd.DataFrame(named_figures)], axis=1)


def _figures(result: Counterfactuals) -> pd.DataFrame:
    best = {name: _in_points(name, result.of_best(name)) for name in result.option_figures}
    figures = {**result.person_figures, **best}
    return _frame({free_name(_person_column(result), figures): list(result.table.labels), **figures})


def _in_points(name: str, values: np.ndarray) -> np.ndarray:
    """A figure as files have it, on the same scale as in the changes."""
    return np.round(100 * values, 3) if name in _SHARES else values


def _settings(result: Counterfactuals) -> pd.DataFrame:
    pairs = [
        (name, value if isinstance(value, str | bool | int | float | None) else json.dumps(value, ensure_ascii=False))
        for name, value in flattened(result.settings)
    ]
    return pd.DataFrame(pairs, columns=["setting", "value"], dtype=object)


def _changes(result: Record) -> Iterator[dict[str, Any]]:
    for option, change in _each(result):
        yield {
            **change,
            "counterfactual": change["suggested"],
            "counterfactual_percentile": change["suggested_percentile"],
            "follows": change["related"],
            **{name: getattr(option, name) for name in ("total_shift", "outlier", "connected", "level")},
            "method": result.method,
        }


def _ranges(result: Record) -> Iterator[dict[str, Any]]:
    for _, change in _each(result):
        if change["checked"] is not None:
            levels = [str(level) for level in change["levels"]]
            yield {**change, "counterfactual": change["suggested"], "levels": levels}


def _importance(result: Record) -> Iterator[dict[str, Any]]:
    return (change for _, change in _each(result) if change["needed_for_decision"] is not None)


def _each(result: Record) -> Iterator[tuple[Option, dict[str, Any]]]:
    """Each change with its option, as a dictionary, in the order of the columns."""
    for option in result.views:
        for change in option.changes:
            yield option, {"person": option.person, "option": option.number, **change.as_json()}


class Long(NamedTuple):
    """A table in long form: its columns, its rows, and the field of a result without which there is none."""

    columns: tuple[str, ...]
    rows: Callable[[Record], Iterable[Mapping[str, Any]]]
    field: str | None = None


LONG: Final[Mapping[str, Long]] = {
    "changes": Long(
        (
            *("person", "option", "feature", "label", "unit", "current", "counterfactual", "current_percentile"),
            *(
                "counterfactual_percentile",
                "shift",
                "total_shift",
                "outlier",
                "connected",
                "level",
                "follows",
                "method",
            ),
        ),
        _changes,
    ),
    "ranges": Long(
        (
            *("person", "option", "feature", "counterfactual", "low", "high", "low_percentile", "high_percentile"),
            *("levels", "checked"),
        ),
        _ranges,
        "intervals",
    ),
    "law_changes": Long(("person", "option", "feature", "law", "sentence"), Record.law_cells),
    "importance": Long(
        (
            *("person", "option", "feature", "label", "gain", "per_point"),
            *("needed_for_decision", "needed_to_stay_typical", "needed_by_law"),
        ),
        _importance,
        "importances",
    ),
    "contributions": Long(
        ("person", "feature", "label", "value", "contribution", "error", "rank", "free"),
        Record.contribution_entries,
        "attributions",
    ),
}
"""The tables with a row for each change, law or input."""


def long_columns(result: Record, name: str) -> dict[str, list[Any]]:
    """The columns of a table in long form."""
    columns, rows, field = LONG[name]
    if field is not None and getattr(result, field) is None:
        was = "were" if name.endswith("s") else "was"
        raise AttainError(f"{name} {was} not asked for; call explain(..., {name}=True)")
    listed = list(rows(result))
    return {column: [row[column] for row in listed] for column in columns}


def _flat(name: str) -> Table:
    """The maker of a table in long form, with lists of levels as text."""

    def frame(result: Counterfactuals) -> pd.DataFrame:
        columns = long_columns(result, name)
        people = columns.pop("person")
        columns = {free_name(_person_column(result), columns): people, **columns}
        return _frame({column: [_joined(cell) for cell in cells] for column, cells in columns.items()})

    return frame


def _joined(cell: Any) -> Any:
    return ", ".join(cell) if isinstance(cell, list) else cell


TABLES: Final[Mapping[str, Table]] = {
    "answers": _answers,
    "changes": _flat("changes"),
    "ranges": _flat("ranges"),
    "law_changes": _flat("law_changes"),
    "importance": _flat("importance"),
    "contributions": _flat("contributions"),
    "figures": _figures,
    "settings": _settings,
}
"""How each table is made."""
_FIELDS: Final = {
    "ranges": "intervals",
    "law_changes": "laws",
    "importance": "importances",
    "contributions": "attributions",
    "settings": "settings",
}
"""The field of a result without which it does not have a table."""


def _present(result: Counterfactuals) -> list[str]:
    return [name for name in TABLES if name not in _FIELDS or getattr(result, _FIELDS[name])]


def _as_pandas(result: Counterfactuals, frame: Frame) -> pd.DataFrame:
    if isinstance(frame, pd.DataFrame):
        return frame
    opened = result.table.layout.library.read(frame)
    return _frame({name: opened[name].to_list() for name in opened.columns})


def _frame(columns: Mapping[str, Any]) -> pd.DataFrame:
    return cast(pd.DataFrame, library_named("pandas").make(columns))


def _person_column(result: Counterfactuals) -> str:
    """The name of the index, or else `person`."""
    own = getattr(getattr(result.table.source, "index", None), "name", None)
    return own if isinstance(own, str) and own else free_name("person", result.table.schema.names)


def heading(feature: Feature) -> str:
    """The label of a feature with its unit: `Credit amount (€)`."""
    return f"{feature.title} ({feature.unit})" if feature.unit else feature.title


def _headings(result: Counterfactuals, columns: Iterable[str]) -> dict[str, str]:
    """The features' names with their headings, which are distinct."""
    schema, taken = result.table.schema, set(columns) - set(result.table.schema.names)
    headings: dict[str, str] = {}
    for name in schema.names:
        headings[name] = free_name(heading(schema[name]), taken)
        taken.add(headings[name])
    return headings
