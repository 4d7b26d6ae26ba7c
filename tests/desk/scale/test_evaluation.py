"""Measures of a folder of answers are those of the whole result."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from attain import metrics
from attain.cli import main
from attain.core.errors import AttainError
from attain.desk.scale import ExplainBatch, explain
from attain.desk.scale.answers import AnswersFolder
from attain.testing import people


@pytest.fixture(scope="module")
def folder(batch: ExplainBatch, others: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("answers") / "out"
    explain(others / "people.parquet", out, batch, people_per_file=60, workers=1)
    return out


def test_measures_are_those_of_the_whole_result(batch: ExplainBatch, others: Path, folder: Path) -> None:
    X, test = people.frame(150), people.frame(120, seed=3)
    y = people.labels(X)
    whole = batch.explain(people.frame(205, seed=7))
    against = metrics.RealPeople(
        batch.explainer.population_.schema,
        batch.model,
        X,
        y,
        target=people.DESIRED,
        X_test=test,
        y_test=people.labels(test),
    )
    expected = against.evaluate(whole)
    slices = AnswersFolder(str(folder), str(others / "people.parquet"), batch.explainer.population_.schema).slices(
        people.DESIRED
    )
    found = against.evaluate(slices)
    pd.testing.assert_frame_equal(found.frame.reset_index(drop=True), expected.frame.reset_index(drop=True))
    pd.testing.assert_frame_equal(found.summary, expected.summary)
    pd.testing.assert_frame_equal(found.broken_laws, expected.broken_laws)
    assert found.asked.tolist() == expected.asked.tolist()


def test_without_any_slice_there_is_nothing_to_measure(batch: ExplainBatch) -> None:
    X = people.frame(150)
    against = metrics.RealPeople(
        batch.explainer.population_.schema, batch.model, X, people.labels(X), target=people.DESIRED
    )
    with pytest.raises(AttainError, match="there is nothing to measure"):
        against.evaluate([])


def test_the_command_reads_a_folder(
    batch: ExplainBatch, others: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    X = people.frame(150)
    X.assign(decision=people.labels(X)).to_parquet("train.parquet")
    Path("schema.toml").write_text(people.schema().to_toml(), encoding="utf-8")
    Path("mine.py").write_text(
        "from attain.testing import people\nX = people.frame(150)\n"
        "classifier = people.linear_model(X, people.labels(X))\n"
    )
    command = ["evaluate", str(folder), "--model", "mine:classifier", "--train", "train.parquet", "--label", "decision"]
    command += ["--schema", "schema.toml", "--people"]
    assert main([*command, str(others / "people.parquet"), "--json", "--out", "e.json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["people"] == 205
    assert report["summary"]["valid"]["mean"] == 1
    assert report["summary"] == json.loads(Path("e.json").read_text())["summary"]
    assert main([*command, str(others / "people.parquet")]) == 0
    assert "decided as asked for" in capsys.readouterr().out
    assert main([*command, str(others / "people.parquet"), "--out", "e.csv"]) == 0
    assert pd.read_csv("e.csv")["valid"].mean() == 1
    capsys.readouterr()
    assert main([*command, str(others / "people.csv")]) == 1
    assert "answers to other people" in capsys.readouterr().err
    assert main([*command, str(others / "people.parquet"), "--groups", "sex"]) == 1
    assert "--groups: compares all people at once" in capsys.readouterr().err


def test_an_unfinished_folder_is_refused(batch: ExplainBatch, others: Path, tmp_path: Path) -> None:
    explain(others / "people.parquet", tmp_path / "out", batch, people_per_file=60, workers=1)
    (tmp_path / "out" / "part-00000001.parquet").unlink()
    with pytest.raises(AttainError, match="lacks 1 files of answers; finish the run"):
        AnswersFolder(str(tmp_path / "out"), str(others / "people.parquet"), batch.explainer.population_.schema)
    with pytest.raises(AttainError, match="is not a folder of answers"):
        AnswersFolder(str(tmp_path), str(others / "people.parquet"), batch.explainer.population_.schema)
