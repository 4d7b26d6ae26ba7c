"""A round trip through TOML is exact, and a text that is not a schema says where."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attain.core.errors import FileError, SchemaError
from attain.datasets import load_german
from attain.schema import Feature, Schema
from attain.schema.laws import Law
from attain.testing import people

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
NUMBERS = st.floats(-1e12, 1e12)
LEVELS = st.lists(TEXTS | st.integers(-(10**18), 10**18) | NUMBERS, min_size=1, max_size=5, unique=True)


@st.composite
def features(draw: st.DrawFn, name: str) -> Feature:
    common: dict[str, Any] = {
        "immutable": draw(st.booleans()),
        "fillable": draw(st.booleans()),
        "cost": draw(st.floats(0, 1e9)),
        "label": draw(st.none() | TEXTS),
        "unit": draw(st.none() | st.just("") | TEXTS),
        "description": draw(st.none() | TEXTS),
        "likelihood": draw(st.none() | TEXTS),
    }
    move = (draw(st.none() | st.floats(-1e6, 0)), draw(st.none() | st.floats(0, 1e6)))
    if draw(st.booleans()):
        levels = tuple(draw(LEVELS))
        transitions = draw(st.dictionaries(st.sampled_from(levels), st.lists(st.sampled_from(levels)), max_size=2))
        kind = draw(st.sampled_from(["ordinal", "categorical"]))
        first = draw(st.integers(0, len(levels) - 1)) if kind == "ordinal" else None
        reach: Any = (None, None) if first is None else (levels[first], draw(st.sampled_from([None, *levels[first:]])))
        common["pace"] = draw(st.none() | st.floats(1e-9, 1e9))
        common["avoid"] = draw(st.lists(st.sampled_from(levels), max_size=2))
        return Feature(name, kind, levels=levels, transitions=transitions, reach=reach, **common)  # type: ignore[arg-type]
    low = draw(st.none() | st.floats(0, 10))
    special = draw(st.dictionaries(st.integers(-99, -1), TEXTS, max_size=3))
    return Feature(
        name,
        draw(st.sampled_from(["real", "positive"])),
        bounds=(low, draw(st.none() | st.floats(10, 1e9))),
        step=draw(st.none() | st.floats(1e-9, 1e9)),
        special=special,
        direction=draw(st.sampled_from(["any", "increase", "decrease"])),
        range=move,
        reach=(draw(st.none() | st.just(10)), None),
        transitions={float(code): ("value",) for code in special},
        **common,
    )


@given(st.data(), st.lists(TEXTS, min_size=1, max_size=4, unique=True))
def test_any_schema_comes_back_exactly(data: st.DataObject, names: list[str]) -> None:
    schema = Schema(tuple(data.draw(features(name)) for name in names))
    text = schema.to_toml()
    again = Schema.from_toml(text)
    assert again == schema
    assert again.to_toml() == text
    for one, two in zip(again, schema, strict=True):
        assert [type(level) for level in one.levels] == [type(level) for level in two.levels]


@pytest.mark.parametrize("schema", [people.schema(), load_german().schema], ids=["all parts", "german"])
def test_real_schemas_come_back_exactly(schema: Schema) -> None:
    assert Schema.from_toml(schema.to_toml()) == schema
    tomllib.loads(schema.to_toml())


def test_what_a_person_writes_is_read() -> None:
    schema = Schema.from_toml("""
        rules = ["debt <= 100"]
        [[feature]]
        name = "debt"
        kind = "positive"
        bounds = { upper = 500 }
        special = [{ code = -9, meaning = "none" }, { code = -8 }]
        transitions = [{ from = -9, to = ["value"] }]
    """)
    assert schema.rules == ("debt <= 100",)
    expected = Feature("debt", "positive", bounds=(0, 500), special={-9: "none", -8: ""}, transitions={-9: ("value",)})
    assert schema["debt"] == expected


def test_a_schema_is_read_from_a_path_or_from_its_text(tmp_path: Path) -> None:
    schema = Schema((Feature("a", "count"), Feature("h", "categorical", levels=("x", "y"))))
    path = tmp_path / "schema.toml"
    text = schema.to_toml(path)
    assert Schema.from_toml(path) == Schema.from_toml(str(path)) == Schema.from_toml(text) == schema
    with pytest.raises(FileError, match=r"there is no file 'missing\.toml'; `attain schema infer`"):
        Schema.from_toml("missing.toml")
    with pytest.raises(SchemaError, match=r"transitions = .* write it as transitions = \[\{from = "):
        Schema.from_toml(f'{text}\ntransitions = {{x = "y"}}\n')


LAWS = (
    Law("debt <= income", "Debt is never larger than income.", 7896, 0, 2104.2, 0.000379),
    Law("job = \"#1, 'a'\"", "", 7000, 3, 420.0, 0.0011),
)
FEATURES = (
    Feature("debt", "real"),
    Feature("income", "real"),
    Feature("job", "categorical", levels=("#1, 'a'", "none")),
)


def test_laws_are_written_with_their_evidence_and_come_back_exactly() -> None:
    for laws in (None, (), LAWS):
        schema = Schema(FEATURES, ("income >= 0", "income >= 0"), laws)
        assert Schema.from_toml(schema.to_toml()) == schema
        assert Schema.from_toml(schema.to_toml()).laws == laws
    evidence = "holds for 7,896 people; by chance 2,104 would break it; at most 0.038 % of new people do"
    assert f'\n  "debt <= income",  # {evidence}\n' in schema.to_toml()
    assert "all but 3 of 7,000 people" in schema.to_toml()


def test_clocks_paces_and_the_longest_time_come_back_exactly() -> None:
    features = (
        Feature("age", "count", clock=1 / 12),
        Feature("since", "positive", clock=True),
        Feature("x", "real", pace=0.3),
    )
    for longest in (24, 0, None):
        schema = Schema(features, max_months=longest)
        assert Schema.from_toml(schema.to_toml()) == schema
    read = Schema.from_toml('[[feature]]\nname = "a"\nkind = "count"\nclock = true')
    assert read["a"].clock == 1
