"""The nearest of many points, against brute force to the last bit: ties, duplicates, any batch, any k."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attain.population import space as neighbours
from attain.population.space import Neighbours


def brute_force(points: np.ndarray, asked: np.ndarray, k: int, states: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Distances to the k nearest, and which; of those equally far, the first."""
    indicators = [np.eye(12)[:, 1:][some[:, :states].astype(int)].reshape(len(some), 1, -1) for some in (asked, points)]
    squared = ((indicators[0] - indicators[1][:, 0]) ** 2).sum(axis=2)
    for dimension in range(states, points.shape[1]):
        squared += (asked[:, dimension, None] - points[:, dimension]) ** 2
    order = np.argsort(squared, axis=1, kind="stable")[:, :k]
    return np.sqrt(np.take_along_axis(squared, order, axis=1)), order


def index_of(points: np.ndarray, tree: bool, states: int = 0) -> Neighbours:
    index = Neighbours(points, states)
    index._favours_tree = lambda: tree  # type: ignore[method-assign]
    return index


def assert_equal(found: tuple[np.ndarray, np.ndarray], expected: tuple[np.ndarray, np.ndarray]) -> None:
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@given(
    seed=st.integers(0, 2**32 - 1),
    number=st.integers(1, 120),
    dimensions=st.integers(1, 24),
    values=st.integers(1, 4),
    scale=st.sampled_from([1.0, 0.1, 1e-5]),
    offset=st.sampled_from([0.0, 3.0, 1e4]),
    share=st.floats(0, 1),
    tree=st.booleans(),
)
def test_ties_and_duplicates_are_those_of_brute_force(
    seed: int, number: int, dimensions: int, values: int, scale: float, offset: float, share: float, tree: bool
) -> None:
    random = np.random.default_rng(seed)
    points = offset + scale * random.integers(0, values, size=(number, dimensions)).astype(float)
    asked = offset + scale * random.integers(0, values, size=(20, dimensions)).astype(float)
    asked[10:] += scale * random.normal(size=(10, dimensions))
    k = 1 + int(share * (number - 1))
    expected = brute_force(points, asked, k)
    assert_equal(index_of(points, tree).query(asked, k), expected)


@pytest.mark.parametrize("tree", [True, False])
@pytest.mark.parametrize("dimensions", [3, 40])
def test_neighbours_are_those_of_brute_force(dimensions: int, tree: bool) -> None:
    random = np.random.default_rng(dimensions)
    points, asked = random.normal(size=(3000, dimensions)), random.normal(size=(70, dimensions))
    asked[0] = points[17]
    index = index_of(points, tree)
    assert index.query(asked, 1)[1][0, 0] == 17
    for k in (1, 6, 90, 3000):
        assert_equal(index.query(asked, k), brute_force(points, asked, k))


@pytest.mark.parametrize("tree", [True, False])
@pytest.mark.parametrize("dimensions", [3, 40])
def test_neighbours_do_not_depend_on_the_rest_of_the_batch(
    dimensions: int, tree: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(dimensions)
    points = random.integers(0, 2, size=(2000, dimensions)) + random.normal(size=(2000, dimensions)) * 1e-3
    asked = random.integers(0, 2, size=(1500, dimensions)).astype(float)
    index = index_of(points, tree)
    distances, indices = index.query(asked, 5)
    for some in (np.arange(1), np.arange(700, 733), random.permutation(1500)):
        assert_equal(index.query(asked[some], 5), (distances[some], indices[some]))
    monkeypatch.setattr(neighbours, "_CELLS", 1000)
    assert_equal(index.query(asked[:200], 5), (distances[:200], indices[:200]))


def test_a_tree_is_used_where_points_fill_few_dimensions() -> None:
    random = np.random.default_rng(0)
    plane = random.normal(size=(5000, 3)) @ random.normal(size=(3, 16))
    constant = np.column_stack((random.normal(size=(5000, 4)), np.zeros((5000, 40))))
    assert Neighbours(plane)._tree is not None
    assert Neighbours(constant)._tree is not None
    assert Neighbours(random.normal(size=(5000, 16)))._tree is None
    assert Neighbours(random.normal(size=(5000, 3)) @ random.normal(size=(3, 21)))._tree is None


def test_nothing_is_found_among_no_points() -> None:
    for points, asked, k in ((np.empty((0, 3)), np.zeros((4, 3)), 0), (np.zeros((9, 3)), np.zeros((0, 3)), 2)):
        found = Neighbours(points).query(asked, k)
        assert [part.shape for part in found] == [(len(asked), k)] * 2


@given(
    seed=st.integers(0, 2**32 - 1),
    number=st.integers(1, 200),
    states=st.integers(1, 6),
    numbers=st.integers(0, 4),
    levels=st.integers(1, 6),
    share=st.floats(0, 1),
    tree=st.booleans(),
    wide=st.booleans(),
    listed=st.booleans(),
)
def test_states_are_apart_by_the_indicators_that_are_on(
    seed: int, number: int, states: int, numbers: int, levels: int, share: float, tree: bool, wide: bool, listed: bool
) -> None:
    random = np.random.default_rng(seed)

    def drawn(rows: int, most: int) -> np.ndarray:
        cells = random.normal(size=(rows, numbers + 1)).round(int(random.integers(3)))
        return np.column_stack((random.integers(0, most, size=(rows, states)), cells)).astype(float)

    points, asked, k = drawn(number, levels), drawn(20, levels + 3), 1 + int(share * (number - 1))
    expected = brute_force(points, asked, k, states)
    limits = {"_WRITTEN_OUT": 0 if wide else 10**6, "_MOST_STATES": 1 if listed else 64, "_LISTED": 2}
    with patch.multiple(neighbours, **limits):
        assert_equal(index_of(points, tree and not wide, states).query(asked, k), expected)
    some = random.random(number) < 0.5
    if some.sum() >= 3:
        found = Neighbours(points, states).subset(some).query(asked, 3)
        assert_equal(found, brute_force(points[some], asked, 3, states))


@pytest.mark.parametrize("levels", [100, 3_000])
def test_a_cell_of_many_states_costs_no_dense_comparison(levels: int) -> None:
    random = np.random.default_rng(0)
    states = np.minimum(random.geometric(3 / levels, size=4_000), levels)
    points = np.column_stack((states, random.normal(size=(4_000, 3)).round(1), np.zeros(4_000)))
    index = Neighbours(points, 1)
    found = index.query(points[:50], 20)
    assert index._coordinate_points.shape[1] < levels
    squared = ((points[:50, None, 1:] - points[:, 1:]) ** 2).sum(axis=2) + 2 * (points[:50, :1] != points[:, 0])
    np.testing.assert_allclose(found[0], np.sqrt(np.sort(squared, axis=1)[:, :20]), atol=1e-12)
