"""Cells of a column that rules cannot tell apart.

A cell can replace another of the same feature in every row that keeps the rules, if no rule tells them apart. So only
among such cells does a cheaper one with more gain beat another.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attain.schema.formulas import All, Any, Formula, Implication, Not, View
from attain.tables import Region


class Signatures:
    """The parts of rules and laws that each column is in, by which its cells are compared."""

    def __init__(self, region: Region) -> None:
        schema = region.schema
        self._features = schema.features
        self._parts: dict[int, list[Formula]] = {}
        self._compared: set[int] = set()
        inputs: dict[int, set[int]] = {}
        for one in region.book.derivations:
            inputs[one.column] = {one.column}.union(*(inputs.get(k, {k}) for k in one.inputs))
        for part in (part for rule in region.book.rules for part in _atoms(rule.formula)):
            columns = [schema.position(name) for name in part.names]
            if len(columns) == 1 and columns[0] not in inputs:
                self._parts.setdefault(columns[0], []).append(part)
            else:
                self._compared.update(*(inputs.get(k, {k}) for k in columns))

    def of(self, j: int, cells: np.ndarray) -> np.ndarray:
        """A number for each of the cells of column j, (n,): equal where no rule tells them apart."""
        if j in self._compared:
            return np.arange(len(cells))
        view = View([self._features[j]], cells[:, None])
        verdicts = [side for part in self._parts.get(j, ()) for side in part.judge(view)]
        if not verdicts:
            return np.zeros(len(cells), dtype=np.intp)
        return np.unique(np.column_stack(verdicts), axis=0, return_inverse=True)[1].ravel()


def unbeaten(cost: np.ndarray, gain: np.ndarray, kind: np.ndarray, layers: int = 1) -> np.ndarray:
    """Which of n cells no other of the same kind beats, by costing no more and gaining no less, (n,).

    With more layers, also those that are not beaten once the layers before are left out.
    """
    kept = np.zeros(len(cost), dtype=bool)
    for _ in range(layers):
        left = np.flatnonzero(~kept)
        order = left[np.lexsort((-gain[left], cost[left], kind[left]))]
        for group in np.split(order, np.flatnonzero(np.diff(kind[order])) + 1):
            most = np.maximum.accumulate(np.append(-np.inf, gain[group]))
            kept[group[gain[group] > most[:-1]]] = True
    return kept


def _atoms(formula: Formula) -> Iterator[Formula]:
    """The parts of a formula that are not made of others."""
    if isinstance(formula, All | Any):
        parts: tuple[Formula, ...] = formula.parts
    elif isinstance(formula, Not):
        parts = (formula.part,)
    elif isinstance(formula, Implication):
        parts = (formula.condition, formula.consequence)
    else:
        yield formula
        return
    for part in parts:
        yield from _atoms(part)
