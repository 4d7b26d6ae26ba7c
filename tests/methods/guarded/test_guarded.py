"""The guarded search, end to end: answers are valid, as typical as stated, and the same in any batch."""

import copy
import subprocess
import sys
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from attain import Feature, Guarded, Model, Schema
from attain.datasets import load_german
from attain.methods import ActionableRecourse
from attain.methods.guarded.guard_context import OWN_ROWS
from attain.population.population import Reference
from attain.results.status import Purpose
from attain.tables import Table
from attain.testing.explainer import digest
from tests.methods.test_budget import Counting

RATES = {"connected": 0.18, "typical": 0.1}


class Encoded:
    """A classifier of German credit that encodes frames quickly; its structure cannot be seen."""

    def __init__(self, schema, X, y, classifier):
        self.schema = schema
        self.classifier = classifier.fit(self.encoded(X), y)
        self.classes_ = self.classifier.classes_

    def encoded(self, X):
        columns = []
        for feature in self.schema:
            cells = np.asarray(X[feature.name])
            columns += [cells == level for level in feature.levels] if feature.levels else [cells]
        return np.column_stack(columns).astype(float)

    def predict(self, X):
        return self.classifier.predict(self.encoded(X))

    def predict_proba(self, X):
        return self.classifier.predict_proba(self.encoded(X))


class German:
    """German credit: rows for training, for calibration, and rows that are refused."""

    def __init__(self):
        data = load_german()
        order = np.random.default_rng(0).permutation(len(data.X))
        X, y = data.X.iloc[order].reset_index(drop=True), np.asarray(data.y)[order]
        self.schema = data.schema
        self.X, self.y = X.iloc[:560], y[:560]
        self.calibration = (X.iloc[560:800], y[560:800])
        self.others = X.iloc[800:]
        self.logistic = self.linear()
        self.pipeline = self.visible()
        self.forest = self.refit(self.X, self.y, 0)

    def linear(self, strength=1.0):
        classifier = make_pipeline(StandardScaler(), LogisticRegression(C=strength, max_iter=500))
        return Encoded(self.schema, self.X, self.y, classifier)

    def visible(self):
        """A linear model whose weights the search can see."""
        levels = [feature.name for feature in self.schema if feature.levels]
        numbers = [feature.name for feature in self.schema if not feature.levels]
        prepared = make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(), levels))
        return make_pipeline(prepared, LogisticRegression(max_iter=500)).fit(self.X, self.y)

    def refit(self, X, y, seed):
        return Encoded(self.schema, X, y, RandomForestClassifier(8, min_samples_leaf=3, random_state=seed))

    def refused(self, model, number):
        return self.others[model.predict(self.others) == "bad"].iloc[:number]

    def explainer(self, **parameters):
        return Guarded(self.schema, **parameters)

    @cache  # noqa: B019
    def fitted(self, setting="connected"):
        return self.explainer(guard=setting).fit(self.X, self.y, calibration=self.calibration)


@pytest.fixture(scope="module")
def german():
    return German()


def guard_of(explainer, model, target="good"):
    return explainer.session(model, target=target).inspected.guard


# what is found


@pytest.mark.parametrize("setting", ["connected", "typical"])
@pytest.mark.parametrize("kind", ["logistic", "forest"])
def test_answers_are_valid_and_as_typical_as_stated(german, setting, kind) -> None:
    model, explainer = getattr(german, kind), german.fitted(setting)
    X = german.refused(model, 12)
    result = explainer.explain(model, X, target="good", n=2)
    assert result.found.all()
    assert (model.predict(result.options[X.columns].astype(X.dtypes)) == "good").all()
    guard = guard_of(explainer, model)
    typicality, level = result.option_figures["typicality_p"], result.option_figures["typicality"]
    p_value = guard.p_value(guard.score(result.rows))
    np.testing.assert_allclose(typicality, p_value, atol=1e-6)
    rate = RATES[setting]
    np.testing.assert_array_equal(level, (p_value <= rate) * 1.0 + (p_value <= rate / 10))
    np.testing.assert_array_equal(level == 0, guard.accepts(result.rows, rate))
    assert (level == 0)[result.option_figures["purpose"] != Purpose.SMALLEST].mean() > 0.8
    assert all("fewer than the 2 options" in note for note in result.notes)
    assert (result.person_figures["rows_scored"] < 2000).all()


