"""The final form of one row in plain Python: slow, obvious, and what the engine is held against."""

import math

import numpy as np

from attain.schema.formulas import Among, And, Comparison, Expression, Formula, Implication
from attain.tables import Region
from tests import rules

Row = list[float]


def same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


def exponent(value: float) -> int:
    return int(f"{value:.17e}".partition("e")[2]) if value else -1


def rounded(value: float, step: float | None) -> float:
    """A multiple of the step, or six significant digits."""
    if not math.isfinite(value):
        return value
    if step is None:
        power = 5 - exponent(value)
        return (round(value * 10.0**power) / 10.0**power if power >= 0 else float(round(value, power))) + 0.0
    multiple = round(value / step)
    text = format(step, ".15f").rstrip("0")
    decimals = len(text.partition(".")[2])
    return (round(multiple * step, decimals) if decimals and float(text) == step else multiple * step) + 0.0


def apart(value: float, step: float | None) -> float:
    """The distance between grid values."""
    return 10.0 ** (exponent(value) - 5) if step is None else step


def snapped(value: float, step: float | None, low: float, high: float) -> float:
    """The nearest grid value within limits; NaN where there is none."""
    clipped = min(max(value, low), high)
    nearest = rounded(clipped, step)
    if nearest > high:
        nearest = rounded(nearest - apart(clipped, step), step)
    elif nearest < low:
        nearest = rounded(nearest + apart(clipped, step), step)
    return nearest if low <= nearest <= high else math.nan


