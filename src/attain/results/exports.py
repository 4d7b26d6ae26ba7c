"""A result as tables: those with a row for each change, law, input or problem, and files of CSV and Excel."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pandas as pd

from attain.core.errors import AttainError, check_boolean, check_choice, free_name
from attain.core.files import check_ending, write_atomically
from attain.core.spreadsheets import csv_bytes, excel_bytes
from attain.schema import Feature

if TYPE_CHECKING:
    from attain.results.counterfactuals import Counterfactuals
    from attain.results.options import Option

_SHARES: Final = ("total_shift", "max_shift")
"""Figures that are shares of a column's people; in files they are percentile points, as everywhere for reading."""


def to_csv(
    result: Counterfactuals, path: str | os.PathLike[str], table: str, labels: bool, separator: str = ","
) -> None:
    """Writes one of the tables."""
    check_choice("table", table, TABLES)
    check_boolean("labels", labels)
    check_ending(path, ".csv", ".tsv", ".txt")
    write_atomically(path, csv_bytes(table_frame(result, table, labels), separator))


def to_excel(result: Counterfactuals, path: str | os.PathLike[str], labels: bool) -> None:
    """Writes all tables that the result has, each as a sheet."""
    check_boolean("labels", labels)
    check_ending(path, ".xlsx")
    names = [name for name in TABLES if name not in _FIELDS or getattr(result, _FIELDS[name])]
    write_atomically(path, excel_bytes({name: table_frame(result, name, labels) for name in names}))


