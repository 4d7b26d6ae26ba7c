"""Counterfactuals per CPU second of C-CHVAE's Algorithm 1: `python -m benchmarks.search`.

HELOC and Give Me Some Credit (paper's versions), 20,000 distinct refused people, 100 samples a shell, after one run
of the same size. With logistic regression, figures off and on; with gradient boosting, the classifier's own share of
the time.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from attain import CCHVAE
from benchmarks import report
from benchmarks.tasks import paper_task


class Timed:
    """A classifier that adds up the CPU seconds it takes itself."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.classes_ = model.classes_
        self.feature_names_in_ = model.feature_names_in_
        self.seconds = 0.0

    def predict(self, X: Any) -> Any:
        return self._timed(self._model.predict, X)

    def predict_proba(self, X: Any) -> Any:
        return self._timed(self._model.predict_proba, X)

    def _timed(self, function: Any, X: Any) -> Any:
        started = time.process_time()
        try:
            return function(X)
        finally:
            self.seconds += time.process_time() - started


def main() -> None:
    """Measures every line and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=20_000)
    given = parser.parse_args()
    lines = []
    for name in ("GMSC", "HELOC"):
        task = paper_task(name, 0)
        people = task.many_refused(given.people)
        explainer = CCHVAE(task.data.schema, figures=False, random_state=0).fit(task.train, task.y_train)
        for step, figures in ((0.5, False), (0.1, False), (0.1, True)):
            explainer.set_params(figures=figures, step=step)
            shown = (name, "logistic regression", step, "on" if figures else "off")
            lines.append((*shown, *_measured(explainer, task.model, people, task)))
        boosted = paper_task(name, 0, HistGradientBoostingClassifier(max_iter=100, random_state=0))
        explainer.set_params(figures=False, step=0.5)
        some = boosted.many_refused(given.people // 10)
        shown = (name, "gradient boosting", 0.5, "off")
        lines.append((*shown, *_measured(explainer, boosted.model, some, boosted)))
    header = (
        *("data", "classifier", "step", "figures", "people", "found", "per CPU second"),
        *("shells", "rows scored", "classifier's share of CPU time"),
    )
    report.write("search", "C-CHVAE, Algorithm 1: speed", "python -m benchmarks.search", report.table(header, lines))


def _measured(explainer: CCHVAE, model: Any, people: Any, task: Any) -> tuple[str, ...]:
    timed = Timed(model)
    for _ in range(2):
        timed.seconds = 0.0
        started = time.process_time()
        result = explainer.explain(timed, people, target=task.data.desired)
        seconds = time.process_time() - started
    shells = float(np.nanmean(result.option_figures["shells"]))
    scored = float(result.person_figures["rows_scored"].mean())
    return (
        f"{len(people):,}",
        f"{result.found.mean():.1%}",
        f"{len(people) / seconds:,.0f}",
        f"{shells:.1f}",
        f"{scored:.0f}",
        f"{timed.seconds / seconds:.0%}",
    )


if __name__ == "__main__":
    main()
