"""Relations beside the same in plain Python, one cell after the other."""

import math
import pickle
from itertools import chain
from typing import Any

import numpy as np
from hypothesis import given, strategies
from hypothesis.strategies import DrawFn, composite
from numpy.testing import assert_allclose

from attain.engine.typical import Relations

CELLS = strategies.sampled_from([math.nan, -9.0, -8.0, -3.0, 0.0, 0.5, 1.0, 2.0, 7.5, 1e9])


class Slow:
    """Columns with knots and codes; relations with weights of each."""

    def __init__(self, columns: list[dict[str, Any]], relations: list[dict[str, Any]]) -> None:
        self.columns, self.relations = columns, relations

    def state(self, j: int, cell: float) -> int:
        for k, code in enumerate(self.columns[j]["codes"]):
            if code == cell or (math.isnan(code) and math.isnan(cell)):
                return k
        return -1

    def off(self, relation: dict[str, Any], row: list[float]) -> float:
        predicted = relation["constant"]
        for k, cell in enumerate(row):
            weights, state, knots = relation["weights"][k], self.state(k, cell), self.columns[k]["knots"]
            if state >= 0:
                predicted += weights[len(knots) + state]
            elif knots and not math.isnan(cell):
                predicted += np.interp(cell, knots, weights[: len(knots)])
        j, about = relation["column"], relation["state"]
        state, column = self.state(j, row[j]), self.columns[j]
        if about <= -3:
            k = -3 - about
            plain = state < 0 and self.state(k, row[k]) < 0
            return 10 + (row[j] - row[k]) / float(relation["scale"]) if plain and row[j] > row[k] else 0.0
        if about == -1:
            if state >= 0 or math.isnan(row[j]) or not column["knots"]:
                return 0.0
            return float((np.interp(row[j], column["knots"], column["ranks"]) - predicted) / relation["scale"])
        if state != about and not (state == -1 and about == -2):
            return 0.0
        return float(max(1 - predicted, 0.0) / relation["scale"])

    def compiled(self) -> Relations:
        """The same, as the engine takes it; the states of a relation count among the codes of all columns."""
        knots, codes = ([column[name] for column in self.columns] for name in ("knots", "codes"))
        first_knot, first_code = (np.cumsum([0, *map(len, parts)]) for parts in (knots, codes))
        weights = [list(chain(*relation["weights"])) for relation in self.relations]
        states = [one["state"] + (int(first_code[one["column"]]) if one["state"] >= 0 else 0) for one in self.relations]
        ranks = chain(*(column["ranks"] for column in self.columns))
        return Relations(
            (first_knot, list(chain(*knots)), list(ranks), first_code, list(chain(*codes))),
            np.array(weights, dtype=float).T.reshape(int(first_knot[-1] + first_code[-1]), len(weights)),
            ([one["column"] for one in self.relations], states),
            [one["constant"] for one in self.relations],
            [one["scale"] for one in self.relations],
        )


@composite
def made_up(draw: DrawFn) -> Slow:
    number = strategies.floats(-3, 3).map(lambda value: round(value, 3))
    columns = []
    for _ in range(draw(strategies.integers(1, 4))):
        knots = sorted(draw(strategies.sets(strategies.sampled_from([-3.0, -1.0, 0.0, 1.0, 4.0, 10.0]), max_size=4)))
        ranks = sorted(draw(strategies.lists(strategies.floats(0, 1), min_size=len(knots), max_size=len(knots))))
        codes = draw(strategies.lists(strategies.sampled_from([math.nan, -9.0, -8.0]), unique_by=repr, max_size=3))
        columns.append({"knots": knots, "ranks": ranks, "codes": codes})
    relations, sizes = [], [len(one["knots"]) + len(one["codes"]) for one in columns]
    for _ in range(draw(strategies.integers(0, 3))):
        j = draw(strategies.integers(0, len(columns) - 1))
        state = draw(strategies.integers(-2 - len(columns), len(columns[j]["codes"]) - 1))
        constant, scale = draw(number), draw(strategies.sampled_from([0.005, 0.2, 1.0]))
        weights = [draw(strategies.lists(number, min_size=n, max_size=n)) for n in sizes]
        relations.append({"column": j, "state": state, "constant": constant, "scale": scale, "weights": weights})
    return Slow(columns, relations)


@given(made_up(), strategies.data())
def test_rows_are_as_far_off_as_in_plain_python(slow: Slow, data: strategies.DataObject) -> None:
    rows = data.draw(strategies.lists(strategies.lists(CELLS, min_size=len(slow.columns), max_size=len(slow.columns))))
    expected = [[slow.off(relation, row) for relation in slow.relations] for row in rows]
    given_rows = np.array(rows, dtype=float).reshape(len(rows), len(slow.columns))
    found = slow.compiled().offs(given_rows)
    assert_allclose(found, np.array(expected).reshape(found.shape), rtol=1e-9, atol=1e-9)


def test_relations_are_copied_with_all_that_they_hold() -> None:
    column = {"knots": [0.0, 1.0], "ranks": [0.0, 1.0], "codes": [-9.0]}
    relation = {"column": 0, "state": -1, "constant": 0.5, "scale": 0.1, "weights": [[0, 0, 0], [1.0, 0.0, 0.2]]}
    one = Slow([column, column], [relation]).compiled()
    rows = np.array([[0.2, 0.9], [1.0, -9.0], [-9.0, 0.5]])
    assert_allclose(one.offs(rows), [[-4.0], [3.0], [0.0]])
    assert_allclose(pickle.loads(pickle.dumps(one)).offs(rows), one.offs(rows))
