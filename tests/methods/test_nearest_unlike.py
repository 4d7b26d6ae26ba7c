"""Nearest unlike neighbours against brute force over the training people."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from attain.methods import NearestUnlike
from attain.results.status import Status
from attain.schema import Feature, Schema
from attain.testing import people

SCHEMA = Schema(
    (
        Feature("a", "real"),
        Feature("b", "count"),
        Feature("c", "real", immutable=True),
        Feature("d", "real", direction="increase"),
    )
)


def data(size=250, seed=0):
    random = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": np.round(random.normal(0, 1, size), 2),
            "b": random.poisson(4, size),
            "c": np.round(random.normal(0, 1, size), 2),
            "d": np.round(random.normal(0, 2, size), 2),
        }
    )
    y = (X["a"] + 0.3 * X["b"] + X["c"] + 0.5 * X["d"] + random.normal(0, 0.5, size) > 1.5).astype(int)
    return X, y


def task(number=40):
    X, y = data()
    model = LogisticRegression().fit(X, y)
    others = data(200, seed=1)[0]
    return X, y, model, others[model.predict(others) == 0].iloc[:number]


def shifts(X, before, after):
    """|F(after) − F(before)| of the three free columns, by counting."""
    column = {name: np.sort(X[name].to_numpy()) for name in "abd"}
    share = {name: lambda value, name=name: (column[name] <= value).mean() for name in "abd"}
    return sum(abs(share[name](after[name]) - share[name](before[name])) for name in "abd")


def test_without_reversion_the_answer_is_the_easiest_graft_of_the_nearest_people():
    X, y, model, asked = task()
    result = (
        NearestUnlike(SCHEMA, neighbours=10, reversion=False, figures=False).fit(X, y).explain(model, asked, target=1)
    )
    desired = X[(model.predict(X) == 1) & (y == 1)].drop_duplicates()
    spread = X.to_numpy(float).std(axis=0)
    compared = 0
    for i in range(len(asked)):
        own = asked.iloc[i]
        distance = np.sqrt((((desired.to_numpy(float) - own.to_numpy(float)) / spread) ** 2).sum(axis=1))
        near = desired.iloc[np.argsort(distance)[:10]].copy()
        near["c"], near["d"] = own["c"], np.maximum(near["d"], own["d"])
        valid = near[model.predict(near) == 1]
        if valid.empty:
            continue
        compared += 1
        best = min(shifts(X, own, row) for _, row in valid.iterrows())
        answer = dict(zip("abcd", result.answers[i], strict=True))
        assert shifts(X, own, answer) == pytest.approx(best)
    assert compared > 10


def test_after_reversion_no_single_change_can_be_taken_back():
    X, y, model, asked = task()
    result = NearestUnlike(SCHEMA, figures=False).fit(X, y).explain(model, asked, target=1)
    assert result.share_found == 1.0
    for i, answer in enumerate(result.answers):
        own = asked.iloc[i].to_numpy(float)
        for j in np.flatnonzero(answer != own):
            trial = answer.copy()
            trial[j] = own[j]
            assert model.predict(pd.DataFrame([trial], columns=list("abcd")))[0] == 0


def test_new_values_are_real_peoples_and_exact_copies_are_flagged():
    X, y, model, asked = task()
    free = SCHEMA.change("d", direction="any")
    result = NearestUnlike(free, reversion=False, figures=False).fit(X, y).explain(model, asked, target=1, n=2)
    known = set(map(tuple, X[["a", "b", "d"]].to_numpy(float)))
    assert (result.option_figures["copies_a_person"] == 1).all()
    assert all(tuple(row) in known for row in result.rows[:, [0, 1, 3]])
    mixed = NearestUnlike(SCHEMA, figures=False).fit(X, y).explain(model, asked, target=1)
    expected = [float(tuple(row) in known) for row in mixed.rows[:, [0, 1, 3]]]
    assert mixed.option_figures["copies_a_person"].tolist() == expected
    for row in mixed.changes.itertuples():
        assert row.counterfactual in set(X[row.feature])
    assert any("real people" in note for note in mixed.notes)


def test_people_whom_the_labels_contradict_lend_nothing():
    X = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0, 4.0]})
    schema = Schema((Feature("x", "real"),))
    model = lambda frame: (frame["x"].to_numpy() >= 2).astype(int)  # noqa: E731
    asked = X.iloc[[0]]
    by_model = NearestUnlike(schema, figures=False).fit(X).explain(model, asked, target=1)
    labelled = NearestUnlike(schema, figures=False).fit(X, [0, 0, 0, 1, 1]).explain(model, asked, target=1)
    assert by_model.answers[0, 0] == 2.0
    assert labelled.answers[0, 0] == 3.0


def test_it_goes_on_to_farther_people_where_the_nearest_are_of_no_use():
    # the model weighs what cannot change, so the nearest person's other values do not suffice
    X = pd.DataFrame({"fixed": [0.0, 5.0, 5.0, 0.0], "x": [0.0, 0.5, 1.0, 9.0]})
    schema = Schema((Feature("fixed", "real", immutable=True), Feature("x", "real")))
    model = lambda frame: (frame["fixed"].to_numpy() + frame["x"].to_numpy() > 4).astype(int)  # noqa: E731
    result = NearestUnlike(schema, neighbours=1, figures=False).fit(X).explain(model, X.iloc[[0]], target=1)
    assert result.answers[0].tolist() == [0.0, 9.0]


def test_nobody_to_lend_values_is_a_status_and_a_small_budget_another():
    X, y, model, asked = task(5)
    nobody = NearestUnlike(SCHEMA, figures=False).fit(X, 1 - model.predict(X))
    assert set(nobody.explain(model, asked, target=1).statuses) == {Status.OUT_OF_REACH}
    poor = NearestUnlike(SCHEMA, figures=False, budget=2).fit(X, y)
    assert set(poor.explain(model, asked, target=1).statuses) == {Status.BUDGET_SPENT}


def test_few_changes_are_kept_to_by_dropping_the_smallest_shifts():
    X = people.frame()
    y = people.labels(X)
    model = people.linear_model(X, y)
    asked = people.frame(80, seed=3)
    asked = asked[model.predict(asked) == people.REFUSED]
    result = (
        NearestUnlike(people.schema(), figures=False)
        .fit(X, y)
        .explain(model, asked, target=people.DESIRED, constraints={"max_changes": 2})
    )
    assert result.share_found > 0.7
    assert result.option_figures["features_changed"].max() <= 2
    # (0, 0, 0) needs both a and b of (9, 9, 5), and moves farther with them than with c
    X = pd.DataFrame(np.repeat([[0, 0, 0], [9, 0, 9], [0, 9, 9], [9, 9, 5]], [5, 10, 10, 10], axis=0), columns=[*"abc"])
    explainer = NearestUnlike(Schema(tuple(Feature(name, "count") for name in "abc")), figures=False, laws=None).fit(X)
    result = explainer.explain(
        lambda x: (x[["a", "b"]] > 5).all(axis=1).astype(int), X.head(1), target=1, constraints={"max_changes": 2}
    )
    assert result.frame[["a", "b", "c"]].to_numpy().tolist() == [[9, 9, 0]]
