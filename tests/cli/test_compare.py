"""`attain compare`: the library's table, files, and misuse."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from attain.cli import main
from attain.metrics import compare_methods
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
