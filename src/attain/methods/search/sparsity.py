"""Takes back the changes that an answer does not need (the feature selection of Growing Spheres)."""

from __future__ import annotations

import numpy as np

from attain.methods.search.problem import Problem


def sparse(rows: np.ndarray, owners: np.ndarray, sizes: np.ndarray, problem: Problem) -> np.ndarray:
    """The answers with every change taken back that is not needed, the smallest first.

    `sizes` holds how far each cell moved (0: not at all). Each change is taken back in turn and stays so where the row
    is still accepted. All answers go through it together: at most one question per feature and answer.
    """
    rows, region = rows.copy(), problem.region
    order = np.argsort(np.where(sizes > 0, sizes, np.inf), axis=1, kind="stable")
    moved = (sizes > 0).sum(axis=1)
    for turn in range(int(moved.max(initial=0))):
        if problem.ledger.deadline.passed:
            break
        active = np.flatnonzero(moved > turn)
        columns = order[active, turn]
        trial = rows[active]
        trial[np.arange(len(active)), columns] = region.factuals[owners[active], columns]
        trial = region.final_form(trial, owners[active])
        # a rule may take back other changes too, or put this one back in place
        left = region.changed(trial, owners[active]).sum(axis=1)
        before = region.changed(rows[active], owners[active]).sum(axis=1)
        taken = np.flatnonzero((left < before) & (left > 0))
        accepted = problem.accepts(trial[taken], owners[active][taken])
        rows[active[taken[accepted]]] = trial[taken[accepted]]
    return rows
