"""What answers reveal about training rows: `python -m benchmarks.privacy`.

German credit, HELOC and Give Me Some Credit, up to 6,000 rows of each, half of them for
training; a logistic regression; 150 refused people of the other half are explained by each method. Measured are

- copies: the share of answers whose free cells are those of a training row;
- a membership attack on the answers: somebody who has them all tells training rows of the desired class from held-out
  ones, by the distance to the nearest answer, or by the most cells that an answer shares; the more revealing of both;
- where the answers of FACE, which are training rows, give members away: that attack on ten splits of German credit
  under a schema by which any change is possible, with all members, and with those only whom no answer copies;
- a membership attack by questions: the same by the guard's p-value of each record itself;
- how many new real people the guard refuses, who should be at most its rate.

An AUC of .5 is guessing; intervals (95 %) are DeLong's.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.model_selection import train_test_split

from attain import Schema
from attain import methods as explainers
from attain.datasets import Dataset, load_german
from attain.density import CHVAE
from attain.metrics import AnswerMatrix, RealPeople
from attain.metrics.measures import held_out_inlier, inlier
from attain.population.space import Neighbours
from attain.tables import Table, desired_labels
from benchmarks.report import table, write
from benchmarks.tasks import DATA
from experiments.bench.cases import Split
from experiments.bench.classifiers import CLASSIFIERS

ROWS, PEOPLE = 6_000, 150
METHODS = ("Guarded", "NearestUnlike", "FACE", "GrowingSpheres", "HillClimbingLocalSearch", "CCHVAE")
MEASURES = ("total_shift", "copied_free", "connected_90", inlier(20), held_out_inlier(20))


@dataclass(frozen=True, eq=False)
class Task(Split):
    """A split, a classifier, refused people, and the rows that an attacker tells apart."""

    model: Any
    refused: pd.DataFrame
    real_people: RealPeople
    members: np.ndarray
    others: np.ndarray

    @classmethod
    def made(cls, data: Dataset, seed: int = 0) -> Task:
        rows = np.random.default_rng(0).permutation(len(data.X))[:ROWS]
        X, y = data.X.iloc[rows], data.y.iloc[rows]
        train, test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
        model = CLASSIFIERS["logistic regression"](data.schema, 0).fit(train, y_train)
        against = RealPeople(
            data.schema, model, train, y_train, target=data.desired, X_test=test, y_test=y_test
        )  # fmt: skip
        refused = test[model.predict(test) != data.desired].iloc[:PEOPLE]

        def desired(part: pd.DataFrame, labels: pd.Series) -> np.ndarray:
            kept = (model.predict(part) == data.desired) & desired_labels(labels.to_numpy(), data.desired)
            return np.asarray(Table.read(part[kept], data.schema).values)

        known = desired(train, y_train), desired(test, y_test)
        return cls(data, train, test, y_train, y_test, model, refused, against, *known)


def explainer(task: Task, name: str) -> Any:
    """A fitted method."""
    schema = task.data.schema
    options = (
        {"autoencoder": CHVAE(schema, likelihoods="paper", hidden=0, epochs=40, verbose=False)}
        if name == "CCHVAE"
        else {}
    )
    return getattr(explainers, name)(schema, figures=False, **options).fit(task.train, task.y_train)


def auc(members: np.ndarray, others: np.ndarray) -> tuple[float, float]:
    """The chance that a member scores higher than somebody else, ties half, and its standard error (DeLong)."""
    m, n = len(members), len(others)
    ranks = rankdata(np.concatenate([members, others]))
    above = (ranks[:m] - rankdata(members)) / n  # of each member, the share of others below
    below = 1 - (ranks[m:] - rankdata(others)) / m  # of each other, the share of members above
    return float(above.mean()), float(np.sqrt(above.var(ddof=1) / m + below.var(ddof=1) / n))


def attacked(task: Task, answers: np.ndarray, members: np.ndarray | None = None) -> tuple[float, float]:
    """The AUC of the more revealing attack on answers, on all members or some, and its standard error."""
    space, free = task.real_people.reference.space, task.data.schema.free_columns
    index = Neighbours(space.points(answers), len(space.stated))
    told_apart = (task.members if members is None else members, task.others)
    near = [-index.query(space.points(rows), 1)[0][:, 0] for rows in told_apart]
    shared = [_most_shared(rows[:, free], answers[:, free]) for rows in told_apart]
    return max(auc(*near), auc(*shared))


def _most_shared(rows: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """The most cells that each row shares with an answer, (n,)."""
    return np.array([((answers == row) | (np.isnan(answers) & np.isnan(row))).sum(axis=1).max() for row in rows])


def copies_given_away(splits: int = 10) -> str:
    """A table of FACE's answers on splits of German credit, and what they reveal about copied members and others."""
    data = load_german()
    free_of_advice = [replace(each, direction="any", pace=None, transitions={}) for each in data.schema]
    data = replace(data, schema=Schema(tuple(free_of_advice)))
    free, lines = data.schema.free_columns, []
    for seed in range(splits):
        task = Task.made(data, seed)
        result = explainer(task, "FACE").explain(task.model, task.refused, target=data.desired)
        answers = result.answers[result.found]
        copied = _most_shared(task.members[:, free], answers[:, free]) == len(free)
        risks = attacked(task, answers)[0], attacked(task, answers, task.members[~copied])[0]
        lines.append((result.found.mean(), copied.mean(), *risks))
    error = np.std(lines, axis=0, ddof=1) / np.sqrt(splits)
    named = ("found", "members copied", "AUC of the attack on answers", "AUC without members copied")
    means = zip(np.mean(lines, axis=0), error, strict=True)
    return table(named, [[f"{mean:.3f} ({more:.3f})" for mean, more in means]])


