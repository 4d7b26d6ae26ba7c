"""Whether a rule can be broken in a box: compared with every point of small ones."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from attain.methods.ranges.rules import can_break
from attain.schema import Feature, Schema
from attain.schema.formulas import View

SCHEMA = Schema(
    (
        Feature("a", "count"),
        Feature("b", "count", special={-9: "none"}),
        Feature("c", "count", fillable=True),
        Feature("level", "ordinal", levels=("low", "middle", "high")),
    )
)
RULES = (
    *("a <= b", "a < b + 1", "a >= 2", "a > b", "a = 2", "a ≠ 3", "a + b = c", "b = -9", "a in (1, 2)", "c is missing"),
    *("not a <= b", "a <= 3 or b > 2", "a >= 1 and c <= 3", "if a > 2 then b > 1", "if level = high then a >= 1"),
    *("not (level = low and a > 1)", "if b = -9 then a = 0", "level >= middle", "0 <= a - b <= 3"),
)
cells = st.integers(0, 4)


@given(
    text=st.sampled_from(RULES),
    row=st.tuples(cells, st.sampled_from((-9, 0, 1, 2, 3)), st.sampled_from((np.nan, 0, 1, 3)), st.integers(0, 2)),
    sides=st.dictionaries(st.sampled_from(("a", "level")), st.tuples(cells, cells)),
)
def test_what_is_said_to_hold_holds_at_every_point(text, row, sides) -> None:
    moved = {name: tuple(sorted(min(end, 2 if name == "level" else 4) for end in ends)) for name, ends in sides.items()}
    formula = SCHEMA.rule(text).formula
    base = np.array([row], dtype=float)
    points = np.array([*product(*(range(low, high + 1) for low, high in moved.values()))], dtype=float)
    rows = np.repeat(base, len(points), axis=0)
    rows[:, [SCHEMA.position(name) for name in moved]] = points
    broken = formula.judge(View(SCHEMA.features, rows))[1].any()
    found = can_break(
        formula, View(SCHEMA.features, base), {name: tuple(map(float, ends)) for name, ends in moved.items()}
    )
    assert found or not broken
    if not moved or text in ("a <= b", "a >= 2", "a > b", "level >= middle", "not a <= b"):
        assert found == broken


def test_a_product_of_columns_is_not_judged() -> None:
    formula = SCHEMA.rule("a * c <= 100").formula
    view = View(SCHEMA.features, np.array([[1.0, 1.0, 1.0, 0.0]]))
    assert can_break(formula, view, {"a": (0.0, 1.0)})
    assert not can_break(formula, view, {"level": (0.0, 1.0)})
