"""How faithful C-CHVAE's Algorithm 1 is on the paper's data: `python -m benchmarks.faithfulness`.

HELOC and Give Me Some Credit (paper's versions), l₂ logistic regression, splits 0 to 4, all refused held-out people
(500 at most). LOF inliers: k = 20, in the measuring space. Spread: sd of the answers over that of real people of the
desired class, median over free features; correlation: of answers with the own factual, mean over free features. Both
leave out cells with special codes. Real people: held-out ones whom the classifier accepts and who are labelled so.
"""

from __future__ import annotations

import argparse

import numpy as np

from attain import CCHVAE, metrics
from attain.population.reference import Reference
from attain.tables import Table, ordinary
from benchmarks import report
from benchmarks.tasks import Task, paper_task

MEASURES = ("found", "inliers", "connected", "TS", "MS", "spread", "correlation", "latent distance")


def measured(task: Task, people: int) -> dict[str, float]:
    """The figures of one split."""
    explainer = CCHVAE(task.data.schema, random_state=0).fit(task.train, task.y_train)
    result = explainer.explain(task.model, task.refused.iloc[:people], target=task.data.desired)
    figures = result.figures
    reference = explainer.reference(task.model, task.data.desired)
    spread, correlation = likeness(result.answers[result.found], result.table.values[result.found], reference)
    return {
        "people": len(result),
        "found": float(result.found.mean()),
        "inliers": float((figures["outlier"][result.found] == 0).mean()),
        "connected": float(figures["connected"].mean()),
        "TS": float(figures["total_shift"].mean()),
        "MS": float(figures["max_shift"].mean()),
        "spread": spread,
        "correlation": correlation,
        "latent distance": float(figures["latent_distance"].mean()),
        **real_people(task, reference),
    }


def likeness(answers: np.ndarray, factuals: np.ndarray, reference: Reference) -> tuple[float, float]:
    """Spread of the answers, and their correlation with the own factuals."""
    spreads, correlations = [], []
    for j in reference.schema.free_columns:
        feature = reference.schema.features[j]
        plain = ordinary(feature, answers[:, j]) & ordinary(feature, factuals[:, j])
        real = reference.values[ordinary(feature, reference.values[:, j]), j]
        if plain.sum() > 2 and real.std() > 0:
            spreads.append(answers[plain, j].std() / real.std())
            if answers[plain, j].std() > 0 and factuals[plain, j].std() > 0:
                correlations.append(np.corrcoef(answers[plain, j], factuals[plain, j])[0, 1])
    return float(np.median(spreads)), float(np.mean(correlations))


def real_people(task: Task, reference: Reference) -> dict[str, float]:
    """The ceiling: held-out real people of the desired class."""
    chosen = (task.model.predict(task.test) == task.data.desired) & (task.y_test == task.data.desired).to_numpy()
    values = Table.read(task.test[chosen].iloc[:2000], task.data.schema).values
    inliers = metrics.outlier(values, reference) == 0
    return {
        "real inliers": float(inliers.mean()),
        "real connected": float(metrics.connected(values, reference, reference.epsilon[0.9]).mean()),
    }


def main() -> None:
    """Measures every split and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=500)
    parser.add_argument("--splits", type=int, default=5)
    given = parser.parse_args()
    names = ("people", *MEASURES, "real inliers", "real connected")
    lines: list[tuple[str, ...]] = []
    for data in ("HELOC", "GMSC"):
        splits = [measured(paper_task(data, split), given.people) for split in range(given.splits)]
        for number, split in enumerate(splits):
            lines.append((data, str(number), *(f"{split[name]:.3g}" for name in names)))
        lines.append((data, "mean", *(f"{np.mean([split[name] for split in splits]):.3g}" for name in names)))
    body = report.table(("data", "split", *names), lines)
    report.write("faithfulness", "C-CHVAE, Algorithm 1: faithfulness", "python -m benchmarks.faithfulness", body)


if __name__ == "__main__":
    main()
