"""CPU milliseconds per person of every method: `python -m benchmarks.methods`.

HELOC (paper's version), held-out rows that the classifier refuses, one thread, figures off, after a run of five
people. Logistic regression on standardised features; for Feature Tweaking a forest of 100 trees of depth 6. Actionable
Recourse has grids of 100 steps. C-CHVAE and REVISE share one autoencoder, whose training is not counted. Each line is
the least of `--rounds` runs. The targets are the project's own.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass, field
from typing import Any

ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
PEOPLE, FEW = 200, 50


@dataclass(frozen=True)
class Line:
    """A method, its settings, the most milliseconds it may take, and whether it is asked about few people only."""

    method: str
    settings: dict[str, Any] = field(default_factory=dict)
    target: int | None = None
    few: bool = False
    forest: bool = False


LINES = (
    Line("ActionableRecourse", {"grid": 100}, 100),
    Line("GrowingSpheres", target=20),
    Line("BudgetedInverseClassification", target=20),
    Line("HillClimbingLocalSearch", target=20),
    Line("NearestUnlike", target=20),
    Line("FeatureTweaking", target=20, forest=True),
    Line("ActionableRecourse", few=True, forest=True),
    Line("CCHVAE"),
    Line("REVISE", few=True),
    Line("FACE", few=True),
    Line("Russell", few=True),
    Line("Wachter", few=True),
)


def main() -> None:
    """Measures every line and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {ONE_THREAD}"
    from sklearn.ensemble import RandomForestClassifier
    from threadpoolctl import threadpool_limits

    from attain.density import CHVAE
    from benchmarks import report
    from benchmarks.tasks import paper_task

    with threadpool_limits(1):
        linear = paper_task("HELOC", 0)
        trees = paper_task("HELOC", 0, RandomForestClassifier(n_estimators=100, max_depth=6, random_state=0))
        autoencoder = CHVAE(linear.data.schema, likelihoods="paper", hidden=0, random_state=0, verbose=False).fit(
            linear.train
        )
        lines = []
        for line in LINES:
            task = trees if line.forest else linear
            number = min(given.people, FEW) if line.few else given.people
            lines.append(_measured(line, task, task.refused.iloc[:number], autoencoder, given.rounds))
    header = ("method", "classifier", "people", "found", "CPU ms per person", "target", "rows scored")
    free = len(linear.data.schema.free)
    body = f"{free} free features.\n\n{report.table(header, lines)}"
    report.write("methods", "Methods: CPU time per person", "python -m benchmarks.methods", body)


def _measured(line: Line, task: Any, people: Any, autoencoder: Any, rounds: int) -> tuple[str, ...]:
    from attain import methods as explainers

    method = getattr(explainers, line.method)
    settings = dict(line.settings)
    if "autoencoder" in method().get_params(deep=False):
        settings["autoencoder"] = autoencoder
    explainer = method(task.data.schema, figures=False, random_state=0, **settings).fit(task.train, task.y_train)
    explainer.explain(task.model, people.iloc[:5], target=task.data.desired)
    best = float("inf")
    for _ in range(rounds):
        started = time.process_time()
        result = explainer.explain(task.model, people, target=task.data.desired)
        best = min(best, time.process_time() - started)
    name = line.method + "".join(f", {key} {value}" for key, value in line.settings.items())
    return (
        name,
        "random forest" if line.forest else "logistic regression",
        str(len(people)),
        f"{result.found.mean():.1%}",
        f"{1000 * best / len(people):.1f}",
        "" if line.target is None else f"≤ {line.target}",
        f"{result.person_figures['rows_scored'].mean():.0f}",
    )


if __name__ == "__main__":
    main()
