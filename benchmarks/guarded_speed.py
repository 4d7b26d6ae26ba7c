"""CPU time of the guarded search: `python -m benchmarks.guarded_speed`.

Target: at up to 5,000 real people, 10 ms a person with logistic regression and 50 ms with gradient boosting of 100
trees; at 100,000, 30 and 80 ms. HELOC (paper's version, 80/20) has some 2,000 real people of the desired class; Give Me
Some Credit, all of whose rows are for training here, has over 100,000. People to ask about are made of refused rows,
moved a little. Fitting, the guard and compiling are not counted: they are done once. One thread.
"""

from __future__ import annotations

import argparse
import time

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from attain import Guarded
from attain.datasets import load_gmsc
from benchmarks import report
from benchmarks.tasks import Task, paper_task

MODELS = {
    "logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "gradient boosting, 100 trees": lambda: HistGradientBoostingClassifier(max_iter=100, random_state=0),
}
CASES = {
    "logistic regression": (("connected", True), ("connected", False), ("typical", True)),
    "gradient boosting, 100 trees": (("connected", True), ("typical", True)),
}
"""Guards, and whether the easiest answer of all is found too, which is for linear models only."""
TARGETS = {"HELOC": (10, 50), "GMSC": (30, 80)}


def task(name: str, model: str) -> Task:
    """The people and a classifier; for GMSC every row is for training."""
    if name == "HELOC":
        return paper_task("HELOC", 0, MODELS[model]())
    data = load_gmsc(version="paper")
    return Task(data, data.X, data.X.iloc[:0], data.y, data.y.iloc[:0], MODELS[model]().fit(data.X, data.y))


def main() -> None:
    """Times every cell and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=500)
    given = parser.parse_args()
    lines = []
    for name, targets in TARGETS.items():
        for model, target in zip(MODELS, targets, strict=True):
            now = task(name, model)
            calibration = (now.train.iloc[:2000], now.y_train.iloc[:2000]) if name == "GMSC" else None
            people = now.many_refused(given.people)
            for guard, easiest in CASES[model]:
                explainer = Guarded(now.data.schema, guard=guard, easiest=easiest, figures=False)
                explainer.fit(now.train, now.y_train, calibration=calibration)
                with threadpool_limits(1):
                    explainer.explain(now.model, people.iloc[:2], target=now.data.desired)
                    started, wall = time.process_time(), time.perf_counter()
                    result = explainer.explain(now.model, people, target=now.data.desired)
                    seconds, wall = time.process_time() - started, time.perf_counter() - wall
                known = len(
                    explainer._guard_context(explainer._goal(now.model, now.data.desired, None)).guard.reference
                )
                per = 1000 * seconds / len(people)
                scored = result.person_figures["rows_scored"].mean()
                shown = guard if easiest else f"{guard}, easiest=False"
                lines.append((
                    name, model, shown, f"{known:,}", f"{result.found.mean():.1%}", f"{scored:.0f}", f"{per:.1f}",
                    f"{1000 * wall / len(people):.1f}", str(target), "yes" if per <= target else "no",
                ))  # fmt: skip
                print(lines[-1], flush=True)
    header = (
        "data", "classifier", "guard", "reference rows", "found", "rows scored", "CPU ms per row", "wall ms", "target",
        "met",
    )  # fmt: skip
    body = f"{given.people} people in one call.\n\n" + report.table(header, lines)
    report.write("guarded_speed", "CPU time of the guarded search", "python -m benchmarks.guarded_speed", body)


if __name__ == "__main__":
    main()
