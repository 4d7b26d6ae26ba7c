"""A schema and its values as text."""

import pytest
from rich.cells import cell_len

from attain import Feature, Schema
from attain.schema.laws import Law
from attain.schema.text import described, schema_table
from attain.testing import people


@pytest.mark.parametrize("width", [40, 80, 160])
def test_a_schema_is_shown_within_the_window(width: int) -> None:
    text = schema_table(people.schema(), width=width)
    assert all(cell_len(line) <= width for line in text.splitlines() if not line.startswith("rule:"))
    assert "rule: cards <= 10" in text
    laws = [Law(f"cards <= {k}", f"Nobody has more than {k} cards." * 3) for k in range(20, 27)]
    with_laws = schema_table(people.schema().with_laws(laws), width=width)
    assert with_laws.startswith(text)
    assert "7 laws, the first 5 of them:\n  Nobody has more than 20" in with_laws
    assert "25" not in with_laws
    assert all(cell_len(line) <= width for line in with_laws.removeprefix(text).splitlines())
    shown = "only up|= debt / income|none < school < college|codes -8, -9|fillable|rents, owns|to -1.5 … 2"
    for words in shown.split("|"):
        assert set(words.split()) <= set(text.replace(";", "").split()) or words in text


def test_values_have_units_and_codes_a_meaning() -> None:
    coded = Feature("x", "count", special={-9: "no record"}, unit="€")
    assert [described(x, coded) for x in (-9, 3, None)] == ["no record", "€3", "missing"]
    assert described(True, Feature("f", "categorical", levels=(False, True))) == "yes"


def test_clocks_and_paces_are_shown_with_their_units() -> None:
    features = (
        Feature("age", "count", clock=1 / 12, unit="years"),
        Feature("since", "count", clock=1, unit="months"),
        Feature("debt", "positive", pace=0.5, unit="€"),
        Feature("job", "categorical", levels=("a", "b"), pace=0.5),
    )
    shown = str(Schema(features, max_months=1))
    clocks = ("clock, 1 in 12 months", "clock, 1 a month")
    for words in (*clocks, "yes, at most €0.5 a month", "yes, at most 1 in 2 months"):
        assert words in shown
    assert "answers take at most 1 month\n" in shown + "\n"
