"""Answers that say how long they take: `python -m benchmarks.months`.

HELOC (where it is on disk) with the preset `lending`, and German credit, with gradient boosting; the guarded search
without an autoencoder. "only up": columns that advance with time may increase, each by itself, and no change takes
time. "in months": they are clocks, inquiries, balances and savings have a pace, and answers take 24 months at most, or
as many as stands there.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from attain import Counterfactuals, Guarded, Schema, datasets
from attain.core.errors import AttainError
from attain.tables import Timing
from benchmarks import report

PEOPLE = 200
SAID = 3
HEADER = (
    *("data set", "schema", "answered", "typical", "TS", "features changed", "months (median)", "months (most)"),
    *("clocks out of step", "CPU ms a row"),
)


class Task(NamedTuple):
    """Data with a schema in which some columns are clocks."""

    data: datasets.Dataset
    timed: Schema

    @property
    def only_up(self) -> Schema:
        clocks = [feature.name for feature in self.timed if feature.clock is not None]
        paced = [feature.name for feature in self.timed if feature.pace is not None]
        return (
            self.timed.change(clocks, clock=None, direction="increase").change(paced, pace=None).with_max_months(None)
        )


def tasks() -> list[Task]:
    german = datasets.load_german()
    timed = (
        german.schema.change("age", immutable=False, clock=1 / 12)
        .change("residence_since", clock=1 / 12)
        .change(["savings", "checking_account"], pace=1 / 6)
        .change(["employment_since", "job"], pace=1 / 24)
        .with_max_months(24)
    )
    try:
        heloc = datasets.load_heloc()
    except AttainError:
        return [Task(german, timed)]
    return [Task(heloc, Schema.infer(heloc.X, preset="lending")), Task(german, timed)]


def out_of_step(task: Task, result: Counterfactuals) -> float:
    """The share of answers whose clocks do not show the same months."""
    timing, own = Timing(task.timed), result.table.values[result.owners]
    clocks = list(timing.clocks)
    stand = timing.advanced(own, timing.asked(result.rows, own))
    return float((result.rows[:, clocks] != stand).any(axis=1).mean())


def measured(task: Task) -> tuple[list[list[Any]], list[str]]:
    """A line for each schema, and what the first people with a wait or a pace are told."""
    X, y = task.data.X, task.data.y
    train, test, y_train, _ = train_test_split(X, y, test_size=0.3, random_state=0)
    levels = train.select_dtypes(exclude="number").columns
    encoded = make_column_transformer((OrdinalEncoder(), levels), remainder="passthrough")
    model = make_pipeline(encoded, HistGradientBoostingClassifier(max_iter=100, random_state=0)).fit(train, y_train)
    refused = test[model.predict(test) != task.data.desired].head(PEOPLE)
    lines, said = [], []
    cases: list[tuple[str, Schema, float | None, dict[str, int] | None]] = [
        ("only up", task.only_up, None, None),
        ("in months", task.timed, None, None),
        ("in months, each costs 0.01", task.timed, 0.01, None),
        ("in 6 months", task.timed, None, {"max_months": 6}),
    ]
    for name, schema, weight, constraints in cases:
        explainer = Guarded(schema, month_weight=weight).fit(train, y_train)
        explainer.explain(model, refused.head(1), target=task.data.desired)
        start = time.process_time()
        result = explainer.explain(model, refused, target=task.data.desired, constraints=constraints)
        seconds = time.process_time() - start
        figures = result.figures
        months = figures.get("months")
        lines.append(
            [
                *(task.data.name, name, f"{result.found.mean():.1%}", f"{(result.typicality == 'typical').mean():.1%}"),
                *(f"{figures['total_shift'].mean():.2f}", f"{figures['features_changed'].mean():.1f}"),
                *(("–", "–") if months is None else (f"{months.median():.0f}", f"{months.max():.0f}")),
                *(f"{out_of_step(task, result):.0%}", f"{1000 * seconds / len(refused):.0f}"),
            ]
        )
        if months is not None and not said:
            said = result.sentences[months > 0].head(SAID).tolist()
        print(lines[-1], flush=True)
    return lines, said


def main() -> None:
    """Measures both data sets, and writes the table."""
    lines, said = [], []
    for task in tasks():
        found, told = measured(task)
        lines += found
        said += [f"- {task.data.name}: {sentence}" for sentence in told]
    body = report.table(HEADER, lines) + "\n\nThe first people whose answers take time are told:\n\n" + "\n".join(said)
    report.write("months", "Answers that say how long they take", "python -m benchmarks.months", body)


if __name__ == "__main__":
    main()
