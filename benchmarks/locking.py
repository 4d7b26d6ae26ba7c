"""Answers of the guarded search beside an earlier commit's, and what locking a feature finds: `-m benchmarks.locking`.

If the first feature that an answer changes is locked and the search then finds a cheaper answer that is as typical, the
first search has missed it. Of two typical answers each is as typical as the other; an unusual one is not as typical as
another that is less so, by the share of real rows that the guard says are like it. The table says how often, by the
search's own cost and by the total shift that is reported (TS), for the same people; and what the answers are like.
Every cell is measured in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.fixed_costs import ROOT, THREADS
from benchmarks.person import MODELS

COMMIT = "8ca01ed"
PEOPLE = 60
CASES = {"German": None, "HELOC": None, "GMSC": 6_000, "Adult": 20_000}
"""Data sets, and how many of their rows are for training."""
FIGURES = ("found", "typical", "connected", "inliers", "TS", "cost", "cheaper", "easier")


def task(name: str, kind: str) -> tuple[Any, Any, Any]:
    """A data set, its training rows, and a classifier fitted on them."""
    from benchmarks import fixed_costs, person

    return fixed_costs.task(name, kind) if name == "German" else person.task(name, CASES[name], kind)


def cell(name: str, kind: str, number: int) -> dict[str, float]:
    """What the answers are like, and how often another is found once their first feature is locked."""
    import numpy as np

    from attain import Guarded
    from attain.methods.guarded.objective import Objective
    from attain.schema import Constraints
    from attain.tables import Region, Table

    data, X, model = task(name, kind)
    people = data.X[model.predict(data.X) != data.desired].iloc[:number].reset_index(drop=True)
    explainer = Guarded(data.schema).fit(X, data.y.loc[X.index]).warm_up()
    result = explainer.explain(model, people, target=data.desired)
    changed = ~((result.rows == result.table.values[result.owners]) | np.isnan(result.rows))
    first = {
        int(i): data.schema.features[int(some.argmax())].name for i, some in zip(result.owners, changed, strict=True)
    }
    locked = {"people": {i: {"immutable": [feature]} for i, feature in first.items()}}
    again = explainer.explain(model, people, target=data.desired, constraints=locked)
    region = Region.of(Table.read(people, data.schema), Constraints.of(None), explainer.observed_, explainer.book_)
    weights = explainer.max_shift_weight, explainer.change_weight, explainer.month_weight
    objective = Objective(explainer._cost_percentiles, region, *weights)

    def by_person(found: Any, values: np.ndarray) -> np.ndarray:
        every = np.full(number, np.nan)
        every[found.owners] = values
        return every

    cost, typicality, p_value, shift = (
        [by_person(found, values(found)) for found in (result, again)]
        for values in (
            lambda found: objective.cost(found.rows, found.owners),
            lambda found: found.option_figures["typicality"],
            lambda found: found.option_figures["typicality_p"],
            lambda found: found.option_figures["total_shift"],
        )
    )
    as_typical = (typicality[1] <= typicality[0]) & ((typicality[1] == 0) | (p_value[1] >= p_value[0]))
    figures = result.option_figures
    return {
        "found": float(result.found.mean()),
        "typical": float(np.mean(figures["typicality"] == 0)),
        "connected": float(np.mean(figures["connected"])),
        "inliers": float(1 - np.mean(figures["outlier"])),
        "TS": float(np.mean(figures["total_shift"])),
        "cost": float(np.nanmean(cost[0])),
        "cheaper": float(np.mean(as_typical & (cost[1] < cost[0] - 1e-9))),
        "easier": float(np.mean(as_typical & (shift[1] < shift[0] - 1e-9))),
    }


def measured(source: Path, name: str, kind: str, number: int) -> dict[str, float]:
    """What a process prints that imports the package from this folder."""
    here = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{ROOT}", **dict.fromkeys(THREADS, "1")}
    command = [sys.executable, "-m", "benchmarks.locking", "--cell", name, kind, "--people", str(number)]
    done = subprocess.run(command, env=here, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(commit: str, number: int) -> None:
    """Measures everything beside the earlier commit, and writes the table."""
    from benchmarks import report
    from benchmarks.earlier import checked_out

    lines = []
    with checked_out(commit) as tree:
        for name, kind in product(CASES, MODELS):
            for when, source in ((commit, tree / "src"), ("now", ROOT / "src")):
                found = measured(source, name, kind, number)
                shown = [f"{found[part]:.3f}" if part in ("TS", "cost") else f"{found[part]:.0%}" for part in FIGURES]
                lines.append([name, MODELS[kind], when, *shown])
                print(lines[-1], flush=True)
    body = (
        f"The same {number} people before (commit {commit}) and now. Typical, connected (ε at 0.9) and inliers are "
        "shares of the answers; TS and cost are means. Cheaper, easier: for which share of people an answer that is as "
        "typical is cheaper, by the search's cost, or has a smaller TS, once the first feature of theirs is locked.\n\n"
    )
    table = report.table(("data", "classifier", "commit", *FIGURES), lines)
    report.write("locking", "What locking a feature finds", "python -m benchmarks.locking", body + table)


def main() -> None:
    """Measures one cell, or all of them beside the earlier commit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default=COMMIT, help="the commit to compare with")
    parser.add_argument("--people", type=int, default=PEOPLE, help="how many people of each data set")
    parser.add_argument("--cell", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.cell:
        print(json.dumps(cell(*given.cell, given.people)))
    else:
        compare(given.commit, given.people)


if __name__ == "__main__":
    main()
