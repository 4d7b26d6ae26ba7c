"""Plain functions: every kind of answer, and what is made of it."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from attain.core.errors import ModelError
from attain.models import Model
from tests.models.conftest import Data, check_lead


def likely(frame):
    """The probability of a good outcome, by hand."""
    return 1 / (1 + np.exp(3.0 - np.asarray(frame["income"]) - 0.1 * np.asarray(frame["visits"])))


RETURNED = {
    "array": np.asarray,
    "list": lambda values: np.asarray(values).tolist(),
    "series": pd.Series,
    "polars": pl.Series,
    "pyarrow": lambda values: pa.chunked_array([pa.array(values)]),
    "column": lambda values: np.asarray(values)[:, None],
    "frame": lambda values: pd.DataFrame({"answer": values}),
}


@pytest.mark.parametrize("form", RETURNED)
def test_fractions_are_the_probability_of_the_second_class(mixed, form):
    goal = mixed.goal(lambda frame: RETURNED[form](likely(frame)), 1)
    assert goal.classes == (0, 1)
    check_lead(goal, mixed.rows, likely(mixed.frame), goal.score_rows(mixed.rows).score >= 1e-6, atol=1e-12)


LABELS = [(("bad", "good"), object, "good"), ((0, 1), int, 1), ((0, 1), float, 1), ((0, 1), int, np.int8(1))]
LABELS += [((False, True), bool, True), ((False, True), bool, 1)]


@pytest.mark.parametrize("form", RETURNED)
@pytest.mark.parametrize(("classes", "dtype", "target"), LABELS)
def test_texts_whole_numbers_and_booleans_are_labels(mixed, form, classes, dtype, target):
    def model(frame):
        return RETURNED[form](np.where(likely(frame) > 0.5, *classes[::-1]).astype(dtype))

    goal = mixed.goal(model, target)
    assert goal.classes == classes
    for met, score, *_ in (goal.score_rows(mixed.rows), goal.confirm_rows(mixed.rows)):
        np.testing.assert_array_equal(met, likely(mixed.frame) > 0.5)
        np.testing.assert_array_equal(score, met.astype(float))


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, lambda a: a.tolist(), lambda a: pl.DataFrame(a)])
def test_several_columns_are_probabilities(mixed, form):
    def thirds(frame):
        p = likely(frame)
        return np.column_stack([(1 - p) / 2, (1 - p) / 2, p])

    model = Model(lambda frame: form(thirds(frame)), classes=["low", "middle", "high"])
    goal = mixed.goal(model, "high", probability=0.6)
    np.testing.assert_allclose(goal.score_rows(mixed.rows).score, likely(mixed.frame))


def test_returns_overrides_what_the_answer_looks_like(mixed):
    scores = mixed.goal(Model(likely, returns="scores"), 1)
    assert scores.score_rows(mixed.rows).met.all()
    sure = Model(lambda f: (likely(f) > 0.5).astype(float), returns="probabilities", classes=["no", "yes"])
    goal = mixed.goal(sure, "yes", probability=0.9)
    np.testing.assert_array_equal(goal.score_rows(mixed.rows).met, likely(mixed.frame) > 0.5)
    labels = Model(lambda f: np.where(likely(f) > 0.5, 0.5, 0.25), returns="labels")
    np.testing.assert_array_equal(mixed.goal(labels, 0.5).score_rows(mixed.rows).met, likely(mixed.frame) > 0.5)


def test_scores_of_several_classes_win_by_the_largest(mixed):
    def logits(frame):
        income = frame["income"].to_numpy()
        return np.column_stack([3 - income, np.zeros(len(income)), income - 3])

    goal = mixed.goal(Model(logits, returns="scores"), 2)
    over = mixed.frame["income"] - 3
    np.testing.assert_allclose(goal.score_rows(mixed.rows).score, np.where(over > 0, over, 2 * over))
    with pytest.raises(ModelError, match=r"probabilities from .* pass Model\(model, returns='scores'\)"):
        mixed.goal(logits, 2)


def test_a_function_gets_the_training_frame_of_its_own_library_or_what_it_accepts(mixed):
    seen = []

    def model(batch):
        seen.append(batch)
        return np.zeros(len(batch), dtype=int)

    for frame in (mixed.frame, pl.from_pandas(mixed.frame), pa.Table.from_pandas(mixed.frame)):
        seen.clear()
        Data(frame).goal(model, 0)
        assert {type(batch) for batch in seen} == {type(frame)}
    pd.testing.assert_frame_equal(seen[0].to_pandas(), mixed.frame[:60])
    for accepts, kind in (("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("numpy", np.ndarray)):
        seen.clear()
        mixed.goal(Model(model, accepts=accepts), 0)
        assert {type(batch) for batch in seen} == {kind}
    assert seen[0][0].tolist() == mixed.frame.iloc[0].tolist()


def test_a_class_the_probe_does_not_show_can_be_named(mixed):
    def strict(frame):
        return np.where(frame["income"] > 50, "good", "bad")

    with pytest.raises(ModelError, match=r"target is 'good', but the classes of .* are 'bad'; to name its classes"):
        mixed.goal(strict)
    goal = mixed.goal(Model(strict, classes=["bad", "good"]))
    rich = mixed.rows.copy()
    rich[:, 0] = 60.0
    assert goal.score_rows(rich).met.all()


def test_a_label_not_seen_before_is_another_class_unless_classes_are_closed(mixed):
    def model(frame):
        return np.where(frame["income"] > 50, "odd", np.where(frame["income"] > 3, "good", "bad"))

    rich = mixed.rows.copy()
    rich[:4, 0] = 60.0
    assert not mixed.goal(model).score_rows(rich).met[:4].any()
    closed = mixed.goal(Model(model, classes=["bad", "good"]))
    with pytest.raises(
        ModelError, match="not among its classes for 4 of 240 rows: 'odd'; its classes are 'bad', 'good'"
    ):
        closed.score_rows(rich)


def test_numbers_that_turn_out_not_to_be_labels_are_refused(mixed):
    def saturated(frame):
        return np.clip(frame["income"].to_numpy() - 2.5, 0, 1).round(1)

    clear = mixed.rows[(mixed.frame["income"] < 2.4) | (mixed.frame["income"] > 3.6)]
    goal = mixed.goal(saturated, 1, clear)
    with pytest.raises(ModelError, match=r"first returned integers, which were taken for labels, and now 0\.\d"):
        goal.score_rows(mixed.rows)


def test_numbers_that_are_neither_labels_nor_probabilities_are_asked_about(mixed):
    with pytest.raises(ModelError, match=r"neither integers nor between 0 and 1.*returns='scores'"):
        mixed.goal(lambda frame: frame["income"], 1)