@pytest.mark.parametrize("kind", ["logistic", "forest"])
def test_options_are_different_ways_and_the_first_costs_the_least(german, kind) -> None:
    model, explainer = getattr(german, kind), german.fitted()
    X = german.refused(model, 15)
    result = explainer.explain(model, X, target="good", n=3)
    first = result.rows[np.unique(result.owners, return_index=True)[1]]
    assert first.tobytes() == explainer.explain(model, X, target="good").rows.tobytes()
    changed = result.rows != result.table.values[result.owners]
    typical = result.option_figures["purpose"] != Purpose.SMALLEST
    for person in np.unique(result.owners):
        ways = changed[typical & (result.owners == person)]
        for i, first in enumerate(ways):
            for second in ways[i + 1 :]:
                assert not (second | ~first).all(), "an option changes all that a cheaper one changes"
    assert (np.bincount(result.owners) > 1).mean() > 0.5


def test_more_effort_tries_more_candidates_and_answers_are_hardly_dearer(german) -> None:
    X = german.refused(german.logistic, 15)
    once, thrice = (
        german.explainer(effort=effort)
        .fit(german.X, german.y, calibration=german.calibration)
        .explain(german.logistic, X, target="good")
        for effort in (1, 3)
    )
    assert thrice.person_figures["rows_scored"].mean() > 2 * once.person_figures["rows_scored"].mean()
    assert thrice.figures["total_shift"].mean() <= 1.03 * once.figures["total_shift"].mean()


def test_a_limit_that_an_answer_keeps_anyway_costs_next_to_nothing(german) -> None:
    model, explainer = german.forest, german.fitted()
    X = german.refused(model, 12)
    free = explainer.explain(model, X, target="good")
    limited = explainer.explain(model, X, target="good", constraints={"max_changes": 2})
    assert limited.found.all()
    assert np.nanmax(limited.option_figures["features_changed"]) <= 2
    few = free.figures["features_changed"].to_numpy() <= 2
    before, after = (r.figures["total_shift"].to_numpy()[few] for r in (free, limited))
    assert after.mean() <= 1.1 * before.mean() + 0.02


@pytest.mark.parametrize("kind", ["logistic", "forest"])
def test_the_guard_is_fitted_on_training_rows_and_calibrated_on_others(german, kind) -> None:
    model, explainer = getattr(german, kind), german.fitted()
    guard = guard_of(explainer, model)
    met, rest = model.predict(german.X) == "good", model.predict(german.calibration[0]) == "good"
    values = Table.read(german.X, german.schema).values
    expected = Reference.build(
        german.schema, values, desired_labels=german.y == "good", met=met, space=explainer.population_.space
    )
    np.testing.assert_array_equal(guard.reference.values, expected.values)
    assert len(guard.calibration) == (rest & (german.calibration[1] == "good")).sum()
    scores = guard.score(Table.read(german.calibration[0], german.schema).values)
    np.testing.assert_array_equal(guard.calibration, np.sort(scores[rest & (german.calibration[1] == "good")]))


def test_no_answer_is_easier_than_the_exact_easiest(german) -> None:
    X = german.refused(german.pipeline, 8)
    result = german.fitted().explain(german.pipeline, X, target="good")
    exact = ActionableRecourse(german.schema, cost="total", grid="observed", figures=False).fit(german.X, german.y)
    floor = exact.explain(german.pipeline, X, target="good").figures["total_shift"]
    assert result.found.all()
    assert (result.figures["total_shift"] >= floor - 1e-9).all()


def test_a_stricter_rate_makes_answers_more_typical_and_not_easier(german) -> None:
    X = german.refused(german.forest, 16)
    lax, strict = (
        copy.copy(german.fitted()).set_params(rate=rate).explain(german.forest, X, target="good")
        for rate in (0.02, 0.5)
    )
    assert strict.figures["typicality_p"].mean() > lax.figures["typicality_p"].mean()
    assert strict.figures["total_shift"].mean() > lax.figures["total_shift"].mean()
    assert (strict.figures["typicality_p"][strict.figures["typicality"] == 0] > 0.5).all()


