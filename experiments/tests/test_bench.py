"""The benchmark: methods from outside with known answers, rows without one, runs that refuse or fail, the tables."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression

from attain import AttainError, Feature, GrowingSpheres, Schema
from attain.core.errors import ModelError
from attain.datasets import Dataset
from attain.metrics import evaluate
from experiments.bench.cases import MEASURES, Split
from experiments.bench.classifiers import CLASSIFIERS, SampledSVC
from experiments.bench.methods import METHODS
from experiments.bench.report import bench_tables, markdown
from experiments.bench.run import failures, run
from experiments.bench.summary import summarised

SKLEARN = tuple(map(int, sklearn.__version__.split(".")[:2]))


def logistic(schema, seed):
    return LogisticRegression(C=1e6)


def accepting(schema, seed):
    """Refuses nobody."""
    return LogisticRegression(C=1e-9, fit_intercept=True, class_weight={"yes": 1e9, "no": 1e-9})


class Outside:
    """A method from outside: changes a copy of the people's frame."""

    def __init__(self, **changes):
        self.changes = changes

    def explain(self, model, X, *, target):
        return X.assign(**self.changes)


class Silent:
    def explain(self, model, X, *, target):
        return X.astype(float) * np.nan


class Refusing:
    def explain(self, model, X, *, target):
        raise ModelError("it takes trees only")


class Failing:
    def explain(self, model, X, *, target):
        raise ZeroDivisionError("by\nnothing")


class Half:
    """Answers every other person, and keeps what it was fitted on."""

    def fit(self, X, y):
        self.train = X["merit"].to_numpy()
        return self

    def explain(self, model, X, *, target):
        self.people = X["merit"].to_numpy()
        answers = X.assign(merit=1.0).astype(float)
        answers.iloc[1::2] = np.nan
        return answers


@pytest.fixture(scope="module")
def people(data):
    methods = {
        "half": Half(),
        "copies": Outside(),
        "makes younger": Outside(merit=2.0, age=18),
        "off the grid": Outside(merit=0.12345),
        "out of bounds": Outside(merit=9.0),
        "silent": Silent(),
        "refusing": Refusing(),
        "failing": Failing(),
        "spheres": GrowingSpheres(data.schema, figures=False),
    }
    return run([data], people=10, classifiers={"logistic": logistic}, explainers=methods), methods


@pytest.fixture(scope="module")
def summary(people):
    return summarised(people[0]).set_index("method")


def test_every_person_of_every_cell_has_a_row(people):
    table, methods = people
    assert len(table) == 10 * len(methods)
    assert table.groupby("method")["row"].nunique().eq(10).all()
    assert set(table.groupby("method")["row"].unique().map(tuple)) == {tuple(table["row"][:10])}
    verdicts = table[table["method"] == "half"]["verdict"].tolist()
    assert verdicts == ["found", "no answer"] * 5
    assert table["found"].dtype == bool
    without = table[~table["found"]]
    assert without[[name for name in MEASURES if name != "found"]].isna().all(axis=None)


def test_both_averages_of_a_method_that_answers_half_the_people(people, summary):
    half, row = people[1]["half"], summary.loc["half"]
    below = np.mean(half.train[:, None] <= np.concatenate((half.people, [1.0])), axis=0)
    shift = np.abs(below[-1] - below[:-1])[::2]
    assert row["n"] == 10
    assert row["found_charged"] == 0.5
    assert (row["found_charged_low"], row["found_charged_high"]) == pytest.approx((0.23659, 0.76341), abs=1e-5)
    assert row["broken"] == 0
    assert row["total_shift"] == pytest.approx(shift.mean())
    assert row["total_shift_charged"] == pytest.approx((shift.sum() + 5 * 1) / 10)
    assert row["max_shift_charged"] == pytest.approx((shift.sum() + 5 * 1) / 10)
    assert row["total_shift_low"] <= row["total_shift"] <= row["total_shift_high"]
    assert row["changed"] == 1
    assert row["inlier"] == 1.0
    assert row["inlier_charged"] == 0.5
    assert row["connected_90_charged"] == row["connected_90"] / 2


