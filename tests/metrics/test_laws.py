"""Answers that are possible: planted laws with known counts, and what real people are."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from attain import metrics
from attain.metrics import AnswerMatrix, RealPeople, measures
from attain.metrics.measures import Unavailable
from attain.schema import Feature, Schema
from attain.schema.laws import Law
from attain.tables import Table
from tests.results.handmade import result_of

NAN = float("nan")
SCHEMA = Schema(
    (
        Feature("late", "count", special={-9: "no record"}),
        Feature("trades", "count"),
        Feature("owner", "categorical", levels=("no", "yes")),
        Feature("mortgage", "positive"),
        Feature("merit", "real"),
    )
)
ORDER, ZERO = Law("late <= trades", "late is never more than trades"), "if owner = no then mortgage = 0"


def people(number: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """People who break no law: of many trades some are late, and only owners have a mortgage."""
    rng = np.random.default_rng(seed)
    trades, owner = rng.integers(3, 30, number), rng.random(number) < 0.5
    merit = rng.normal(size=number)
    frame = pd.DataFrame(
        {
            "late": rng.integers(0, trades),
            "trades": trades,
            "owner": np.where(owner, "yes", "no"),
            "mortgage": np.where(owner, 100.0 * rng.integers(1, 50, number), 0.0),
            "merit": merit,
        }
    )
    return frame, np.where(merit + 0.1 * rng.normal(size=number) > 0, "good", "bad")


TRAIN, LABELS = people(400, 0)
TRAIN.loc[[3, 77, 200], "late"] = TRAIN.loc[[3, 77, 200], "trades"] + 1
TEST, TEST_LABELS = people(1200, 1)
MODEL = LogisticRegression().fit(TRAIN[["merit"]].to_numpy(), LABELS)


class ByMerit:
    """A model of one column."""

    classes_ = MODEL.classes_

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        return MODEL.predict(X[["merit"]].to_numpy())

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        return MODEL.predict_proba(X[["merit"]].to_numpy())


def against(**options: Any) -> RealPeople:
    return RealPeople(SCHEMA, ByMerit(), TRAIN, LABELS, target="good", **options)


@pytest.fixture(scope="module")
def answers() -> AnswerMatrix:
    """Six rows, the first of which breaks the order itself; the last has no answer.

    Answers 0, 1 and 2 break the order, 2 and 3 the other law, 4 none.
    """
    rows = TRAIN[ByMerit().predict(TRAIN) == "bad"].drop(index=[3, 77, 200], errors="ignore").head(6).copy()
    rows["owner"], rows["mortgage"] = ["yes"] * 3 + ["no"] * 3, [500.0] * 3 + [0.0] * 3
    rows.iloc[0, 0] = rows.iloc[0, 1] + 2
    table = Table.read(rows, SCHEMA)
    values = table.values.copy()
    values[:, 4] = 3.0
    values[[1, 2], 0] = values[[1, 2], 1] + 1
    values[2, 2] = 0
    values[3, 3] = 100
    values[5] = NAN
    return AnswerMatrix(table, values, np.arange(6) < 5, "good")


def test_an_answer_that_breaks_any_law_is_not_possible() -> None:
    rows = [
        [1, 5, 0, 0, 0],
        [5, 5, 1, 100, 0],
        [6, 5, 1, 100, 0],
        [1, 5, 0, 100, 0],
        [-9, 5, 1, 100, 0],
        [NAN, 5, 1, 100, 0],
        [NAN] * 5,
    ]
    np.testing.assert_array_equal(metrics.possible(rows, [ORDER, ZERO], SCHEMA), [1, 1, 0, 0, 1, 1, NAN])
    np.testing.assert_array_equal(metrics.possible(rows, [ZERO], SCHEMA), [1, 1, 1, 0, 1, 1, NAN])
    np.testing.assert_array_equal(metrics.possible(rows[:2], [], SCHEMA), [1, 1])
    found = np.array([True, False] + [True] * 4 + [False])
    np.testing.assert_array_equal(metrics.possible(rows, [ORDER], SCHEMA, found), [1, NAN, 0, 1, 1, 1, NAN])


def test_an_equation_holds_up_to_the_rounding_of_its_column() -> None:
    schema = Schema((Feature("paid", "positive", step=10.0), Feature("rate", "real"), Feature("months", "count")))
    law = "paid = rate * months"
    rows = [[120, 10.0, 12], [120, 10.4, 12], [120, 10.5, 12], [120, 9.5, 12], [130, 10.5, 12]]
    np.testing.assert_array_equal(metrics.possible(rows, [law], schema), [1, 1, 0, 0, 1])
    finer = schema.change("paid", step=None)
    np.testing.assert_array_equal(metrics.possible(rows, [law], finer), [1, 0, 0, 0, 0])
    third = [[4.33333, 1 / 3, 13], [4.3333, 1 / 3, 13]]
    np.testing.assert_array_equal(metrics.possible(third, [law], finer), [1, 0])


def test_the_share_is_charged_and_real_people_stand_beside_it(answers: AnswerMatrix) -> None:
    evaluation = against(laws=[ORDER, ZERO]).evaluate(answers)
    np.testing.assert_array_equal(evaluation.frame["possible"], [0, 0, 0, 0, 1, NAN])
    line = evaluation.summary.loc["possible"]
    assert line[["mean", "charged", "real"]].tolist() == pytest.approx([1 / 5, 1 / 6, 397 / 400])
    assert "99 %" in str(evaluation)
    without = evaluation.summary.drop(index="possible")
    assert without["real"].isna().all()  # nobody was held out


def test_broken_laws_are_counted_one_by_one(answers: AnswerMatrix) -> None:
    kept = "merit <= 1000"
    broken = against(laws=[kept, ZERO, ORDER]).evaluate(answers, measures=["possible"]).broken_laws
    assert broken["law"].tolist() == [ORDER.text, ZERO]
    assert broken["sentence"].tolist() == [ORDER.sentence, ""]
    assert broken["answers"].tolist() == [3, 2]
    assert broken["share"].tolist() == pytest.approx([3 / 5, 2 / 5])
    assert broken["factuals"].tolist() == [1, 0]
    assert broken["real"].tolist() == [3, 0]
    assert broken["real_share"].tolist() == pytest.approx([3 / 400, 0])
    assert against(laws=[kept]).evaluate(answers, measures=["possible"]).broken_laws.empty


def test_without_laws_it_is_left_out_or_said(answers: AnswerMatrix) -> None:
    for known, why in ((against(), "needs held-out data; pass X_test"), (against(laws=[]), "none were found")):
        assert "possible" not in known.evaluate(answers).frame
        with pytest.raises(Unavailable, match=f"possible needs .*{why}|possible {why}"):
            known.evaluate(answers, measures=["possible"])
    with pytest.raises(Unavailable, match="broken_laws needs held-out data"):
        _ = against().evaluate(answers).broken_laws
    assert against(laws=[]).evaluate(answers).broken_laws.empty


def test_laws_are_those_of_held_out_people(answers: AnswerMatrix) -> None:
    known = against(X_test=TEST, y_test=TEST_LABELS)
    evaluation = known.evaluate(answers)
    assert known.laws == evaluation.context.laws
    assert ORDER in (known.laws or ())
    assert evaluation.frame["possible"].iloc[:4].tolist() == [0, 0, 0, 0]
    assert evaluation.summary.loc["possible", "real"] <= 397 / 400
    assert evaluation.broken_laws.loc[evaluation.broken_laws["law"] == ORDER.text, "answers"].tolist() == [3]


def test_laws_are_looked_for_once_and_only_if_asked_for(answers: AnswerMatrix, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def find(features: Any, values: np.ndarray) -> tuple[Law, ...]:
        assert len(values) == len(TEST)
        calls.append(features)
        return (ORDER,)

    monkeypatch.setattr("attain.metrics.evaluation.find_laws", find)
    known = against(X_test=TEST, y_test=TEST_LABELS)
    known.evaluate(answers, measures=["valid", "inlier"])
    assert not calls
    first = known.evaluate(answers)
    again = pickle.loads(pickle.dumps(known)).evaluate(answers)
    assert len(calls) == 1
    pd.testing.assert_frame_equal(first.summary, again.summary)
    against(X_test=TEST, y_test=TEST_LABELS, laws=[ZERO]).evaluate(answers)
    assert len(calls) == 1


def test_real_people_are_those_a_measure_does_not_rest_on(answers: AnswerMatrix) -> None:
    known = against(X_test=TEST, y_test=TEST_LABELS, laws=[ORDER])
    real = known.evaluate(answers).summary["real"]
    assert known.held_out is not None
    test = Table.read(TEST, SCHEMA).values[(ByMerit().predict(TEST) == "good") & (TEST_LABELS == "good")]
    reference, train = known.reference, known.reference.values
    assert real["inlier"] == pytest.approx(1 - metrics.outlier(test, reference).mean())
    assert real["connected_75"] == pytest.approx(np.mean(metrics.connected(test, reference, reference.epsilon[0.75])))
    assert real["held_out_inlier"] == pytest.approx(1 - metrics.outlier(train, known.held_out.reference).mean())
    assert real[["found", "valid", "total_shift"]].isna().all()


def test_an_own_measure_names_its_real_people_and_is_not_confused_with_another(answers: AnswerMatrix) -> None:
    known = against(X_test=TEST, y_test=TEST_LABELS, laws=[])

    def late(limit: float) -> metrics.Measure:
        return metrics.Measure("late", lambda c: c.answers[:, 0] > limit, share=True, real=lambda c: c.train.values)

    for limit in (0, 5):
        summary = known.evaluate(answers, measures=[late(limit)]).summary
        assert summary.loc["late", "real"] == pytest.approx((TRAIN["late"] > limit).mean())
    assert measures.MEASURES["possible"].real is not None


def test_a_result_is_taken_instead_of_its_answers() -> None:
    schema = Schema((Feature("a", "real"), Feature("b", "real")))
    people = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.0, 0.0, 0.0]})
    result = result_of(schema, people, {0: [{"b": 1.0}, {"b": -1.0}], 2: [{"b": 2.0}]})
    np.testing.assert_array_equal(metrics.possible(result, ["a <= b"]), [1, NAN, 0])
    np.testing.assert_array_equal(metrics.possible(result, ["a <= b"], schema), [1, NAN, 0])