def test_a_setting_changed_after_fitting_changes_the_guard(german) -> None:
    explainer = copy.copy(german.fitted())
    X = german.refused(german.forest, 8)
    explainer.explain(german.forest, X, target="good")
    result = explainer.set_params(guard="typical").explain(german.forest, X, target="good")
    fresh = german.fitted("typical").explain(german.forest, X, target="good")
    assert digest(result) == digest(fresh)


def test_a_seed_changed_after_fitting_leaves_the_held_out_rows_alone(german) -> None:
    explainer = german.explainer().fit(german.X, german.y)
    before = guard_of(explainer, german.forest)
    explainer.set_params(random_state=5)
    after = guard_of(explainer, german.forest)
    np.testing.assert_array_equal(before.reference.values, after.reference.values)
    np.testing.assert_array_equal(before.calibration, after.calibration)


def test_weights_of_the_objective_are_minimised(german) -> None:
    X = german.refused(german.logistic, 15)
    few, gentle = (
        copy.copy(german.fitted()).set_params(**weights).explain(german.logistic, X, target="good").figures
        for weights in (
            {"change_weight": 1.0, "max_shift_weight": 0.0},
            {"change_weight": 0.0, "max_shift_weight": 5.0},
        )
    )
    assert few["features_changed"].mean() < gentle["features_changed"].mean()
    assert gentle["max_shift"].mean() < few["max_shift"].mean()


def test_a_probability_may_be_asked_for(german) -> None:
    X = german.refused(german.logistic, 20)
    for model in (german.logistic, german.forest):
        result = german.fitted().explain(model, X, target="good", probability=0.7)
        answers = result.frame[result.found].astype(X.dtypes)
        reached = model.predict_proba(answers)[:, list(model.classes_).index("good")]
        assert result.found[(result.status != "ALREADY_DESIRED").to_numpy()].mean() > 0.9
        assert (reached >= 0.7).all()
        guard = german.fitted().session(model, target="good", probability=0.7).inspected.guard
        typical = result.option_figures["typicality"] == 0
        assert guard.accepts(result.rows[typical], 0.15).all()


# reproducible


def test_the_order_of_the_training_rows_does_not_matter(german) -> None:
    X = german.refused(german.forest, 12)
    order = np.random.default_rng(1).permutation(len(german.X))
    one = german.explainer().fit(german.X, german.y)
    two = german.explainer().fit(german.X.iloc[order], german.y[order])
    first, second = (fitted.explain(german.forest, X, target="good") for fitted in (one, two))
    assert first.answers.tobytes() == second.answers.tobytes()


def levels_only():
    random = np.random.default_rng(0)
    schema = Schema(tuple(Feature(f"f{i}", "categorical", levels=tuple("abc"), immutable=i == 0) for i in range(6)))
    X = pd.DataFrame(random.choice(list("abc"), size=(700, 6), p=[0.5, 0.3, 0.2]), columns=schema.names)
    return schema, X, lambda frame: np.where((frame != "a").sum(axis=1) + (frame["f1"] == "c") > 3, "yes", "no")


def numbers_only():
    random = np.random.default_rng(0)
    schema = Schema((*(Feature(f"x{i}", "real") for i in range(3)), Feature("n", "count")))
    X = pd.DataFrame(random.normal(size=(500, 3)), columns=["x0", "x1", "x2"]).assign(n=random.poisson(3, 500))
    return schema, X, lambda frame: np.where(frame["x0"] + frame["x1"] ** 2 - frame["n"] / 3 > 0.5, "yes", "no")


