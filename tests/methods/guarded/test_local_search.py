"""The local search and its answers: no change can be taken back, and no rule is broken."""

import numpy as np
import pytest

from attain.methods.guarded.local_search import local_search
from attain.methods.guarded.starts import Starts

SETTINGS = ("typical", "connected")


def reversions(built, row, owner, part=1.0):
    """The row with each of its changes taken back, or a part of it, in final form, where the rules allow that."""
    who = np.array([owner])
    for column in np.flatnonzero(built.region.changed(row[None], who)[0]):
        version = row.copy()[None]
        own = built.region.factuals[owner, column]
        version[0, column] = own if part == 1.0 else row[column] + part * (own - row[column])
        version = built.region.final_form(version, who)
        if built.region.allows(version, who)[0] and built.region.changed(version, who).any():
            yield version


def improvable(built, row, owner, rate, part=1.0):
    """Whether a change, or a part of it, can be taken back: the row stays valid and guarded, and becomes cheaper."""
    who = np.array([owner])
    cost = built.objective.cost(row[None], who)[0]
    return any(
        built.objective.cost(version, who)[0] < cost
        and built.goal.judge(version).met[0]
        and built.guard.accepts(version, rate)[0]
        for version in reversions(built, row, owner, part)
    )


def firsts(found):
    return np.unique(found.owners, return_index=True)[1]


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("bent", [False, True])
@pytest.mark.parametrize("train", [600, 4000])
def test_no_change_of_a_typical_answer_can_be_taken_back_wholly_or_in_part(case, setting, bent, train) -> None:
    built = case.built(case.Bent() if bent else None, setting, train=train, people=40, calibrated=train // 2)
    found = built.search.search(built.problem)
    best = firsts(found)
    typical = best[found.typicality[best] == 0]
    assert len(typical) > 35
    for part in (1.0, 0.5, 0.25, 0.125, 0.03125):
        assert not any(improvable(built, found.rows[i], found.owners[i], built.rates[0], part) for i in typical)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_strict_guard_leaves_nothing_to_take_back_either(case, seed) -> None:
    built = case.built(case.Bent(), train=4000, people=60, calibrated=1500, rates=(0.4, 0.04), seed=seed)
    found = built.search.search(built.problem)
    best = firsts(found)
    typical = best[found.typicality[best] == 0]
    assert not any(improvable(built, found.rows[i], found.owners[i], 0.4) for i in typical)


@pytest.mark.parametrize("setting", SETTINGS)
def test_answers_are_valid_allowed_and_as_typical_as_stated(case, setting) -> None:
    constraints = {"max_changes": 3, "direction": {"x": "increase"}, "people": {2: {"immutable": ["y"]}}}
    built = case.built(setting=setting, constraints=constraints, people=30, options=2)
    found = built.search.search(built.problem)
    assert built.goal.judge(found.rows).met.all()
    assert built.region.allows(found.rows, found.owners).all()
    assert (built.region.changed(found.rows, found.owners).sum(axis=1) <= 3).all()
    np.testing.assert_array_equal(found.rows[found.owners == 2, 2], built.region.factuals[2, 2])
    p_value = built.guard.p_value(built.guard.score(found.rows))
    np.testing.assert_array_equal(found.p_value, p_value)
    np.testing.assert_array_equal(found.typicality, (p_value <= 0.15) * 1 + (p_value <= 0.015))
    np.testing.assert_array_equal(found.typicality == 0, built.guard.accepts(found.rows, 0.15))
    np.testing.assert_allclose(found.cost, built.objective.cost(found.rows, found.owners))


def test_the_cost_is_total_shift_largest_shift_and_number_of_changes(case) -> None:
    built = case.built(constraints={"cost": {"x": 2.0}}, people=5)
    rows = built.reference.values[:5].copy()
    rows[:, 0] = built.region.factuals[:, 0]
    shifts = built.percentiles.interpolated_shift(built.region.factuals, rows)[:, 1:]
    shifts[:, 0] *= 2
    changed = (rows[:, 1:] != built.region.factuals[:, 1:]).sum(axis=1)
    expected = shifts.sum(axis=1) + 0.5 * shifts.max(axis=1) + 0.02 * changed
    np.testing.assert_allclose(built.objective.cost(rows, np.arange(5)), expected, atol=1e-9)
    assert (built.objective.cost(built.region.factuals, np.arange(5)) == 0).all()


def candidates_of(built):
    starts = Starts(built.evaluator, built.scale, min(built.limits[0].distance, 3.0), built.accepted)
    return built.evaluator.measure(*starts.near_real_rows()).best(4)


@pytest.mark.parametrize("bent", [False, True])
def test_no_candidate_becomes_worse_or_loses_the_decision(case, bent) -> None:
    built = case.built(case.Bent() if bent else None, people=20)
    before = candidates_of(built)
    after = local_search(before, built.evaluator, 10)
    np.testing.assert_array_equal(after.owners, before.owners)
    assert (after.merit <= before.merit).all()
    assert (after.merit < before.merit).mean() > 0.5
    assert built.goal.judge(after.rows).met.all()
    assert built.region.allows(after.rows, after.owners).all()
    # who kept the limits may exceed them by a little on the way; the pool has only what keeps them
    assert (after.excess[before.excess <= 0] < 0.02).all()
    pool = built.evaluator.pool
    level = built.evaluator.relaxation[pool.owners]
    points = built.space.points(pool.rows)
    assert (built.evaluator.local_guard.excess(points, pool.owners, built.limits, level) == 0).all()
    assert (case.density(pool.rows) >= np.array([limit.density for limit in built.limits])[level] - 1e-8).all()


def test_no_rounds_change_nothing(case) -> None:
    built = case.built(people=6)
    before = candidates_of(built)
    after = local_search(before, built.evaluator, 0)
    assert after.rows.tobytes() == before.rows.tobytes()


def test_the_search_of_a_row_does_not_depend_on_the_batch(case) -> None:
    built = case.built(case.Bent(), people=25)
    together = built.search.search(built.problem)
    for person in (7, 24):
        alone = case.built(case.Bent(), people=25)
        part = alone.region.subset(np.array([person]))
        ledger = type(alone.problem.ledger)(1, 50_000)
        problem = type(alone.problem)(alone.goal, part, ledger, 1, alone.problem.seed)
        found = alone.search.search(problem)
        mine = together.owners == person
        assert found.rows.tobytes() == together.rows[mine].tobytes()
        assert found.p_value.tobytes() == together.p_value[mine].tobytes()
        assert ledger.spent[0] == built.problem.ledger.spent[person]


@pytest.mark.parametrize("budget", [2, 5, 10, 40, 120])
def test_no_budget_is_exceeded(case, budget) -> None:
    built = case.built(case.Bent(), people=20, budget=budget, options=1)
    built.problem.ledger.charge(np.arange(20))  # the decision before
    found = built.search.search(built.problem)
    spent = built.problem.ledger.spent + np.bincount(found.owners[firsts(found)], minlength=20)  # the last check
    assert (spent <= budget).all()


@pytest.mark.parametrize("setting", SETTINGS)
def test_limits_that_nothing_meets_are_relaxed(case, setting) -> None:
    """No real row is as young as these, and no answer changes that: each has one all the same, with its level."""
    built = case.built(setting=setting, people=20, age=-9.0, train=3000, calibrated=1500)
    found = built.search.search(built.problem)
    assert set(found.owners) == set(range(20))
    assert (found.typicality == 2).all()
    assert (found.p_value <= built.rates[1]).all()
    assert built.goal.judge(found.rows).met.all()
    assert (found.rows[:, 0] == -9.0).all()


def test_a_row_that_is_a_little_unusual_gets_the_next_level(case) -> None:
    built = case.built(people=20, age=2.7, train=3000, calibrated=1500)
    found = built.search.search(built.problem)
    best = firsts(found)
    assert set(found.owners) == set(range(20))
    assert (found.typicality[best] == 1).any()
    np.testing.assert_array_equal(found.typicality == 0, built.guard.accepts(found.rows, built.rates[0]))
