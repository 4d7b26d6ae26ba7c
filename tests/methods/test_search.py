"""The parts searches are made of, against closed forms and brute force."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from attain.core.arrays import first_of_each, rank_within
from attain.schema import Constraints, Feature, Schema
from attain.search.moves import (
    SWITCH,
    Moves,
    Scale,
    normal_draws,
    row_hashes,
    streams,
    uniform_draws,
    volume_uniform_radii,
)
from attain.search.pool import Pool, diverse_order
from attain.search.problem import Ledger, ranks_between, sparse
from attain.tables import Region, Table


def test_radii_are_uniform_in_the_volume_of_the_shell() -> None:
    uniform = np.random.default_rng(0).random(200_000)
    radii = volume_uniform_radii(uniform, np.array(1.0), np.array(2.0), np.array(10))
    assert radii.mean() == pytest.approx(1.8191, abs=5e-4)
    assert (radii < 1.5).mean() == pytest.approx(0.0554, abs=2e-3)
    assert stats.kstest(radii, lambda r: (r**10 - 1) / (2**10 - 1)).pvalue > 1e-3
    many = volume_uniform_radii(uniform, np.array(1e3), np.array(2e3), np.array(5000))
    assert np.isfinite(many).all()
    assert ((many >= 1e3) & (many <= 2e3)).all()


def test_a_person_has_a_stream_of_their_own() -> None:
    rows = np.array([[1.0, np.nan, 0.0], [1.0, np.nan, -0.0], [1.0, 2.0, 0.0]])
    keys = row_hashes(rows, 7)
    assert keys[0] == keys[1] != keys[2]
    assert row_hashes(rows[:1], 8) != keys[:1]
    together, alone = normal_draws(streams(rows, 7), (4,)), normal_draws(streams(rows[[2]], 7), (4,))
    assert together[2].tobytes() == alone[0].tobytes()
    draws = uniform_draws(streams(np.arange(2000.0)[:, None], 0), (5,)).ravel()
    assert stats.kstest(draws, "uniform").pvalue > 1e-3


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 4)), max_size=40),
    st.integers(1, 4),
    st.integers(1, 5),
)
def test_the_pool_keeps_the_nearest_distinct_rows(drawn: list[tuple[int, int, int]], keep: int, parts: int) -> None:
    pool = Pool(4, 2, keep)
    owners, rows = (
        np.array([d[0] for d in drawn], dtype=np.intp),
        np.array([d[1:] for d in drawn], float).reshape(-1, 2),
    )
    distances = rows @ [10.0, 1.0]
    for part in np.array_split(np.arange(len(drawn)), parts):
        pool.add(rows[part], owners[part], distances[part])
    for person in range(4):
        expected = sorted({tuple(row) for row in rows[owners == person].tolist()}, key=lambda r: 10 * r[0] + r[1])[
            :keep
        ]
        assert [tuple(row) for row in pool.rows[pool.owners == person].tolist()] == expected
        assert pool.size[person] == len(expected)
        assert pool.nearest[person] == (np.dot(expected[0], [10.0, 1.0]) if expected else np.inf)


def test_equal_rows_are_found_whatever_their_bits() -> None:
    other_nan = np.array([np.uint64(0x7FF8000000000001)]).view(np.float64)[0]
    rows = np.array([[0.0, np.nan], [-0.0, other_nan], [1.0, np.nan], [0.0, np.nan]])
    assert first_of_each(rows, np.array([0, 0, 0, 1])).tolist() == [0, 2, 3]


@given(st.integers(0, 2**32 - 1), st.integers(0, 60), st.integers(1, 3))
def test_the_first_of_each_is_found(seed: int, number: int, width: int) -> None:
    random = np.random.default_rng(seed)
    rows = random.choice([0.0, -0.0, 1.0, 2.5, np.nan], size=(number, width))
    owners = random.integers(0, 3, size=number)
    found = first_of_each(rows, owners).tolist()
    keys = [(int(owner), *(str(cell + 0.0) for cell in row)) for owner, row in zip(owners, rows, strict=True)]
    assert found == [i for i, key in enumerate(keys) if key not in keys[:i]]


@given(st.lists(st.integers(0, 4), max_size=30))
def test_ranks_within_owners(owners: list[int]) -> None:
    grouped = sorted(owners)
    expected = [grouped[:i].count(owner) for i, owner in enumerate(grouped)]
    assert rank_within(np.array(grouped, dtype=np.intp)).tolist() == expected


def numbers(values: np.ndarray, constraints: Constraints | None = None, **properties: object) -> Region:
    schema = Schema(tuple(Feature(f"x{j}", "real", **properties) for j in range(values.shape[1])))  # type: ignore[arg-type]
    return Region.of(Table.read(values, schema), constraints or Constraints())


@given(st.lists(st.floats(0.1, 3), min_size=5, max_size=5), st.lists(st.floats(0, 2), min_size=5, max_size=5))
def test_sparse_answers_of_a_monotone_classifier_are_minimal(weights: list[float], moves: list[float]) -> None:
    rows = np.round(np.array([moves]), 3)
    region, owners, w = numbers(np.zeros((1, 5))), np.zeros(1, dtype=np.intp), np.array(weights)
    threshold = 0.6 * float(rows[0] @ w)

    def accept(trial: np.ndarray, *_: object) -> np.ndarray:
        return trial @ w >= threshold

    problem = SimpleNamespace(region=region, accepts=accept, ledger=Ledger(1, 20))
    made = sparse(rows, owners, np.abs(rows), problem)
    if rows.any():
        assert accept(made, owners).all()
    for j in np.flatnonzero(made[0]):  # no single change can be taken back
        without = made.copy()
        without[0, j] = 0
        assert not without.any() or not accept(without, owners).all()


def test_moves_over_numbers_are_uniform_in_the_volume_of_the_shell() -> None:
    random = np.random.default_rng(0)
    training = random.normal(size=(500, 4)) * [1, 10, 100, 0.1]
    region = numbers(training[:3])
    scale = Scale(region.schema, training)
    moves = Moves(region, scale, seed=0)
    rows, owners = moves.draw(np.arange(3), np.full(3, 1.0), np.full(3, 2.0), 5000)
    steps = (rows - region.factuals[owners]) / training.std(axis=0)
    radii = np.linalg.norm(steps, axis=1)
    np.testing.assert_allclose(moves.distances(rows, owners), radii)
    assert stats.kstest(radii, lambda r: (r**4 - 1) / (2**4 - 1)).pvalue > 1e-3
    assert stats.kstest((steps[:, 1] / radii) ** 2, stats.beta(0.5, 1.5).cdf).pvalue > 1e-3


def test_a_draw_moves_no_more_features_than_may_change() -> None:
    region = numbers(np.random.default_rng(0).normal(size=(2, 6)), Constraints(max_changes=2))
    moves = Moves(region, Scale(region.schema, region.factuals), seed=0)
    rows, owners = moves.draw(np.arange(2), np.zeros(2), np.ones(2), 3000)
    moved = rows != region.factuals[owners]
    assert (moved.sum(axis=1) == 2).all()
    np.testing.assert_allclose(moved.mean(axis=0), 1 / 3, atol=0.03)  # each feature takes its turn


def levels() -> Region:
    schema = Schema(
        (
            Feature("house", "categorical", levels=("rents", "owns", "parents"), transitions={"rents": ("owns",)}),
            Feature("late", "count", special={-8: "none"}, transitions={-8: ("value",)}),
            Feature("savings", "real", fillable=True),
        )
    )
    frame = pd.DataFrame({"house": ["rents", "owns"], "late": [-8, 3], "savings": [np.nan, 1.0]})
    return Region.of(Table.read(frame, schema), Constraints())


def test_levels_codes_and_missing_cells_switch_where_they_may() -> None:
    region = levels()
    training = np.array([[0, 2, 10.0], [1, 4, 20.0], [2, 6, 30.0], [0, -8, np.nan]])
    moves = Moves(region, Scale(region.schema, training), seed=0)
    assert moves.dimensions.tolist() == [3, 3]
    rows, owners = moves.draw(np.arange(2), np.full(2, 1.5), np.full(2, 2.0), 2000)
    rows = region.final_form(rows, owners)
    assert region.allows(rows, owners).all()
    first, second = rows[owners == 0], rows[owners == 1]
    assert set(first[:, 0]) == {0.0, 1.0}
    assert set(second[:, 0]) == {0.0, 1.0, 2.0}
    assert set(first[:, 1]) == {-8.0, 2.0, 4.0, 6.0}
    assert set(first[~np.isnan(first[:, 2]), 2]) == {10.0, 20.0, 30.0}
    assert (second[:, 1] >= 0).all()
    sizes = moves.sizes(np.array([[1, -8.0, np.nan], [0, 3.0, 1.0]]), np.array([0, 0]))
    np.testing.assert_allclose(sizes, [[SWITCH, 0, 0], [0, SWITCH, SWITCH]])


def test_the_farthest_record_is_as_far_as_the_limits() -> None:
    region = numbers(np.zeros((1, 2)), bounds=(-3, 4))
    moves = Moves(region, Scale(region.schema, np.array([[0.0, 0.0], [2.0, 4.0]])), seed=0)
    assert moves.farthest[0] == pytest.approx(np.hypot(4 / 1, 4 / 2))
    endless = numbers(np.zeros((1, 2)))
    assert Moves(endless, Scale(endless.schema, np.eye(2)), seed=0).farthest[0] == np.inf


OPTIONS = st.lists(st.tuples(st.integers(0, 2), st.tuples(*[st.integers(0, 2)] * 3), st.integers(0, 3)), max_size=30)


@given(OPTIONS, st.integers(1, 4))
def test_options_are_those_chosen_one_by_one(candidates: list[tuple[int, tuple[int, ...], int]], options: int) -> None:
    frame = pd.DataFrame(np.zeros((3, 3), dtype=int), columns=list("abc"))
    region = Region.of(Table.read(frame, Schema(tuple(Feature(name, "count") for name in "abc"))), Constraints(), None)
    rows = np.array([row for _, row, _ in candidates], dtype=float).reshape(-1, 3)
    owners = np.array([owner for owner, _, _ in candidates], dtype=np.intp)
    cost = np.array([cost for _, _, cost in candidates], dtype=float)
    expected: list[int] = []
    for owner in range(3):
        first, others, rows_seen, sets_seen = [], [], set(), set()
        distinct = [
            i
            for i in np.flatnonzero(owners == owner)
            if not (tuple(rows[i]) in rows_seen or rows_seen.add(tuple(rows[i])))
        ]
        for i in sorted(distinct, key=lambda i: cost[i]):
            changed = tuple(rows[i] != 0)
            (others if changed in sets_seen else first).append(int(i))
            sets_seen.add(changed)
        expected += (first + others)[:options]
    assert diverse_order(rows, owners, cost, region, options).tolist() == expected


def test_ranks_stop_where_no_candidates_are_left() -> None:
    owners, ranks = ranks_between(np.array([0, 2, 3]), 2, 5, np.array([4, 9, 1, 9]))
    assert list(zip(owners.tolist(), ranks.tolist(), strict=True)) == [(0, 2), (0, 3), (3, 2), (3, 3), (3, 4)]
