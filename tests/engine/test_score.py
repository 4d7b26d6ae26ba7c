"""The engine's scores, beside plain Python that adds the terms of one row at a time."""

from itertools import permutations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import logit, softmax

from attain.engine.score import LeastScore, LinearSums, States, SumScore
from attain.engine.trees import TreeSums

NUMERIC, FIRST = [True, True, False], [0, 3, 4, 8]
CODES = [-9.0, -8.0, np.nan, np.nan, 0.0, 1.0, 2.0, np.nan]
STATES = States(NUMERIC, FIRST, CODES)
"""Numbers with two special codes, numbers, and three levels."""
NODE = np.dtype([("threshold", "f8"), ("column", "i4"), ("child", "i4")])
CELLS = st.sampled_from([-9.0, -8.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 1e300, np.nan, 0.1, -1 / 3])
ROWS = arrays(np.float64, st.tuples(st.integers(0, 5), st.just(3)), elements=CELLS)
VALUES = st.lists(CELLS, min_size=1, max_size=70)


def states_of(row: np.ndarray) -> list[int | None] | None:
    """The state of each cell, None for a number; None for a row with a level that its column does not have."""
    found: list[int | None] = []
    for j, cell in enumerate(row):
        state = [
            k for k in range(FIRST[j], FIRST[j + 1]) if cell == CODES[k] or (np.isnan(cell) and np.isnan(CODES[k]))
        ]
        if not state and not NUMERIC[j]:
            return None
        found.append(state[0] if state else None)
    return found


class Linear:
    """A linear model with some sums."""

    def __init__(self, seed: int, width: int) -> None:
        random = np.random.default_rng(seed)
        self.constant, self.slopes = random.normal(size=width), random.normal(size=(3, width))
        self.terms = random.normal(size=(8, width))
        self.compiled = LinearSums(STATES, self.constant, self.slopes, self.terms)

    def sums(self, row: np.ndarray) -> np.ndarray:
        total, states = self.constant.copy(), states_of(row)
        for j, state in enumerate(states or ()):
            total = total + (row[j] * self.slopes[j] if state is None else self.terms[state])
        return total if states else np.full(len(total), np.nan)


class Trees:
    """Random trees; the sums of one class each, or of all classes from each tree."""

    def __init__(self, seed: int, width: int, single: bool = False) -> None:
        self.random, self.single, self.each = np.random.default_rng(seed), single, width if seed % 2 else 1
        self.nodes: list[tuple[float, int, int]] = []
        self.leaves: list[np.ndarray] = []
        self.start, self.refused = self.values(width), np.arange(8) == 3
        self.group = [0 if self.each == width else int(self.random.integers(width)) for _ in range(6)]
        self.roots = [self.grow(self.room(1), 0) for _ in range(6)]
        self.begin, self.sides = self.random.integers(190, size=len(self.nodes)), self.random.integers(0, 2, 200)
        nodes = np.array(self.nodes, dtype=NODE), self.begin, self.sides
        trees, leaves = (self.roots, self.group), np.array(self.leaves)
        self.compiled = TreeSums(STATES, self.refused, nodes, trees, leaves, self.start, single)

    def values(self, n: int) -> np.ndarray:
        return self.random.normal(size=n).astype(np.float32).astype(float)

    def room(self, n: int) -> int:
        """The place of n more nodes."""
        self.nodes += [(0.0, -1, 0)] * n
        return len(self.nodes) - n

    def grow(self, at: int, depth: int) -> int:
        if self.random.random() < 0.2 * depth:
            self.nodes[at] = 0.0, -1, len(self.leaves)
            self.leaves.append(self.values(self.each))
            return at
        child = self.room(2)
        self.nodes[at] = self.random.choice([-1.0, 0.0, 0.5, 2.0]), int(self.random.integers(3)), child
        self.grow(child, depth + 1)
        self.grow(child + 1, depth + 1)
        return at

    def sums(self, row: np.ndarray) -> np.ndarray:
        kind, states = np.float32 if self.single else np.float64, states_of(row)
        total = self.start.astype(kind)
        if states is None or any(state is not None and self.refused[state] for state in states):
            return np.full(len(total), np.nan)
        for at, group in zip(self.roots, self.group, strict=True):
            while self.nodes[at][1] >= 0:
                threshold, column, child = self.nodes[at]
                state = states[column]
                at = child + int(row[column] > threshold if state is None else self.sides[self.begin[at] + state])
            total[group : group + self.each] += self.leaves[self.nodes[at][2]].astype(kind)
        return total.astype(np.float64)


MODELS = st.builds(Linear, st.integers(0, 20), st.integers(1, 3)) | st.builds(
    Trees, st.integers(0, 20), st.integers(1, 3), st.booleans()
)


