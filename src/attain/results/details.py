"""What a result may know besides its options: ranges, importance, contributions, relations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from attain.core.arrays import BoolArray, FloatArray, IndexArray
from attain.tables import RuleBook, unchanged

_WEIGHTY: Final = 0.1
"""What counts against a person has at least this share of the weight of the first."""


@dataclass(frozen=True, eq=False)
class Ranges:
    """One entry for each changed feature of each option.

    Attributes
    ----------
    option, column
        The position of the option among all, and of the feature, (r,).
    low, high
        The ends of the widest run of checked numbers, or positions of ordered levels, for which the answer holds, (r,);
        NaN where the feature has no order.
    low_percentile, high_percentile
        Their percentiles, from 0 to 1, (r,).
    levels
        The positions of the other levels for which it holds, for a feature without an order.
    checked
        How many values were checked and hold, the suggestion among them: from `low` to `high`, or of the levels, (r,).
    """

    option: IndexArray
    column: IndexArray
    low: FloatArray
    high: FloatArray
    low_percentile: FloatArray
    high_percentile: FloatArray
    levels: tuple[tuple[int, ...], ...]
    checked: FloatArray

    @classmethod
    def joined(cls, parts: Sequence[Ranges]) -> Ranges:
        """One after the other."""
        arrays = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in vars(parts[0]) if name != "levels"
        }
        return cls(levels=tuple(level for part in parts for level in part.levels), **arrays)


@dataclass(frozen=True, eq=False)
class Importances:
    """One entry for each changed cell of each option, but for clocks.

    Attributes
    ----------
    option, column
        The position of the option among all, and of the feature, (r,).
    gain
        The share of the score gained that is due to this change, (r,): its Shapley value. NaN for a cell that follows
        others, whose part is in their gain, and where the model fails on a record on the way.
    for_decision
        Whether the decision does not flip without this change, all others carried out, (r,): 0 or 1.
    to_stay_typical
        Whether it does, but to a record of a lower level of typicality, (r,): 0 or 1; NaN without a guard.
    only_typical
        Whether that holds, and the decision flips without all such changes of the option together, (r,): 0 or 1.
    """

    option: IndexArray
    column: IndexArray
    gain: FloatArray
    for_decision: FloatArray
    to_stay_typical: FloatArray
    only_typical: FloatArray


@dataclass(frozen=True, eq=False)
class Attributions:
    """For each of p people, what each of c scored inputs contributes to their score.

    Those are missing whose record cannot be read, or with whom the model fails on a record composed of two.

    Attributes
    ----------
    scale
        What the score is, in words: "lead in probability", "log-odds", …
    people
        How many real people with the desired decision the person is compared with.
    person, column
        The positions of the people, (p,), and of the inputs, (c,).
    contribution
        The Shapley value of the input, (p, c): negative where it speaks against the desired decision.
    error
        The half-width of its 95 % interval over other people to compare with, (p, c).
    free
        Whether the input may change, (p, c).
    """

    scale: str
    people: int
    person: IndexArray
    column: IndexArray
    contribution: FloatArray
    error: FloatArray
    free: BoolArray

    def against(self, p: int) -> list[int]:
        """The inputs, as places in `column`, that count most against the person at place p, the weightiest first.

        Those with less than a tenth of the weight of the first are left out.
        """
        weights = self.contribution[p]
        order = np.argsort(weights, kind="stable")
        return [int(c) for c in order if weights[c] < 0 and weights[c] <= _WEIGHTY * weights.min()]


@dataclass(frozen=True, eq=False)
class Related:
    """What relations say of m options.

    Attributes
    ----------
    follows
        Which changes are there to keep a relation with others, (m, d).
    contradictions
        What contradicts itself, in words: “mean area does not go with mean radius”; empty where nothing does, (m,).
    """

    follows: BoolArray
    contradictions: tuple[str, ...]


def needed_changes(
    book: RuleBook, before: FloatArray, after: FloatArray, follows: BoolArray
) -> list[tuple[int, int, int]]:
    """(option, column, rule) for each changed cell of `after` (m, d) that a rule or law of the book needs.

    Where one column follows others, as in `follows` (d,), the law asks for its change, not for theirs.
    """
    options, columns = np.nonzero(~unchanged(before, after))
    undone = after[options]
    undone[np.arange(len(options)), columns] = before[options, columns]
    needed = ~book.kept(undone) & book.kept(after)[options]
    by_equation = np.array([rule.determines is not None for rule in book.rules], dtype=bool) & book.is_law
    needed &= ~by_equation[None, :] | follows[columns][:, None]
    cells, rules = np.nonzero(needed)
    return list(zip(options[cells].tolist(), columns[cells].tolist(), rules.tolist(), strict=True))