@pytest.mark.parametrize(("made", "setting"), [(levels_only, "connected"), (numbers_only, "typical")])
def test_levels_alone_and_numbers_alone_are_searched_alike_in_any_cut(made, setting, monkeypatch) -> None:
    schema, X, model = made()
    explainer = Guarded(schema, guard=setting).fit(X, model(X))
    refused = X[model(X) == "no"].iloc[:9]
    whole = explainer.explain(model, refused, target="yes", n=2)
    assert whole.found.all()
    assert (model(whole.frame[whole.found].astype(refused.dtypes)) == "yes").all()
    for size in (1, 7):
        monkeypatch.setattr(Guarded, "_batch_size", lambda self, n, inspected, size=size: size)
        assert digest(explainer.explain(model, refused, target="yes", n=2)) == digest(whole)


# relaxations


def test_where_nothing_typical_is_in_reach_the_next_level_is_reported(german) -> None:
    """A row of an age that no other has, and that cannot change, has answers outside what was seen."""
    X = german.refused(german.logistic, 6).copy()
    odd = X.assign(age=75, duration=72, credit_amount=18_000)
    X = pd.concat([X, odd.set_axis([f"odd {i}" for i in range(6)])])
    result = german.fitted("typical").explain(german.logistic, X, target="good", constraints={"max_changes": 1})
    level, typicality = result.option_figures["typicality"], result.option_figures["typicality_p"]
    guard = guard_of(german.fitted("typical"), german.logistic)
    np.testing.assert_array_equal(level == 0, guard.accepts(result.rows, 0.1))
    np.testing.assert_array_equal(level == 2, typicality <= 0.01)
    assert (level > 0).any()


def test_a_guard_that_hardly_anybody_passes_still_leads_to_answers(german) -> None:
    X = german.refused(german.forest, 10)
    result = copy.copy(german.fitted()).set_params(rate=0.999).explain(german.forest, X, target="good")
    assert result.found.all()
    np.testing.assert_array_equal(result.figures["typicality"] == 0, result.figures["typicality_p"] > 0.999)
    assert (result.figures["typicality"] > 0).any()
    assert (german.forest.predict(result.frame.astype(X.dtypes)) == "good").all()


# labels and calibration


def test_without_labels_the_model_alone_defines_the_desired_class_and_that_is_noted(german) -> None:
    explainer = german.explainer().fit(german.X)
    result = explainer.explain(german.logistic, german.refused(german.logistic, 5), target="good")
    assert result.found.all()
    assert any("No labels were given" in note for note in result.notes)
    assert OWN_ROWS in result.notes
    assert "calibrated on the model's own training rows" in " ".join(result.notes)
    guard = guard_of(explainer, german.logistic)
    assert len(guard.reference) + len(guard.calibration) == (german.logistic.predict(german.X) == "good").sum()


# robust


def test_answers_hold_under_the_models_that_they_were_asked_to(german) -> None:
    X = german.refused(german.logistic, 12)
    others = [german.linear(strength) for strength in (0.03, 30)] + [german.forest]
    result = german.fitted().explain(german.logistic, X, target="good", robust=others, n=2)
    frame = result.options[X.columns].astype(X.dtypes)
    share = np.mean([model.predict(frame) == "good" for model in others], axis=0)
    np.testing.assert_allclose(result.option_figures["holds_under"], share)
    assert (german.logistic.predict(frame) == "good").all()
    assert share.mean() > 0.9


def test_without_an_answer_valid_under_all_models_there_is_one_of_the_model(german) -> None:
    never = Model(lambda frame: np.where(frame["age"] > 200, "good", "bad"), classes=["bad", "good"])
    X = german.refused(german.logistic, 6)
    result = german.fitted().explain(german.logistic, X, target="good", robust=[german.forest, never])
    assert result.found.all()
    expected = (german.forest.predict(result.frame.astype(X.dtypes)) == "good") / 2
    np.testing.assert_allclose(result.figures["holds_under"], expected)


@pytest.mark.parametrize("budget", [12, 200, 800])
def test_the_search_under_all_models_leaves_enough_budget_for_one(german, budget) -> None:
    never = Model(lambda frame: np.where(frame["age"] > 200, "good", "bad"), classes=["bad", "good"])
    X = german.refused(german.forest, 5)
    explainer = copy.copy(german.fitted()).set_params(budget=budget)
    plain = explainer.explain(german.forest, X, target="good")
    result = explainer.explain(german.forest, X, target="good", robust=[never])
    assert plain.found.sum() >= 4
    np.testing.assert_array_equal(result.found, plain.found)
    assert (result.figures["holds_under"].dropna() == 0).all()
    assert (result.person_figures["rows_scored"] <= budget).all()


