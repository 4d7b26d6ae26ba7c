"""`attain letter`, run as people run it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import attain
from attain.cli import main
from attain.desk.letters import write
from attain.testing import people

LETTER = ["letter", "r.json", "--explainer", "e.attain", "--model", "mine:classifier", "--texts", "texts.toml"]


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


def test_from_a_table_to_fill_in_to_letters(answered: Path, result: str, capsys: Any) -> None:
    assert main(["letter", "r.json", "--texts-template", "texts.toml"]) == 0
    assert "texts.toml" in capsys.readouterr().out
    assert main([*LETTER, "--out", "letters.html"]) == 1
    assert "have no reason in 'en' for" in capsys.readouterr().err
    assert not (answered / "letters.html").exists()
    assert main(["letter", "r.json", "--texts-template", "texts.toml"]) == 1
    assert "exists already" in capsys.readouterr().err
    table = (answered / "texts.toml").read_text(encoding="utf-8")
    (answered / "texts.toml").write_text(
        re.sub(r'^(?!#)(.*) = ""', r'\1 = "This counted."', table, flags=re.M), encoding="utf-8"
    )
    flags = ["--language", "de", "--sender", "Bank", "--sender", "Straße 1", "--date", "1. März"]
    assert main([*LETTER, *flags, "--out", "letters.html", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["written"] == ["letters.html"]
    assert report["letters"] == 6
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
    assert main([*LETTER, *flags, "--person", names[0], "--person", names[1], "--separate", "--out", "to.txt"]) == 0
    assert "2 letters" in capsys.readouterr().out
    for name, letter in zip(names, own, strict=False):
        assert (answered / f"to-{name}.txt").read_text(encoding="utf-8") == letter.text


def test_templates_for_editing_are_used(answered: Path, result: str, capsys: Any) -> None:
    assert main(["letter", "--write-templates", "templates"]) == 0
    assert "letter.de.txt" in capsys.readouterr().out
    (answered / "templates" / "letter.en.txt").write_text("# {{ person }}", encoding="utf-8")
    main(["letter", "r.json", "--texts-template", "empty.toml"])
    table = (answered / "empty.toml").read_text(encoding="utf-8")
    (answered / "texts.toml").write_text(
        re.sub(r'^(?!#)(.*) = ""', r'\1 = "This counted."', table, flags=re.M), encoding="utf-8"
    )
    assert main([*LETTER, "--template", "templates/letter.en.txt", "--out", "letters.txt"]) == 0
    first = attain.Counterfactuals.from_json(result).table.labels[0]
    assert (answered / "letters.txt").read_text(encoding="utf-8").startswith(f"{first}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["letter", "r.json"], "letters need --explainer, --model, --texts, --out; --texts-template FILE writes"),
        ([*LETTER, "--out", "letters.html", "--person", "nobody"], "there is no 'nobody'"),
        ([*LETTER, "--out", "letters.html", "--language", "fr"], "language must be one of 'en', 'de'"),
        ([*LETTER, "--out", "letters.html"], "there is no file 'texts.toml'"),
        ([*LETTER, "--out", "letters.pdf"], ".html or .txt"),
    ],
)
def test_mistakes_are_named(answered: Path, capsys: Any, arguments: list[str], message: str) -> None:
    assert main(arguments) == 1
    assert message in " ".join(capsys.readouterr().err.split())
