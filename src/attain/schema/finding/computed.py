"""Columns that are put together from others: products and ratios, sums, means and differences.

Products are sums of logarithms, so that both are sparse regressions, whose coefficients must round to small whole
exponents, or to one common factor. They are fitted on one half of the rows; how well the rounded formula holds is
counted on the other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np

from attain.schema.finding.rows import Rows

ROWS = 5000
"""Formulas are looked for in that many rows."""
FEWEST = 40
"""The fewest rows of each half that a formula is fitted and tested on."""
EXACT = 0.997
"""The share of rows within rounding from which a formula is exact."""
_CLOSE, _MOSTLY = 0.05, 0.8
"""A formula is within 5 % of at least that share of the rows."""
_TOLD, _TOLD_ALONE, _TOLD_EXACTLY = 0.99, 0.999, 0.95
"""The least R²: of a formula, of a mere multiple of one column, and of one that is exact up to rounding."""
_WHOLE, _ALIKE = 0.1, 0.05
"""How far an exponent may be from a whole number, and a weight from the others."""
_NEEDED = 3.0
"""Without any of its columns, the squared errors of a formula are that many times as large."""
_MOST_FACTORS, _MOST_TERMS = 3, 6
"""The most columns of a product, and of a sum."""
_STARTS, _VALUES = 3, 8
"""Formulas start with one of so many columns, those that tell most; a column of fewer values is not looked at."""


class Formula(NamedTuple):
    """A column as factor · Π column ** power, or factor · Σ power · column, where powers are whole."""

    column: int
    product: bool
    inputs: list[int]
    powers: np.ndarray
    factor: float = 1.0

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """Its value in each row, (n,); not finite where it is undefined."""
        cells, powers = numbers[self.inputs], self.powers[:, None]
        with np.errstate(all="ignore"):
            return np.asarray(self.factor * ((cells**powers).prod(axis=0) if self.product else (cells * powers).sum(0)))


class Computed(NamedTuple):
    """What a formula tells of its column; `exact` and what follows are as in `attain.laws.Proposal`.

    `varied` is the variance of the column, relative to its mean square for a product.
    """

    formula: Formula
    varied: float
    exact: bool
    rows: int
    within: float
    close: float
    told: float


def computed_columns(rows: Rows, coin: np.ndarray, usable: Collection[int], targets: Collection[int]) -> list[Computed]:
    """Those of the targets that usable columns tell, no column twice and none that depends on itself, best first."""
    found: list[Computed] = []
    for product in (True, False):
        space = _Space(rows.numbers[:, coin], usable, product)
        formulas = (formula for j in targets for formula in space.formulas(j))
        found += [one for formula in formulas if (one := _tested(rows, ~coin, formula)) is not None]
    # of independent parts, what is put together varies most, and its R² is the largest
    found.sort(key=lambda one: (not one.exact, -round(one.told, 6), -one.varied, len(one.formula.inputs)))
    kept: dict[int, Computed] = {}
    needed: set[int] = set()
    for one in found:
        if one.formula.column not in needed and one.formula.column not in kept:
            kept[one.formula.column] = one
            needed.update(one.formula.inputs)
    return list(kept.values())


class _Space:
    """Numbers, or their logarithms where they are positive, (d, n)."""

    def __init__(self, numbers: np.ndarray, usable: Collection[int], product: bool) -> None:
        self.numbers, self.product = numbers, product
        with np.errstate(all="ignore"):
            self.cells = np.where(numbers > 0, np.log(numbers), np.nan) if product else numbers
        self.known = ~np.isnan(self.cells)
        several = [j for j in usable if len(np.unique(numbers[j, self.known[j]])) >= _VALUES]
        self.columns = np.array(several, dtype=np.intp)
        self.standard = np.zeros(numbers.shape)
        for j in several:
            cells = self.cells[j, self.known[j]]
            self.standard[j, self.known[j]] = (cells - cells.mean()) / cells.std()

    def formulas(self, j: int) -> Iterator[Formula]:
        """The formulas of column j that hold on these rows, with ever more columns: next what tells most of the rest.

        A column that tells more than the first is left out, because a multiple hides what both are put together from.
        """
        others = self.columns[self.columns != j] if j in self.columns else self.columns[:0]
        ordered = others[np.argsort(-np.abs(self.standard[others] @ self.standard[j]), kind="stable")]
        for start in range(min(_STARTS, len(ordered))):
            pool, chosen = ordered[start:], [int(ordered[start])]
            while len(chosen) <= min(_MOST_FACTORS if self.product else _MOST_TERMS, len(pool)):
                known = self.known[[j, *chosen]].all(axis=0)
                if known.sum() < FEWEST:
                    break
                weights, needed, errors = _fitted(self.cells[chosen][:, known], self.cells[j, known])
                unit = 1.0 if self.product else float(np.median(np.abs(weights))) or 1.0
                powers = np.rint(weights / unit)
                near = np.abs(weights / unit - powers) <= (_WHOLE if self.product else _ALIKE)
                if needed and (near & (powers != 0) & (np.abs(powers) <= (2 if self.product else 1))).all():
                    formula = Formula(j, self.product, chosen, powers)
                    yield formula._replace(factor=_factor(formula.of(self.numbers[:, known]), self.numbers[j, known]))
                left = np.abs(self.standard[pool][:, known] @ errors)
                left[np.isin(pool, chosen)] = -1.0
                chosen = [*chosen, int(pool[np.argmax(left)])]


def _fitted(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, bool, np.ndarray]:
    """The weights of the least squares, whether each column is needed, and the errors; without the worst tenth."""
    kept = np.ones(len(y), dtype=bool)
    for _ in range(2):
        apart, level = x - x[:, kept].mean(axis=1, keepdims=True), y[kept].mean()
        inverse = np.linalg.pinv(apart[:, kept] @ apart[:, kept].T, hermitian=True)
        weights = inverse @ (apart[:, kept] @ (y[kept] - level))
        errors = y - level - weights @ apart
        kept = np.abs(errors) <= np.quantile(np.abs(errors), 0.9)
    without = weights**2 / np.maximum(np.diag(inverse), 1e-300)
    return weights, bool((without >= (_NEEDED - 1) * (errors[kept] ** 2).sum()).all()), errors


def _factor(value: np.ndarray, cells: np.ndarray) -> float:
    """What a formula is multiplied by, in as few digits as its errors allow; 1 where that is as good."""
    ratios = cells[value != 0] / value[value != 0]
    exact = float(np.median(ratios))
    spread = max(float(np.median(np.abs(ratios / (exact or 1.0) - 1.0))), 1e-6)
    if abs(exact - 1) <= spread or exact <= 0:
        return 1.0
    allowed = max(spread / 10, 3 * spread / len(ratios) ** 0.5)
    short = (t for d in range(6) for t in (float(f"{exact:.{d}e}"), 1 / float(f"{1 / exact:.{d}e}")))
    return next((tried for tried in short if abs(tried / exact - 1) <= allowed), exact)


def _tested(rows: Rows, half: np.ndarray, formula: Formula) -> Computed | None:
    """How well a formula tells its column in these rows; None if not well enough."""
    numbers, step = rows.numbers[:, half], rows.columns[formula.column].feature.step
    value, cells = formula.of(numbers), numbers[formula.column]
    known = np.isfinite(value) & ~np.isnan(cells)
    if known.sum() < max(FEWEST, np.count_nonzero(~np.isnan(cells)) / 2):
        return None
    value, cells = value[known], cells[known]
    off, size = np.abs(value - cells), np.maximum(np.abs(cells), 1e-300)
    within = off <= 0.5001 * (10.0 ** np.floor(np.log10(size) - 5) if step is None else step) + 1e-9 * size
    close = float((within | (off <= _CLOSE * size)).mean())
    told = 1.0 - float(np.sort(off**2)[: int(0.95 * len(off))].mean()) / max(float(cells.var()), 1e-300)
    varied = float(cells.var() / (cells**2).mean() if formula.product else cells.var())
    exact = bool(within.mean() >= EXACT)
    alone = len(formula.inputs) == 1 and abs(formula.powers[0]) == 1
    equal = alone and formula.factor == formula.powers[0] == 1 and exact  # which is a law
    good = told >= (_TOLD_EXACTLY if exact else _TOLD_ALONE if alone else _TOLD) and (exact or close >= _MOSTLY)
    return (
        Computed(formula, varied, exact, len(within), float(within.mean()), close, told) if good and not equal else None
    )
