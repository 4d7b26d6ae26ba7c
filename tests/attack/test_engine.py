"""The engine outlives hostile numbers and arrays, trees of any depth, and interruptions; and goes on as before."""

from contextlib import suppress

import numpy as np
import pytest

from attain import Guarded
from attain.engine.score import States
from attain.engine.trees import TreeSums
from attain.testing import people
from attain.testing.explainer import digest
from tests.attack.engine import outcomes
from tests.counting import calls_of, interrupted_at


@pytest.mark.parametrize("seed", range(4))
def test_hostile_numbers_and_arrays_are_answered_or_refused(seed: int) -> None:
    assert outcomes(seed)["returned"] > 20


def test_the_shapley_values_of_a_tree_of_a_hundred_thousand_levels_are_found() -> None:
    depth = 100_000
    nodes = np.zeros(2 * depth + 1, dtype=[("threshold", "f8"), ("column", "i4"), ("child", "i4")])
    nodes["column"] = -1
    nodes["child"][1::2], nodes["child"][-1] = np.arange(depth), depth
    inner = nodes[:-1:2]
    inner["threshold"], inner["column"], inner["child"] = np.arange(depth), 0, np.arange(1, 2 * depth, 2)
    states, none = States(np.array([True]), np.array([0, 1]), np.array([np.nan])), np.zeros(2 * depth + 1)
    leaves = np.arange(depth + 1.0)[:, None]
    trees = TreeSums(states, [0], (nodes, none, none), ([0], [0]), leaves, [0.0], False)
    own, other, weights = np.array([[1e9]]), np.array([[0.5]]), np.array([[0.0, 0.0], [1.0, 0.0]])
    assert trees.shapley(own, other, weights).item() == depth - 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # where Python cannot raise it
def test_a_search_that_is_interrupted_anywhere_can_be_done_again() -> None:
    X = people.frame(200)
    y = people.labels(X)
    explainer, model = Guarded(people.schema(), random_state=0).fit(X, y), people.linear_model(X, y)
    refused = X[model.predict(X) == people.REFUSED].iloc[:12]
    expected = digest(explainer.explain(model, refused, target=people.DESIRED))
    interrupted, calls = 0, calls_of(lambda: explainer.explain(model, refused, target=people.DESIRED))
    for number in np.geomspace(10, 0.9 * calls, 16).astype(int):
        with suppress(KeyboardInterrupt), interrupted_at(number) as clock:
            explainer.explain(model, refused, target=people.DESIRED)
        interrupted += clock.number == number
        assert digest(explainer.explain(model, refused, target=people.DESIRED)) == expected
    assert interrupted >= 12
