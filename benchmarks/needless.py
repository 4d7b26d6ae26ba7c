"""Changes that the decision does not need: `python -m benchmarks.needless`.

Three options for each person whom a logistic regression or boosted trees refuse, German credit, 70/30, two splits. A
change is needless where the record without it, in its final form, keeps all rules and laws and still has the wanted
decision. An option says why it has one where it is shown beside a smaller option, as the typical one.
"""

from __future__ import annotations

import argparse
import json
from itertools import product
from typing import Any

import numpy as np

from attain import Guarded
from attain.datasets import load_german
from benchmarks import harness, report
from experiments.bench.cases import Split
from experiments.bench.classifiers import CLASSIFIERS

MODELS = ("logistic regression", "gradient boosting")
SPLITS = (0, 1)
COLUMNS = {
    "options": "options",
    "needless": "with a needless change",
    "smallest": "of the smallest",
    "unsaid": "without saying why",
}
TYPICAL, SMALLEST = 1, 2


def measured(split: int, classifier: str) -> dict[str, int]:
    """How many options there are, and how many of which kind have a needless change."""
    part = Split.of(load_german(), split)
    model = CLASSIFIERS[classifier](part.data.schema, split).fit(part.train, part.y_train)
    refused = part.test[model.predict(part.test) != part.data.desired]
    explainer = Guarded(part.data.schema, random_state=0).fit(part.train, part.y_train)
    result = explainer.explain(model, refused, target=part.data.desired, n=3)
    purposes = result.option_figures.get("purpose", np.zeros(len(result.rows)))
    found = dict.fromkeys(COLUMNS, 0) | {"options": len(result.rows)}
    for row, owner, purpose in zip(result.rows, result.owners, purposes, strict=True):
        needless = has_needless(explainer, model, result, row, owner)
        found["needless"] += needless
        found["smallest"] += needless and bool(purpose == SMALLEST)
        found["unsaid"] += needless and bool(purpose != TYPICAL)
    return found


def has_needless(explainer: Any, model: Any, result: Any, row: np.ndarray, owner: int) -> bool:
    """Whether an option without one of its changes, in its final form, keeps all rules and flips the decision."""
    region = explainer.session(model, target=result.target).region(result.table, None)
    places = np.array([owner])
    changed = region.changed(row[None], places)[0]
    versions = np.repeat(row[None], changed.sum(), axis=0)
    versions[np.arange(len(versions)), np.flatnonzero(changed)] = result.table.values[owner, changed]
    places = np.repeat(places, len(versions))
    after = region.after(np.repeat(row[None], len(versions), axis=0), places)
    versions = after.final_form(versions, np.arange(len(versions)))
    fewer = region.changed(versions, places).sum(axis=1) < changed.sum()
    versions = versions[fewer & region.allows(versions, places)]
    return len(versions) > 0 and bool((model.predict(result.table.layout.frame(versions)) == result.target).any())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--beside", metavar="COMMIT", default="39d8df7", help="an earlier commit, or a folder with a checkout of one"
    )
    parser.add_argument("--cell", nargs=2, metavar=("SPLIT", "CLASSIFIER"), help="prints the figures of one")
    given = parser.parse_args()
    if given.cell:
        print(json.dumps(measured(int(given.cell[0]), given.cell[1])))
        return
    with harness.checked_out(given.beside) as tree:
        versions = {"before": tree, "now": report.ROOT}
        rows = [
            (*cell, version, *harness.alone("needless", "--cell", cell[1], cell[0], source=source).values())
            for cell in product(MODELS, SPLITS)
            for version, source in versions.items()
        ]
    report.write(__doc__, report.table(("classifier", "split", "version", *COLUMNS.values()), rows))


if __name__ == "__main__":
    main()