def questioned(task: Task, method: Any) -> tuple[tuple[float, float], float, float]:
    """The AUC of the attack by questions with its error, the guard's rate, and the share of new real people refused."""
    search = method.session(task.model, target=task.data.desired).inspected
    guard, rate = search.guard, search.rates[0]
    values = [guard.p_value(guard.score(rows)) for rows in (task.members, task.others)]
    return auc(*values), rate, 1 - guard.accepts(task.others, rate).mean()


def rows_of(name: str) -> Iterator[tuple[list[str], list[str] | None]]:
    """For each method, its row of the table of answers, and its row of the table of guards if it has one."""
    task = Task.made(DATA[name]())
    table_of_refused = Table.read(task.refused, task.data.schema)
    for method in METHODS:
        made = explainer(task, method)
        result = made.explain(task.model, task.refused, target=task.data.desired)
        given = AnswerMatrix(table_of_refused, result.answers, result.found, task.data.desired)
        measured = task.real_people.evaluate(given, measures=MEASURES, resamples=1).frame
        means = {column: measured[column].mean() for column in measured}
        risk = attacked(task, result.answers[result.found])
        shares = (means[column] for column in ("held_out_inlier_20", "inlier_20", "connected_90", "copied_free"))
        row = [name, method, f"{result.found.mean():.0%}", f"{100 * means['total_shift']:.0f}"]
        row += [*(f"{share:.0%}" for share in shares), said(*risk)]
        if method != "Guarded":
            yield row, None
            continue
        asked, rate, refused = questioned(task, made)
        yield row, [name, f"{len(made.population_.table):,}", f"{rate:.2f}", f"{refused:.3f}", said(*asked)]


def said(value: float, error: float) -> str:
    """An AUC with its interval."""
    return f"{value:.3f} [{value - 1.96 * error:.3f}, {value + 1.96 * error:.3f}]"


def main() -> None:
    """Measures all data sets, and writes the tables."""
    warnings.simplefilter("ignore")
    answers, guards = [], []
    for name in ("German", "HELOC", "GMSC"):
        for row, guard in rows_of(name):
            print(*row, flush=True)
            answers.append(row)
            guards += [] if guard is None else [guard]
    of_answers = ("data", "method", "found", "TS", "inlier, held-out", "inlier", "connected at ε90")
    of_guards = ("data", "rows of Guarded", "rate", "new real people refused", "AUC of the attack by questions")
    write(
        __doc__,
        table((*of_answers, "copies of free cells", "AUC of the attack on answers"), answers),
        table(of_guards, guards),
        "FACE on ten splits of the same rows of German credit; means, and in brackets their standard errors:",
        copies_given_away(),
    )


if __name__ == "__main__":
    main()