def test_measures_are_those_of_evaluate(data, people):
    mine = people[0][people[0]["method"] == "spheres"]
    split, spheres = Split.of(data, 0), people[1]["spheres"]
    model = logistic(data.schema, 0).fit(split.train, split.y_train)
    result = spheres.explain(model, data.X.loc[mine["row"].astype(int)], target="yes")
    own = evaluate(result, model, split.train, split.y_train, X_test=split.test, y_test=split.y_test).frame
    for name in set(MEASURES) & set(own.columns) - {"found"}:
        np.testing.assert_allclose(mine[name].to_numpy(), own[name].to_numpy())


def test_an_answer_that_does_not_flip_the_decision_is_none(people, summary):
    row = summary.loc["copies"]
    assert (row["found_charged"], row["broken"]) == (0, 0)
    assert np.isnan(row["total_shift"])
    assert row["total_shift_charged"] == 1
    assert row["connected_90_charged"] == 0
    mine = people[0][people[0]["method"] == "copies"]
    assert set(mine["verdict"]) == {"still refused"}
    assert (mine["rules_kept"] == 1).all()
    assert (mine["type_valid"] == 0).all()


@pytest.mark.parametrize("method", ["makes younger", "off the grid", "out of bounds"])
def test_an_answer_that_breaks_a_rule_is_counted_and_is_none(people, summary, method):
    assert summary.loc[method, "found_charged"] == 0
    assert summary.loc[method, "broken"] == 10
    mine = people[0][people[0]["method"] == method]
    assert set(mine["verdict"]) == {"breaks a rule"}
    assert mine["row_reason"].str.len().gt(0).all()
    assert (mine["rules_kept"] == 0).all()


def test_no_answer_at_all_breaks_no_rule_and_is_charged(summary):
    row = summary.loc["silent"]
    assert (row["found_charged"], row["broken"], row["max_shift_charged"]) == (0, 0, 1)


def test_a_refusal_is_not_applicable_and_says_why(summary):
    row = summary.loc["refusing"]
    assert (row["status"], row["reason"], row["n"]) == ("not applicable", "it takes trees only", 10)
    assert np.isnan(row["found_charged"])


def test_whatever_else_is_raised_is_a_failed_cell_that_tells(people, summary):
    assert summary.loc["failing", ["status", "reason"]].tolist() == ["failed", "ZeroDivisionError: by nothing"]
    assert failures(people[0]) == ["failing on made up with logistic, seed 0: failed (ZeroDivisionError: by nothing)"]


def test_a_method_of_the_package_stands_beside_them(summary):
    row = summary.loc["spheres"]
    assert row["found_charged"] == 1
    assert row["broken"] == 0
    assert row["rows_scored"] > 1
    assert row["cpu_seconds"] > 0
    assert (row[[name for name, measure in MEASURES.items() if measure.share and not measure.optional]] <= 1).all()


def test_where_nobody_is_refused_a_row_says_so(data):
    table = run([data], people=3, classifiers={"kind": accepting}, explainers={"copies": Outside()})
    assert table["status"].tolist() == ["no row is refused"]
    assert table["row"].isna().all()
    assert summarised(table)["n"].tolist() == [0]


def test_a_classifier_that_cannot_be_fitted_fails_its_own_cells_only(data):
    def broken(schema, seed):
        raise RuntimeError("no memory")

    table = run([data], people=3, classifiers={"broken": broken, "fine": logistic}, explainers={"copies": Outside()})
    assert table.groupby("classifier")["status"].first().to_dict() == {"broken": "failed", "fine": "ok"}


def test_seeds_split_anew_and_are_averaged_together(data):
    table = run([data], people=4, seeds=(0, 1), classifiers={"logistic": logistic}, explainers={"half": Half()})
    assert table.groupby("seed").size().to_dict() == {0: 4, 1: 4}
    assert set(table[table["seed"] == 0]["row"]) != set(table[table["seed"] == 1]["row"])
    row = summarised(table).iloc[0]
    assert (row["seeds"], row["n"], row["found_charged"]) == (2, 8, 0.5)


def test_the_budget_reaches_every_method(data):
    table = run([data], people=4, budget=25, explainers={"GrowingSpheres": METHODS["GrowingSpheres"]},
                classifiers={"logistic": logistic})  # fmt: skip
    assert table["rows_scored"].max() <= 25


