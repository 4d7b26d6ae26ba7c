"""Columns that look computed from others: products and ratios, sums, means and differences.

Products are sums of logarithms, so that both are sparse regressions, whose coefficients must round to small whole
exponents, or to one common factor. They are fitted on one half of the rows; how well the rounded formula holds is
counted on the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from attain.schema.feature import Feature
from attain.schema.law_states import ordinary_numbers, shuffled
from attain.schema.tokens import quoted_name

_ROWS = 5000
"""The most rows that formulas are fitted and tested on."""
_FEWEST = 40
"""The fewest rows of each half that a formula is fitted and tested on."""
_EXACT = 0.997
"""The share of rows within rounding from which a formula is exact."""
_CLOSE, _MOSTLY = 0.05, 0.8
"""A formula is within 5 % of at least this share of the rows."""
_R2, _R2_ALONE, _R2_EXACT = 0.99, 0.999, 0.95
"""The least R²: of a formula, of a mere multiple of one column, and of one that is exact up to rounding."""
_WHOLE, _ALIKE = 0.1, 0.05
"""How far an exponent may be from a whole number, and a weight from the others."""
_NEEDED = 3.0
"""Leaving out any of its columns makes the squared errors of a formula at least this many times as large."""
_MOST_FACTORS, _MOST_TERMS = 3, 6
"""The most columns of a product, and of a sum."""
_STARTS, _VALUES = 3, 8
"""How many columns, the most correlated, formulas start with; and the fewest values of a column in them."""


@dataclass(frozen=True)
class Proposal:
    """A column that looks computed from others, for a person to decide.

    Attributes
    ----------
    column
        The column.
    expression
        How it looks computed: `tenure * MonthlyCharges`.
    exact
        Whether at least 99.7 % of the rows are within rounding: then the remedy is `derived`, else `follows`.
    rows
        The rows that the shares rest on. The expression was fitted on others.
    within, close
        The share of rows where the expression equals the column up to rounding, and within 5 %.
    r2
        R², without the worst twentieth of the rows: of logarithms for products and ratios.
    """

    column: str
    expression: str
    exact: bool
    rows: int
    within: float
    close: float
    r2: float

    @property
    def line(self) -> str:
        """The line for the column's feature in the schema's TOML file."""
        from attain.schema.text import property_line

        return property_line("derived" if self.exact else "follows", self.expression)

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        share, what = (self.within, "equal to it up to rounding") if self.exact else (self.close, "within 5 %")
        return f"{self.column} looks computed: {self.expression} ({int(100 * share)} % of people are {what})."


class Composition(NamedTuple):
    """A column as factor · Π column ** power, or factor · Σ power · column, where powers are whole."""

    column: int
    product: bool
    inputs: list[int]
    powers: np.ndarray
    factor: float = 1.0

    def values(self, numbers: np.ndarray) -> np.ndarray:
        """Its value in each row, (n,); not finite where it is undefined."""
        cells, powers = numbers[self.inputs], self.powers[:, None]
        with np.errstate(all="ignore"):
            return np.asarray(self.factor * ((cells**powers).prod(axis=0) if self.product else (cells * powers).sum(0)))

    def expression(self, features: Sequence[Feature]) -> str:
        """The formula in the language of derived columns."""
        terms = sorted(zip(self.powers.tolist(), self.inputs, strict=True), key=lambda term: (term[0] < 0, term[1]))
        named = [(power, quoted_name(features[j].name)) for power, j in terms]
        if self.product:
            parts = [(power > 0, name if abs(power) == 1 else f"{name} ** {abs(power):g}") for power, name in named]
            above, below = ([part for up, part in parts if up is side] for side in (True, False))
            whole = " / ".join([" * ".join(above) or "1", *below])
        else:
            whole = " ".join(f"{'+' if power > 0 else '-'} {name}" for power, name in named).removeprefix("+ ")
            whole = f"({whole})" if len(named) > 1 and self.factor != 1 else whole
        if self.factor == 1:
            return whole
        times = f"{self.factor:.6g}"
        return f"{times} * {whole}" if float(times) == self.factor else f"{whole} / {1 / self.factor:.6g}"


def computed_columns(features: Sequence[Feature], values: np.ndarray) -> list[Proposal]:
    """The columns of a matrix (n, d) that look computed, the best first, and none that depends on itself."""
    order, coin = shuffled([feature.name for feature in features], values)
    coin, numbers = coin[:_ROWS], ordinary_numbers(features, values[order[:_ROWS]])
    usable = [j for j, feature in enumerate(features) if feature.numeric and feature.computed is None]
    targets = [j for j in usable if (f := features[j]).searched and not (f.clock or f.pace or f.immutable_if)]
    found = []
    for product in (True, False):
        space = _Space(numbers[:, coin], usable, product)
        formulas = (formula for j in targets for formula in space.formulas(j))
        found += [one for formula in formulas if (one := _tested(features, numbers[:, ~coin], formula)) is not None]
    # what is computed from independent parts varies most, and has the largest R²
    found.sort(key=lambda one: (not one[0].exact, -round(one[0].r2, 6), -one[2], len(one[1].inputs)))
    kept: dict[int, Proposal] = {}
    needed: set[int] = set()
    for proposal, formula, _ in found:
        if formula.column not in needed and formula.column not in kept:
            kept[formula.column] = proposal
            needed.update(formula.inputs)
    return list(kept.values())


class _Space:
    """Numbers, or their logarithms where they are positive, (d, n)."""

    def __init__(self, numbers: np.ndarray, usable: Sequence[int], product: bool) -> None:
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

    def formulas(self, j: int) -> Iterator[Composition]:
        """The formulas of column j that hold on these rows, each next column the one that explains most of the rest.

        A column more correlated than the first is left out: a multiple of j hides what both are computed from.
        """
        others = self.columns[self.columns != j] if j in self.columns else self.columns[:0]
        ordered = others[np.argsort(-np.abs(self.standard[others] @ self.standard[j]), kind="stable")]
        for start in range(min(_STARTS, len(ordered))):
            pool, chosen = ordered[start:], [int(ordered[start])]
            while len(chosen) <= min(_MOST_FACTORS if self.product else _MOST_TERMS, len(pool)):
                known = self.known[[j, *chosen]].all(axis=0)
                if known.sum() < _FEWEST:
                    break
                weights, needed, errors = _fitted(self.cells[chosen][:, known], self.cells[j, known])
                unit = 1.0 if self.product else float(np.median(np.abs(weights))) or 1.0
                powers = np.rint(weights / unit)
                near = np.abs(weights / unit - powers) <= (_WHOLE if self.product else _ALIKE)
                if needed and (near & (powers != 0) & (np.abs(powers) <= (2 if self.product else 1))).all():
                    formula = Composition(j, self.product, chosen, powers)
                    yield formula._replace(
                        factor=_factor(formula.values(self.numbers[:, known]), self.numbers[j, known])
                    )
                left = np.abs(self.standard[pool][:, known] @ errors)
                left[np.isin(pool, chosen)] = -1.0
                chosen = [*chosen, int(pool[np.argmax(left)])]


def _fitted(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, bool, np.ndarray]:
    """Least-squares weights without the worst tenth of the rows, whether each column is needed, and the errors."""
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
    """The factor of a formula, with as few digits as its errors allow; 1 where that fits as well."""
    ratios = cells[value != 0] / value[value != 0]
    exact = float(np.median(ratios))
    spread = max(float(np.median(np.abs(ratios / (exact or 1.0) - 1.0))), 1e-6)
    if abs(exact - 1) <= spread or exact <= 0:
        return 1.0
    allowed = max(spread / 10, 3 * spread / len(ratios) ** 0.5)
    short = (t for d in range(6) for t in (float(f"{exact:.{d}e}"), 1 / float(f"{1 / exact:.{d}e}")))
    return next((tried for tried in short if abs(tried / exact - 1) <= allowed), exact)


def _tested(
    features: Sequence[Feature], numbers: np.ndarray, formula: Composition
) -> tuple[Proposal, Composition, float] | None:
    """How well a formula fits its column in these rows, and how much the column varies; None if not well enough.

    The variance of a product is relative to its mean square.
    """
    feature, value, cells = features[formula.column], formula.values(numbers), numbers[formula.column]
    known = np.isfinite(value) & ~np.isnan(cells)
    if known.sum() < max(_FEWEST, np.count_nonzero(~np.isnan(cells)) / 2):
        return None
    value, cells = value[known], cells[known]
    off, size = np.abs(value - cells), np.maximum(np.abs(cells), 1e-300)
    step = 10.0 ** np.floor(np.log10(size) - 5) if feature.step is None else feature.step
    within = off <= 0.5001 * step + 1e-9 * size
    close = float((within | (off <= _CLOSE * size)).mean())
    r2 = 1.0 - float(np.sort(off**2)[: int(0.95 * len(off))].mean()) / max(float(cells.var()), 1e-300)
    varied = float(cells.var() / (cells**2).mean() if formula.product else cells.var())
    exact = bool(within.mean() >= _EXACT)
    alone = len(formula.inputs) == 1 and abs(formula.powers[0]) == 1
    equal = alone and formula.factor == formula.powers[0] == 1 and exact  # which is a law
    if equal or r2 < (_R2_EXACT if exact else _R2_ALONE if alone else _R2) or not (exact or close >= _MOSTLY):
        return None
    expression = formula.expression(features)
    return Proposal(feature.name, expression, exact, len(within), float(within.mean()), close, r2), formula, varied
