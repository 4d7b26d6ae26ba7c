"""The measure of contradictions, on discs whose area is known."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from attain import AttainError, Schema, metrics
from attain.metrics import AnswerMatrix, RealPeople
from attain.metrics.laws import Relations
from attain.tables import Table
from tests.population.test_relations import discs


@cache
def judge() -> tuple[Schema, Relations]:
    frame = discs(1200)
    schema = Schema.infer(frame)
    return schema, Relations.learn(schema, Table.read(frame, schema).values)


def matrix(frame: pd.DataFrame) -> np.ndarray:
    return Table.read(frame, judge()[0]).values


def test_real_people_break_a_relation_as_seldom_as_the_limit_says() -> None:
    schema, relations = judge()
    assert [schema.names[j] for j in relations.columns] == ["radius", "area"]
    new = matrix(discs(2000, seed=1))
    assert relations.broken(new, new).mean(axis=0) == pytest.approx(0.01, abs=0.01)


def test_an_answer_that_does_not_fit_is_counted_and_what_was_broken_before_is_not() -> None:
    _, relations = judge()
    own = discs(100, seed=2)
    fits, wrong = own.copy(), own.copy()
    fits["radius"] = (own["radius"] * 0.8).clip(1, 10)
    fits["area"] = np.pi * fits["radius"] ** 2
    wrong["area"] = own["area"] * 0.5
    assert relations.broken(matrix(fits), matrix(own)).any(axis=1).mean() < 0.1
    assert relations.broken(matrix(wrong), matrix(own)).any(axis=1).mean() > 0.7
    assert relations.broken(matrix(wrong), matrix(own), 2.0).sum() <= relations.broken(matrix(wrong), matrix(own)).sum()
    further = wrong.copy()
    further["weight"] += 1
    assert relations.broken(matrix(further), matrix(wrong)).mean() < 0.05


def test_the_measure_stands_beside_real_people() -> None:
    X, new = discs(600), discs(400, seed=5)
    model = LogisticRegression(max_iter=5000).fit(X, X["radius"] < 5)
    schema = Schema.infer(X)
    people = new[~model.predict(new)].head(40)
    given = Table.read(people, schema)
    answers = given.values.copy()
    answers[:, schema.names.index("radius")] = 2.0
    against = RealPeople(schema, model, X, X["radius"] < 5, target=True, X_test=new, y_test=new["radius"] < 5)
    measured = against.evaluate(AnswerMatrix(given, answers, np.ones(len(given), bool), True))
    row = measured.summary.loc["relations_broken"]
    assert row["mean"] > 0.7
    assert row["real"] < 0.06
    assert measured.summary.loc["relations_broken_by_far", "mean"] <= row["mean"]


def test_without_held_out_rows_or_relations_the_measure_is_left_out() -> None:
    X = discs(300)[["radius", "weight"]]
    model = LogisticRegression().fit(X, X["radius"] < 5)
    schema = Schema.infer(X)
    given = Table.read(X.head(5), schema)
    found = AnswerMatrix(given, given.values, np.ones(5, bool), True)
    for test in (None, discs(300, seed=1)[["radius", "weight"]]):
        against = RealPeople(schema, model, X, None, target=True, X_test=test)
        assert "relations_broken" not in against.evaluate(found).summary.index
        with pytest.raises(AttainError, match=r"pass X_test|columns that others predict"):
            against.evaluate(found, measures=["relations_broken"])
    assert "relations_broken" in metrics.measures.MEASURES
