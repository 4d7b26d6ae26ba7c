"""A result in files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from attain.cli.frames import written
from attain.core.files import write_atomically
from attain.core.names import free_name
from attain.results.sentences import option_sentences

if TYPE_CHECKING:
    from attain.results.counterfactuals import Counterfactuals


def write_answers(path: str, result: Counterfactuals, separator: str | None = None) -> None:
    """Writes one row for each option, and one with their own record for each person without an answer."""
    if path.lower().endswith(".json"):
        write_atomically(path, result.to_json().encode())
    else:
        written(path, answers_frame(result), separator)


def write_changes(path: str, result: Counterfactuals, separator: str | None = None) -> None:
    """Writes the paper's Table 1: one row for each changed cell."""
    written(path, result.changes.rename(columns={"person": _person_column(result)}), separator)


def answers_frame(result: Counterfactuals) -> pd.DataFrame:
    """Person, option (empty where there is none), status, sentence, level, the features, the figures of the option."""
    table = result.table
    without = np.setdiff1d(np.arange(len(table)), result.owners)
    owners = np.concatenate([result.owners, without])
    rows = np.concatenate([result.rows, table.values[without]])
    order = np.argsort(owners, kind="stable")
    owners, rows, answered = owners[order], rows[order], order < len(result.owners)
    labels = [table.labels[i] for i in owners]
    features = table.take(owners, rows).reset_index(drop=True)
    figures = {name: np.asarray(values)[owners] for name, values in result.person_figures.items()}
    for name, values in result.option_figures.items():
        figures[name] = np.full(len(owners), np.nan)
        figures[name][answered] = values[order[answered]]
    option = pd.array(np.full(len(owners), pd.NA), dtype="Int64")
    option[answered] = result.ranks[order[answered]]
    sentences = [*option_sentences(result), *(result.reason(i) for i in without)]
    taken = set(features.columns)
    leading: dict[str, Any] = {
        _person_column(result): labels,
        free_name("option", taken): option,
        free_name("status", taken): [result.statuses[i].name for i in owners],
        free_name("sentence", taken): [sentences[k] for k in order],
    }
    if any(result.levels):
        leading[free_name("level", taken)] = [[*result.levels, *[None] * len(without)][k] for k in order]
    named_figures = {free_name(name, taken): values for name, values in figures.items()}
    return pd.concat([pd.DataFrame(leading), features, pd.DataFrame(named_figures)], axis=1)


def _person_column(result: Counterfactuals) -> str:
    """The name of the index, or else `person`."""
    own = result.table.source.index.name
    return own if isinstance(own, str) and own else free_name("person", result.table.schema.names)
