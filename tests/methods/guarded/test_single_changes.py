"""Changes of single features: no answer costs more than one that brute force finds."""

from typing import Any

import numpy as np
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from attain import Guarded
from attain.datasets import load_german
from attain.methods.guarded.objective import Objective
from attain.methods.guarded.single_changes import SingleChanges, grid_of
from attain.methods.search.moves import Scale
from attain.methods.search.options import different_changes
from attain.results.status import Typicality
from attain.schema import Constraints
from attain.tables import Region, Table
from tests.both_paths import same_bytes

PEOPLE = 12


class Wrapped:
    """A classifier of the user's own, which is never compiled."""

    def __init__(self, model):
        self.classes_, self.predict, self.predict_proba = model.classes_, model.predict, model.predict_proba


@pytest.fixture(scope="module", params=["linear", "boosting", "not compiled"])
def german(request):
    """An explainer, a classifier, people it refuses, what it is asked for, and the cost of their answers."""
    data = load_german()
    numbers = make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")
    encoder = make_column_transformer((StandardScaler(), numbers[0]), (OneHotEncoder(sparse_output=False), numbers[1]))
    boosted = HistGradientBoostingClassifier(max_iter=40, random_state=0)
    model = make_pipeline(encoder, LogisticRegression(max_iter=1000) if request.param == "linear" else boosted)
    model.fit(data.X, data.y)
    people = data.X[model.predict(data.X) != data.desired].iloc[:PEOPLE]
    asked = Wrapped(model) if request.param == "not compiled" else model
    explainer = Guarded(data.schema).fit(data.X, data.y)
    region = Region.of(Table.read(people, data.schema), Constraints.of(None), explainer.observed_, explainer.book_)
    objective = Objective(explainer._cost_percentiles, region, explainer.max_shift_weight, explainer.change_weight)
    return explainer, asked, people, data.desired, objective


def _brute_force(objective, pools, values_of):
    """All versions of each person with one feature changed to a value that training rows have, and whose each is."""
    region = objective.region
    rows, owners = [], []
    for i, row in enumerate(region.factuals):
        for j in region.schema.free_columns:
            values = values_of(pools[j])
            changed = np.repeat(row[None], len(values), axis=0)
            changed[:, j] = values
            rows.append(changed)
            owners.append(np.full(len(values), i))
    rows, owners = np.concatenate(rows), np.concatenate(owners)
    rows = region.final_form(rows, owners)
    able = region.allows(rows, owners) & region.changed(rows, owners).any(axis=1)
    return rows[able], owners[able]


def _few(pool):
    """At most twelve different values of a column, as many as models that are not compiled are asked about."""
    return np.unique(pool[np.linspace(0, len(pool) - 1, 12).astype(int)])


def test_no_typical_change_of_a_single_feature_is_cheaper_than_the_answer(german) -> None:
    explainer, model, people, target, objective = german
    result = explainer.explain(model, people, target=target)
    goal = explainer._request(model, target, None)
    context = explainer._guard_context(goal)
    rows, owners = _brute_force(objective, explainer.scale_.pools, _few)
    flips = goal.decide(rows).met
    rows, owners = rows[flips], owners[flips]
    typical = explainer._typicality(context, rows) == Typicality.TYPICAL
    lawful = ~objective.region.breaks_law(rows, owners)
    cost = objective.cost(rows, owners)
    own = objective.cost(result.rows, result.owners)
    for k, i in enumerate(result.owners):
        mine = cost[(owners == i) & typical & lawful]
        # the grid that is searched has other values: one step of it apart
        assert own[k] <= mine.min(initial=np.inf) + 0.05


def test_the_first_of_three_options_is_the_only_one_of_one(german) -> None:
    explainer, model, people, target, _ = german
    one, three = (explainer.explain(model, people, target=target, n=n) for n in (1, 3))
    first = np.unique(three.owners, return_index=True)[1]
    np.testing.assert_array_equal(three.rows[first], one.rows)
    assert len(three.rows) > len(one.rows)


def compiled_changes(german: Any) -> tuple[Any, Any, SingleChanges]:
    """The goal, what single changes do to its score, and these changes; skips the test of a model without."""
    explainer, model, _, target, objective = german
    goal = explainer._request(model, target, None)
    sweep = explainer._guard_context(goal).sweep
    if sweep is None:
        pytest.skip("this model is not compiled")
    return goal, sweep, SingleChanges(sweep, objective, explainer._settings)


