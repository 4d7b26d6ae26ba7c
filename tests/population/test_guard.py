"""The guard against brute force, scikit-learn's outlier factors, and what conformal calibration promises."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import betabinom
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from attain import Feature, Model, Schema
from attain.methods.guarded.guard_context import OWN_ROWS, TOO_FEW_HELD_OUT, Calibration, GuardContext, held_out
from attain.methods.guarded.settings import GuardedSettings
from attain.models import Goal
from attain.population.guard import Guard, GuardSettings, thinned
from attain.population.population import DecidedPopulation, Population
from attain.tables import Table
from tests.coordinates import coordinates, reference_of

NEIGHBOURS, CLOSENESS, LEAST = GuardSettings().neighbours, GuardSettings().closeness, GuardSettings().min_rows
NUMBERS = Schema(tuple(Feature(name, "real") for name in ("a", "b", "c")))
RATES = (0.05, 0.1, 0.15, 0.3)
SETTINGS = ("typical", "connected")


def draw(seed, number):
    return np.random.default_rng(seed).standard_t(5, size=(number, 3))


@pytest.fixture(scope="module", params=SETTINGS)
def fitted(request):
    return Guard.fit(request.param, reference_of(draw(0, 330)), draw(1, 99))


def brute_score(setting, reference, rows):
    """The smallest rank, by scikit-learn's outlier factors and by counting."""
    own, points = coordinates(reference), reference.space.transform(rows)
    ranks = []
    for k in (k for k in NEIGHBOURS if k <= len(own) // 8 or k == NEIGHBOURS[0]):
        factor = LocalOutlierFactor(n_neighbors=k, novelty=True).fit(own)
        ranks.append(shares(-factor.negative_outlier_factor_, -factor.score_samples(points)))
    if setting == "connected":
        nearest = NearestNeighbors(n_neighbors=2).fit(own)
        distance = nearest.kneighbors(points, 1)[0][:, 0]
        ranks.append(shares(nearest.kneighbors(own)[0][:, 1], distance) / CLOSENESS)
    return np.min(ranks, axis=0)


def shares(own, values):
    # values that differ in their last bits only are equal
    return (own[None, :] >= values[:, None] - 1e-9).mean(axis=1)


def test_scores_are_those_of_brute_force_and_scikit_learn(fitted) -> None:
    rows = np.concatenate((draw(2, 60), 3 * draw(3, 30), fitted.reference.values[:10]))
    assert len(fitted.own_factors) == 4  # 80 neighbours are too many for 330 people
    np.testing.assert_allclose(fitted.score(rows), brute_score(fitted.setting, fitted.reference, rows), atol=1e-9)


def test_the_real_rows_themselves_are_ranked_among_the_others(fitted) -> None:
    few = Guard.fit(fitted.setting, fitted.reference, draw(1, LEAST - 1))
    assert not few.held_out
    own = coordinates(fitted.reference)
    ranks = []
    for k in NEIGHBOURS[:4]:
        factors = -LocalOutlierFactor(n_neighbors=k).fit(own).negative_outlier_factor_
        ranks.append(shares(factors, factors))
    if fitted.setting == "connected":
        nearest = NearestNeighbors(n_neighbors=2).fit(own).kneighbors(own)[0][:, 1]
        ranks.append(shares(nearest, nearest) / CLOSENESS)
    # one person more or less, where factors are equal but for their last bits
    np.testing.assert_allclose(few.calibration, np.sort(np.min(ranks, axis=0)), atol=1.01 / len(own))


def within(limits, guard, rows):
    factors, distance = guard.measurements(rows)
    return (factors <= limits.factors).all(axis=1) & (distance <= limits.distance)


@given(st.integers(0, 2**32), st.floats(0.001, 0.999), st.floats(0.3, 3))
def test_rows_are_accepted_if_they_keep_all_limits(fitted, seed, rate, width) -> None:
    rows = np.concatenate((width * draw(seed, 40), fitted.reference.values[:40]))
    np.testing.assert_array_equal(fitted.accepts(rows, rate), within(fitted.limits(rate), fitted, rows))


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("people", [20, 40, 100, 144])
def test_limits_and_scores_agree_at_every_rate_there_is(setting, people) -> None:
    """Among few rows many ranks are equal: the limits must not be off by one of them."""
    fitted = Guard.fit(setting, reference_of(draw(4, people)), draw(5, 59))
    rows = np.concatenate((draw(6, 200), fitted.reference.values, draw(5, 59)))
    for refused in range(60):
        rate = refused / 60
        np.testing.assert_array_equal(fitted.accepts(rows, rate), within(fitted.limits(rate), fitted, rows))


def test_p_values_count_rows_that_are_as_unusual_or_more(fitted) -> None:
    scores = fitted.score(draw(7, 50))
    calibration = fitted.score(draw(1, 99))
    expected = [(1 + (calibration <= score).sum()) / 100 for score in scores]
    np.testing.assert_allclose(fitted.p_value(scores), expected)
    assert fitted.p_value(np.array([-1.0]))[0] == 1 / 100
    assert fitted.p_value(np.array([1.0]))[0] == 1
    assert 1 - fitted.accepts(draw(1, 99), 0.1).mean() <= 0.1
    assert fitted.accepts(np.empty((0, 3)), 0.1).shape == (0,)


def test_a_smaller_rate_accepts_all_that_a_larger_one_accepts(fitted) -> None:
    rows = 1.5 * draw(8, 300)
    accepted = [fitted.accepts(rows, rate) for rate in RATES]
    for lax, strict in itertools.pairwise(accepted):
        assert (lax | ~strict).all()
    limits = [fitted.limits(rate) for rate in RATES]
    for lax, strict in itertools.pairwise(limits):
        assert (strict.factors <= lax.factors).all()
        assert strict.distance <= lax.distance


def test_a_rate_below_one_in_all_calibration_rows_refuses_nothing(fitted) -> None:
    limits = fitted.limits(0.0099)
    assert np.isinf(limits.factors).all()
    assert limits.distance == np.inf
    absurd = np.full((1, 3), 1e6)
    assert fitted.score(absurd)[0] == 0  # nobody real is as odd
    assert fitted.accepts(absurd, 0.0099).all()
    assert not fitted.accepts(absurd, (1 + (fitted.calibration == 0).sum()) / 100).any()


def test_only_connected_asks_for_closeness() -> None:
    typical, connected = (Guard.fit(setting, reference_of(draw(0, 200)), draw(1, 99)) for setting in SETTINGS)
    assert typical.limits(0.15).distance == np.inf
    assert connected.limits(0.15).distance < np.inf
    assert (connected.score(draw(2, 100)) <= 1 / CLOSENESS).all()


def binomial_bounds(rate, calibrated, fresh, replicates):
    """The expected share of refused rows, and four standard errors of it over some replicates."""
    refused = int(np.floor(rate * (calibrated + 1) + 1e-9))
    counts = betabinom(fresh, refused, calibrated + 1 - refused)
    return counts.mean() / fresh, 4 * counts.std() / fresh / np.sqrt(replicates)


@pytest.mark.parametrize("setting", SETTINGS)
def test_new_rows_are_refused_at_the_stated_rate(setting) -> None:
    """Scores without ties are refused at exactly the rate that conformal calibration says; ties make it smaller."""
    replicates, refused = 25, {rate: [] for rate in RATES}
    for replicate in range(replicates):
        fitted = Guard.fit(setting, reference_of(draw((0, replicate), 400)), draw((1, replicate), 99))
        fresh = draw((2, replicate), 200)
        for rate in RATES:
            refused[rate].append(1 - fitted.accepts(fresh, rate).mean())
    for rate in RATES:
        mean, slack = binomial_bounds(rate, 99, 200, replicates)
        assert np.mean(refused[rate]) <= mean + slack
        assert np.mean(refused[rate]) >= mean - slack - 0.015  # ties of ranks


def population(seed, number):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(random.normal(size=(number, 3)), columns=["a", "b", "c"])
    frame["level"] = random.choice(["x", "y", "z"], number, p=[0.6, 0.3, 0.1])
    merit = frame["a"] + np.abs(frame["b"]) - 0.7 + 0.5 * (frame["level"] == "y") + random.normal(0, 0.7, number)
    return frame, np.where(merit > 0, "yes", "no")


MIXED = Schema((*NUMBERS.features, Feature("level", "categorical", levels=("x", "y", "z"))))


def encoded(classifier, X, y):
    levels = make_column_transformer((OneHotEncoder(), ["level"]), remainder="passthrough")
    return make_pipeline(levels, clone(classifier)).fit(X, y)


def context_of(model, train, calibration, setting, seed=0):
    table = Table.read(train[0], MIXED)
    goal = Goal(Model.of(model), table.layout, target="yes", probe=table.values[:64])
    decided = DecidedPopulation(Population(table, train[1]), goal)
    own = calibration is None
    rows = held_out(table.values, train[1], seed) if own else Calibration.read(calibration, MIXED, train[1])
    return GuardContext.of(decided, setting, rows, GuardedSettings()), goal


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(
    "classifier", [LogisticRegression(), RandomForestClassifier(15, random_state=0)], ids=["logistic", "forest"]
)
def test_real_desired_rows_are_refused_at_the_stated_rate_whatever_the_classifier(setting, classifier) -> None:
    """With calibration rows that the classifier never saw, new rows are refused no more often than stated."""
    replicates = 8
    refused, slack = {rate: [] for rate in RATES}, {rate: [] for rate in RATES}
    for replicate in range(replicates):
        train, rest = population((0, replicate), 500), population((1, replicate), 250)
        model = encoded(classifier, *train)
        found, goal = context_of(model, train, rest, setting)
        assert found.guard.held_out
        assert found.notes == ()
        X, y = population((2, replicate), 700)
        rows = Table.read(X, MIXED).values
        fresh = rows[goal.score_rows(rows).met & (y == "yes")]
        for rate in RATES:
            refused[rate].append(1 - found.guard.accepts(fresh, rate).mean())
            slack[rate].append(binomial_bounds(rate, len(found.guard.calibration), len(fresh), replicates)[1])
    for rate in RATES:
        assert np.mean(refused[rate]) <= rate + np.mean(slack[rate])
        assert np.mean(refused[rate]) >= rate - np.mean(slack[rate]) - 0.03


def test_calibration_rows_are_real_desired_ones_the_guard_never_saw() -> None:
    train, rest = population(0, 400), population(1, 200)
    model = encoded(LogisticRegression(), *train)
    found, _ = context_of(model, train, rest, "typical")
    desired = (model.predict(rest[0]) == "yes") & (rest[1] == "yes")
    assert len(found.guard.calibration) == desired.sum()
    inside = (model.predict(train[0]) == "yes") & (train[1] == "yes")
    assert len(found.guard.reference) == inside.sum()


def test_without_calibration_rows_a_fifth_of_the_training_rows_is_held_out_and_that_is_noted() -> None:
    train = population(0, 600)
    model = encoded(LogisticRegression(), *train)
    found, _ = context_of(model, train, None, "typical", seed=3)
    values = Table.read(train[0], MIXED).values
    aside = held_out(values, train[1], 3)
    assert 0.14 < aside.mean() < 0.26
    desired = (model.predict(train[0]) == "yes") & (train[1] == "yes")
    assert len(found.guard.calibration) == (aside & desired).sum()
    assert len(found.guard.reference) == (~aside & desired).sum()
    known = {row.tobytes() for row in found.guard.reference.values}
    assert not known & {row.tobytes() for row in values[aside]}
    assert found.notes == (OWN_ROWS,)
    assert "calibrated on the model's own training rows" in OWN_ROWS
    assert (held_out(values, train[1], 4) != aside).any()


def copies(seed, number):
    """Rows of which many are equal, and labels that differ between copies."""
    random = np.random.default_rng(seed)
    values = random.poisson(1.0, size=(number, 3)).astype(float)
    return np.where(values == 3, np.nan, values), random.choice(["no", "yes"], number).astype(object)


def sorted_rows(values, labels):
    whole = np.column_stack((np.nan_to_num(values, nan=-1.0), labels == "yes"))
    return whole[np.lexsort(whole.T)]


def test_what_is_held_out_does_not_depend_on_the_order_of_rows() -> None:
    values, labels = copies(0, 400)
    order = np.random.default_rng(1).permutation(400)
    first, second = held_out(values, labels, 5), held_out(values[order], labels[order], 5)
    np.testing.assert_array_equal(
        sorted_rows(values[first], labels[first]), sorted_rows(values[order][second], labels[order][second])
    )


def test_calibration_rows_have_copies_among_the_others_as_often_as_new_rows_have() -> None:
    values, labels = copies(0, 1500)
    fresh, _ = copies(1, 1500)
    aside = held_out(values, labels, 0)
    known = {row.tobytes() for row in values[~aside]}
    of_held_out, of_fresh = (np.mean([row.tobytes() in known for row in rows]) for rows in (values[aside], fresh))
    assert of_fresh > 0.5
    assert abs(of_held_out - of_fresh) < 4 * np.sqrt(of_fresh * (1 - of_fresh) / aside.sum())


def test_too_few_held_out_or_real_rows_are_noted() -> None:
    train = population(0, 160)
    model = encoded(LogisticRegression(), *train)
    found, _ = context_of(model, train, None, "connected")
    assert not found.guard.held_out
    assert len(found.guard.calibration) == len(found.guard.reference)
    assert found.notes == (TOO_FEW_HELD_OUT.format(LEAST),)
    few = (train[0].iloc[:30], train[1][:30])
    found, _ = context_of(model, few, None, "connected")
    assert not found.known
    assert len(found.guard.reference) == len(few[0].drop_duplicates())
    assert "compared with all training rows" in found.notes[0]


@pytest.mark.parametrize("setting", SETTINGS)
def test_twenty_rows_are_enough(setting) -> None:
    fitted = Guard.fit(setting, reference_of(draw(0, LEAST)), draw(1, LEAST))
    assert len(fitted.own_factors) == 1
    rows = draw(2, 50)
    np.testing.assert_allclose(fitted.score(rows), brute_score(setting, fitted.reference, rows), atol=1e-9)
    np.testing.assert_array_equal(fitted.accepts(rows, 0.2), within(fitted.limits(0.2), fitted, rows))


@pytest.mark.parametrize("setting", SETTINGS)
def test_duplicates_and_ties_leave_scores_finite_and_the_rate_kept(setting) -> None:
    """Rows of levels alone: most are equal, and each distinct row counts once in the guard."""
    schema = Schema(tuple(Feature(name, "categorical", levels=tuple("pqrs")) for name in "abcd"))
    random = np.random.default_rng(0)
    people = random.choice(4, size=(3000, 4), p=[0.4, 0.3, 0.2, 0.1]).astype(float)
    parts = np.split(people, [1200, 1600])
    fitted = Guard.fit(setting, reference_of(parts[0], schema), parts[1])
    assert len(fitted.reference) == len(np.unique(parts[0], axis=0))
    assert np.isfinite(fitted.score(parts[2])).all()
    for rate in RATES:
        assert 1 - fitted.accepts(parts[2], rate).mean() <= rate + 4 * np.sqrt(rate / 400 + rate / 1400)
        rows = parts[2][:300]
        np.testing.assert_array_equal(fitted.accepts(rows, rate), within(fitted.limits(rate), fitted, rows))


def test_a_thinned_crowd_is_a_fixed_sample_and_calibrated_again() -> None:
    people = reference_of(draw(0, 900))
    assert thinned(people, 900) is people
    crowd = thinned(people, 200)
    assert len(crowd) == 200
    assert {row.tobytes() for row in crowd.values} <= {row.tobytes() for row in people.values}
    np.testing.assert_array_equal(crowd.values, thinned(reference_of(draw(0, 900)[::-1]), 200).values)
    fitted = Guard.fit("connected", people, draw(1, 199), GuardSettings(max_crowd=200))
    assert len(fitted.crowd) == 200
    assert len(fitted.own_distances) == 900
    rows = draw(2, 80)
    factors, distance = fitted.measurements(rows)
    for i, k in enumerate((5, 10, 20)):
        factor = LocalOutlierFactor(n_neighbors=k, novelty=True).fit(coordinates(crowd))
        np.testing.assert_allclose(factors[:, i], -factor.score_samples(people.space.transform(rows)), rtol=1e-9)
    nearest = NearestNeighbors(n_neighbors=1).fit(coordinates(people))  # closeness is to anybody, sampled or not
    np.testing.assert_allclose(distance, nearest.kneighbors(people.space.transform(rows))[0][:, 0])
    for rate in RATES:
        mean, slack = binomial_bounds(rate, 199, 3000, 1)
        assert abs(1 - fitted.accepts(draw(3, 3000), rate).mean() - mean) <= slack + 0.015
        np.testing.assert_array_equal(fitted.accepts(rows, rate), within(fitted.limits(rate), fitted, rows))
