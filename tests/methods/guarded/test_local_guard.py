"""The guard by shortlists against the guard itself."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from attain.methods.guarded.local_guard import LocalGuard, squared_distances
from attain.methods.guarded.settings import GuardedSettings
from attain.population.guard import Guard, GuardSettings, Limits
from tests.both_paths import by, same_bytes
from tests.coordinates import coordinates

SETTINGS = ("typical", "connected")


def excess(built, rows, owners, limits, level, guard=None, most=None):
    guard = built.evaluator.local_guard if guard is None else guard
    points = built.space.points(rows)
    return same_bytes(lambda: guard.excess(points, owners, limits, level, most))


def position(built, guard, rows, owners):
    return guard.position(guard._crowd.relative(built.space.points(rows), owners), owners)


def candidates(built, number, seed=0):
    """Rows between each row and real ones, whose figures are neither all good nor all bad."""
    random = np.random.default_rng(seed)
    owners = random.integers(len(built.region), size=number)
    real = built.reference.values[random.integers(len(built.reference), size=number)]
    share = random.random((number, 1)) * random.integers(0, 2, (number, 6))
    own = built.region.factuals[owners]
    return built.region.final_form(own + (real - own) * share, owners), owners


def expected(guard, rows, limits, level):
    factors, distance = guard.position(rows)
    over = np.zeros(len(rows))
    for i, limit in enumerate(limits):
        mine = level == i
        over[mine] = np.log(np.maximum(factors[mine] / limit.factors, 1)).sum(axis=1)
        over[mine] += 2 * np.log(np.maximum(distance[mine] / limit.distance, 1))
    return over


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_shortlist_of_all_rows_gives_the_guards_own_figures(case, setting) -> None:
    built = case.built(setting=setting)
    assert len(built.reference) <= 160
    rows, owners = candidates(built, 700)
    level = np.random.default_rng(1).integers(4, size=len(rows))
    over = excess(built, rows, owners, built.limits, level)
    own = expected(built.guard, rows, built.limits, level)
    assert 0.1 < (own == 0).mean() < 0.9
    np.testing.assert_allclose(over, own, atol=3e-4)
    clear = (own == 0) | (own > 3e-4)
    assert clear.mean() > 0.95
    np.testing.assert_array_equal((over > 0)[clear & (own > 0)], True)
    assert (over[own == 0] <= 1e-5).all()


def test_no_limits_are_never_exceeded(case) -> None:
    built = case.built()
    rows, owners = candidates(built, 50)
    none = Limits(np.full(len(built.guard.own_factors), np.inf), np.inf, -np.inf)
    assert (excess(built, rows, owners, [none], np.zeros(50, dtype=int)) == 0).all()


def test_an_excess_larger_than_the_most_that_is_wanted_is_larger_by_both_paths(case) -> None:
    built = case.built()
    rows, owners = candidates(built, 400)
    points, level = built.space.points(rows), np.zeros(400, dtype=int)
    exact = excess(built, rows, owners, built.limits, level)
    most = exact[np.random.default_rng(0).permutation(400)]
    found = by(True, lambda: built.evaluator.local_guard.excess(points, owners, built.limits, level, most))
    np.testing.assert_array_equal(found[exact <= most], exact[exact <= most])
    assert (found[exact > most] > most[exact > most]).all()
    assert np.isinf(found).any()


def test_shortlisted_distances_are_never_too_small_and_right_near_the_places(case) -> None:
    built = case.built(train=4000, calibrated=600, people=8)
    assert len(built.reference) > 500
    random = np.random.default_rng(0)
    owners = random.integers(8, size=400)
    far = built.reference.values[random.integers(len(built.reference), size=400)]
    near = built.region.final_form(built.region.factuals[owners] + 0.2 * random.normal(size=(400, 6)), owners)
    for rows, exact in ((far, False), (near, True)):
        _, distance = position(built, built.evaluator.local_guard, rows, owners)
        _, own = built.guard.position(rows)
        assert (distance >= own - 1e-3).all()
        if exact:
            np.testing.assert_allclose(distance, own, atol=1e-3)


def test_the_nearest_real_rows_are_those_of_brute_force(case) -> None:
    built = case.built()
    rows, owners = candidates(built, 60)
    found = same_bytes(lambda: built.evaluator.local_guard.nearest(rows, owners, 3))
    apart = cdist(built.space.transform(rows), coordinates(built.reference)) ** 2
    reached = ((built.space.transform(found) - built.space.transform(rows)[:, None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(reached, np.sort(apart, axis=1)[:, :3], atol=1e-5)
    assert (np.diff(np.sort(found.reshape(60, 3, -1)[:, :, 1], axis=1)) >= 0).all()


def test_no_real_row_is_near_twice(case) -> None:
    """The two places of a row share most of their shortlists."""
    built = case.built()
    found = built.evaluator.local_guard.nearest(built.region.factuals, np.arange(len(built.region)), 10)
    for person in found:
        assert len({row.tobytes() for row in person}) == 10


def test_figures_do_not_depend_on_the_batch(case) -> None:
    built = case.built()
    rows, owners = candidates(built, 200)
    level = np.zeros(len(rows), dtype=int)
    together = excess(built, rows, owners, built.limits, level)
    for person in range(len(built.region)):
        mine = owners == person
        alone = by(
            bool(person % 2), lambda place=[person]: LocalGuard(built.guard, built.places[place], GuardedSettings())
        )
        figures = excess(built, rows[mine], np.zeros(mine.sum(), dtype=int), built.limits, level[mine], alone)
        assert figures.tobytes() == together[mine].tobytes()


def test_far_from_the_mean_what_is_near_is_not_lost(case) -> None:
    """A skewed column puts rows hundreds of standard deviations out; their neighbours are near all the same."""
    built = case.built()
    points = built.reference.points.copy()
    points[:, len(built.space.stated)] += 3000
    people = type(built.reference)(
        built.space, built.reference.values, points, built.reference.rows, built.reference.labelled
    )
    guard = Guard.fit("connected", people, np.empty((0, 6)), built.guard.density)
    places = np.repeat(points[:5, None, :], 2, axis=1)
    local = LocalGuard(guard, places, GuardedSettings())
    values = people.values[:5].copy()
    column = built.space.scaled[0]
    values[:, column] += (3000 + 0.01) * built.space.scale[0]
    factors, distance = position(built, local, values, np.arange(5))
    np.testing.assert_allclose(distance, 0.01, rtol=1e-2)
    own, _ = guard.position(values)
    np.testing.assert_allclose(factors, own, rtol=1e-3)


def test_distances_count_some_cells_of_each_point(case) -> None:
    built = case.built()
    points, others, states = built.space.points(built.values[:5]), built.reference.points, len(built.space.stated)
    every = np.ones(points.shape, dtype=bool)
    apart = cdist(built.space.transform(built.values[:5]), coordinates(built.reference)) ** 2
    np.testing.assert_allclose(squared_distances(points, others, states, every), apart, atol=1e-12)
    some = np.random.default_rng(0).random(points.shape) < 0.5
    both = squared_distances(points, others, states, some) + squared_distances(points, others, states, ~some)
    np.testing.assert_allclose(both, apart, atol=1e-12)
    assert (squared_distances(points, others, states, ~every) == 0).all()


def test_with_a_thinned_crowd_factors_are_the_crowds_and_distances_those_of_all_rows(case) -> None:
    built = case.built(settings=GuardedSettings(guard=GuardSettings(max_crowd=90)))
    assert len(built.guard.crowd) == 90 < len(built.guard.reference) <= 160
    rows, owners = candidates(built, 300)
    factors, distance = position(built, built.evaluator.local_guard, rows, owners)
    own, nearest = built.guard.position(rows)
    np.testing.assert_allclose(factors, own, rtol=1e-3)
    np.testing.assert_allclose(distance, nearest, atol=1e-3)
    level = np.zeros(len(rows), dtype=int)
    over = excess(built, rows, owners, built.limits, level)
    np.testing.assert_allclose(over, expected(built.guard, rows, built.limits, level), atol=1e-3)
    found = built.search.search(built.problem)
    assert set(found.owners) == set(range(len(built.region)))
    np.testing.assert_array_equal(found.typicality == 0, built.guard.accepts(found.rows, built.rates[0]))
