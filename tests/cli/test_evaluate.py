"""`attain evaluate`, run as people run it: the library's numbers, files, tables that fit, wrong input."""

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import attain
from attain import metrics
from attain.cli import main
from attain.results.counterfactuals import Counterfactuals
from attain.results.exports import heading
from attain.schema.laws import Law
from attain.testing import people
from tests.cli.conftest import EXPLAIN, Run

MODEL = "--model mine:classifier --train train.csv --index who --label decision"
TABLE = f"--people refused.csv --schema schema.toml --target granted {MODEL}"


@pytest.fixture(scope="module")
def _explained(_made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of two explainers as JSON and as CSV; one person of the second has no answer."""
    folder = tmp_path_factory.mktemp("explained")
    for path in _made.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    X = people.frame(150)
    attain.methods.NearestUnlike(people.schema()).fit(X, people.labels(X)).save(folder / "n.attain")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        first = pd.read_csv("refused.csv")["who"][0]
        Path("c.toml").write_text(f"[people.{first}]\nimmutable = {json.dumps(list(people.schema().free))}\n")
        other = f"{EXPLAIN.replace('e.attain', 'n.attain')} --constraints c.toml --n 2"
        for line in (f"{EXPLAIN} --out e.json", f"{other} --out n.json", f"{other} --out n.csv"):
            assert main(shlex.split(line)) == 0
    return folder


@pytest.fixture
def answers(_explained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all of them, in which the test runs."""
    for path in _explained.iterdir():
        if path.is_file():
            (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def direct(name: str, **arguments: Any) -> metrics.Evaluation:
    """What the library itself says."""
    X = people.frame(150)
    model = people.linear_model(X, people.labels(X))
    result = Counterfactuals.from_json(Path(name).read_text())
    return metrics.evaluate(result, model, X, people.labels(X), **arguments)


def test_the_report_is_the_librarys(answers: Path, run: Run) -> None:
    report = run(f"evaluate n.json {MODEL} --json --inexact").json
    expected = direct("n.json", measures=[*metrics.DEFAULT, "valid_after_inexact_execution"])
    assert (report["people"], report["asked"], report["found"]) == (6, 6, 5)
    for name, row in expected.summary.iterrows():
        for column, value in row.items():
            shown = report["summary"][name][column]
            assert shown == (pytest.approx(value, rel=1e-12) if np.isfinite(value) else None), (name, column)
    assert report["comparison"] is report["groups"] is None


def test_a_table_of_answers_is_measured_like_the_result_it_came_from(answers: Path, run: Run) -> None:
    whole = run(f"evaluate n.json {MODEL} --json").json["summary"]
    table = run(f"evaluate n.csv {TABLE} --json").json["summary"]
    assert table == {name: row for name, row in whole.items() if name not in ("rows_scored", "diversity")}


def test_answers_of_other_tools_are_counted_not_refused(files: Path, run: Run) -> None:
    refused = pd.read_csv("refused.csv").drop(columns="who")
    refused.to_csv("people.csv", index=False)
    foreign = refused.astype(object)
    foreign["income"] *= 3
    foreign.loc[0, "cards"] = -2.5
    foreign.loc[1] = None
    foreign.to_csv("foreign.csv", index=False)
    others = TABLE.replace("refused.csv", "people.csv").replace("--index who ", "")
    assert run(f"evaluate foreign.csv {others} --json --out o.csv").json["found"] == 5
    written = pd.read_csv("o.csv")
    assert written["person"].tolist() == list(range(6))
    assert written["found"].tolist() == [True, False, True, True, True, True]
    assert written["violations"][0] >= 2  # off its grid and out of bounds, beside the debt ratio that did not follow
    assert written["type_valid"][0] == 0
    foreign.iloc[:4].to_csv("short.csv", index=False)
    assert "has 4 rows without names, but --people has 6" in run(f"evaluate short.csv {others}", 1).err


def test_broken_laws_are_counted_with_real_people(answers: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    law = Law("cards <= 5", "nobody has more than 5 cards")
    monkeypatch.setattr("attain.metrics.evaluation.find_laws", lambda features, values: (law,))
    X, test = people.frame(150), people.frame(80, seed=7)
    test.assign(decision=people.labels(test)).to_csv("test.csv", index_label="who")
    report = run(f"evaluate e.json {MODEL} --test test.csv --json").json
    result = Counterfactuals.from_json(Path("e.json").read_text())
    cards = people.schema().position("cards")
    many, own = result.answers[result.found, cards] > 5, result.table.values[result.found, cards] > 5
    assert 0 < many.sum() < result.found.sum()
    assert report["summary"]["possible"]["mean"] == pytest.approx(1 - many.mean())
    assert report["summary"]["possible"]["real"] == pytest.approx((X["cards"] <= 5).mean())
    (line,) = report["broken_laws"]
    assert (line["law"], line["answers"], line["factuals"]) == (law.text, many.sum(), (many & own).sum())
    said = run(f"evaluate e.json {MODEL} --test test.csv").said
    assert "real people better" in said
    assert "Laws of held-out people: 1, broken by answers: 1." in said
    said = run(f"evaluate e.json {MODEL}").said
    assert "real people better" not in said
    assert "Laws" not in said


def test_files_hold_one_row_a_person_or_everything(answers: Path, run: Run) -> None:
    for name in ("o.csv", "o.parquet", "o.json"):
        assert f"Written: {name}" in run(f"evaluate n.json {MODEL} --out {name}").out
    frame = direct("n.json").frame
    for read in (pd.read_csv("o.csv"), pd.read_parquet("o.parquet")):
        assert read["who"].tolist() == frame.index.tolist()
        np.testing.assert_allclose(read["total_shift"], frame["total_shift"])
    first = (answers / "o.json").read_bytes()
    assert json.loads(first)["found"] == 5
    run(f"evaluate n.json {MODEL} --out o.json")
    assert (answers / "o.json").read_bytes() == first


def test_two_results_are_compared_person_by_person(answers: Path, run: Run) -> None:
    rows = run(f"evaluate e.json {MODEL} --against n.json --json").json["comparison"]
    expected = metrics.paired_comparison({"GrowingSpheres": direct("e.json"), "NearestUnlike": direct("n.json")})
    assert [row["measure"] for row in rows] == expected["measure"].tolist()
    for name in ("difference", "low", "high", "better", "p_value", "p_holm"):
        np.testing.assert_allclose([row[name] for row in rows], expected[name])
    assert "GrowingSpheres − e.json" in run(f"evaluate e.json {MODEL} --against e.json").out


def test_groups_are_levels_or_bands(answers: Path, run: Run) -> None:
    report = run(f"evaluate n.json {MODEL} --groups sex --json").json["groups"]
    assert {row["group"] for row in report["means"]} <= {"f", "m"}
    assert set(report["gaps"]) == {"found", "total_shift", "max_shift"}
    assert "gap" in run(f"evaluate n.json {MODEL} --groups age").out


@pytest.mark.parametrize("columns", [100, 60, 50])
def test_everything_fits_the_terminal(columns: int, answers: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    out = run(f"evaluate n.json {MODEL} --against e.json --groups housing").out
    assert "5 of 6 people who" in out
    assert max(map(len, (out + run("evaluate --help").out).splitlines())) <= columns


def test_nobody_with_an_answer_is_exit_code_3(answers: Path, run: Run) -> None:
    (answers / "all.toml").write_text(f"immutable = {json.dumps(list(people.schema().free))}\n")
    run(f"{EXPLAIN} --constraints all.toml --out none.json", 3)
    assert "0 of 6 people" in run(f"evaluate none.json {MODEL}", 3).out


REFUSED = {
    f"no.json {MODEL}": "attain: there is no file 'no.json'",
    f"train.csv.json {MODEL}": "was not written by to_json",
    f"n.csv {MODEL}": "which also needs --people, --schema, --target",
    f"n.json {MODEL} --target granted": "--target: 'n.json' contains this already",
    f"n.json {MODEL} --groups town": "--groups: the schema has no column 'town'",
    f"n.json {MODEL} --out o.txt": "has an unknown file extension",
    f"n.json {MODEL} --seed -1": "Invalid value for '--seed': -1 is not in the range x>=0",
    f"n.json {MODEL} --against n.csv": "compare tables with tables",
    f"labels.csv {TABLE}": "calls features by their labels, such as 'age (years)' for 'age'",
    f"few.csv {TABLE}": "people who are not in --people: 'nobody'",
}


@pytest.mark.parametrize("line", REFUSED)
def test_wrong_input_is_exit_code_1_with_a_message(line: str, answers: Path, run: Run) -> None:
    (answers / "train.csv.json").write_text('{"format": "other"}')
    pd.read_csv("refused.csv").assign(who="nobody").to_csv("few.csv", index=False)
    labels = {feature.name: heading(feature) for feature in people.schema()}
    pd.read_csv("refused.csv").rename(columns=labels).to_csv("labels.csv", index=False)
    assert REFUSED[line] in run(f"evaluate {line}", 1).err
