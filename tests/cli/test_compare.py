"""`attain compare`: the library's table, files, and misuse."""

from pathlib import Path

import pandas as pd
import pytest

from attain.metrics import compare_methods
from attain.testing import people
from tests.cli.conftest import Run

FILES = "train.csv refused.csv --model mine:classifier --index who --label decision --target granted"
ASKED = f"compare {FILES} --schema schema.toml --methods nearest-unlike,russell"


def test_the_table_is_the_librarys(files: Path, run: Run) -> None:
    shown = run(f"{ASKED} --json").json
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


def test_it_prints_a_table_and_writes_the_page(files: Path, run: Run) -> None:
    printed = run(f"{ASKED} --out compared").out
    assert "NearestUnlike" in printed
    assert "compared/index.html" in printed
    assert sorted(path.name for path in Path("compared").iterdir()) == [
        *("comparison.csv", "index.html", "trade-off.png", "trade-off.svg")
    ]


def test_without_a_schema_it_is_inferred_and_said(files: Path, run: Run) -> None:
    assert "no --schema: it is inferred" in run(f"compare {FILES} --methods nearest-unlike").noted


@pytest.mark.slow
def test_the_demo_needs_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.chdir(tmp_path)
    assert "GrowingSpheres" in run("compare --demo --methods growing-spheres,nearest-unlike").out
    assert not list(tmp_path.iterdir())
