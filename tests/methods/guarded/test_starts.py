"""Where the guarded search starts: near real rows, and by hill-climbing."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from attain.methods.guarded.settings import GuardedSettings
from attain.methods.guarded.starts import Starts, _ranks, _smallest
from tests.both_paths import same_bytes
from tests.coordinates import coordinates


def starts_of(built, radius=2.0):
    return Starts(built.evaluator, built.scale, radius, built.accepted)


def test_what_nothing_can_change_is_the_distance_over_frozen_cells(case) -> None:
    built = case.built(constraints={"people": {1: {"immutable": ["x", "house"]}}})
    order, fixed = same_bytes(starts_of(built)._ranked)
    points, real = built.space.transform(built.region.factuals), coordinates(built.reference)
    owner = np.concatenate((built.space.scaled, built.space.indicated, [-1]))
    for person, frozen in ((0, [0]), (1, [0, 1, 5])):
        places = np.isin(owner, [*frozen, -1])
        expected = ((points[person, places] - real[:, places]) ** 2).sum(axis=1)
        np.testing.assert_allclose(fixed[person], expected[order[person]])
    for person in range(len(order)):
        assert sorted(order[person]) == list(range(len(real)))  # each real person once


def test_real_rows_within_reach_come_before_all_others(case) -> None:
    built = case.built()
    radius = 0.8
    order, fixed = same_bytes(starts_of(built, radius)._ranked)
    for person in range(len(order)):
        reachable = fixed[person] <= (0.97 * radius) ** 2
        assert (np.diff(reachable.astype(int)) <= 0).all()


def test_the_nearest_real_row_and_the_easiest_come_first(case) -> None:
    built = case.built()
    order, _ = same_bytes(starts_of(built, 50.0)._ranked)
    points = built.space.transform(built.region.factuals)
    apart = cdist(points, coordinates(built.reference))
    free = built.schema.free_columns
    for person in range(len(order)):
        own = np.broadcast_to(built.region.factuals[person, free], (len(built.reference), len(free)))
        shift = built.percentiles.interpolated_shift(own, built.reference.values[:, free], free).sum(axis=1)
        first = set(order[person, :2].tolist())
        nearest, easiest = apart[person].argmin(), shift.argmin()
        assert {nearest, easiest} <= first or (nearest == easiest and nearest == order[person, 0])


@pytest.mark.parametrize("bent", [False, True])
def test_starts_flip_the_decision_and_keep_the_rules(case, bent) -> None:
    built = case.built(case.Bent() if bent else None, people=30)
    rows, owners = starts_of(built).near_real_rows()
    assert built.goal.judge(rows).met.all()
    assert built.region.allows(rows, owners).all()
    assert len(np.unique(owners)) >= 29
    rows, owners = starts_of(built).climb(np.arange(30))
    assert built.goal.judge(rows).met.all()
    assert built.region.allows(rows, owners).all()
    assert len(np.unique(owners)) >= 29


def test_a_start_near_real_rows_lies_within_the_radius(case) -> None:
    built = case.built(people=30)
    rows, owners = starts_of(built, 1.5).near_real_rows()
    nearest = built.guard.position(rows)[1]
    reached = np.array([nearest[owners == person].min() for person in np.unique(owners)])
    assert (reached <= 1.5).mean() > 0.9


def test_a_climb_finds_the_one_cell_that_flips_the_decision(case) -> None:
    """A model that looks at the level alone: the climb must change it, and needs nothing else."""

    class Owners(case.Linear):
        def score(self, X):
            return np.where(X["house"].to_numpy() == "owns", 1.0, -1.0)

    built = case.built(Owners(), people=15)
    rows, owners = starts_of(built).climb(np.arange(15))
    assert set(owners) == set(range(15))
    assert (rows[:, 5] == built.schema.features[5].levels.index("owns")).all()


def test_a_climb_for_no_rows_finds_nothing(case) -> None:
    built = case.built(people=3)
    rows, owners = starts_of(built).climb(np.empty(0, dtype=np.intp))
    assert rows.shape == (0, 6)
    assert owners.shape == (0,)


def test_ranks_are_positions_in_order() -> None:
    np.testing.assert_array_equal(_ranks(np.array([[3.0, 1.0, 2.0], [5.0, 5.0, 4.0]])), [[2, 0, 1], [1, 2, 0]])


def test_the_first_of_equals_are_among_the_smallest() -> None:
    values = np.array([[3.0, 1.0, 2.0, 1.0], [5.0, 5.0, 5.0, 4.0], [0.0, 0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(_smallest(values, 2), [[1, 3], [0, 3], [0, 1]])


def test_few_of_many_real_rows_are_ranked_alike_by_both_paths(case) -> None:
    built = case.built(train=1500, settings=GuardedSettings(nearest=40))
    order, _ = same_bytes(starts_of(built)._ranked)
    assert order.shape == (12, 40)
    assert all(len(set(row)) == 40 for row in order.tolist())