def test_the_tables_fit_any_terminal_and_name_what_is_not_applicable(people):
    table, methods = people
    for width in (40, 60, 90, 100, 200):
        text = bench_tables(table, width)
        assert max(map(len, text.splitlines())) <= width
        assert text.count("not applicable") == 1
        assert text.count("failed") == 1
        assert all(word in text for method in methods for word in method.split())


def test_markdown_has_a_row_for_each_method_with_its_interval(people, summary):
    text = markdown(summary.reset_index())
    assert text.startswith("## Made up, logistic: 10 refused rows\n")
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(lines) == 3 + len(people[1])
    assert lines[-1].startswith("| real people | – | – |")
    assert len({line.count("|") for line in lines}) == 1
    assert "| half | 50% [24, 76] | 0 |" in text


def test_impossible_answers_are_told_beside_real_people():
    random = np.random.default_rng(0)
    merit, whole = np.round(random.normal(size=3000), 2), random.integers(5, 40, 3000)
    X = pd.DataFrame({"merit": merit, "part": random.integers(0, whole), "whole": whole})
    schema = Schema((Feature("merit", "real", step=0.01), Feature("part", "count"), Feature("whole", "count")))
    y = pd.Series(np.where(merit > 0, "yes", "no"))
    data = Dataset("parts", X, y, schema, "yes", "made up", "nowhere", "free")
    methods = {"keeps": Outside(merit=1.0), "breaks": Outside(merit=1.0, part=99), "silent": Silent()}
    table = run([data], people=8, classifiers={"logistic": logistic}, explainers=methods)
    summary = summarised(table).set_index("method")
    assert summary["possible"].tolist() == pytest.approx([1, 0, np.nan], nan_ok=True)
    assert summary["possible_charged"].tolist() == [1, 0, 0]
    assert (summary["possible_real"] > 0.97).all()
    assert "possible, %" in bench_tables(table, 100)
    assert "real people" in bench_tables(table, 100)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_takes_frames_with_levels_and_without(name, data):
    if name == "neural network" and SKLEARN < (1, 9):
        pytest.skip("before version 1.9, scikit-learn's networks stop early with numbers as labels only")
    mixed = data.X.assign(home=np.where(data.X["age"] > 40, "owns", "rents"))
    schema = Schema((*data.schema.features, Feature("home", "categorical", levels=("rents", "owns"))))
    make = CLASSIFIERS[name]
    assert make(data.schema, 0).fit(data.X, data.y).score(data.X, data.y) > 0.9
    assert make(schema, 0).fit(mixed, data.y).score(mixed, data.y) > 0.9


def test_a_support_vector_machine_of_many_rows_is_trained_on_some_of_them(data):
    X, y = data.X.to_numpy(), data.y.to_numpy()
    one, other, all_rows = (
        SampledSVC(rows=rows, random_state=seed).fit(X, y) for rows, seed in ((50, 0), (50, 1), (400, 0))
    )
    assert one.shape_fit_ == (50, 2)
    assert all_rows.shape_fit_ == (400, 2)
    assert not np.array_equal(one.support_vectors_, other.support_vectors_)
    again = SampledSVC(rows=50, random_state=0).fit(X, y)
    np.testing.assert_array_equal(one.support_vectors_, again.support_vectors_)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"people": 0}, "people must be an integer ≥ 1, got 0"),
        ({"budget": 1}, "budget must be an integer ≥ 2, got 1"),
        ({"jobs": 0}, "jobs must be an integer ≥ 1, got 0"),
        ({"seeds": ()}, "seeds must hold"),
        ({"seeds": (-1,)}, "seeds must hold"),
        ({"limit": 5.0}, "limit is given without jobs"),
        ({"limit": 0.0, "jobs": 1}, "limit must be a number of seconds > 0, got 0"),
    ],
)
def test_wrong_numbers_are_answered_in_words(data, wrong, told):
    with pytest.raises(AttainError, match=told):
        run([data], **wrong)


def test_two_data_sets_of_one_name_are_refused(data):
    with pytest.raises(AttainError, match="several data sets are named 'made up'"):
        run([data, data])
