"""Actionable Recourse's programs by the exact knapsack and by HiGHS: `python -m benchmarks.knapsack`.

German credit and HELOC, logistic regression, held-out rows that it refuses, one thread. For every row the program of
the cheapest actions is written once and solved by both; the times are of solving alone. The optima must agree.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from attain.datasets import load_german, load_heloc
from attain.methods import ActionableRecourse
from attain.methods.recourse.actions import Actions
from attain.methods.recourse.flip_set import by_knapsack, by_programming
from attain.methods.recourse.program import Program
from attain.models.structure.linear import linear_score
from attain.schema import Constraints
from attain.tables import Region, Table
from benchmarks import report

ROWS = 40
GRIDS: tuple[Any, ...] = (20, 100, "observed")


def main() -> None:
    """Solves every program twice and writes the table."""
    header = ("data", "grid", "programs", "actions", "knapsack, CPU ms", "HiGHS, CPU ms", "ratio", "largest difference")
    with threadpool_limits(1):
        lines = [_line(name, data, grid) for name, data in _data().items() for grid in GRIDS]
    body = f"CPU milliseconds per program, in the mean.\n\n{report.table(header, lines)}"
    report.write("knapsack", "The knapsack beside HiGHS", "python -m benchmarks.knapsack", body)


def _data() -> dict[str, Any]:
    return {"German": load_german(), "HELOC": load_heloc(version="paper")}


def _line(name: str, data: Any, grid: Any) -> tuple[str, ...]:
    programs = _programs(data, grid)
    costs, times = [], []
    for solver in (by_knapsack, by_programming):
        started = time.process_time()
        chosen = [solver(program, "total", np.inf) for program in programs]
        times.append(1000 * (time.process_time() - started) / len(programs))
        costs.append([_cost(program, one.actions) for program, one in zip(programs, chosen, strict=True)])
    actions = np.mean([sum(len(some.cost) for some in program.choices) for program in programs])
    apart = max(0.0 if one == other else abs(one - other) for one, other in zip(*costs, strict=True))
    knapsack, highs = times
    return (
        name, str(grid), str(len(programs)), f"{actions:.0f}", f"{knapsack:.2f}", f"{highs:.2f}",
        f"{highs / knapsack:.0f}", f"{apart:.1e}",
    )  # fmt: skip


def _programs(data: Any, grid: Any) -> list[Program]:
    levels = [feature.name for feature in data.schema if not feature.numeric]
    numbers = [feature.name for feature in data.schema if feature.numeric]
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), levels), (StandardScaler(), numbers), sparse_threshold=0
    )
    train, test, y, _ = train_test_split(data.X, data.y, test_size=0.3, random_state=0)
    model = make_pipeline(encoder, LogisticRegression(max_iter=2000)).fit(train, y)
    explainer = ActionableRecourse(data.schema, grid=grid, figures=False).fit(train, y)
    score = linear_score(explainer._goal(model, data.desired, None), explainer.table_.values)
    refused = Table.read(test[model.predict(test) != data.desired].iloc[:ROWS], explainer.schema_)
    region = Region.of(refused, Constraints(), explainer.observed_)
    actions = Actions(region, explainer.grid_, explainer.cost_percentiles_, "total")
    lacking = score.threshold - score.score(region.factuals)
    return [actions.program(i, score, float(need)) for i, need in enumerate(lacking)]


def _cost(program: Program, actions: list[int] | None) -> float:
    if actions is None:
        return np.inf
    return float(sum(some.cost[action] for some, action in zip(program.choices, actions, strict=True)))


if __name__ == "__main__":
    main()
