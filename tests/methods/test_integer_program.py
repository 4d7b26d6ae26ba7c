"""The limit of integer programs: what is found without a proof is not called an optimum."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, OptimizeResult

from attain.search import programs
from attain.search.programs import solve

N = 30
RANDOM = np.random.default_rng(0)
WEIGHTS = RANDOM.integers(1000, 2000, N).astype(float)
COSTS = WEIGHTS + RANDOM.random(N)


def knapsack(least: float, seconds: float = np.inf):
    """The cheapest items that weigh `least`: hard, as cost and weight are nearly the same."""
    constraint = LinearConstraint(WEIGHTS[None], least, np.inf)
    return solve(COSTS, [constraint], upper=np.ones(N), integral=np.ones(N), seconds=seconds)


def test_an_optimum_is_proven_and_so_is_that_there_is_none() -> None:
    lightest = knapsack(WEIGHTS.min())
    assert lightest.proven
    assert lightest.value == COSTS[WEIGHTS.min() <= WEIGHTS].min()
    none = knapsack(WEIGHTS.sum() + 1)
    assert none.x is None
    assert none.proven


def test_what_a_limit_leaves_is_not_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "NODES", 1)
    stopped = knapsack(WEIGHTS.sum() / 2)
    assert stopped.x is not None
    assert stopped.x @ WEIGHTS >= WEIGHTS.sum() / 2 - 1e-6
    assert not stopped.proven


def test_a_limit_before_any_solution_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "NODES", 0)
    stopped = knapsack(WEIGHTS.sum() / 2)
    assert stopped.x is None
    assert not stopped.proven


def test_time_is_a_limit_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert knapsack(WEIGHTS.min(), seconds=0.0) == (None, np.inf, False)
    limits = []

    def stopped(*_: Any, options: dict[str, Any], **__: Any) -> OptimizeResult:
        limits.append(options["time_limit"])
        return OptimizeResult(x=np.ones(N), fun=COSTS.sum(), status=1)

    monkeypatch.setattr(programs, "milp", stopped)
    assert not knapsack(WEIGHTS.sum() / 2, seconds=7.0).proven
    assert limits == [7.0]
