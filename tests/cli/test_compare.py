"""`attain compare`: the library's table, files, and misuse."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from attain.cli import main
from attain.metrics import compare_methods
from attain.schema.laws import Law
from attain.testing import people

FILES = ["train.csv", "refused.csv", "--model", "mine:classifier", "--index", "who", "--label", "decision"]
ASKED = ["compare", *FILES, "--target", "granted", "--schema", "schema.toml", "--methods", "nearest-unlike,russell"]


def test_the_table_is_the_librarys(files: Path, capsys: Any) -> None:
    assert main([*ASKED, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    X = people.frame(150)
    y = people.labels(X)
    rows = pd.read_csv("refused.csv", index_col="who")
    model = people.linear_model(X, y)
    names = ["nearest-unlike", "russell"]
    expected = compare_methods(names, model, X, y, rows, target="granted", schema=people.schema())
    for line, own in zip(shown["methods"], expected.lines, strict=True):
        assert (line["method"], line["status"]) == (own["method"], own["status"])
        assert line["total_shift_charged"] == pytest.approx(own["total_shift_charged"], nan_ok=True)
    assert len(shown["pairs"]) == len(expected.paired())


def test_it_prints_a_table_and_writes_the_page(files: Path, capsys: Any) -> None:
    assert main([*ASKED, "--out", "compared"]) == 0
    printed = capsys.readouterr().out
    assert "NearestUnlike" in printed
    assert "compared/index.html" in printed
    assert sorted(path.name for path in Path("compared").iterdir()) == [
        *("comparison.csv", "index.html", "trade-off.png", "trade-off.svg")
    ]


def test_held_out_data_add_what_is_possible_and_real_people(
    files: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    law = Law("cards <= 5", "nobody has more than 5 cards")
    monkeypatch.setattr("attain.metrics.evaluation.find_laws", lambda features, values: (law,))
    X, test = people.frame(150), people.frame(80, seed=7)
    test.assign(decision=people.labels(test)).to_csv("test.csv", index_label="who")
    assert main([*ASKED, "--test", "test.csv", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    line = shown["methods"][0]
    assert line["possible_real"] == pytest.approx((X["cards"] <= 5).mean())
    broken = shown["broken_laws"][0]
    assert (broken["method"], broken["law"]) == ("NearestUnlike", law.text)
    assert broken["share"] == pytest.approx(1 - line["possible"])
    assert main([*ASKED, "--test", "test.csv", "--out", "compared"]) == 0
    printed = capsys.readouterr().out
    assert "possible, %" in printed
    assert "\nreal people" in printed
    page = Path("compared/index.html").read_text(encoding="utf-8")
    assert "real people" in page
    assert law.sentence in page


def test_without_a_schema_it_is_inferred_and_said(files: Path, capsys: Any) -> None:
    asked = ["compare", *FILES, "--target", "granted", "--methods", "nearest-unlike"]
    assert main(asked) == 0
    assert "no --schema: it is inferred" in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_the_demo_needs_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["compare", "--demo", "--methods", "growing-spheres,nearest-unlike"]) == 0
    assert "GrowingSpheres" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