def table_frame(result: Counterfactuals, table: str, labels: bool = False) -> pd.DataFrame:
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
        person, option, status, sentence, verdict, the names of unreviewed features, and what is technically wrong with
        the record or its search, as lists; None where there is none.
    figures
        The figures of person and option, by name.
    """

    owners: np.ndarray
    rows: np.ndarray
    leading: dict[str, list[Any]]
    figures: dict[str, np.ndarray]


OPTIONAL: Final = ("verdict", "unreviewed", "problem")
"""Columns of the table of answers that are left out where nobody has any of them."""


def answer_rows(result: Counterfactuals) -> AnswerRows:
    """The rows in the order of the people, the best option first."""
    table = result.table
    without = np.setdiff1d(np.arange(len(table)), result.owners)
    owners = np.concatenate([result.owners, without])
    order = np.argsort(owners, kind="stable")
    rows = np.concatenate([result.rows, table.values[without]])[order]
    figures = {name: np.asarray(values)[owners[order]] for name, values in result.person_figures.items()}
    for name, values in result.option_figures.items():
        figures[name] = np.append(_in_points(name, values), np.full(len(without), np.nan))[order]
    lines: list[tuple[Any, ...]] = [
        *((one.person, one.number, "FOUND", one.sentence, *_judged(one), None) for one in result.all_options),
        *(
            (table.labels[i], None, result.statuses[i].name, result.reason(i), None, None, result.troubles.get(i))
            for i in without.tolist()
        ),
    ]
    names = ("person", "option", "status", "sentence", *OPTIONAL)
    leading = {name: [lines[k][part] for k in order] for part, name in enumerate(names)}
    return AnswerRows(owners[order], rows, leading, figures)


def _judged(option: Option) -> tuple[str | None, str | None]:
    """The verdict on an option, and which of the changed features nobody has reviewed, as texts."""
    return None if option.verdict is None else str(option.verdict), ", ".join(option.unreviewed) or None


def _answers(result: Counterfactuals) -> pd.DataFrame:
    """Person, option, status, sentence, what is known of `OPTIONAL`, the features, the figures."""
    owners, rows, leading, figures = answer_rows(result)
    library, frame = result.table.layout.library, result.table.take(owners, rows)
    if not isinstance(frame, pd.DataFrame):
        opened = library.read(frame)
        frame = pd.DataFrame({name: opened[name].to_list() for name in opened.columns})
    features = frame.reset_index(drop=True)
    for name in OPTIONAL:
        if not any(leading[name]):
            del leading[name]
    first = pd.DataFrame({_person_column(result): leading.pop("person"), **_renamed(leading, features)})
    option = free_name("option", set(features.columns))
    first[option] = first[option].astype("Int64")
    return pd.concat([first, features, pd.DataFrame(_renamed(figures, features))], axis=1)


def _renamed(columns: Mapping[str, Any], frame: pd.DataFrame) -> dict[str, Any]:
    """Columns under names that a frame does not have."""
    return {free_name(name, set(frame.columns)): values for name, values in columns.items()}


def _figures(result: Counterfactuals) -> pd.DataFrame:
    best = {name: _in_points(name, result.best_figure(name)) for name in result.option_figures}
    figures = {**result.person_figures, **best}
    return pd.DataFrame({free_name(_person_column(result), figures): list(result.table.labels), **figures})


def _in_points(name: str, values: np.ndarray) -> np.ndarray:
    """A figure as files have it, on the same scale as in the changes."""
    return np.round(100 * values, 3) if name in _SHARES else values


def _settings(result: Counterfactuals) -> pd.DataFrame:
    pairs = [
        (name, value if isinstance(value, str | bool | int | float | None) else json.dumps(value, ensure_ascii=False))
        for name, value in flattened(result.settings)
    ]
    return pd.DataFrame(pairs, columns=["setting", "value"], dtype=object)


def _changes(result: Counterfactuals, needed: str = "feature") -> Iterator[dict[str, Any]]:
    """The changes that have the attribute `needed`, with figures of their options."""
    for option in result.all_options:
        figures = {name: getattr(option, name) for name in ("total_shift", "outlier", "connected")}
        figures["verdict"] = _judged(option)[0]
        for change in option.changes:
            if getattr(change, needed) is not None:
                cells = {"person": option.person, "option": option.number, **figures, **change.as_json()}
                cells |= {"counterfactual": change.suggested, "method": result.method, "follows": change.related}
                yield {**cells, "counterfactual_percentile": change.suggested_percentile}


def _law_changes(result: Counterfactuals) -> Iterator[dict[str, Any]]:
    """The changed cells without which an option would break a law."""
    for place, column, rule in result.needs:
        if (law := rule - len(result.table.schema.rules)) >= 0:
            yield {
                "person": result.table.labels[int(result.owners[place])],
                "option": int(result.ranks[place]),
                "feature": result.table.schema.names[column],
                "law": result.laws[law].text,
                "sentence": result.laws[law].sentence,
            }


def contributions(result: Counterfactuals) -> Iterator[dict[str, Any]]:
    """What each scored input contributes for each person, the one that speaks most against the person first."""
    found, table = result.attributions, result.table
    if found is None:
        return
    for p, position in enumerate(found.person.tolist()):
        for rank, c in enumerate(np.argsort(found.contribution[p], kind="stable").tolist(), start=1):
            feature, cell = table.schema.features[found.column[c]], table.values[position, found.column[c]]
            yield {
                "person": table.labels[position],
                "feature": feature.name,
                "label": feature.title,
                "value": table.layout.value(feature.name, float(cell)),
                "contribution": float(found.contribution[p, c]),
                "error": None if np.isnan(found.error[p, c]) else float(found.error[p, c]),
                "rank": rank,
                "free": bool(found.free[p, c]),
            }


def _problems(result: Counterfactuals) -> Iterator[dict[str, Any]]:
    """The people whose record cannot be read, or whose search ended with an error."""
    for position, error in result.troubles.items():
        yield {"person": result.table.labels[position], "error": error}


class LongTable(NamedTuple):
    """A table in long form: its columns, its rows, and the field of a result without which there is none."""

    columns: str
    rows: Callable[[Counterfactuals], Iterable[Mapping[str, Any]]]
    field: str | None = None


LONG: Final[Mapping[str, LongTable]] = {
    "changes": LongTable(
        "person option feature label unit current counterfactual current_percentile counterfactual_percentile shift "
        "total_shift outlier connected verdict reviewed follows method",
        _changes,
    ),
    "ranges": LongTable(
        "person option feature counterfactual low high low_percentile high_percentile levels checked",
        lambda result: _changes(result, "checked"),
        "intervals",
    ),
    "law_changes": LongTable("person option feature law sentence", _law_changes),
    "importance": LongTable(
        "person option feature label gain per_point needed_for_decision needed_to_stay_typical needed_by_law",
        lambda result: _changes(result, "needed_for_decision"),
        "importances",
    ),
    "contributions": LongTable(
        "person feature label value contribution error rank free", contributions, "attributions"
    ),
    "problems": LongTable("person error", _problems),
}
"""The tables with a row for each change, law or input."""


def long_columns(result: Counterfactuals, name: str) -> dict[str, list[Any]]:
    """The columns of a table in long form."""
    columns, rows, field = LONG[name]
    if field is not None and getattr(result, field) is None:
        was = "were" if name.endswith("s") else "was"
        raise AttainError(f"{name} {was} not asked for; call explain(..., {name}=True)")
    found = list(rows(result))
    return {column: [row[column] for row in found] for column in columns.split()}


def _flat(name: str) -> Callable[[Counterfactuals], pd.DataFrame]:
    """The maker of a table in long form, with lists of levels as text."""

    def frame(result: Counterfactuals) -> pd.DataFrame:
        columns = long_columns(result, name)
        people = columns.pop("person")
        if "levels" in columns:
            columns["levels"] = [", ".join(levels) for levels in columns["levels"]]
        return pd.DataFrame({free_name(_person_column(result), columns): people, **columns})

    return frame


TABLES: Final[Mapping[str, Callable[[Counterfactuals], pd.DataFrame]]] = {
    "answers": _answers,
    **{name: _flat(name) for name in LONG},
    "figures": _figures,
    "settings": _settings,
}
"""How each table is made."""
_FIELDS: Final = {name: long.field for name, long in LONG.items() if long.field} | {
    "law_changes": "laws",
    "problems": "troubles",
    "settings": "settings",
}
"""The field of a result without which it does not have a table."""


def _person_column(result: Counterfactuals) -> str:
    """The name of the index, or else `person`."""
    name = getattr(getattr(result.table.source, "index", None), "name", None)
    return name if isinstance(name, str) and name else free_name("person", result.table.schema.names)


def heading(feature: Feature) -> str:
    """The label of a feature with its unit: `Credit amount (€)`."""
    return f"{feature.title} ({feature.unit})" if feature.unit else feature.title


def _headings(result: Counterfactuals, columns: Iterable[str]) -> dict[str, str]:
    """The features' names with their headings, which are distinct."""
    schema, headings = result.table.schema, dict[str, str]()
    others = set(columns) - set(schema.names)
    for name in schema.names:
        headings[name] = free_name(heading(schema[name]), others.union(headings.values()))
    return headings