class Reference:
    """What the owner of one row may reach."""

    def __init__(self, region: Region, owner: int) -> None:
        self.region, self.owner, self.book = region, owner, region.book
        self.features = region.schema.features
        self.own, self.start = region.factuals[owner].tolist(), region.start[owner].tolist()
        self.low, self.high = region.low[owner].tolist(), region.high[owner].tolist()
        self.frozen = region.frozen[owner].tolist()
        self.formulas = [rule.formula for rule in self.book.rules]
        laws = zip(self.formulas, self.book.is_law, strict=True)
        self.excused = [bool(law) and self.breaks(formula, self.own) for formula, law in laws]

    # cells

    def ordinary(self, j: int, cell: float) -> bool:
        return not math.isnan(cell) and cell not in self.features[j].special

    def level_allowed(self, j: int, level: int) -> bool:
        within = not self.features[j].ordered or self.low[j] <= level <= self.high[j] or level == self.own[j]
        return bool(self.region.states[j][self.owner, level]) and within

    def cell(self, j: int, cell: float) -> float:
        """What a cell becomes."""
        feature, own = self.features[j], self.own[j]
        if self.frozen[j]:
            return self.start[j]
        if cell == own or math.isnan(cell):
            return own
        if feature.levels:
            level = round(min(max(cell, -1), len(feature.levels) - 1))
            return float(level) if level >= 0 and self.level_allowed(j, level) else own
        if feature.special:
            *codes, value = self.region.states[j][self.owner]
            if cell in feature.special:
                return cell if codes[list(feature.special).index(cell)] else own
            if not value:
                return own
        found = snapped(cell, feature.step, self.low[j], self.high[j])
        place = rounded(own, feature.step)
        if place != own and place in (found, rounded(min(max(cell, self.low[j]), self.high[j]), feature.step)):
            return own
        return found if self.ordinary(j, found) and found != own else own

    def value(self, expression: Expression, row: Row) -> float:
        return rules.value(expression, dict(zip(self.region.schema.names, row, strict=True)))

    def formed(self, row: Row) -> Row:
        """A row on its grid and within its limits, with its computed columns."""
        return self.computed([self.cell(j, cell) for j, cell in enumerate(row)])

    def computed(self, row: Row) -> Row:
        for one in self.book.derivations:
            own, value = self.own[one.column], self.value(one.expression, row)
            changed = not all(same(row[j], self.own[j]) for j in one.inputs)
            known = [(j, cells[j]) for j in one.inputs for cells in ((row, self.own) if one.keeps else (row,))]
            if one.keeps:
                before = self.value(one.expression, self.own)
                if not (math.isfinite(before) and math.isfinite(value)) or value == before:
                    value = own
                else:
                    value = own * (value / before) if min(own, before, value) > 0 else own + (value - before)
            if one.keeps or one.follows:
                known.append((one.column, own))
                changed = changed and math.isfinite(value) and all(self.ordinary(j, cell) for j, cell in known)
            row[one.column] = value if changed else own
        for j in (one.column for one in self.book.derivations):
            if self.features[j].numeric and row[j] != self.own[j]:
                row[j] = rounded(row[j], self.features[j].step)
        return row

    # rules

    def breaks(self, formula: Formula, row: Row) -> bool:
        names = self.region.schema.names
        cells, features = (dict(zip(names, given, strict=True)) for given in (row, self.features))
        return rules.truth(formula, cells, features) is False

    def excess(self, formula: Formula, row: Row) -> float:
        """By how much a row breaks a formula."""
        if isinstance(formula, Implication):
            return self.excess(formula.consequence, row)
        if isinstance(formula, And):
            return max(self.excess(part, row) if self.breaks(part, row) else 0.0 for part in formula.parts)
        levels = any(self.features[j].levels for j in self.columns(formula))
        if not isinstance(formula, Comparison) or formula.operator == "≠" or levels:
            return math.inf
        gap = abs(self.value(formula.left, row) - self.value(formula.right, row))
        return math.inf if math.isnan(gap) else gap

    def columns(self, formula: Formula) -> list[int]:
        return [self.region.schema.position(name) for name in formula.names]

    def unkept(self, row: Row) -> list[int]:
        """The rules that a row breaks, but for laws that a column follows, or that its owner breaks by as much."""
        return [
            k
            for k, formula in enumerate(self.formulas)
            if self.breaks(formula, row) and not self.book.followed[k] and not self.no_worse(k, row)
        ]

    def no_worse(self, k: int, row: Row) -> bool:
        size = self.excess(self.formulas[k], row)
        alike = all(same(row[j], self.own[j]) for j in self.columns(self.formulas[k]))
        less = math.isfinite(size) and size <= self.excess(self.formulas[k], self.own)
        return self.excused[k] and (alike or less)

    def undo(self, formula: Formula, row: Row) -> None:
        for j in self.columns(formula):
            row[j] = self.start[j]

    def repair(self, formula: Formula, row: Row, pulls: bool) -> None:
        """Repairs a broken rule, or a part of one."""
        if isinstance(formula, Implication):
            self.repair(formula.consequence, row, pulls)
            if self.breaks(formula.consequence, row):
                self.undo(formula.condition, row)
            if self.breaks(formula, row):
                self.undo(formula, row)
        elif isinstance(formula, And):
            for part in formula.parts:
                if self.breaks(part, row):
                    self.repair(part, row, pulls)
        elif isinstance(formula, Among) and len(formula.values) == 1:
            j = self.region.schema.position(formula.name)
            row[j] = row[j] if self.frozen[j] else formula.values[0]
        elif isinstance(formula, Comparison) and formula.operator != "≠" and formula.linear() is not None:
            self.move(formula, row, pulls)
        else:
            self.undo(formula, row)

    def move(self, formula: Comparison, row: Row, pulls: bool) -> None:
        """Repairs a linear comparison."""
        weights, constant = formula.linear() or ({}, 0.0)
        slopes = {self.region.schema.position(name): weight for name, weight in weights.items() if weight}
        if not slopes:
            return self.undo(formula, row)

        def gap(some: Row) -> float:
            return sum(some[j] * slope for j, slope in slopes.items()) + constant

        def solve() -> None:
            free = [j for j in slopes if not self.frozen[j]]
            if free and abs(gap(row)) > 0:
                j = min(free, key=lambda j: not same(row[j], self.start[j]))
                row[j] -= gap(row) / slopes[j]

        moved = [j for j in slopes if not same(row[j], self.start[j])]
        if formula.operator == "=":
            return solve()
        is_order = formula.left.column and formula.right.column and formula.operator in ("<=", ">=")
        if pulls and is_order and len(moved) == 1:
            (other,) = set(slopes) - set(moved)
            if not self.frozen[other]:
                row[other] = row[moved[0]]
                return None
        before, after = gap(self.start), gap(row)
        if len(slopes) == 1 and formula.operator in ("<=", ">=") and np.sign(before) == np.sign(after):
            solve()
            after = 0.0
        share = min(max(before / (before - after), 0.0), 1.0) if before != after else 0.0
        for j in slopes:
            row[j] = self.start[j] + (0.0 if math.isnan(share) else share) * (row[j] - self.start[j])
        return None

    def repaired(self, row: Row, pulls: bool) -> Row:
        row = list(row)
        binding = [formula for formula, excused in zip(self.formulas, self.excused, strict=True) if not excused]
        for _ in range(3):
            for formula in [formula for formula in binding if self.breaks(formula, row)]:
                if self.breaks(formula, row):
                    self.repair(formula, row, pulls)
        return self.formed(row)

    # the final form

    def settled(self, row: Row, guide: Row | None) -> tuple[Row, bool]:
        row = self.formed(row)
        tried = row
        for model in [] if guide is None else [guide, guide]:
            taken = {j for k in self.unkept(tried) for j in self.columns(self.formulas[k])}
            tried = self.formed([model[j] if j in taken else cell for j, cell in enumerate(tried)])
            if self.unkept(row) and not self.unkept(tried):
                row = tried
        for pulls in (True, False):
            if self.unkept(row):
                tried = self.repaired(row, pulls)
                row = row if self.unkept(tried) else tried
        return row, self.admitted(row)

    def admitted(self, row: Row) -> bool:
        schema = self.region.schema
        uncounted = {*schema.clocks, *(j for j, _ in schema.derivations)}
        changes = [j for j, cell in enumerate(row) if j not in uncounted and not same(cell, self.own[j])]
        return (
            0 < len(changes) <= self.region.max_changes[self.owner]
            and not self.unkept(row)
            and all(self.computed_within(one.column, row[one.column]) for one in self.book.derivations)
        )

    def computed_within(self, j: int, cell: float) -> bool:
        if same(cell, self.own[j]):
            return True
        if self.features[j].levels:
            return math.isnan(cell) or self.level_allowed(j, int(cell))
        return math.isfinite(cell) and self.low[j] <= cell <= self.high[j]
