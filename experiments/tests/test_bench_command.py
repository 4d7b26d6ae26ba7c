"""`python -m experiments bench`: output, files, resuming, merging, and misuse."""

import json
import sys
from pathlib import Path

import pandas as pd
import pytest

from experiments.__main__ import main

LONGER = """
class Longer:
    def explain(self, model, X, *, target):
        return X.assign(duration=4)

def make(schema, seed):
    return Longer()
"""
METHODS = ["--methods", "growing-spheres,feature-tweaking", "--method", "mine=longer:make"]
CLASSIFIERS = ["--classifiers", "Logistic-Regression,gradient boosting"]
FEW = ["--quick", "--people", "3", *METHODS, *CLASSIFIERS, "--jobs", "1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder, with a module beside it that has a method from outside."""
    modules = tmp_path_factory.mktemp("modules")
    (modules / "longer.py").write_text(LONGER)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(modules)
        yield tmp_path_factory.mktemp("bench")


def test_it_prints_a_table_for_each_classifier_and_writes_everything(folder, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    out = folder / "results"
    assert main(["bench", *FEW, "--out", str(out), "--date", "1 May 2020", "--markdown", str(folder / "b.md")]) == 0
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 100
    for name in ("logistic regression", "gradient boosting"):
        assert f"german, {name}: 3 refused rows" in printed
    assert printed.count("not applicable") == 1
    people = pd.read_parquet(out / "rows.parquet")
    assert len(people) == 3 * 3 * 2
    assert people[people["method"] == "GrowingSpheres"]["found"].all()
    assert set(people[people["method"] == "mine"]["status"]) == {"ok"}
    assert len(pd.read_parquet(out / "summary.parquet")) == 6
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "1 May 2020" in page
    assert page.count("data:image/png") == 2
    assert "1 May 2020" in (folder / "b.md").read_text(encoding="utf-8")
    for name in ("german-trade-off", "speed"):
        assert (out / "figures" / f"{name}.svg").exists()
    # the tables do not tell when, where or by which command they were made
    for name in ("rows.parquet", "summary.parquet"):
        assert b"2020" not in (out / name).read_bytes()


def test_given_again_it_runs_nothing_and_changes_no_byte(folder, capsys):
    out = folder / "results"
    before = {path: path.read_bytes() for path in (out / "rows.parquet", out / "summary.parquet")}
    assert main(["bench", *FEW, "--out", str(out), "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)["lines"]
    assert {cell["status"] for cell in cells} == {"ok", "not applicable"}
    assert [cell["found_charged"] for cell in cells if cell["status"] == "not applicable"] == [None]
    assert all(path.read_bytes() == content for path, content in before.items())


def test_folders_are_merged_and_reported_without_running(folder, capsys):
    merged = folder / "merged"
    arguments = ["bench", "--out", str(merged), "--merge", str(folder / "results"), "--only-report"]
    assert main(arguments) == 0
    assert "german, gradient boosting: 3 refused rows" in capsys.readouterr().out
    assert (merged / "rows.parquet").read_bytes() == (folder / "results" / "rows.parquet").read_bytes()


def test_another_number_of_people_needs_another_folder(folder, capsys):
    assert main(["bench", "--quick", "--people", "4", "--out", str(folder / "results")]) == 1
    assert "other settings" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--people", "0"], "--people must be an integer ≥ 1, got 0"),
        (["--budget", "1"], "--budget must be an integer ≥ 2, got 1"),
        (["--jobs", "0"], "--jobs must be an integer ≥ 1, got 0"),
        (["--limit", "0"], "--limit must be a number of seconds > 0, got 0"),
        (["--seeds", "a"], "--seeds must be integers separated by commas, such as 0,1,2, got 'a'"),
        (["--seeds", ","], "--seeds must be integers ≥ 0, got ','"),
        (["--datasets", "iris"], "--datasets must be of german, heloc, gmsc, adult, compas, got 'iris'"),
        (["--classifiers", "oracle"], "--classifiers must be of logistic regression"),
        (["--methods", "oracle"], "or none, got 'oracle'"),
        (["--methods", "none"], "there is no method to run"),
        (["--method", "oracle"], "--method must be one of dice-genetic"),
        (["--method", "mine=nowhere:make"], "the method 'nowhere:make' cannot be imported"),
        (["--method", "mine=json:make"], "json has no function 'make'"),
        (["--only-report"], "name it with --out"),
        (["--out", "pyproject.toml"], "--out must be a folder, got the file"),
    ],
)
def test_misuse_is_answered_in_words(arguments, told, capsys, monkeypatch, pytestconfig):
    monkeypatch.chdir(pytestconfig.rootpath)
    assert main(["bench", "--quick", *arguments]) == 1
    assert told in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(("module", "method", "package"), [("dice_ml", "dice-random", "dice-ml"), ("treecf",) * 3])
def test_a_package_that_is_not_installed_is_named(module, method, package, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    assert main(["bench", "--quick", "--method", method]) == 1
    assert f"pip install {package}" in capsys.readouterr().err


def test_a_run_that_is_stopped_says_that_what_was_done_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("experiments.bench.run.run", stopped)
    assert main(["bench", "--quick", "--out", str(tmp_path / "results")]) == 130
    assert "the same command resumes" in " ".join(capsys.readouterr().err.split())
