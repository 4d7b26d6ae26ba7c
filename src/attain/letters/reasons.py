"""Why the decision was made: the inputs that count most against a person, in the words of the table of texts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from attain.core.errors import AttainError, listed
from attain.letters.rounding import shown
from attain.letters.texts import Texts, is_coded, level_key
from attain.schema import Feature
from attain.tables import ordinary

if TYPE_CHECKING:
    from attain.results.counterfactuals import Counterfactuals


@dataclass(frozen=True)
class Reason:
    """A sentence about one input, and whether the input may change."""

    text: str
    free: bool


def reasons(
    result: Counterfactuals, usual: np.ndarray, texts: Texts, positions: Sequence[int], most: int
) -> dict[int, list[Reason]]:
    """By position, at most `most` reasons of a person, the weightiest first; each text once.

    `usual` are the median cells of people with the desired decision, (d,): a value above is high, one below low.
    """
    table, found, lacking = result.table, {}, dict[str, None]()
    for i in positions:
        mine: dict[str, Reason] = {}
        for j, free in _against(result, i):
            if len(mine) == most:
                break
            feature, cell = table.schema.features[j], float(table.values[i, j])
            value = table.layout.value(feature.name, shown(feature, cell))
            text = texts.reason(feature, value, _side(feature, cell, float(usual[j])))
            if not text:
                lacking[f"{feature.name} ({level_key(value)})" if is_coded(feature, value) else feature.name] = None
            mine.setdefault(text, Reason(text, free))
        found[i] = list(mine.values())
    if lacking:
        raise AttainError(
            f"the texts have no reason in {texts.language.code!r} for {listed(lacking, 40)}, which count against "
            "people; a letter needs one for each, and a level or special code, in parentheses, one under its own name "
            "(`level_texts`): `attain letter RESULT --texts-template FILE` writes a table to fill in"
        )
    return found


def _against(result: Counterfactuals, position: int) -> list[tuple[int, bool]]:
    """The columns that count against a person, the weightiest first, and whether each may change."""
    known = result.attributions
    if known is None:
        raise AttainError(
            "letters need to know why decisions were made; call explain(..., contributions=True), or `attain explain "
            "--contributions`"
        )
    at = np.flatnonzero(known.person == position)
    if not len(at):
        raise AttainError(
            f"the result has no contributions for {result.table.labels[position]!r}: there were no real people with "
            "the desired decision to compare with"
        )
    return [(int(known.column[c]), bool(known.free[at[0], c])) for c in known.against(int(at[0]))]


def _side(feature: Feature, cell: float, usual: float) -> str:
    if math.isnan(usual) or cell == usual or not ordinary(feature, np.array([cell]))[0]:
        return ""
    return "high" if cell > usual else "low"
