"""The bench: methods from outside with known answers, the tables, and the command."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import attain.experiments.bench
from attain import AttainError, Feature, GrowingSpheres, Schema
from attain.cli import main
from attain.datasets import Dataset
from attain.errors import ModelError
from attain.experiments import CLASSIFIERS, bench_tables, run
from attain.explainers import FeatureTweaking, NearestUnlike


@pytest.fixture(scope="module")
def data():
    """One number decides: who has more than 0 is accepted."""
    random = np.random.default_rng(0)
    X = pd.DataFrame({"merit": random.normal(0, 1, 400).round(3), "age": random.integers(18, 80, 400)})
    schema = Schema((Feature("merit", "real", bounds=(-5, 5), step=0.001), Feature("age", "count", immutable=True)))
    y = pd.Series(np.where(X["merit"] > 0, "yes", "no"), index=X.index)
    return Dataset("made up", X, y, schema, "yes", "made up", "nowhere", "free")


def logistic(schema, seed):
    return LogisticRegression(C=1e6)


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
def frame(data):
    methods = {
        "half": Half(),
        "copies": Outside(),
        "makes younger": Outside(merit=2.0, age=18),
        "off the grid": Outside(merit=0.12345),
        "out of bounds": Outside(merit=9.0),
        "silent": Silent(),
        "refusing": Refusing(),
        "spheres": GrowingSpheres(data.schema, figures=False),
    }
    table = run([data], people=10, classifiers={"logistic": logistic}, explainers=methods)
    return table.set_index("method"), methods


def test_both_averages_of_a_method_that_answers_half_the_people(frame):
    table, methods = frame
    half, row = methods["half"], table.loc["half"]
    below = np.mean(half.train[:, None] <= np.concatenate((half.people, [1.0])), axis=0)
    shift = np.abs(below[-1] - below[:-1])[::2]
    assert row["people"] == 10
    assert row["success"] == 0.5
    assert row["rules_broken"] == 0
    assert row["total_shift"] == pytest.approx(shift.mean())
    assert row["total_shift_charged"] == pytest.approx((shift.sum() + 5 * 1) / 10)
    assert row["max_shift_charged"] == pytest.approx((shift.sum() + 5 * 1) / 10)
    assert row["inlier"] == 1.0
    assert row["inlier_charged"] == 0.5
    assert row["connected_charged"] == row["connected"] / 2


def test_an_answer_that_does_not_turn_the_decision_is_none(frame):
    row = frame[0].loc["copies"]
    assert (row["success"], row["rules_broken"]) == (0, 0)
    assert np.isnan(row["total_shift"])
    assert row["total_shift_charged"] == 1
    assert row["connected_charged"] == 0


@pytest.mark.parametrize("method", ["makes younger", "off the grid", "out of bounds"])
def test_an_answer_that_breaks_a_rule_is_counted_and_is_none(frame, method):
    row = frame[0].loc[method]
    assert row["success"] == 0
    assert row["rules_broken"] == 10


def test_no_answer_at_all_breaks_no_rule_and_is_charged(frame):
    row = frame[0].loc["silent"]
    assert (row["success"], row["rules_broken"], row["max_shift_charged"]) == (0, 0, 1)


def test_a_refusal_is_not_applicable_and_says_why(frame):
    row = frame[0].loc["refusing"]
    assert row["status"] == "not applicable"
    assert row["reason"] == "it takes trees only"
    assert np.isnan(row["success"])


def test_a_method_of_the_package_stands_beside_them(frame):
    row = frame[0].loc["spheres"]
    assert row["success"] == 1
    assert row["rules_broken"] == 0
    assert row["rows_scored"] > 1
    assert row["seconds"] > 0


def test_the_tables_fit_any_terminal_and_name_what_is_not_applicable(frame):
    table = frame[0].reset_index()
    for width in (40, 60, 90, 100, 200):
        text = bench_tables(table, width)
        assert max(map(len, text.splitlines())) <= min(width, 100)
        assert text.count("not applicable") == 1
        assert all(method in text for method in table["method"])


def test_every_classifier_takes_frames_with_levels_and_without(data):
    mixed = data.X.assign(home=np.where(data.X["age"] > 40, "owns", "rents"))
    schema = Schema((*data.schema.features, Feature("home", "categorical", levels=("rents", "owns"))))
    for make in CLASSIFIERS.values():
        assert make(data.schema, 0).fit(data.X, data.y).score(data.X, data.y) > 0.9
        assert make(schema, 0).fit(mixed, data.y).score(mixed, data.y) > 0.9


def test_wrong_numbers_are_answered_in_words(data, capsys):
    with pytest.raises(AttainError, match="people is 0"):
        run([data], people=0)
    assert main(["bench", "--quick", "--people", "0"]) == 1
    assert "--people is 0" in capsys.readouterr().err
    assert main(["bench", "--quick", "--out", "table.docx"]) == 1
    assert "table.docx" in capsys.readouterr().err


def few_methods(schema, rows, seed):
    return {
        method.__name__: method(schema, figures=False, random_state=seed)
        for method in (GrowingSpheres, NearestUnlike, FeatureTweaking)
    }


def test_the_command_prints_a_table_for_each_classifier(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(attain.experiments.bench, "all_methods", few_methods)
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["bench", "--quick", "--people", "3", "--out", str(tmp_path / "bench.csv")]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 100
    for name in CLASSIFIERS:
        assert f"german, {name}: 3 refused people" in out
    assert out.count("not applicable") == 1
    written = pd.read_csv(tmp_path / "bench.csv")
    assert len(written) == 9
    assert (written["rules_broken"].dropna() == 0).all()
    assert (written["success"].dropna() == 1).all()


@pytest.mark.slow
def test_the_command_prints_json(capsys, monkeypatch):
    monkeypatch.setattr(attain.experiments.bench, "all_methods", few_methods)
    assert main(["bench", "--quick", "--people", "2", "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert {cell["status"] for cell in cells} == {"ok", "not applicable"}
    assert [cell["success"] for cell in cells if cell["status"] == "not applicable"] == [None]