def test_answers_made_for_refits_hold_under_other_refits(german) -> None:
    X = german.refused(german.forest, 16)
    plain = german.fitted().explain(german.forest, X, target="good")
    robust = german.fitted().explain(german.forest, X, target="good", robust=german.refit)
    random = np.random.default_rng(99)
    held = {"plain": [], "robust": []}
    for seed in range(1000, 1018):
        drawn = random.integers(len(german.X), size=len(german.X))
        model = german.refit(german.X.iloc[drawn], german.y[drawn], seed)
        for name, result in (("plain", plain), ("robust", robust)):
            held[name].append((model.predict(result.frame.astype(X.dtypes)) == "good").mean())
    assert robust.found.all()
    assert np.mean(held["robust"]) > np.mean(held["plain"]) + 0.1
    assert robust.figures["holds_under"].mean() > 0.9
    assert "holds_under" not in plain.figures.columns


def test_rows_asked_are_all_that_the_models_saw(german) -> None:
    counted = [Counting(model) for model in (german.logistic, german.linear(0.1), german.forest)]
    explainer = german.explainer().fit(german.X, german.y)
    X = german.refused(german.logistic, 4)
    for robust in (None, counted[1:], counted[1:]):  # the third time the guard is known already
        before = sum(model.rows for model in counted)
        result = explainer.explain(counted[0], X, target="good", robust=robust)
        assert result.rows_asked == sum(model.rows for model in counted) - before


# what guards answers


def test_everything_but_autoencoders_works_where_jax_is_not_installed(tmp_path) -> None:
    script = """
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("jax", "jaxlib", "equinox", "optax"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NotInstalled())
import attain
from attain.cli import main
from attain.core.errors import MissingExtraError
from attain.density import Autoencoder, Codes, row_product
from attain.testing import people
X = people.frame(200)
y = people.labels(X)
model = people.linear_model(X, y)
refused = X[model.predict(X) == people.REFUSED].iloc[:3]
explainer = attain.Guarded(people.schema()).fit(X, y)
result = explainer.explain(model, refused, target=people.DESIRED)
explainer.save(sys.argv[1])
again = attain.load(sys.argv[1]).explain(model, refused, target=people.DESIRED)
assert again.answers.tobytes() == result.answers.tobytes()
assert main(["demo", "--people", "2"]) == 0
try:
    attain.CCHVAE(people.schema()).fit(X)
except MissingExtraError as error:
    assert str(error) == "training a CHVAE needs JAX, which is not installed: pip install 'attain[autoencoders]'", error
else:
    raise AssertionError("fitted without JAX")
"""
    subprocess.run([sys.executable, "-c", script, "guarded.attain"], check=True, cwd=tmp_path)


# few people, and everything a schema can say


def test_with_few_real_rows_the_guard_is_that_of_all_training_rows_and_that_is_noted(german) -> None:
    few = german.X.iloc[:30]
    explainer = german.explainer().fit(few, german.y[:30])
    result = explainer.explain(german.forest, german.refused(german.forest, 4), target="good", robust=[german.logistic])
    assert any("compared with all training rows" in note for note in result.notes)
    assert (result.option_figures["typicality"] == 2).all()
    assert np.isnan(result.option_figures["typicality_p"]).all()
    assert "holds_under" in result.figures


@pytest.mark.parametrize("number", [60, 110])
def test_a_few_real_rows_are_enough_for_a_guard(german, number) -> None:
    X, y = german.X.iloc[:number], german.y[:number]
    explainer = german.explainer().fit(X, y)
    refused = german.refused(german.forest, 6)
    result = explainer.explain(german.forest, refused, target="good", n=2)
    guard = guard_of(explainer, german.forest)
    assert result.found.all()
    np.testing.assert_array_equal(result.option_figures["typicality"] == 0, guard.accepts(result.rows, 0.18))
