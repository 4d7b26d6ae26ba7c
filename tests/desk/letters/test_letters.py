"""Letters as people read them: the same parts in both languages, plain words, and nothing that is not escaped."""

import re
import sys
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import attain
from attain import Feature, Schema, Status
from attain.core.errors import AttainError, DataError, FileError, MissingExtraError
from attain.desk.letters import Letter, rendering, save, save_each, save_templates, texts_template, write
from attain.desk.letters.rendering import as_html, as_text
from attain.desk.letters.texts import LANGUAGES, Texts
from tests.desk.letters import world
from tests.desk.letters.readability import amstad, english_syllables, flesch, german_syllables
from tests.golden import check_golden

GOLDEN = Path(__file__).parent / "golden"
EXPLAINER = world.explainer()
MODEL = world.model(lambda frame: frame["amount"] < 4100)
FRAME = world.people({}, {}, {}, {"amount": 1000.0}, {}, {}, {"amount": 8000.0})
STATUSES = {
    1: Status.NOTHING_FREE,
    2: Status.NO_RECOURSE,
    3: Status.ALREADY_DESIRED,
    4: Status.RULES_CONFLICT,
    5: Status.UNREADABLE,
    6: Status.BUDGET_SPENT,
}
OUTCOMES = [
    *(("refused", ""), ("refused", "nothing free"), ("refused", "certain"), ("approved", "")),
    *(("refused", "contradiction"), ("unreadable", ""), ("refused", "not found")),
]
WHY = {"amount": -0.4, "age": -0.2, "home": -0.1, "rating": 0.3, "months": -0.001}
RESULT = world.result(
    FRAME, {0: [{"amount": 4000.0}, {"amount": 3500.0, "home": "owned"}]}, [WHY] * 7, statuses=STATUSES
)


def letters(language: str = "en", **arguments: Any) -> list[Letter]:
    return write(RESULT, EXPLAINER, MODEL, world.TEXTS, language=language, **arguments)


def words(letter: Letter) -> str:
    """The text on one line."""
    return " ".join(letter.text.split())


