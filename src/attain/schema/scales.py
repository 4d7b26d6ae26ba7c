"""Columns that are on another scale where another column has no number: a ratio that is an amount without income."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from scipy.stats import mannwhitneyu

from attain.core.text import number
from attain.schema.feature import Feature
from attain.schema.language import quoted_name
from attain.schema.reading import ordinary_numbers
from attain.schema.schema import Schema

_FACTOR: Final = 30
"""Medians on one scale differ by less."""
_FEWEST: Final = 30
"""Rows on each scale, at least."""
_CHANCE: Final = 1e-9
"""The p-value below which two samples differ for certain."""


class OtherScale(NamedTuple):
    """The rule that says where a column is on another scale, why that seems to be so, and the rows (n,)."""

    condition: str
    reason: str
    rows: np.ndarray


def other_scale(schema: Schema, values: np.ndarray, j: int) -> OtherScale | None:
    """Where the numbers of column j are on another scale: of all other columns, where the most decisive one has none.

    `values` (n, d) are the rows of a frame. The medians differ by a factor of 30, and so do the two samples by a test
    of Mann and Whitney.
    """
    column = ordinary_numbers(schema.features[j], values[:, j])
    found: list[tuple[float, int]] = []
    for k, other in enumerate(schema):
        absent = np.isnan(ordinary_numbers(other, values[:, k]))
        there, here = column[absent & ~np.isnan(column)], column[~absent & ~np.isnan(column)]
        if k == j or min(len(there), len(here)) < _FEWEST:
            continue
        low, high = sorted((float(np.median(there)), float(np.median(here))))
        if 0 < _FACTOR * low <= high:
            test = mannwhitneyu(there, here, method="asymptotic")
            # how often a number of the one is larger than a number of the other: 0.5 where they are alike
            apart = abs(float(test.statistic) / (len(there) * len(here)) - 0.5)
            found += [(apart, -k)] if test.pvalue < _CHANCE else []
    if not found:
        return None
    k = -max(found)[1]
    other = schema.features[k]
    absent = np.isnan(ordinary_numbers(other, values[:, k]))
    codes = [code for code in other.special if (values[:, k] == code).any()]
    condition, words = _condition(other, codes, bool(np.isnan(values[:, k]).any()))
    medians = (number(_shown(column[absent])), number(_shown(column[~absent])))
    reason = (
        f"Where {other.name} is {words} ({int(absent.sum()):,} rows), its median is {medians[0]} instead of "
        f"{medians[1]}: it seems to be in another unit there, and no answer should lead from one to the other."
    )
    return OtherScale(condition, reason, absent)


def _condition(other: Feature, codes: list[float], missing: bool) -> tuple[str, str]:
    """The rule that the column has no number, and the same in words."""
    name, shown = quoted_name(other.name), [number(code) for code in codes]
    tests = [f"{name} is missing"] * missing
    if codes:
        tests.append(f"{name} = {shown[0]}" if len(codes) == 1 else f"{name} in ({', '.join(shown)})")
    return " or ".join(tests), " or ".join(["missing"] * missing + [f"the code {code}" for code in shown])


def _shown(cells: np.ndarray) -> float:
    return float(f"{np.nanmedian(cells):.3g}")
