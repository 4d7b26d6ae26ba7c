"""The evaluation of a whole result: rows, both averages, labels and held-out people."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from attain.metrics import AnswerMatrix, evaluate
from attain.schema import Feature, Schema
from attain.tables import Table

SCHEMA = Schema((Feature("income", "real"), Feature("debt", "real"), Feature("age", "real", immutable=True)))


def people(number: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(number, 3)), columns=list(SCHEMA.names))
    good = frame["income"] - frame["debt"] + rng.normal(0, 0.5, number) > 0
    return frame, np.where(good, "good", "bad")


@pytest.fixture(scope="module")
def case() -> tuple[LogisticRegression, pd.DataFrame, np.ndarray, AnswerMatrix]:
    frame, labels = people(400, 0)
    model = LogisticRegression().fit(frame, labels)
    factuals = frame[model.predict(frame) == "bad"].head(6).rename(index=lambda row: f"person {row}")
    table = Table.read(factuals, SCHEMA)
    answers = table.values.copy()
    answers[:, 0] += 4
    answers[2] = table.values[2]
    answers[4] = np.nan
    return model, frame, labels, AnswerMatrix(table, answers, np.arange(6) != 4, "good")


def test_frame_has_one_row_per_person_in_their_order(case: Any) -> None:
    model, frame, labels, result = case
    evaluation = evaluate(result, model, frame, labels)
    rows = evaluation.frame
    assert list(rows.index) == list(result.table.labels)
    assert rows["found"].tolist() == [True, True, True, True, False, True]
    assert rows.drop(columns="found").iloc[4].isna().all()
    assert rows.drop(columns="found").drop(index=rows.index[4]).notna().all(axis=None)
    assert rows["valid"].iloc[2] == 0
    assert rows["changed"].iloc[[0, 2]].tolist() == [1, 0]


def test_nobody_answered_is_charged_in_full(case: Any) -> None:
    model, frame, labels, result = case
    nothing = AnswerMatrix(result.table, np.full_like(result.answers, np.nan), np.zeros(6, dtype=bool), "good")
    summary = evaluate(nothing, model, frame, labels).summary
    assert summary["mean"].isna().all()
    assert summary.loc["total_shift", "charged"] == 2
    assert summary.loc["max_shift", "charged"] == 1
    assert summary.loc["inlier", "charged"] == 0


def test_nobody_asked_is_no_error(case: Any) -> None:
    model, frame, labels, result = case
    table = replace(result.table, values=np.empty((0, 3)), labels=[])
    evaluation = evaluate(AnswerMatrix(table, np.empty((0, 3)), np.zeros(0, dtype=bool), "good"), model, frame, labels)
    assert len(evaluation.frame) == 0
    assert (evaluation.summary["n"] == 0).all()


def test_held_out_people_give_the_grid_and_labels_say_who_is_real(case: Any) -> None:
    model, frame, labels, result = case
    test_frame, test_labels = people(300, 1)
    own = evaluate(result, model, frame, labels)
    held_out = evaluate(result, model, frame, labels, X_test=test_frame, y_test=test_labels)
    assert own.reference.epsilon != held_out.reference.epsilon
    assert held_out.reference.held_out is not None
    real = (model.predict(test_frame) == "good") & (test_labels == "good")
    assert len(held_out.reference.held_out) == real.sum()
    verdict = evaluate(result, model, frame, None)
    assert len(verdict.reference) == (model.predict(frame) == "good").sum()
    assert not verdict.reference.labelled


def test_a_probability_asked_for_narrows_the_reference(case: Any) -> None:
    model, frame, _, result = case
    strict = AnswerMatrix(result.table, result.answers, result.found, "good", probability=0.9)
    evaluation = evaluate(strict, model, frame, None)
    good = list(model.classes_).index("good")
    assert len(evaluation.reference) == (model.predict_proba(frame)[:, good] >= 0.9).sum()
