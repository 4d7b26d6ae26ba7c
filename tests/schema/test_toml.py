"""A round trip through TOML is exact, and a text that is not a schema says where."""

import re
import tempfile
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from attain.core.errors import FileError, SchemaError
from attain.datasets import load_german
from attain.schema import Feature, Schema
from attain.schema.laws import Law
from attain.schema.toml import _comments
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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[feature]", "not valid TOML"),
        ('format = "other"', "not a schema of this version"),
        ("colour = 1", "'colour'; known are format, max_months"),
        ("rule = []", "'rule'; did you mean 'rules'?"),
        ('rules = ["job = "self employed""]', "goes in single quotes: 'job = \"self employed\"'"),
        ('rules = [\n  "a <= b",\n  "job = "x y" or a <= b",\n]', "goes in single quotes"),
        ("feature = 1", "double brackets"),
        ("feature = [1]", "double brackets"),
        ("rules = 1", "rules must be a list"),
        ("rules = [1]", "rules must be a list"),
        ("laws = 'a <= b'", "laws must be a list"),
        ("laws = ['y <= 1']\n[[feature]]\nname = 'x'\nkind = 'real'", "the law 'y <= 1' does not fit the features"),
        ("", "at least one feature"),
        ("[[feature]]\nkind = 'real'", "no name"),
        ("[[feature]]\nname = 'x'", "'x' has no kind"),
        ("[[feature]]\nname = 'x'\nkind = 'real'\ncolour = 1", "'colour'; known are name, kind"),
        ("[[feature]]\nname = 'x'\nkind = 'real'\nimutable = true", "'imutable'; did you mean 'immutable'?"),
        ("[[feature]]\nname = 'x'\nkind = 'real'\nstep = '1'", "'x': step"),
        ("[[feature]]\nname = 'x'\nkind = 'real'\nstep = nan", "'x': step"),
        ("[[feature]]\nname = 'x'\nkind = 'real'\nimmutable = 1", "'x': immutable"),
        ("[[feature]]\nname = 'x'\nkind = 'real'\nbounds = [0, 1]", "'x': bounds"),
        ("[[feature]]\nname = 'x'\nkind = 'real'\nbounds = { low = 1 }", "'x': bounds"),
        ("[[feature]]\nname = 'x'\nkind = 'real'\nspecial = [1]", "'x': special"),
        ("[[feature]]\nname = 'x'\nkind = 'real'\nlabel = 1979-05-27", "'x': label"),
        ("[[feature]]\nname = 'x'\nkind = 'ordinal'\nlevels = 'ab'", "'x': levels"),
        ("[[feature]]\nname = 'x'\nkind = 'ordinal'\nlevels = [1979-05-27]", "cannot be a level"),
        ("[[feature]]\nname = 'x'\nkind = 3", "'x': kind"),
    ],
)
def test_a_text_that_is_not_a_schema_says_where(text: str, words: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.from_toml(text)
    assert words in str(caught.value)


EDITED = """# Our credit schema, agreed with risk.
format = "attain-schema-1"

# both in euros
rules = [
  "debt <= income",  # by law
]

# What they earn.
[[feature]]
name = "income"   # monthly
kind = "positive"
step = 1e2  # payroll rounds

# not asked since 2020
[[feature]]
name = "religion"
kind = "categorical"
levels = ["a", "b"]

# What they owe,
# all banks together.
[[feature]]
name = "debt"
kind = "positive"
bounds = { upper = 5_000 } # the largest loan
"""


def test_an_edited_schema_keeps_its_comments_when_it_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(EDITED, encoding="utf-8")
    schema = Schema.from_toml(EDITED)
    schema.to_toml(path)
    assert path.read_text(encoding="utf-8") == EDITED
    changed = Schema((schema["debt"], schema["income"], Feature("age", "count")), schema.rules)
    changed = changed.change("income", immutable=True, step=50)
    assert changed.to_toml(path) == path.read_text(encoding="utf-8")
    text = path.read_text(encoding="utf-8")
    assert Schema.from_toml(text) == changed
    kept = [
        "agreed with risk",
        "both in euros",
        "# by law",
        "# What they earn.",
        "# monthly",
        "# What they owe,\n# all",
    ]
    for comment in [*kept, "upper = 5_000 } # the largest loan"]:
        assert comment in text
    assert "2020" not in text
    assert text.index("# What they owe") < text.index("# What they earn")


def test_a_file_that_is_not_a_schema_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    for content in ("colour = 1", "[[feature]", "\0"):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(FileError, match="not a schema that can be updated"):
            people.schema().to_toml(path)
        assert path.read_text(encoding="utf-8") == content


@given(st.data(), st.lists(TEXTS, min_size=1, max_size=4, unique=True))
def test_any_schema_can_be_written_over_any_other(data: st.DataObject, names: list[str]) -> None:
    first = Schema(tuple(data.draw(features(name)) for name in names))
    second = Schema(tuple(data.draw(features(name)) for name in data.draw(st.permutations(names))))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "schema.toml"
        first.to_toml(path)
        assert Schema.from_toml(second.to_toml(path)) == second


def test_a_schema_is_read_from_a_path_or_from_its_text(tmp_path: Path) -> None:
    schema = Schema((Feature("a", "count"), Feature("h", "categorical", levels=("x", "y"))))
    path = tmp_path / "schema.toml"
    text = schema.to_toml(path)
    assert Schema.from_toml(path) == Schema.from_toml(str(path)) == Schema.from_toml(text) == schema
    with pytest.raises(FileError, match=r"'missing\.toml' could not be read"):
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


def test_comments_of_laws_that_stay_are_kept_and_their_evidence_is_updated(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    schema = Schema(FEATURES, (), LAWS)
    text = schema.to_toml(path)
    edited = text.replace('  "debt', '  # Checked by risk.\n  "debt').replace(
        "new people do", "new people do (fine)", 1
    )
    path.write_text(edited, encoding="utf-8")
    read = Schema.from_toml(edited)
    read.to_toml(path)
    assert path.read_text(encoding="utf-8") == edited
    more = read.with_laws([replace(LAWS[0], applies=9000), "income >= 0"])
    again = more.to_toml(path)
    assert Schema.from_toml(again) == more
    assert "  # Checked by risk.\n" in again
    assert "9,000 people; by chance 2,104 would break it; at most 0.038 % of new people do (fine)" in again
    assert "7,896" not in again
    assert "laws" not in schema.with_laws(None).to_toml(path)


@given(st.lists(st.tuples(TEXTS, st.lists(TEXTS), st.text(st.characters(exclude_categories=["Cs"])))))
def test_comments_of_any_array_of_strings_are_found(items: list[tuple[str, list[str], str]]) -> None:
    expected = {}
    lines = ["["]
    for text, above, behind in items:
        comments = [f"# {comment}" for comment in map(_printable, above)]
        note = f"# {_printable(behind)}" if _printable(behind) else ""
        expected[text] = (comments, note)
        lines += [*comments, f"{tomlkit.string(text).as_string()}, {note}"]
    assert _comments("\n".join([*lines, "# the end", "]"])) == (expected, ["# the end"])


def _printable(text: str) -> str:
    return "".join(character for character in text if character.isprintable())


def test_clocks_paces_and_the_longest_time_come_back_exactly(tmp_path: Path) -> None:
    features = (
        Feature("age", "count", clock=1 / 12),
        Feature("since", "positive", clock=True),
        Feature("x", "real", pace=0.3),
    )
    schema = Schema(features, max_months=24)
    assert Schema.from_toml(schema.to_toml()) == schema
    path = tmp_path / "schema.toml"
    path.write_text('# mine\nformat = "attain-schema-1"\n\n' + schema.to_toml().partition("\n\n")[2])
    for longest in (12, 0, None):
        changed = schema.with_max_months(longest)
        assert changed.to_toml(path).startswith("# mine")
        assert Schema.from_toml(path) == changed
    read = Schema.from_toml('[[feature]]\nname = "a"\nkind = "count"\nclock = true')
    assert read["a"].clock == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            'max_months = 1.5\n[[feature]]\nname = "a"\nkind = "count"',
            "max_months must be an integer ≥ 0, or None, got 1.5",
        ),
        ('max_months = -1\n[[feature]]\nname = "a"\nkind = "count"', "got -1"),
        (
            '[[feature]]\nname = "a"\nkind = "count"\npace = true',
            "pace = True has the wrong type; write it as pace = 200",
        ),
        ('[[feature]]\nname = "a"\nkind = "count"\nclock = "yearly"', "wrong type; write it as clock = 1"),
        ('[[feature]]\nname = "a"\nkind = "count"\nclock = inf', "wrong type"),
    ],
)
def test_times_that_cannot_be_understood_are_refused(text: str, words: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(words)):
        Schema.from_toml(text)
