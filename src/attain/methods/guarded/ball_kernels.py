"""Kernels of `balls`: the cheapest point of each ball, and what it costs; one pair after the other."""

from __future__ import annotations

import numpy as np

from attain.core.compiled import kernel, lean


@lean
def moved(own: float, centre: float, price: float, pull: float, half: float) -> float:
    """The soft threshold of a number, with `half` = 1 / 2μ."""
    move = centre + pull * half - own
    beyond = abs(move) - price * half
    if beyond > 0.0:
        return own + beyond if move > 0.0 else own - beyond
    return own


@lean
def inside(
    moves: np.ndarray,
    own: np.ndarray,
    centre: np.ndarray,
    price: np.ndarray,
    differs: np.ndarray,
    switch: np.ndarray,
    gap: np.ndarray,
    pull: np.ndarray,
    multiplier: float,
    slack_sq: float,
) -> bool:
    """Whether the minimum for a multiplier lies in the ball; left off where what is summed so far is too much."""
    left, half = 0.0, 0.5 / multiplier
    for k in range(len(moves)):
        if moves[k]:
            apart = moved(own[k], centre[k], price[k], pull[k], half) - centre[k]
            left += apart * apart
        elif differs[k] and not switch[k] < multiplier * gap[k]:
            left += gap[k]
        if left > slack_sq:
            return False
    return True


@lean
def least(
    moves: np.ndarray,
    own: np.ndarray,
    centre: np.ndarray,
    price: np.ndarray,
    differs: np.ndarray,
    state_price: np.ndarray,
    gap: np.ndarray,
    gain: np.ndarray,
    slope: np.ndarray,
    multipliers: np.ndarray,
    score_weight: float,
    slack_sq: float,
    pull: np.ndarray,
    switch: np.ndarray,
) -> float:
    """The least multiplier, by bisection, for which the minimum lies in the ball.

    Puts what the weight of the score makes of slopes and prices into `pull` and `switch`, (f,) each.
    """
    for k in range(len(moves)):
        pull[k] = score_weight * slope[k]
        switch[k] = state_price[k] - score_weight * gain[k]
    low, high = 0, len(multipliers) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if inside(moves, own, centre, price, differs, switch, gap, pull, multipliers[middle], slack_sq):
            high = middle
        else:
            low = middle
    return multipliers[high]


_PAIRS = (
    "b1[:, ::1], f8[:, ::1], f8[:, ::1], f8[:, ::1], b1[:, ::1], f8[:, ::1], f8[:, ::1], f8[:, ::1], f8[::1], f8[::1]"
)
"""moves, own, centre, price; differs, price of states, gap, gain; slope; multipliers."""


@kernel(f"void({_PAIRS}, f8[::1], f8[::1], f8[:, ::1], b1[:, ::1])")
def cheapest(
    moves: np.ndarray,
    own: np.ndarray,
    centre: np.ndarray,
    price: np.ndarray,
    differs: np.ndarray,
    state_price: np.ndarray,
    gap: np.ndarray,
    gain: np.ndarray,
    slope: np.ndarray,
    multipliers: np.ndarray,
    score_weight: np.ndarray,
    slack_sq: np.ndarray,
    numbers: np.ndarray,
    switched: np.ndarray,
) -> None:
    """Puts the cheapest point of each ball into `numbers` and `switched` (P, f)."""
    f = moves.shape[1]
    switch, pull = np.empty(f), np.empty(f)
    for i in range(len(moves)):
        multiplier = least(
            moves[i],
            own[i],
            centre[i],
            price[i],
            differs[i],
            state_price[i],
            gap[i],
            gain[i],
            slope,
            multipliers,
            score_weight[i],
            slack_sq[i],
            pull,
            switch,
        )
        for k in range(f):
            numbers[i, k] = moved(own[i, k], centre[i, k], price[i, k], pull[k], 0.5 / multiplier)
            switched[i, k] = differs[i, k] and switch[k] < multiplier * gap[i, k]


@kernel(f"void({_PAIRS}, f8[::1], f8[::1], f8, f8, f8, f8[:, ::1], f8[:, ::1])")
def probed(
    moves: np.ndarray,
    own: np.ndarray,
    centre: np.ndarray,
    price: np.ndarray,
    differs: np.ndarray,
    state_price: np.ndarray,
    gap: np.ndarray,
    gain: np.ndarray,
    slope: np.ndarray,
    multipliers: np.ndarray,
    score_weights: np.ndarray,
    slack_sq: np.ndarray,
    max_shift_weight: float,
    change_weight: float,
    still: float,
    cost: np.ndarray,
    gained: np.ndarray,
) -> None:
    """Puts what the cheapest point of each ball costs, and the score it gains, into (P, weights) of each ν."""
    f = moves.shape[1]
    switch, pull = np.empty(f), np.empty(f)
    for i in range(len(moves)):
        for w in range(len(score_weights)):
            multiplier = least(
                moves[i],
                own[i],
                centre[i],
                price[i],
                differs[i],
                state_price[i],
                gap[i],
                gain[i],
                slope,
                multipliers,
                score_weights[w],
                slack_sq[i],
                pull,
                switch,
            )
            half, total, largest, changes, score = 0.5 / multiplier, 0.0, 0.0, 0, 0.0
            for k in range(f):
                shift = 0.0
                if moves[i, k]:
                    move = moved(own[i, k], centre[i, k], price[i, k], pull[k], half) - own[i, k]
                    shift = abs(move) * price[i, k]
                    changes += abs(move) > still
                    score += move * slope[k]
                elif differs[i, k] and switch[k] < multiplier * gap[i, k]:
                    shift = state_price[i, k]
                    score += gain[i, k]
                total += shift
                largest = max(largest, shift)
            cost[i, w] = total + max_shift_weight * largest + change_weight * changes
            gained[i, w] = score
