"""A result as files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attain.cli.frames import written
from attain.core.files import write_atomically
from attain.tables import Table

if TYPE_CHECKING:
    from attain.results.counterfactuals import Counterfactuals


def write_answers(path: str, result: Counterfactuals, separator: str | None = None) -> None:
    """Writes one row for each option, and one of missing cells for each person without an answer."""
    if path.lower().endswith(".json"):
        write_atomically(path, result.to_json().encode())
    else:
        written(path, answers_frame(result), separator)


def write_changes(path: str, result: Counterfactuals, separator: str | None = None) -> None:
    """Writes the paper's Table 1: one row for each changed cell."""
    written(path, result.changes.rename(columns={"person": _person_column(result)}), separator)


def answers_frame(result: Counterfactuals) -> pd.DataFrame:
    """Person, option (empty for who has none), status, the features, then the figures of the option."""
    table = result.table
    without = np.setdiff1d(np.arange(len(table)), result.owners)
    owners = np.concatenate([result.owners, without])
    rows = np.concatenate([result.rows, np.full((len(without), len(table.schema)), np.nan)])
    order = np.argsort(owners, kind="stable")
    owners, rows, answered = owners[order], rows[order], order < len(result.owners)
    chosen = Table(
        table.schema,
        table.values[owners],
        table.layout,
        [table.labels[i] for i in owners],
        table.layout.library.take(table.source, owners),
    )
    features = chosen.replaced(rows, answered).reset_index(drop=True)
    figures = {name: np.asarray(values)[owners] for name, values in result.person_figures.items()}
    for name, values in result.option_figures.items():
        figures[name] = np.full(len(owners), np.nan)
        figures[name][answered] = values[order[answered]]
    firsts = np.searchsorted(owners, owners, side="left")
    option = pd.array(np.arange(len(owners)) - firsts + 1, dtype="Int64")
    option[~answered] = pd.NA
    taken = set(features.columns)
    leading = {
        _person_column(result): [table.labels[i] for i in owners],
        _free("option", taken): option,
        _free("status", taken): [result.statuses[i].name for i in owners],
    }
    return pd.concat(
        [
            pd.DataFrame(leading),
            features,
            pd.DataFrame({_free(name, taken): values for name, values in figures.items()}),
        ],
        axis=1,
    )


def _person_column(result: Counterfactuals) -> str:
    """The name of the people's index, or else `person`."""
    own = result.table.source.index.name
    return own if isinstance(own, str) and own else _free("person", set(result.table.schema.names))


def _free(name: str, taken: set[str]) -> str:
    return _free(f"{name}_", taken) if name in taken else name
