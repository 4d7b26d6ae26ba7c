"""The search: proposed on one half of the rows, tested on the other, confirmed on all.

What holds on the first half is a candidate; each candidate is tested on the second half, against the number of rows
that would break it if its columns were independent, and the number of tests is accounted for (Bonferroni). What follows
from other findings is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from attain.schema.finding.dependencies import Dependencies
from attain.schema.finding.pairs import Pairs
from attain.schema.finding.ranges import Ranges
from attain.schema.finding.relations import Relations
from attain.schema.finding.rows import Rows, rows_of
from attain.schema.finding.selection import Found, Selection
from attain.schema.finding.statements import Finding
from attain.schema.finding.states import Feature
from attain.schema.finding.statistics import ALPHA, SMALLEST
from attain.schema.finding.triples import Triples


class Kind(Protocol):
    """Candidates of one kind."""

    def __len__(self) -> int:
        """The number of tests."""

    def propose(self, half: Rows) -> None:
        """Takes what holds on these rows."""

    def test(self, half: Rows, threshold: float) -> None:
        """Keeps what holds on these rows, and would with probability `threshold` at most if it were chance."""

    def confirm(self, rows: Rows, threshold: float) -> None:
        """Keeps what holds on all rows."""


def search(features: Sequence[Feature], values: np.ndarray, coin: np.ndarray, exceptions: float) -> Iterator[Finding]:
    """What holds in a matrix (n, d) whose rows are in random order; `coin` (n,) are the rows of the first half."""
    if len(values) < SMALLEST or len(features) < 2:
        return
    rows = rows_of(features, values)
    first, second = rows[coin], rows[~coin]
    found = Found(
        Relations(exceptions),
        Dependencies(exceptions),
        Pairs(exceptions),
        Ranges(exceptions),
        Triples.among(rows, exceptions),
    )
    kinds: tuple[Kind, ...] = (found.relations, found.dependencies, found.pairs, found.ranges, found.triples)
    for kind in kinds:
        kind.propose(first)
        threshold = ALPHA / len(kinds) / max(len(kind), 1)
        kind.test(second, threshold)
        kind.confirm(rows, threshold)
    yield from Selection(features, rows, found).findings()
