"""Plain functions: every kind of answer, and what is made of it."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from attain.core.errors import ModelError
from attain.models import Goal, Model
from attain.tables import Table


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
    goal = Goal(lambda frame: RETURNED[form](likely(frame)), mixed.layout, target=1, probe=mixed.probe)
    assert goal.classes == (0, 1)
    met, score, *_ = goal.score_rows(mixed.rows)
    np.testing.assert_allclose(score, 2 * likely(mixed.frame) - 1, atol=1e-12)
    np.testing.assert_array_equal(met, score >= 1e-6)


@pytest.mark.parametrize("form", RETURNED)
def test_texts_are_labels(mixed, form):
    def model(frame):
        return RETURNED[form](np.where(likely(frame) > 0.5, "good", "bad").astype(object))

    goal = Goal(model, mixed.layout, target="good", probe=mixed.probe)
    assert goal.classes == ("bad", "good")
    met, score, *_ = goal.confirm_rows(mixed.rows)
    np.testing.assert_array_equal(met, likely(mixed.frame) > 0.5)
    np.testing.assert_array_equal(score, met.astype(float))


@pytest.mark.parametrize(("dtype", "target"), [(int, 1), (float, 1), (bool, True), (bool, 1), (int, np.int8(1))])
def test_whole_numbers_and_booleans_are_labels(mixed, dtype, target):
    goal = Goal(lambda f: (likely(f) > 0.5).astype(dtype), mixed.layout, target=target, probe=mixed.probe)
    np.testing.assert_array_equal(goal.score_rows(mixed.rows).met, likely(mixed.frame) > 0.5)


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, lambda a: a.tolist(), lambda a: pl.DataFrame(a)])
def test_several_columns_are_probabilities(mixed, form):
    def thirds(frame):
        p = likely(frame)
        return np.column_stack([(1 - p) / 2, (1 - p) / 2, p])

    model = Model(lambda frame: form(thirds(frame)), classes=["low", "middle", "high"])
    goal = Goal(model, mixed.layout, target="high", probability=0.6, probe=mixed.probe)
    np.testing.assert_allclose(goal.score_rows(mixed.rows).score, likely(mixed.frame))


def test_returns_overrides_what_the_answer_looks_like(mixed):
    scores = Goal(Model(likely, returns="scores"), mixed.layout, target=1, probe=mixed.probe)
    assert scores.score_rows(mixed.rows).met.all()
    sure = Model(lambda f: (likely(f) > 0.5).astype(float), returns="probabilities", classes=["no", "yes"])
    goal = Goal(sure, mixed.layout, target="yes", probability=0.9, probe=mixed.probe)
    np.testing.assert_array_equal(goal.score_rows(mixed.rows).met, likely(mixed.frame) > 0.5)
    labels = Model(lambda f: np.where(likely(f) > 0.5, 0.5, 0.25), returns="labels")
    np.testing.assert_array_equal(
        Goal(labels, mixed.layout, target=0.5, probe=mixed.probe).score_rows(mixed.rows).met, likely(mixed.frame) > 0.5
    )


def test_scores_of_several_classes_win_by_the_largest(mixed):
    def logits(frame):
        income = frame["income"].to_numpy()
        return np.column_stack([3 - income, np.zeros(len(income)), income - 3])

    goal = Goal(Model(logits, returns="scores"), mixed.layout, target=2, probe=mixed.probe)
    over = mixed.frame["income"] - 3
    np.testing.assert_allclose(goal.score_rows(mixed.rows).score, np.where(over > 0, over, 2 * over))
    with pytest.raises(ModelError, match=r"probabilities from .* pass Model\(model, returns='scores'\)"):
        Goal(logits, mixed.layout, target=2, probe=mixed.probe)


def test_a_function_gets_the_training_frame_of_its_own_library_or_what_it_accepts(mixed):
    seen = []

    def model(batch):
        seen.append(batch)
        return np.zeros(len(batch), dtype=int)

    for frame, kind in (
        (mixed.frame, pd.DataFrame),
        (pl.from_pandas(mixed.frame), pl.DataFrame),
        (pa.Table.from_pandas(mixed.frame), pa.Table),
    ):
        table = Table.read(frame, mixed.table.schema)
        seen.clear()
        Goal(model, table.layout, target=0, probe=table.values[:5])
        assert {type(batch) for batch in seen} == {kind}
    pd.testing.assert_frame_equal(seen[0].to_pandas(), mixed.frame[:5])
    for accepts, kind in (("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("numpy", np.ndarray)):
        seen.clear()
        Goal(Model(model, accepts=accepts), mixed.layout, target=0, probe=mixed.probe)
        assert {type(batch) for batch in seen} == {kind}
    assert seen[0][0].tolist() == mixed.frame.iloc[0].tolist()


def test_a_class_the_probe_does_not_show_can_be_named(mixed):
    def strict(frame):
        return np.where(frame["income"] > 50, "good", "bad")

    with pytest.raises(ModelError, match=r"target is 'good', but the classes of .* are 'bad'; to name its classes"):
        Goal(strict, mixed.layout, target="good", probe=mixed.probe)
    goal = Goal(Model(strict, classes=["bad", "good"]), mixed.layout, target="good", probe=mixed.probe)
    rich = mixed.rows.copy()
    rich[:, 0] = 60.0
    assert goal.score_rows(rich).met.all()


def test_a_label_not_seen_before_is_another_class_unless_classes_are_closed(mixed):
    def model(frame):
        return np.where(frame["income"] > 50, "odd", np.where(frame["income"] > 3, "good", "bad"))

    rich = mixed.rows.copy()
    rich[:4, 0] = 60.0
    assert not Goal(model, mixed.layout, target="good", probe=mixed.probe).score_rows(rich).met[:4].any()
    closed = Goal(Model(model, classes=["bad", "good"]), mixed.layout, target="good", probe=mixed.probe)
    with pytest.raises(
        ModelError, match=r"not among its classes for 4 of 240 rows: 'odd'; its classes are 'bad', 'good'"
    ):
        closed.score_rows(rich)


def test_numbers_that_turn_out_not_to_be_labels_are_refused(mixed):
    def saturated(frame):
        return np.clip(frame["income"].to_numpy() - 2.5, 0, 1).round(1)

    clear = mixed.rows[(mixed.frame["income"] < 2.4) | (mixed.frame["income"] > 3.6)]
    goal = Goal(saturated, mixed.layout, target=1, probe=clear)
    with pytest.raises(ModelError, match=r"first returned integers, which were taken for labels, and now 0\.\d"):
        goal.score_rows(mixed.rows)


def test_numbers_that_are_neither_labels_nor_probabilities_are_asked_about(mixed):
    with pytest.raises(ModelError, match=r"neither integers nor between 0 and 1.*returns='scores'"):
        Goal(lambda frame: frame["income"], mixed.layout, target=1, probe=mixed.probe)
