"""A result read from JSON: every field is checked against the format, and against the others, before one is built."""

from __future__ import annotations

import decimal
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from attain.core.errors import FileError
from attain.core.files import parse_json
from attain.core.frames import library_named
from attain.results.details import Attributions, Importances, Ranges, Related
from attain.results.serialise import FORMAT
from attain.results.status import Status, Typicality
from attain.schema import toml
from attain.schema.law import Law
from attain.tables import RuleBook, Table

_FOLLOWS: Final = {"sentences", "changes"}
"""What a file may lack, since it follows from the rest."""
_KEYS: Final = {
    *("format", "schema", "library", "columns", "index", "method", "target", "target_name", "probability", "status"),
    *("rows", "owners", "percentiles", "person_figures", "option_figures", "notes", "laws"),
    *("rows_asked", "rows_uncharged"),
    *("unreadable", "intervals", "settings", "importances", "attributions", "related"),
}


def read_fields(text: str) -> dict[str, Any]:
    """The fields of the result that `to_json` wrote, or a `FileError` that says why the text is refused."""
    if isinstance(text, os.PathLike) or str(text).lower().endswith(".json"):
        raise FileError(f"from_json takes the text of a file, got its name; pass Path({str(text)!r}).read_text()")
    try:
        content = parse_json(text)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise FileError(f"the text was not written by to_json of this version ({FORMAT})")
        if odd := (set(content) ^ _KEYS) - _FOLLOWS:
            raise ValueError(f"unknown or missing keys: {', '.join(sorted(odd))}")
        return _fields(content)
    except FileError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise FileError(f"the text is not a complete result of to_json: {type(error).__name__}: {error}") from None


def _fields(content: Mapping[str, Any]) -> dict[str, Any]:
    table = Table.read(_frame(content), toml.read(content["schema"]), errors="status")
    people, width = len(table), len(table.schema)
    owners = _positions(content["owners"], people)
    if (np.diff(owners) < 0).any():
        raise ValueError("the options are not grouped by person")
    statuses = tuple(Status[name] for name in _listed(content["status"], people))
    if {i for i, status in enumerate(statuses) if status is Status.FOUND} != set(owners.tolist()):
        raise ValueError("the people with an option are not those with the status FOUND")
    options, laws = len(owners), tuple(map(Law.restored, content["laws"]))
    RuleBook(table.schema, laws)  # raises where a law cannot be parsed
    rows = _numbers(content["rows"], options, width)
    check_cells(table, np.arange(width), rows)
    figures = {
        f"{kind}_figures": {
            str(name): _vector(stored, size) for name, stored in _mapping(content[f"{kind}_figures"]).items()
        }
        for kind, size in (("person", people), ("option", options))
    }
    kinds = figures["option_figures"].get("typicality", np.empty(0))
    if not np.isin(kinds[~np.isnan(kinds)], list(Typicality)).all():
        raise ValueError("a level of typicality is unknown")
    return {
        **_plain_fields(content),
        **figures,
        "table": table,
        "statuses": statuses,
        "rows": rows,
        "owners": owners,
        "percentiles": tuple(_numbers(part, options, width) for part in _listed(content["percentiles"], 3)),
        "laws": laws,
        "unreadable": _unreadable(content["unreadable"], people),
        **_parts(content, table, options),
    }


