"""What options are for: the smallest change that flips the decision beside the typical one, and nothing needless."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import attain
from attain import Schema
from attain.datasets import load_german
from attain.results.status import Purpose
from attain.testing import people


class World:
    """Refused people, a model that the engine sees or not, and what it decides."""

    def __init__(self, schema, X, y, test, model, desired, number):
        self.explainer = attain.Guarded(schema, random_state=0).fit(X, y)
        self.model, self.desired = model, desired
        self.X = test[model.predict(test) != desired].iloc[:number]

    def explain(self, X=None, **asked):
        return self.explainer.explain(self.model, self.X if X is None else X, target=self.desired, **asked)

    def decided(self, result, rows):
        frame = result.table.layout.frame(rows)[self.X.columns].astype(self.X.dtypes)
        return self.model.predict(frame) == self.desired

    def level(self, rows, own):
        """How typical rows are: that of an answer, found for one who is told to become it."""
        inspected = self.explainer.session(self.model, target=self.desired).inspected
        p_value = inspected.guard.p_value(inspected.guard.score(rows))
        least = np.minimum(p_value, self.explainer.population_.relations.p_value(rows, own))
        return (least <= 0.18) * 1.0 + (least <= 0.018)


def german(kind):
    data = load_german()
    chosen = np.random.default_rng(0).permutation(len(data.X))
    train, test = data.X.iloc[chosen[:700]], data.X.iloc[chosen[700:]]
    y = data.y.iloc[chosen[:700]]
    levels = [feature.name for feature in data.schema if feature.levels]
    numbers = [feature.name for feature in data.schema if not feature.levels]
    prepared = make_column_transformer(
        (StandardScaler(), numbers), (OneHotEncoder(sparse_output=False, handle_unknown="ignore"), levels)
    )
    trees = GradientBoostingClassifier(n_estimators=40, random_state=0)
    model = make_pipeline(prepared, trees if kind == "trees" else LogisticRegression(max_iter=1000))
    return World(data.schema, train, y, test, model.fit(train, y), "good", 20)


def in_time():
    """People whose income and debt take months to change."""
    paces = {"income": 100.0, "debt": 200.0}
    schema = people.schema()
    features = [replace(feature, pace=paces.get(feature.name)) for feature in schema]
    frame, labels = people.frame(400), people.labels(people.frame(400))
    model = people.tree_model(frame, labels)
    return World(
        Schema(tuple(features), rules=schema.rules), frame, labels, people.frame(120, 5), model, people.DESIRED, 20
    )


@pytest.fixture(scope="module", params=["regression", "trees", "in time"])
def world(request):
    return in_time() if request.param == "in time" else german(request.param)


@pytest.fixture(scope="module")
def result(world):
    return world.explain(n=3)


def taken_back(world, result, place):
    """The rows of an option with one change taken back, as the region forms them, that keep all rules."""
    session = world.explainer.session(world.model, target=world.desired)
    region = session.region(result.table, None)
    row, owner = result.rows[place], result.owners[[place]]
    for j in np.flatnonzero(region.changed(row[None], owner)[0]):
        version = row[None].copy()
        version[0, j] = result.table.values[owner[0], j]
        version = region.after(row[None], owner).final_form(version, np.zeros(1, dtype=np.intp))
        fewer = region.changed(version, owner).sum() < region.changed(row[None], owner).sum()
        if fewer and region.allows(version, owner)[0] and world.decided(result, version)[0]:
            yield version


def test_the_first_option_is_the_answer_and_the_smallest_comes_second(world, result) -> None:
    one, two = world.explain(), world.explain(n=2)
    first = np.unique(result.owners, return_index=True)[1]
    assert result.rows[first].tobytes() == one.rows.tobytes()
    purpose, ranks = result.option_figures["purpose"], result.ranks
    assert (purpose == Purpose.SMALLEST).sum() >= 3
    assert (ranks[purpose == Purpose.SMALLEST] == 2).all()
    with_smallest = np.isin(result.owners, result.owners[purpose == Purpose.SMALLEST])
    assert (purpose[with_smallest & (ranks == 1)] == Purpose.TYPICAL).all()
    at_most_two = result.ranks <= 2
    np.testing.assert_array_equal(two.rows, result.rows[at_most_two][: len(two.rows)])
    np.testing.assert_array_equal(two.option_figures["purpose"], purpose[at_most_two])
    assert "purpose" not in one.option_figures
    assert [str(kind) for kind in Purpose] == ["", "typical", "smallest"]


def test_the_smallest_goes_less_far_than_the_first_in_no_more_months_and_flips_the_decision(world, result) -> None:
    smallest = np.flatnonzero(result.option_figures["purpose"] == Purpose.SMALLEST)
    small, first = result.rows[smallest], result.rows[smallest - 1]
    own = result.table.values[result.owners[smallest]]
    assert (result.owners[smallest] == result.owners[smallest - 1]).all()
    assert world.decided(result, small).all()
    assert ((small != own) <= (first != own)).all()
    ordered = [feature.ordered for feature in result.table.schema]
    same = (small == own) | (small == first)
    between = (np.minimum(own, first) <= small) & (small <= np.maximum(own, first))
    assert (same | (between & ordered))[:, world.explainer.population_.schema.free_columns].all()
    figures = result.option_figures
    assert (figures["total_shift"][smallest] < figures["total_shift"][smallest - 1]).all()
    assert (result.months[smallest] <= result.months[smallest - 1]).all()
    # relations are kept as well as by the first
    limit = np.minimum(world.explainer.population_.relations.p_value(first, own), 0.18)
    assert (world.explainer.population_.relations.p_value(small, own) >= limit).all()


def test_no_change_is_there_in_silence(world, result) -> None:
    """Taken back with the decision and relations kept, a change is in a typical option and is said to be for that."""
    relations, silent, needless = world.explainer.population_.relations, 0, 0
    for place in range(len(result.rows)):
        purpose, own = result.option_figures["purpose"][place], result.table.values[result.owners[[place]]]
        for version in taken_back(world, result, place):
            keeps = relations.p_value(version, own) > 0.18
            silent += bool(keeps) and purpose != Purpose.TYPICAL
            as_typical = world.level(version, own)[0] <= result.option_figures["typicality"][place]
            needless += as_typical and purpose != Purpose.SMALLEST and result.ranks[place] > 1
    assert silent == 0
    assert needless == 0


def test_the_smallest_is_there_whether_or_not_the_engine_sees_the_model(world) -> None:
    asked = attain.Model(lambda frame: world.model.predict_proba(frame), classes=list(world.model.classes_))
    unseen = world.explainer.explain(asked, world.X.iloc[:12], target=world.desired, n=2)
    smallest = unseen.option_figures["purpose"] == Purpose.SMALLEST
    assert smallest.any()
    assert world.decided(unseen, unseen.rows).all()


def test_with_other_models_the_smallest_holds_under_them_too(world) -> None:
    other = world.model
    result = world.explainer.explain(world.model, world.X.iloc[:9], target=world.desired, n=2, robust=[other])
    assert (result.option_figures["holds_under"][result.option_figures["purpose"] == Purpose.SMALLEST] == 1).all()
