"""Mixed-integer programs by HiGHS, with a limit on the work."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

NODES: Final = 10_000
"""The most nodes HiGHS may open; then the best solution so far is taken."""


class Solution(NamedTuple):
    """What a program gave.

    Attributes
    ----------
    x
        The variables; None where no solution was found.
    value
        Their cost.
    proven
        Whether x is an optimum, or where it is None, whether there is no solution. False where the limit was reached.
    """

    x: np.ndarray | None
    value: float
    proven: bool


def solve(
    cost: np.ndarray,
    constraints: list[LinearConstraint],
    *,
    upper: np.ndarray,
    integral: np.ndarray,
    seconds: float,
) -> Solution:
    """Minimises cost · x subject to 0 ≤ x ≤ upper and the constraints, with xᵢ an integer where `integral`.

    `seconds` is the most time that HiGHS may take; what it found until then is the solution.
    """
    if seconds <= 0:
        return Solution(None, np.inf, False)
    result: Any = milp(
        cost,
        integrality=integral.astype(np.int64),
        bounds=Bounds(np.zeros(len(upper)), upper),
        constraints=constraints,
        options={"mip_rel_gap": 0.0, "node_limit": NODES, "presolve": False, "time_limit": seconds},
    )
    if result.x is None:
        return Solution(None, np.inf, result.status == 2)
    return Solution(np.asarray(result.x), float(result.fun), result.status == 0)