def _plain_fields(content: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are stored as they are, of these types."""
    types: dict[str, Any] = {
        "method": str,
        "target": bool | int | float | str | None,
        "target_name": str | None,
        "probability": float | int | None,
        "rows_asked": int,
        "rows_uncharged": int,
        "settings": dict,
        "notes": list,
    }
    wrong = [name for name, kind in types.items() if not isinstance(content[name], kind)]
    wrong += [name for name in ("probability", "rows_asked", "rows_uncharged") if isinstance(content[name], bool)]
    if wrong or not all(isinstance(note, str) for note in content["notes"]):
        raise ValueError(f"the wrong type for {', '.join(wrong) or 'notes'}")
    if content["probability"] is not None and not 0 <= content["probability"] <= 1:
        raise ValueError(f"probability must lie between 0 and 1, got {content['probability']!r}")
    return {**{name: content[name] for name in types}, "notes": tuple(content["notes"])}


def _parts(content: Mapping[str, Any], table: Table, options: int) -> dict[str, Any]:
    """Ranges, importance and contributions, where they were asked for."""
    width = len(table.schema)
    ranges, importances, attributions = (content[name] for name in ("intervals", "importances", "attributions"))
    parts: dict[str, Any] = {"intervals": None, "importances": None, "attributions": None, "related": None}
    if ranges is not None:
        found = Ranges(levels=tuple(map(tuple, ranges["levels"])), **_entries(ranges, options, width, "levels"))
        for name in ("low", "high"):
            check_cells(table, found.column, getattr(found, name))
        _listed(ranges["levels"], len(found.option))
        for column, levels in zip(found.column.tolist(), found.levels, strict=True):
            _positions(list(levels), len(table.schema.features[column].levels))
        parts["intervals"] = found
    if importances is not None:
        parts["importances"] = Importances(**_entries(importances, options, width))
    if attributions is not None:
        parts["attributions"] = _attributions(attributions, len(table), width)
    if content["related"] is not None:
        parts["related"] = _related(content["related"], options, width)
    return parts


def _related(state: Any, options: int, width: int) -> Related:
    """What relations say of each option."""
    follows, said = np.zeros((options, width), dtype=bool), _listed(state["contradictions"], options)
    for i, columns in enumerate(_listed(state["follows"], options)):
        follows[i, _positions(columns, width)] = True
    if not _all([said], str):
        raise ValueError("a contradiction is not a text")
    return Related(follows, tuple(said))


def _entries(state: Any, options: int, width: int, *others: str) -> dict[str, np.ndarray]:
    """The arrays of ranges or importance: one entry for each changed feature of each option."""
    option, column = _positions(state["option"], options), _positions(state["column"], width)
    names = [name for name in _mapping(state) if name not in ("option", "column", *others)]
    numbers = {name: _numbers(state[name], len(option)) for name in names}
    if len(column) != len(option):
        raise ValueError("entries differ in length")
    return {"option": option, "column": column, **numbers}


def _attributions(state: Any, people: int, width: int) -> Attributions:
    person, column = _positions(state["person"], people), _positions(state["column"], width)
    shape = len(person), len(column)
    free = [_listed(row, len(column)) for row in _listed(state["free"], len(person))]
    if not isinstance(state["scale"], str) or not _is_count(state["people"]) or not _all(free, bool):
        raise ValueError("the wrong type among contributions")
    contribution, error = (_numbers(state[name], *shape) for name in ("contribution", "error"))
    if np.isnan(contribution).any():
        raise ValueError("a contribution is missing")
    return Attributions(
        state["scale"], state["people"], person, column, contribution, error, np.array(free, dtype=bool).reshape(shape)
    )


def check_cells(table: Table, columns: np.ndarray, cells: np.ndarray) -> None:
    """Raises unless cells of these columns (…, c) that stand for levels are positions of levels, or missing."""
    for j in np.unique(columns):
        feature = table.schema.features[j]
        if not feature.numeric:
            known = len(feature.levels) + len(table.layout.unseen.get(feature.name, ()))
            own = cells[..., columns == j]
            if not np.isin(own[~np.isnan(own)], np.arange(known)).all():
                raise ValueError(f"the column {feature.name!r} has a level that is not in the schema")


def _listed(value: Any, length: int) -> list[Any]:
    if not isinstance(value, list) or len(value) != length:
        raise ValueError(f"a list of {length} values is missing or has another length")
    return value


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"an object is missing, got {str(value)[:100]}")
    return value


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _all(rows: Sequence[Sequence[Any]], *kinds: type) -> bool:
    return all(type(cell) in kinds for row in rows for cell in row)


def _positions(values: Any, below: int) -> np.ndarray:
    """A list of integers from 0 to below some number."""
    if not isinstance(values, list) or not all(_is_count(value) and value < below for value in values):
        raise ValueError(f"positions must be integers from 0 to {below - 1}")
    return np.array(values, dtype=np.intp)


def _numbers(values: Any, *shape: int) -> np.ndarray:
    """Nested lists of finite numbers as an array of that shape; None is NaN."""
    rows = (
        [_listed(row, shape[1]) for row in _listed(values, shape[0])] if len(shape) == 2 else [_listed(values, *shape)]
    )
    if not _all(rows, int, float, type(None)):
        raise ValueError("an array has cells that are not numbers")
    array = np.array(values, dtype=np.float64).reshape(shape)
    if np.isinf(array).any():
        raise ValueError("an array has infinite numbers")
    return array


def _vector(stored: Any, length: int) -> np.ndarray:
    if _mapping(stored).keys() != {"dtype", "values"} or stored["dtype"] not in ("int", "float"):
        raise ValueError("figures have unknown or missing keys")
    array = _numbers(stored["values"], length)
    if stored["dtype"] == "float":
        return array
    if not _all([stored["values"]], int):
        raise ValueError("figures have cells that are not integers")
    return np.array(stored["values"], dtype=np.int64)


def _unreadable(stored: Any, people: int) -> dict[int, str]:
    found = {int(position): sentence for position, sentence in _mapping(stored).items()}
    if len(found) < len(stored) or not all(isinstance(sentence, str) for sentence in found.values()):
        raise ValueError("unreadable has the wrong type")
    _positions(list(found), people)
    return found


def _frame(content: Mapping[str, Any]) -> Any:
    """The frame of the factuals, in the library it came from."""
    library, people = library_named(content["library"]), len(content["status"])
    columns = {
        name: ([_cell(cell) for cell in _listed(stored["cells"], people)], library.dtype_named(stored["dtype"]))
        for name, stored in _mapping(content["columns"]).items()
    }
    return library.restored(columns, _index(content["index"], people))


def _cell(stored: Any) -> Any:
    if isinstance(stored, Mapping) and len(stored) == 1:
        ((kind, text),) = stored.items()
        return {"decimal": decimal.Decimal, "float": float}[kind](str(text))
    if not isinstance(stored, bool | int | float | str | None):
        raise ValueError(f"a cell cannot be {str(stored)[:100]}")
    return stored


def _index(stored: Any, people: int) -> pd.Index[Any] | None:
    if stored is None:
        return None
    levels = [_index_level(level, people) for level in stored["levels"]]
    return pd.MultiIndex.from_arrays(levels, names=[level.name for level in levels]) if stored["several"] else levels[0]


def _index_level(stored: Mapping[str, Any], people: int) -> pd.Index[Any]:
    dtype = library_named("pandas").dtype_named(stored["dtype"])
    labels: Any = [_cell(label) for label in _listed(stored["labels"], people)]
    if isinstance(dtype, pd.DatetimeTZDtype):
        # offsets of one zone differ between summer and winter, so labels are parsed as UTC first
        labels = pd.to_datetime(labels, utc=True)
    return pd.Index(labels, name=_cell(stored["name"])).astype(dtype)
