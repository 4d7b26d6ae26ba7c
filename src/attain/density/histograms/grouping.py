"""Shares of states, groups of states for splits and for smoothing, and the order in which columns are modelled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from attain.core.arrays import BoolArray, FloatArray, IndexArray
from attain.density.histograms.states import Coded, States

_ROWS = 20_000
"""Rows that the order of the columns is learned from; more change nothing."""


def marginal(counts: IndexArray, possible: BoolArray) -> FloatArray:
    """The smoothed share of each state (K,): half a row is added to each that is possible (Krichevsky–Trofimov)."""
    share = np.where(possible, counts + 0.5, 0.0)
    return share / share.sum()


def grouped(states: States, counts: IndexArray, most: int) -> IndexArray:
    """The group of each state (K,): at most `most` groups of ordinary states with about equally many training rows.

    Missing cells and special codes have groups of their own. Neighbours share a group, except where states have no
    order: there the most frequent have one each, and all others the last one.
    """
    usual = counts[states.first :]
    if len(usual) <= most:
        own = np.arange(len(usual))
    elif states.unordered:
        own = np.full(len(usual), most - 1)
        own[np.argsort(-usual, kind="stable")[: most - 1]] = np.arange(most - 1)
    else:
        own = np.unique(_quantiles(usual, most), return_inverse=True)[1]
    return np.concatenate([np.arange(states.first), states.first + own]).astype(np.intp)


def nested_groups(states: States, counts: IndexArray) -> list[IndexArray]:
    """Groupings of the states, from one group to one state each, by where their groups start.

    First all states; then the ordinary values together, missing cells and each special code apart; then the values in
    halves, quarters and so on with about equally many training rows, where they have an order; then every state.
    """
    special, usual = np.arange(states.first), counts[states.first :] + 0.5
    found = [np.zeros(1, dtype=np.intp)]
    parts = 1
    while not states.unordered and parts < len(usual):
        starts = np.flatnonzero(np.diff(_quantiles(usual, parts), prepend=-1))
        found.append(np.concatenate([special, states.first + starts]))
        parts *= 2
    found.append(np.arange(states.count))
    kept = [grouping for place, grouping in enumerate(found) if place == 0 or len(grouping) > len(found[place - 1])]
    return kept if len(kept) > 1 else [*kept, found[-1]]


def _quantiles(counts: NDArray[np.floating] | IndexArray, parts: int) -> IndexArray:
    """For each state which of `parts` equal shares of the rows its middle row is in; halving nests."""
    middle = (np.cumsum(counts) - counts / 2) / max(float(counts.sum()), 1.0)
    return np.minimum(middle * parts, parts - 1).astype(np.intp)


def learned_order(classes: Coded, columns: Sequence[int]) -> list[int]:
    """The columns in the order in which they are modelled: next is always the one that says most about the rest.

    That is the sum over the columns still waiting of the mutual information with each, as a share of its entropy. Ties
    go to the schema's order.
    """
    shares = _information(classes)
    order, waiting = [], list(columns)
    while waiting:
        order.append(waiting.pop(int(np.argmax([shares[j, waiting].sum() for j in waiting]))))
    return order


def _information(classes: Coded) -> FloatArray:
    """I(i; j) / H(j) for each pair of columns, (d, d); 0 on the diagonal."""
    thinned = classes[:: max(1, len(classes) // _ROWS)].T.astype(np.intp)
    entropies = [_entropy(column) for column in thinned]
    shares = np.zeros((len(thinned), len(thinned)))
    for i, first in enumerate(thinned):
        for j in range(i):
            joint = _entropy(first * (int(thinned[j].max()) + 1) + thinned[j])
            shared = max(entropies[i] + entropies[j] - joint, 0.0)
            shares[i, j] = shared / entropies[j] if entropies[j] else 0.0
            shares[j, i] = shared / entropies[i] if entropies[i] else 0.0
    return shares


def _entropy(column: IndexArray) -> float:
    counts = np.bincount(column)
    share = counts[counts > 0] / len(column)
    return float(-(share * np.log(share)).sum())
