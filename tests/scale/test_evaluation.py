"""Measures of a folder of answers are those of the whole result."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attain import metrics
from attain.cli import main
from attain.core.errors import AttainError
from attain.metrics.totals import Totals
from attain.scale import ExplainBatch, explain
from attain.scale.evaluation import AnswersFolder
from attain.testing import people


@pytest.fixture(scope="module")
def folder(batch: ExplainBatch, others: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("answers") / "out"
    explain(others / "people.parquet", out, batch, people_per_file=60, workers=1)
    return out


def test_means_are_those_over_all_people_at_once(batch: ExplainBatch, others: Path, folder: Path) -> None:
    X, test = people.frame(150), people.frame(120, seed=3)
    y = people.labels(X)
    whole = batch.explain(people.frame(205, seed=7))
    background = metrics.Background(
        batch.explainer.schema_, batch.model, X, y, target=people.DESIRED, X_test=test, y_test=people.labels(test)
    )
    expected = background.evaluate(whole).summary
    found = AnswersFolder(str(folder), str(others / "people.parquet"), batch.explainer.schema_).evaluate(background)
    assert list(found.index) == list(expected.index)
    for name in ("mean", "charged", "answered", "n", "real"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, err_msg=name)
    shares = [name for name in expected.index if metrics.measures.MEASURES[name].share]
    for name in ("low", "high", "charged_low", "charged_high"):
        np.testing.assert_allclose(found.loc[shares, name], expected.loc[shares, name], rtol=1e-9, err_msg=name)
        # 95 % intervals of the bootstrap and of the normal distribution differ by chance
        others_ = [row for row in expected.index if row not in shares and np.isfinite(expected.loc[row, name])]
        width = (expected["high"] - expected["low"])[others_]
        assert (np.abs(found.loc[others_, name] - expected.loc[others_, name]) <= 0.15 * width).all()


def test_moments_are_those_of_all_values() -> None:
    random = np.random.default_rng(0)
    values, found = random.normal(5, 2, 1000), random.random(1000) < 0.8
    measure = metrics.Measure("x", lambda c: c.answers, worst=9.0)
    totals = Totals()
    for start in range(0, 1000, 130):
        part = slice(start, start + 130)
        totals.add({"x": np.where(found, values, np.nan)[part]}, {"x": measure}, found[part], 3)
    row = totals.summary().loc["x"]
    assert row["mean"] == pytest.approx(values[found].mean())
    half = 1.959963985 * values[found].std(ddof=1) / np.sqrt(found.sum())
    assert row["high"] - row["mean"] == pytest.approx(half)
    assert row["charged"] == pytest.approx(np.where(found, values, 9.0).mean())


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
    assert main([*command, str(others / "people.csv")]) == 1
    assert "answers to other people" in capsys.readouterr().err
    assert main([*command, str(others / "people.parquet"), "--groups", "sex"]) == 1
    assert "--groups: compares all people at once" in capsys.readouterr().err


def test_an_unfinished_folder_is_refused(batch: ExplainBatch, others: Path, tmp_path: Path) -> None:
    explain(others / "people.parquet", tmp_path / "out", batch, people_per_file=60, workers=1)
    (tmp_path / "out" / "part-00000001.parquet").unlink()
    with pytest.raises(AttainError, match="lacks 1 files of answers; finish the run"):
        AnswersFolder(str(tmp_path / "out"), str(others / "people.parquet"), batch.explainer.schema_)
    with pytest.raises(AttainError, match="is not a folder of answers"):
        AnswersFolder(str(tmp_path), str(others / "people.parquet"), batch.explainer.schema_)