def test_the_cheapest_values_are_those_of_brute_force(german) -> None:
    goal, sweep, changes = compiled_changes(german)
    objective, every = german[-1], np.arange(PEOPLE)
    region = objective.region
    versions, of = same_bytes(lambda: changes.of(region.factuals, every, np.full(PEOPLE, np.inf)))
    assert goal.decide(versions).met.all()
    for i in range(PEOPLE):
        for k, j in enumerate(sweep.grid.columns):
            values = sweep.grid.values[k][~np.isnan(sweep.grid.values[k])]
            tried = np.repeat(region.factuals[[i]], len(values), axis=0)
            tried[:, j] = values
            shifts = objective.shifts(tried, np.full(len(values), i)).sum(axis=1)
            reached = ~region.frozen[i, j] & goal.decide(tried).met
            if region.schema.features[j].ordered:
                reached &= (values >= region.low[i, j]) & (values <= region.high[i, j])
            found = versions[(of == i) & (versions[:, j] != region.factuals[i, j])]
            assert len(found) == bool(reached.any())
            if len(found):
                np.testing.assert_allclose(
                    objective.shifts(found, np.array([i])).sum(), shifts[reached].min(), rtol=0, atol=1e-12
                )


def test_the_steepest_change_gains_most_of_what_is_lacking_for_its_price(german) -> None:
    _, sweep, changes = compiled_changes(german)
    objective, every = german[-1], np.arange(PEOPLE)
    region = objective.region
    once = same_bytes(lambda: changes.steepest(region.factuals, every))
    twice = changes.steepest(once, every)
    for before, after in ((region.factuals, once), (once, twice)):
        changed = ~((before == after) | (np.isnan(before) & np.isnan(after)))
        assert (changed.sum(axis=1) <= 1).all()
        assert not (changed & (before != region.factuals)).any(), "a feature changes once"
    for i in range(PEOPLE):
        own, best = sweep.along.sums(region.factuals[[i]]).item(), 0.0
        for k, j in enumerate(sweep.grid.columns):
            values = sweep.grid.values[k][~np.isnan(sweep.grid.values[k])]
            tried = np.repeat(region.factuals[[i]], len(values), axis=0)
            tried[:, j] = values
            share = np.minimum((sweep.along.sums(tried).ravel() - own) / (sweep.least - own), 1)
            price = objective.shifts(tried, np.full(len(values), i)).sum(axis=1) + objective.change_weight
            reached = np.full(len(values), not region.frozen[i, j])
            if region.schema.features[j].ordered:
                reached &= (values >= region.low[i, j]) & (values <= region.high[i, j])
            best = max(best, np.max(share / price, where=reached, initial=0.0))
            if once[i, j] != region.factuals[i, j]:
                mine = (share / price)[values == once[i, j]].item()
        assert mine == pytest.approx(best, abs=1e-8)


def test_a_grid_has_values_that_few_rows_have() -> None:
    data = load_german()
    values = Table.read(data.X, data.schema).values.copy()
    j = [feature.name for feature in data.schema].index("credit_amount")
    values[:950, j] = 0.0
    scale = Scale(data.schema, values)
    grid = grid_of(data.schema, scale, 16)
    found = grid.values[list(grid.columns).index(j)]
    found = found[~np.isnan(found)]
    assert (found > 0).sum() >= 7
    assert len(found) <= 16
    assert np.isin(found, values[:, j]).all()


def test_different_changes_are_no_larger_sets_of_the_same_features() -> None:
    changed = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1], [1, 0, 1], [0, 0, 1]], dtype=bool)
    owners = np.zeros(5, dtype=np.intp)
    assert different_changes(np.array([2.0, 1, 3, 4, 5]), owners, changed, 3).tolist() == [1, 2, 4]
    assert different_changes(np.array([2.0, 1, 3, 4, 5]), owners, changed, 1).tolist() == [1]
    two = different_changes(np.array([2.0, 1, 3, 4, 5]), np.array([0, 0, 0, 1, 1]), changed, 2)
    assert sorted(two.tolist()) == [1, 2, 3, 4]
