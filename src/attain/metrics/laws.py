"""Whether answers are possible: which laws of real people they break."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from attain.core.arrays import BoolArray, FloatArray
from attain.core.errors import AttainError
from attain.population.measuring import measured
from attain.results.record import Record
from attain.schema import Schema
from attain.schema.laws import Law
from attain.tables import RuleBook, on_grid


def possible(
    answers: ArrayLike | Record,
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
    if isinstance(answers, Record):
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
            value = expression({column: rows[:, schema.position(column)] for column in expression.names})
            result[:, k] &= on_grid(value, step) != on_grid(cells, step)
    return result
