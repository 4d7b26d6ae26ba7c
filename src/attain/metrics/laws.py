"""Whether answers are possible: which laws of real people they break, and which relations between columns.

A law holds for all people. A relation predicts an ordered column from all others, by boosted trees on percentiles. How
far real people are off, predicted by trees that did not see them, gives each column that is predicted well a limit,
which 1 % of them exceed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from attain.core.arrays import BoolArray, FloatArray, IndexArray, unchanged
from attain.core.errors import AttainError
from attain.population.measuring import Percentiles, measured
from attain.population.relation_fitting import in_order
from attain.results.counterfactuals import Counterfactuals
from attain.schema import Schema
from attain.schema.formulas import evaluate
from attain.schema.laws import Law
from attain.tables import RuleBook, on_grid
from attain.tables.table import ordinary_cells

FAR = 2.0
"""How many limits off is far."""
LEAST_EXPLAINED = 0.8
"""The least R², on rows that the trees did not see, of a column that is predicted well."""
HOPELESS = 0.5
"""The same on the first part of the rows, below which no further trees are grown."""
LIMIT = 0.99
"""The quantile of real people's errors that is a column's limit."""
MOST, MANY = 4_000, 1_000
"""The most rows that trees are grown on; from how many on two parts are enough, and how many there are otherwise."""
PARTS = 5
LEAST = 50
"""The least rows from which relations are learned."""


def possible(
    answers: ArrayLike | Counterfactuals,
    laws: Iterable[str | Law],
    schema: Schema | None = None,
    found: ArrayLike | None = None,
) -> FloatArray:
    """1 for each answer that breaks no law, else 0.

    Parameters
    ----------
    answers
        Rows of the matrix with the schema's columns; or a result, which has a schema.
    laws
        What holds for real people: `attain.laws.find(X_test)`, or texts such as ``"paid <= limit"``.
    """
    known = tuple(laws)
    if isinstance(answers, Counterfactuals):
        schema = answers.table.schema if schema is None else schema
        answers = answers.answers
    elif schema is None:
        raise AttainError("answers are rows without a schema; call possible(answers, laws, schema), or pass a result")

    def measure(rows: FloatArray, _: BoolArray) -> FloatArray:
        return np.asarray(~broken(rows, known, schema).any(axis=1), dtype=np.float64)

    return measured(answers, found, len(schema), measure)


def broken(rows: FloatArray, laws: Iterable[str | Law], schema: Schema) -> BoolArray:
    """Which law (column) each row breaks, (n_rows, n_laws).

    What cannot be judged is not broken, and neither is `column = expression` if the column has the value of the
    expression on its grid.
    """
    texts = tuple(law if isinstance(law, str) else law.text for law in laws)
    book = RuleBook(replace(schema, rules=texts, laws=None))
    result = np.asarray(~book.kept(rows), dtype=np.bool_)
    for k, rule in enumerate(book.rules):
        if rule.determines is not None and schema[rule.determines[0]].numeric:
            name, expression = rule.determines
            step, cells = schema[name].step, rows[:, schema.position(name)]
            result[:, k] &= on_grid(evaluate(schema.features, rows, expression)[:, 0], step) != on_grid(cells, step)
    return result


@dataclass(frozen=True)
class Relations:
    """How well other columns predict each column, learned from rows that no method has seen.

    Attributes
    ----------
    columns
        Those that are predicted well, (c,).
    explained
        The share of the variance of each that is predicted, (c,).
    limits
        By how many percentiles a row may be off, (c,).
    trees
        For each column, models whose mean predicts it.
    """

    percentiles: Percentiles
    columns: IndexArray
    explained: FloatArray
    limits: FloatArray
    trees: tuple[tuple[Any, ...], ...]

    @classmethod
    def learn(cls, schema: Schema, rows: FloatArray) -> Relations:
        """The relations of rows (n, d)."""
        rows = in_order(rows)[np.random.default_rng(0).permutation(len(rows))[:MOST]]
        percentiles, known = Percentiles.fit(schema, rows), ordinary_cells(schema, rows)
        ranks = percentiles.interpolated(rows)
        found: list[tuple[int, float, float, tuple[Any, ...]]] = []
        for j, feature in enumerate(schema):
            at = np.flatnonzero(known[:, j])
            if not feature.ordered or len(at) < LEAST or np.ptp(ranks[at, j]) == 0:
                continue
            predicted, grown = np.zeros(len(at)), []
            parts = 2 if len(at) >= MANY else PARTS
            for part in range(parts):
                kept = np.arange(len(at)) % parts != part
                with threadpool_limits(1):
                    grown.append(_trees(np.delete(rows[at[kept]], j, axis=1), ranks[at[kept], j]))
                    predicted[~kept] = grown[-1].predict(np.delete(rows[at[~kept]], j, axis=1))
                if _explained(ranks[at[~kept], j], predicted[~kept]) < HOPELESS:
                    break
            errors = np.abs(ranks[at, j] - predicted)
            explained = _explained(ranks[at, j], predicted)
            if explained >= LEAST_EXPLAINED and len(grown) == parts:
                found.append((j, explained, float(np.quantile(errors, LIMIT, method="higher")), tuple(grown)))
        columns, shares, limits, trees = zip(*found, strict=True) if found else ((), (), (), ())
        return cls(percentiles, np.array(columns, dtype=np.intp), np.array(shares), np.array(limits), trees)

    def off(self, rows: FloatArray) -> FloatArray:
        """How far each cell is off, in limits, (n, c); 0 for missing cells and special codes."""
        result = np.zeros((len(rows), len(self.columns)))
        ranks, known = self.percentiles.interpolated(rows), ordinary_cells(self.percentiles.schema, rows)
        for place, (j, limit) in enumerate(zip(self.columns, self.limits, strict=True)):
            at = np.flatnonzero(known[:, j])
            if len(at):
                others = np.delete(rows[at], j, axis=1)
                with threadpool_limits(1):
                    predicted = np.mean([trees.predict(others) for trees in self.trees[place]], axis=0)
                result[at, place] = np.abs(ranks[at, j] - predicted) / max(limit, 1e-6)
        return result

    def broken(self, answers: FloatArray, factuals: FloatArray, limits: float = 1.0) -> BoolArray:
        """Which relations (n, c) an answer breaks and its own row keeps; all it breaks, where that is the same row."""
        same = np.asarray(unchanged(factuals, answers).all(axis=1))
        return np.asarray((self.off(answers) > limits) & (same[:, None] | (self.off(factuals) <= limits)))


def _explained(ranks: FloatArray, predicted: FloatArray) -> float:
    """R² of the prediction."""
    return 1 - float(np.mean((ranks - predicted) ** 2)) / max(float(np.var(ranks)), 1e-12)


def _trees(rows: FloatArray, ranks: FloatArray) -> Any:
    trees = HistGradientBoostingRegressor(
        max_iter=100, learning_rate=0.1, max_leaf_nodes=15, min_samples_leaf=10, early_stopping=False, random_state=0
    )
    return trees.fit(rows, ranks)
