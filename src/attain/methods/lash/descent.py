"""Projected gradient descent for many people at once (the optimiser of budget-constrained inverse classification)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Risk = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""(moves, whose each is) → the risk of each, and its gradient."""
Projection = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(moves, whose each is) → the nearest allowed moves."""

_FIRST, _LARGEST, _SHRINK = 10.0, 1000.0, 1.5
"""L: the step is 1/L. It is doubled while the risk rises, up to the largest, and shrinks after every step."""


def descend(
    risk: Risk, projection: Projection, start: np.ndarray, people: np.ndarray, iterations: int, tolerance: float
) -> np.ndarray:
    """The move of least risk met on each person's way from `start`.

    t ← Proj(t − ∇/L), with L doubled while the risk rises, until the risk changes by less than `tolerance` of itself.
    Where even the smallest step raises the risk, the way goes on, as published; the best move met is what counts.
    """
    moves, best = start.copy(), start.copy()
    value, gradient = risk(moves, people)
    least = value.copy()
    inverse_step = np.full(len(people), _FIRST)
    active = np.arange(len(people))
    for _ in range(iterations):
        if not active.size:
            break
        trial, trial_value, trial_gradient = moves[active], value[active].copy(), gradient[active]
        waiting = np.arange(len(active))
        while waiting.size:
            at = active[waiting]
            trial[waiting] = projection(moves[at] - gradient[at] / inverse_step[at, None], people[at])
            trial_value[waiting], trial_gradient[waiting] = risk(trial[waiting], people[at])
            rose = (trial_value[waiting] > value[at]) & (inverse_step[at] < _LARGEST)
            waiting = waiting[rose]
            inverse_step[active[waiting]] *= 2
        inverse_step[active] /= _SHRINK
        change = np.abs(trial_value - value[active])
        settled = change <= tolerance * np.abs(value[active])
        moves[active], value[active], gradient[active] = trial, trial_value, trial_gradient
        better = active[trial_value < least[active]]
        best[better], least[better] = moves[better], value[better]
        active = active[~settled]
    return best