@given(MODELS, ROWS)
def test_sums_are_added_up_in_order(model, rows) -> None:
    expected = [model.sums(row) for row in rows]
    assert model.compiled(rows).tobytes() == np.reshape(expected, (len(rows), model.compiled.width)).tobytes()


@given(MODELS, ROWS, st.integers(0, 2), VALUES, st.sampled_from([0.0, 0.3, 1.0]))
def test_leads_along_a_column_are_those_of_the_rows_to_the_last_bit(model, rows, column, values, weight) -> None:
    target = -1 if model.compiled.width == 1 else 0
    score = SumScore(model.compiled, 1.5, 0.2, target, weight)
    for some in (score, LeastScore(score, SumScore(model.compiled, -0.5, 0.1))):
        found = some.leads_along(rows, column, values)
        for k, value in enumerate(values):
            changed = rows.copy()
            changed[:, column] = value
            assert found[:, k].tobytes() == some.leads(changed).tobytes()


@pytest.mark.parametrize("target", [0, 2])
def test_leads_of_several_classes_follow_from_softmax(target) -> None:
    model, random = Linear(3, 3), np.random.default_rng(0)
    rows = np.column_stack((random.normal(size=(200, 2)) * 3, random.integers(0, 3, 200)))
    sums = model.compiled(rows)
    chance, others = softmax(sums, axis=1), [k for k in range(3) if k != target]
    own, best = chance[:, target], chance[:, others].max(axis=1)
    by_score = SumScore(model.compiled, 1.0, 0.4, target).leads(rows)
    np.testing.assert_allclose(by_score, sums[:, target] - sums[:, others].max(axis=1) - 0.4)
    by_chance = SumScore(model.compiled, 1.0, logit(0.7), target, 1.0).leads(rows)
    np.testing.assert_allclose(by_chance, logit(own) - logit(0.7), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(by_chance >= 0, own >= 0.7)
    margin = 0.2
    least = np.log((1 + margin) / (1 - margin))
    by_lead = SumScore(model.compiled, 1.0, least, target, margin / (1 + margin)).leads(rows)
    np.testing.assert_array_equal(by_lead >= 0, own - best >= margin)
    assert 20 < (by_lead >= 0).sum() < 180


def test_sums_that_are_leads_need_no_target() -> None:
    model = Linear(5, 2)
    rows = np.array([[1.0, 2.0, 0.0], [-9.0, 0.5, 2.0]])
    expected = np.min([model.sums(row) for row in rows], axis=1) * 2 - 0.1
    np.testing.assert_allclose(SumScore(model.compiled, 2.0, 0.1).leads(rows), expected)


def test_of_two_scores_the_lesser_counts_and_what_one_does_not_know_is_unknown() -> None:
    linear, trees = Linear(1, 1), Trees(1, 1)
    rows = np.array([[1.0, 2.0, 0.0], [0.0, np.nan, 1.0], [3.0, -1.0, 2.0]])
    one, other = SumScore(linear.compiled, 1.0, 0.0), SumScore(trees.compiled, 1.0, 0.0)
    both = LeastScore(one, other).leads(rows)
    np.testing.assert_array_equal(both, np.minimum(one.leads(rows), other.leads(rows)))
    assert np.isnan(both).tolist() == [False, True, False]


@given(st.builds(Trees, st.integers(0, 20), st.just(1)), st.integers(0, 9))
def test_shapley_values_are_the_mean_over_all_orders(trees, seed) -> None:
    random = np.random.default_rng(seed)
    rows = np.column_stack(
        [random.choice(some, 4) for some in ([-9.0, 0.0, 1.0, 3.0, np.nan], [-2.0, 0.2, 9.0], [0.0, 1.0, 2.0, np.nan])]
    )
    weights = np.array([[1 / (a * comb(a + b, a)) if a else 0.0 for b in range(4)] for a in range(4)])
    found = trees.compiled.shapley(rows[:2], rows[2:], weights)
    for i, k in product(range(2), range(2)):
        expected = np.zeros(3)
        for order in permutations(range(3)):
            mixed = rows[2 + k].copy()
            for j in order:
                before, mixed[j] = trees.sums(mixed)[0], rows[i, j]
                expected[j] += (trees.sums(mixed)[0] - before) / 6
        np.testing.assert_allclose(found[i, k], expected, atol=1e-12)


def test_what_does_not_fit_is_refused() -> None:
    sums = Linear(0, 1).compiled
    for call, message in (
        (lambda: SumScore(sums, 1.0, 0.0).leads(np.zeros((2, 4))), "shape"),
        (lambda: SumScore(sums, 1.0, 0.0).leads_along(np.zeros((2, 3)), 3, [0.0]), "no column 3"),
        (lambda: SumScore(sums, 1.0, 0.0, 1), "sums"),
        (lambda: sums(np.zeros((2, 4))), "shape"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
