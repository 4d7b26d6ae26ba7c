"""The statistics of laws: two random halves of the rows, chance, and the bound of a rate.

A law is found on one half of the rows and tested on the other (the holdout evaluation of Webb 2007, Discovering
Significant Patterns), against the number of rows that would break it if its columns were independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

ALPHA = 0.01
"""The probability of finding any law at all in data whose columns are independent (Bonferroni)."""
PROPOSED = 1e-4
"""The p-value on the first half below which something is tested on the second."""
LARGEST_RATE = 0.01
"""The 95 % upper bound of the share of new rows that break a law, at most."""
SMALLEST = 299
"""The fewest rows of which none breaks a law for the bound to be that small: 1 − 0.05^(1/n) ≤ 0.01."""
BY_CHANCE = 0.01
"""A law is broken by at most this share of the rows that would break it by chance."""

MOSTLY = 0.25
"""The same for an order and a range, which are also broken by rows that are hardly beyond them."""

_BY_LUCK = 1e-4
"""On half of the rows, a number of exceptions that is as large with this probability does not refute a law."""
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Counts:
    """What is counted of one candidate, or of an array of them.

    `applies`: rows that it says something about; `broken`: those that break it; `expected`: those that would if its
    columns were independent; `rarest`: rows in the rarest of the states that it speaks of; `edge`: see `edge`.
    """

    applies: Any
    broken: Any
    expected: Any
    rarest: Any
    edge: Any = 0.0

    def hold(self, exceptions: float, threshold: float, share: float = BY_CHANCE) -> Any:
        """Whether it holds on half of the rows, up to chance, and would not if its columns were independent."""
        few = _few(self.broken, exceptions * self.applies) & _few(self.broken, share * self.expected)
        return few & self._told(threshold)

    def confirmed(self, exceptions: float, threshold: float, share: float = BY_CHANCE) -> Any:
        """Whether it holds on all rows, and for new rows with a bounded rate, whichever of its states is given."""
        few = (self.broken <= exceptions * self.applies) & (self.broken <= share * self.expected)
        bounded = (self.rarest >= SMALLEST) & (rate(self.broken, self.rarest) <= LARGEST_RATE)
        return few & bounded & self._told(threshold)

    def _told(self, threshold: float) -> Any:
        return (chance(self.broken, self.expected) <= threshold) & (self.edge <= threshold)


def chance(broken: Any, expected: Any) -> Any:
    """P(V ≤ broken) if `expected` rows break it by chance.

    V is a sum of independent events under independence with given marginals (hypergeometric), so below its mean the
    Poisson distribution bounds its lower tail from above (Anderson and Samuels 1967).
    """
    from scipy.special import pdtr  # imported here, because importing a schema should not take long

    return pdtr(broken, expected)


def edge(beyond: int, inside: int, share: float) -> float:
    """P(V ≤ beyond) if rows were as frequent beyond a limit as just inside it: a limit is sharper than a tail.

    Just inside is where `share` of the rows in both regions would be beyond if the columns were independent.
    """
    from scipy.special import bdtr

    return float(bdtr(beyond, beyond + inside, share))


def _few(broken: Any, allowed: Any) -> Any:
    """Whether at most the allowed number, or a number that is as large by chance where so many are allowed."""
    from scipy.special import pdtrc

    return (broken <= allowed) | (pdtrc(np.maximum(broken, 1.0) - 1.0, allowed) >= _BY_LUCK)


def rate(broken: Any, applies: Any) -> Any:
    """The 95 % upper bound (Clopper–Pearson, one-sided) of the share that breaks a law."""
    from scipy.special import betaincinv

    whole = np.maximum(np.asarray(applies, dtype=np.float64), 1.0)
    return np.where(broken >= whole, 1.0, betaincinv(broken + 1.0, np.maximum(whole - broken, 1e-300), 0.95))


def shuffled(names: Sequence[str], values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An order of the rows (n,) that is random, and a coin (n,) for each row in that order.

    Both come from a hash of the cells, so that they do not depend on the order of the rows or the columns: cells are
    hashed with the name of their column, and equal rows are numbered.
    """
    hashed = np.zeros(len(values), dtype=np.uint64)
    for j, name in enumerate(names):
        cells = values[:, j] + 0.0  # a copy, in which −0 is 0
        cells[np.isnan(cells)] = np.nan
        key = np.frombuffer(blake2b(name.encode(), digest_size=8).digest(), dtype=np.uint64)[0]
        hashed += _mixed(cells.view(np.uint64) ^ key)
    order = np.argsort(hashed, kind="stable")
    new = np.concatenate([[True], np.diff(hashed[order]) != 0])
    number = np.arange(len(values)) - np.flatnonzero(new)[np.cumsum(new) - 1]
    numbered = _mixed(hashed[order] + number.astype(np.uint64) * _GOLDEN)
    again = np.argsort(numbered, kind="stable")
    return order[again], numbered[again] & np.uint64(1) == 1


def _mixed(bits: np.ndarray) -> np.ndarray:
    """splitmix64's finaliser: every bit of the result depends on every bit of the input."""
    bits = (bits ^ (bits >> np.uint64(30))) * _MIX[0]
    bits = (bits ^ (bits >> np.uint64(27))) * _MIX[1]
    return np.asarray(bits ^ (bits >> np.uint64(31)))
