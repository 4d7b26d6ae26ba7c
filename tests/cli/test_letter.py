"""`attain letter`, run as people run it."""

import re
from pathlib import Path

import pytest

import attain
from attain.desk.letters import write
from attain.testing import people
from tests.cli.conftest import Run

LETTER = "letter r.json --explainer e.attain --model mine:classifier --texts texts.toml"


@pytest.fixture(scope="module")
def result() -> str:
    """A result that knows why decisions were made, as JSON."""
    X, frame = people.frame(150), people.frame(80, seed=7)
    y = people.labels(X)
    model = people.linear_model(X, y)
    refused = frame[model.predict(frame) == people.REFUSED].iloc[:6]
    explainer = attain.GrowingSpheres(people.schema(), budget=3000).fit(X, y)
    return explainer.explain(model, refused, target="granted", n=2, contributions=True).to_json()


@pytest.fixture
def answered(files: Path, result: str) -> Path:
    """The files, and the result among them."""
    (files / "r.json").write_text(result, encoding="utf-8")
    return files


def fill_in(template: str) -> None:
    """Fills in a table of texts, as texts.toml."""
    text = re.sub(r'^(?!#)(.*) = ""', r'\1 = "This counted."', Path(template).read_text(encoding="utf-8"), flags=re.M)
    Path("texts.toml").write_text(text, encoding="utf-8")


def test_from_a_table_to_fill_in_to_letters(answered: Path, result: str, run: Run) -> None:
    assert "texts.toml" in run("letter r.json --texts-template texts.toml").out
    assert "have no reason in 'en' for" in run(f"{LETTER} --out letters.html", 1).err
    assert not (answered / "letters.html").exists()
    assert "exists already" in run("letter r.json --texts-template texts.toml", 1).err
    fill_in("texts.toml")
    german = f"{LETTER} --language de --sender Bank --sender 'Straße 1' --date '1. März'"
    report = run(f"{german} --out letters.html --json").json
    assert (report["written"], report["letters"]) == (["letters.html"], 6)
    X = people.frame(150)
    own = write(
        attain.Counterfactuals.from_json(result),
        attain.load("e.attain"),
        people.linear_model(X, people.labels(X)),
        answered / "texts.toml",
        language="de",
        sender="Bank\nStraße 1",
        date="1. März",
    )
    page = (answered / "letters.html").read_text(encoding="utf-8")
    assert "Straße 1" in page
    assert page.count("<article") == 6
    names = [str(letter.person) for letter in own[:2]]
    written = run(f"{german} --person {names[0]} --person {names[1]} --separate --out to.txt")
    assert "2 letters" in written.out
    for name, letter in zip(names, own, strict=False):
        assert (answered / f"to-{name}.txt").read_text(encoding="utf-8") == letter.text


def test_templates_for_editing_are_used(answered: Path, result: str, run: Run) -> None:
    assert "letter.de.txt" in run("letter --write-templates templates").out
    (answered / "templates" / "letter.en.txt").write_text("# {{ person }}", encoding="utf-8")
    run("letter r.json --texts-template empty.toml")
    fill_in("empty.toml")
    run(f"{LETTER} --template templates/letter.en.txt --out letters.txt")
    first = attain.Counterfactuals.from_json(result).table.labels[0]
    assert (answered / "letters.txt").read_text(encoding="utf-8").startswith(f"{first}\n")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("letter r.json", "letters need --explainer, --model, --texts, --out; --texts-template FILE writes"),
        (f"{LETTER} --out letters.html --person nobody", "there is no 'nobody'"),
        (f"{LETTER} --out letters.html --language fr", "language must be one of 'en', 'de'"),
        (f"{LETTER} --out letters.html", "there is no file 'texts.toml'"),
        (f"{LETTER} --out letters.pdf", ".html or .txt"),
    ],
)
def test_mistakes_are_named(answered: Path, run: Run, line: str, message: str) -> None:
    assert message in run(line, 1).noted