class _Reader(HTMLParser):
    """The text of a page, and its elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text, self.names = "", []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.names.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("language", ["en", "de"])
def test_letters_are_as_a_person_has_read_them(language: str) -> None:
    sent = letters(language, sender="Bank\nStreet 1", date="1 March", reference="L-{person}")
    check_golden("=====\n".join(letter.text for letter in sent), GOLDEN / f"letters-{language}.txt")


def test_reasons_are_those_that_count_most() -> None:
    first = letters()[0]
    assert [reason.free for reason in first.content.reasons] == [True, False, True]
    assert len(letters(reasons=2)[0].content.reasons) == 2


def test_both_languages_have_the_same_parts() -> None:
    for english, german in zip(letters("en"), letters("de"), strict=True):
        assert _Reader(english.html).names == _Reader(german.html).names
        assert len(english.content.options) == len(german.content.options)


@pytest.mark.parametrize("language", ["en", "de"])
def test_people_without_an_answer_get_an_honest_letter(language: str) -> None:
    texts = [words(letter) for letter in letters(language)]
    assert len(set(texts)) == len(texts)
    contents = [letter.content for letter in letters(language)]
    assert [(content.outcome, content.absence) for content in contents] == OUTCOMES
    assert not contents[3].reasons
    assert not contents[5].reasons


def test_text_and_page_say_the_same() -> None:
    for letter in letters(sender="Bank"):
        page = _Reader(letter.html).text
        for word in re.findall(r"[^\W_]+", letter.text):
            assert word in page


@pytest.mark.parametrize(("language", "score", "least"), [("en", flesch, 60), ("de", amstad, 50)])
def test_letters_are_plain_language(language: str, score: Any, least: float) -> None:
    for letter in letters(language, sender="Bank"):
        assert score(letter.text) >= least
        for jargon in ("counterfactual", "percentile", "score", "model prediction", "kontrafaktisch", "Perzentil"):
            assert jargon not in letter.text


def test_readability_is_counted_as_published() -> None:
    assert flesch("The cat sat on the mat.") == pytest.approx(206.835 - 1.015 * 6 - 84.6)
    assert amstad("Das Haus ist alt. Wir sehen es.") == pytest.approx(180 - 3.5 - 58.5 * 8 / 7)
    spoken = {"table": 2, "make": 1, "people": 2, "needed": 2, "compared": 2, "changes": 2, "application": 4}
    assert {word: english_syllables(word) for word in [*spoken, "sides"]} == {**spoken, "sides": 1}
    spoken = {"Entscheidung": 3, "Angaben": 3, "neue": 2, "Laufzeit": 2, "geändert": 3, "Brief": 1}
    assert {word: german_syllables(word) for word in spoken} == spoken


def test_everything_is_escaped() -> None:
    hostile = "<script>alert('x')</script>&amp;"
    schema = world.SCHEMA.change("home", label=hostile, levels=("rented", hostile, "free"))
    frame = world.people({})
    made = world.result(frame, {0: [{"home": hostile}]}, [{"home": -1}], schema=schema)
    texts = {"inputs": {"home": {"en": {"text": f"{hostile} {{value}}", "levels": {"rented": f"“{hostile}”"}}}}}
    accepts = world.model(lambda rows: rows["home"] != "rented")
    explainer = world.explainer(features=schema.features)
    [letter] = write(made, explainer, accepts, texts, sender=hostile, date=hostile, reference=hostile)
    read = _Reader(letter.html)
    assert "script" not in read.names
    assert letter.html.count("<script") == 0
    assert read.text.count(hostile) >= 6


@pytest.mark.parametrize(
    ("left_out", "lacking"),
    [
        ({"amount": "label"}, "'amount (label)'"),
        ({"home": "levels"}, "'home (level owned)', 'home (level rented)'"),
        ({"age": "unit"}, "'age (unit)'"),
    ],
)
def test_names_are_in_the_language_of_the_letter(left_out: dict[str, str], lacking: str) -> None:
    inputs = {name: dict(words["de"]) for name, words in world.TEXTS["inputs"].items()}
    for name, key in left_out.items():
        del inputs[name][key]
    with pytest.raises(AttainError, match=re.escape(f"no name in 'de' for {lacking};")):
        write(
            RESULT, EXPLAINER, MODEL, {"inputs": {name: {"de": words} for name, words in inputs.items()}}, language="de"
        )
    assert 'label = ""  # PAY_2' in texts_template(Schema((Feature("PAY_2", "count"),)), ["en"]).splitlines()
    named = Texts.read({}, LANGUAGES["en"], world.SCHEMA)
    assert [named.label(Feature(name, "real")) for name in ("PAY_2", "x1", "income", "late payments")]
    assert list(named.lacking) == ["PAY_2 (label)", "x1 (label)"]


@pytest.mark.parametrize("language", ["en", "de"])
def test_letters_without_words_of_their_own_are_about_any_decision(language: str) -> None:
    sent = write(RESULT, EXPLAINER, MODEL, {"inputs": world.TEXTS["inputs"]}, language=language)
    for text in map(words, sent):
        for word in ("appl", "customer", "approve", "reject", "Antrag", "Kunde", "annehmen"):
            assert word.lower() not in text.lower()
    said = {key: f"{key} – in words" for key in ("refused", "approved", "unreadable", "greeting", "closing")}
    texts = {"inputs": world.TEXTS["inputs"], "letter": {language: said}}
    found = [words(letter) for letter in write(RESULT, EXPLAINER, MODEL, texts, language=language)]
    for i, key in ((0, "refused"), (3, "approved"), (5, "unreadable"), (0, "greeting"), (0, "closing")):
        assert said[key] in found[i]


def test_a_special_code_needs_a_text_of_its_own() -> None:
    made = world.result(world.people({"months": 0}), {}, [{"months": -1}])
    [letter] = write(made, EXPLAINER, MODEL, world.TEXTS)
    assert letter.content.reasons[0].text == "The term has no end."
    with pytest.raises(AttainError, match=r"'months \(0\)'"):
        write(made, EXPLAINER, MODEL, world.TEXTS, language="de")


def test_no_letter_offers_what_nobody_has_reviewed() -> None:
    schema = world.SCHEMA.change(["amount", "home"], reviewed="")
    method, options = world.explainer(features=schema.features), {0: [{"amount": 4000.0, "home": "owned"}]}
    made = world.result(world.people({}), options, [WHY], schema=schema)
    with pytest.raises(AttainError, match=r"'amount', 'home', and nobody has reviewed .*`attain review`"):
        write(made, method, MODEL, world.TEXTS)
    allowed = replace(made, settings={"allow_unreviewed": True})
    assert len(write(allowed, method, MODEL, world.TEXTS)[0].content.options) == 1
    half = world.SCHEMA.change("home", reviewed="")
    two = world.result(world.people({}), {0: [{"amount": 4000.0}, {"home": "owned"}]}, [WHY], schema=half)
    assert [
        len(letter.content.options)
        for letter in write(two, world.explainer(features=half.features), MODEL, world.TEXTS)
    ] == [1]
    assert len(write(replace(made, rows=made.rows[:0], owners=made.owners[:0]), method, MODEL, world.TEXTS)) == 1


PARTLY = {"amount": world.TEXTS["inputs"]["amount"], "home": {"de": "Ihre Wohnung."}}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"inputs": PARTLY}, r"no reason in 'en' for 'age', 'home'.*--texts-template"),
        ({"inputs": {**world.TEXTS["inputs"], "age": {"en": {"text": "  "}}}}, "'age'"),
        ({"inputs": {"amuont": {}}}, "'amuont'"),
        ({"inputs": {"amount": {"fr": {}}}}, "'fr'"),
        ({"inputs": {"amount": {"en": {"hihg": "x"}}}}, "'hihg'"),
        ({"inputs": {"amount": {"en": {"high": 3}}}}, "high must be a text, got 3"),
        ({"inputs": {"home": {"en": {"levels": {"rent": "x"}}}}}, "'rent'"),
        ({"inputs": {"home": {"en": 3}}}, "must be a table"),
        ({"letter": {"en": {"subjekt": "x"}}}, "'subjekt'"),
        ({"lettre": {}}, "'lettre'"),
    ],
)
def test_mistakes_in_texts_are_named(texts: dict[str, Any], message: str) -> None:
    with pytest.raises(AttainError, match=message):
        write(RESULT, EXPLAINER, MODEL, texts)


REFUSED = world.result(world.people({}), {0: [{"amount": 4000.0}]}, [{"amount": -1}])
OTHER = world.explainer(features=(*world.SCHEMA.features[:4], world.SCHEMA["ratio"], world.SCHEMA["age"]))
FOUND, UNEXPLAINED = letters(), replace(RESULT, attributions=None)
GENEROUS = world.model(lambda frame: frame["amount"] > 0)


def unfinished(status: Status) -> list[Letter]:
    made = world.result(world.people({}), {}, [{"amount": -1}], statuses={0: status})
    return write(made, EXPLAINER, MODEL, world.TEXTS)


MISUSE: dict[str, tuple[Callable[[Path], Any], type[Exception], str]] = {
    "unexplained": (lambda _: write(UNEXPLAINED, EXPLAINER, MODEL, world.TEXTS), AttainError, "contributions=True"),
    "no template": (lambda folder: letters(template=folder / "none.txt"), FileError, "there is no file"),
    "unknown person": (lambda _: letters(people=["p9"]), DataError, "'p9'"),
    "unknown language": (lambda _: letters("fr"), AttainError, "'en', 'de'"),
    "other ending": (lambda folder: save(FOUND, folder / "all.pdf"), FileError, r"\.html or \.txt"),
    "nobody": (lambda folder: save([], folder / "none.html"), DataError, "no letters"),
    "other model": (lambda _: write(REFUSED, EXPLAINER, GENEROUS, world.TEXTS), AttainError, "otherwise about 'p0'"),
    "other explainer": (lambda _: write(REFUSED, OTHER, MODEL, world.TEXTS), AttainError, "another schema"),
    "interrupted": (lambda _: unfinished(Status.INTERRUPTED), AttainError, "'p0' has not ended"),
    "out of time": (lambda _: unfinished(Status.TIME_SPENT), AttainError, "'p0' has not ended"),
}


@pytest.mark.parametrize(("call", "kind", "message"), MISUSE.values(), ids=MISUSE)
def test_misuse_is_named(call: Callable[[Path], Any], kind: type[Exception], message: str, tmp_path: Path) -> None:
    with pytest.raises(kind, match=message):
        call(tmp_path)


def test_classes_have_names_in_each_language(tmp_path: Path) -> None:
    path = tmp_path / "texts.toml"
    path.write_text('[classes.good]\nen = "granted"\nde = "bewilligt"\n[classes.1]\nen = "one"', encoding="utf-8")
    found = {code: Texts.read(path, language, world.SCHEMA).classes for code, language in LANGUAGES.items()}
    assert found == {"en": {"good": "granted", "1": "one"}, "de": {"good": "bewilligt"}}


def test_the_template_of_texts_has_every_input_and_can_be_filled_in(tmp_path: Path) -> None:
    path = tmp_path / "texts.toml"
    path.write_text(texts_template(world.SCHEMA), encoding="utf-8")
    with pytest.raises(AttainError, match="'amount', 'age', 'home'"):
        write(RESULT, EXPLAINER, MODEL, path)
    text = path.read_text(encoding="utf-8")
    assert 'levels.rented = "rented"' in text
    assert 'level_texts.0 = ""' in text
    filled = re.sub(r'^(#? ?)(.*) = ""( +#.*)?$', r'\2 = "A text."', text, flags=re.MULTILINE)
    path.write_text(re.sub(r"^# (label|unit|levels\.)", r"\1", filled, flags=re.MULTILINE), encoding="utf-8")
    for language in ("en", "de"):
        assert len(write(RESULT, EXPLAINER, MODEL, path, language=language)) == len(RESULT)


def test_your_own_template_and_page(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("# Hello {{ person }}\n\n{{ options|length }} ways", encoding="utf-8")
    (tmp_path / "page.html").write_text("<body>{% for x in letters %}{{ x|safe }}{% endfor %}</body>", encoding="utf-8")
    first = letters(template=tmp_path / "words.txt", page=tmp_path / "page.html")[0]
    assert first.text == "Hello p0\n========\n\n2 ways\n"
    assert first.html == "<body><h1>Hello p0</h1>\n<p>2\u00a0ways</p></body>"


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ options.__class__ }}", "unsafe"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{{ reasons[0].__init__ }}", "unsafe"),
        ("{{ words._x }}", "has no attribute '_x'"),
        ("{{ words.update({}) }}", "unsafe|not callable|no attribute"),
        ("{{ nothing }}", "'nothing' is undefined"),
        ("line\n{% if %}", "line 2"),
        ("{% include 'letter.en.txt' %}", "template|loader"),
        ("{{ 1 / 0 }}", "division"),
        ("{{ range(10000000)|list }}", "too big|Range"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "nested too deeply"),
        ("{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}", "nested too deeply"),
        ("{{ 10 ** 10000000000 }}", "powers are not computed"),
        ("{{ 'x' * 10000000000 }}", "too much memory"),
        ("{{ 'x'|center(10000000000) }}", "too much memory"),
        (
            "{% for i in range(9999) %}{% for j in range(9999) %}{{ 'x' if j < 0 }}{% endfor %}{% endfor %}",
            "longer than",
        ),
    ],
)
def test_templates_run_in_a_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, template: str, message: str
) -> None:
    if "memory" in message and sys.platform != "linux":
        pytest.skip("other systems do not hold a process to a limit of memory")
    if message == "longer than":
        monkeypatch.setattr(rendering, "_SECONDS", 0.5)
    (tmp_path / "words.txt").write_text(template, encoding="utf-8")
    with pytest.raises(AttainError, match=message) as error:
        letters(template=tmp_path / "words.txt")
    assert "words.txt" in str(error.value)


def test_without_jinja_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"attain\[report\]"):
        letters()


def test_the_built_in_templates_are_written_for_editing(tmp_path: Path) -> None:
    written = save_templates(tmp_path)
    assert [path.name for path in written] == ["letter.en.txt", "letter.de.txt", "page.html"]
    again = letters("de", template=written[1], page=written[2])
    assert [letter.html for letter in again] == [letter.html for letter in letters("de")]
    with pytest.raises(FileError, match="exists already"):
        save_templates(tmp_path)


def test_one_file_for_all_or_one_for_each(tmp_path: Path) -> None:
    found = letters()
    save(found, tmp_path / "all.html")
    assert _Reader((tmp_path / "all.html").read_text(encoding="utf-8")).names.count("article") == len(found)
    save(found, tmp_path / "all.txt")
    assert (tmp_path / "all.txt").read_text(encoding="utf-8").split("\f") == [letter.text for letter in found]
    names = [path.name for path in save_each(found[:2], tmp_path / "to.html")]
    assert names == ["to-p0.html", "to-p1.html"]
    assert (tmp_path / names[1]).read_text(encoding="utf-8") == found[1].html


def test_every_person_has_a_file_of_their_own(tmp_path: Path) -> None:
    labels: list[Any] = ["a_b_2", "a b", "a/b", "a b", "a\\b", "A_B_2", "", " ", "a\nb", "\x00", "\ud800", 17]
    labels += [*"éẞß/.-_", "SS", "ss", "..", "../x", "..\\x", "con", "nul.txt", "a.2", "17", "e\u0301"]
    labels += ["x" * 300, "x" * 299]
    labels += [name.removeprefix("to-").removesuffix(".txt") for name in save_names(labels, tmp_path)[:8]]
    names = save_names(labels, tmp_path)
    assert len({unicodedata.normalize("NFC", name).casefold() for name in names}) == len(labels)
    assert all(re.fullmatch(r"to-[a-z0-9._-]{1,80}\.txt", name) for name in names)
    assert names[:2] == ["to-a_b_2.txt", "to-a-b.c8687a08aa5d6ed2.txt"]
    # the name is that of the label, whoever else is written to
    assert [save_names([label], tmp_path)[0] for label in labels[:3]] == names[:3]


def save_names(labels: Sequence[Any], folder: Path) -> list[str]:
    """The names of the files of letters to people with these labels."""
    one = letters()[0]
    return [path.name for path in save_each([replace(one, person=label) for label in labels], folder / "to.txt")]


def test_people_are_chosen_by_label_and_letters_do_not_depend_on_each_other() -> None:
    everybody = letters()
    assert letters()[0].html == everybody[0].html
    for i in (0, 3, 6):
        [alone] = letters(people=[f"p{i}"])
        assert (alone.person, alone.html) == (f"p{i}", everybody[i].html)


def test_a_result_that_was_written_and_read_gives_the_same_letters() -> None:
    read = type(RESULT).from_json(RESULT.to_json())
    found = write(read, EXPLAINER, MODEL, world.TEXTS)
    assert [letter.html for letter in found] == [letter.html for letter in letters()]


def test_markup() -> None:
    source = "# A title\n\n- one\n- two\n  goes on\n\n| a\n| b\n\nA\nparagraph <b>\n\n## h\n### i\n- j"
    assert as_text(source) == (
        "A title\n=======\n\n- one\n- two goes on\n\na\nb\n\nA paragraph <b>\n\nh\n-\n\ni\n\n- j\n"
    )
    assert as_html("A <b>\n\n- x\n- y") == "<p>A &lt;b&gt;</p>\n<ul><li>x</li><li>y</li></ul>"
    assert as_html("### a\n- b\n\n## c") == "<section>\n<h3>a</h3>\n<ul><li>b</li></ul>\n</section>\n<h2>c</h2>"
    assert as_html("| a\n| b") == "<p class='lines'>a<br>b</p>"
    assert as_text("") == "\n"


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_example_of_the_documentation_has_a_text_for_everybody(language: str) -> None:
    schema = attain.datasets.load_german().schema
    path = Path(__file__).parents[3] / "docs" / "examples" / "german_reasons.toml"
    texts = Texts.read(path, LANGUAGES[language], schema)
    for feature in schema:
        for side in ("", "high", "low"):
            for value in feature.levels or (1, 12345):
                assert texts.reason(feature, value, side)
        assert texts.of(feature).label


def test_no_line_ends_between_a_number_and_its_unit() -> None:
    for length in range(60, 80):
        text = as_text(f"- {'x' * length} 8.700 € now")
        assert "8.700 €" in text
    assert "8.700\u00a0€ now" in as_html("8.700 € now")


def test_a_table_to_fill_in_has_a_line_for_missing_cells() -> None:
    lines = texts_template(Schema((Feature("months", "count"),)), ["de"]).splitlines()
    assert 'label = ""  # months' in lines
    assert '# levels.missing = "keine Angabe"' in lines
    assert '# level_texts.missing = ""' in lines


def test_units_of_one_and_large_numbers() -> None:
    schema = Schema((Feature("months", "count", unit="months"), Feature("year", "count")))
    texts = {"inputs": {"months": {"de": {"unit": "Monate", "unit_one": "Monat"}}}}
    german = Texts.read(texts, LANGUAGES["de"], schema)
    assert [german.value(schema["months"], n) for n in (1, 2, 1234)] == ["1 Monat", "2 Monate", "1.234 Monate"]
    assert [german.value(schema["year"], n) for n in (1998, 12345, None)] == ["1998", "12.345", "keine Angabe"]
    assert LANGUAGES["de"].number(-1234567.5) == "-1.234.567,5"
    assert LANGUAGES["en"].quantity(12.5, "%") == "12.5%"
    assert [LANGUAGES["en"].quantity(n, "$") for n in (8700, -5)] == ["$8,700", "-$5"]
    assert LANGUAGES["de"].quantity(8700, "$") == "8.700 $"
    assert LANGUAGES["de"].quantity(12.5, "%") == "12,5 %"
    assert LANGUAGES["en"].number(1e-7) == "0.0000001"
