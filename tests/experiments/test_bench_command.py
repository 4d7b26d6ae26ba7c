"""`attain bench`: what it prints and writes, going on, merging, and misuse in words."""

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
        assert f"german, {name}: 3 refused people" in printed
    assert printed.count("not applicable") == 1
    people = pd.read_parquet(out / "people.parquet")
    assert len(people) == 3 * 3 * 2
    assert people[people["method"] == "GrowingSpheres"]["found"].all()
    assert set(people[people["method"] == "mine"]["status"]) == {"ok"}
    assert len(pd.read_parquet(out / "summary.parquet")) == 6
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "1 May 2020" in page
    assert page.count("data:image/png") == 2
    assert "1 May 2020" in (folder / "b.md").read_text(encoding="utf-8")
    for name in ("german-trade-off", "speed"):
        assert (out / "pictures" / f"{name}.svg").exists()
    # the tables do not tell when, where or by which command they were made
    for name in ("people.parquet", "summary.parquet"):
        assert b"2020" not in (out / name).read_bytes()


def test_given_again_it_runs_nothing_and_changes_no_byte(folder, capsys):
    out = folder / "results"
    before = {path: path.read_bytes() for path in (out / "people.parquet", out / "summary.parquet")}
    assert main(["bench", *FEW, "--out", str(out), "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert {cell["status"] for cell in cells} == {"ok", "not applicable"}
    assert [cell["success"] for cell in cells if cell["status"] == "not applicable"] == [None]
    assert all(path.read_bytes() == content for path, content in before.items())


def test_folders_are_merged_and_reported_without_running(folder, capsys):
    merged = folder / "merged"
    arguments = ["bench", "--out", str(merged), "--merge", str(folder / "results"), "--only-report"]
    assert main(arguments) == 0
    assert "german, gradient boosting: 3 refused people" in capsys.readouterr().out
    assert (merged / "people.parquet").read_bytes() == (folder / "results" / "people.parquet").read_bytes()


def test_another_number_of_people_needs_another_folder(folder, capsys):
    assert main(["bench", "--quick", "--people", "4", "--out", str(folder / "results")]) == 1
    assert "other settings" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--people", "0"], "--people is 0"),
        (["--budget", "1"], "--budget is 1"),
        (["--jobs", "0"], "--jobs is 0"),
        (["--limit", "0"], "--limit is 0"),
        (["--seeds", "a"], "--seeds is 'a'"),
        (["--seeds", ","], "--seeds is ','"),
        (["--datasets", "iris"], "--datasets names 'iris'; it takes german, heloc, gmsc, adult, compas"),
        (["--classifiers", "oracle"], "--classifiers names 'oracle'"),
        (["--methods", "oracle"], "--methods names 'oracle'"),
        (["--methods", "none"], "no method is named"),
        (["--method", "oracle"], "--method is 'oracle'; it takes dice-genetic"),
        (["--method", "mine=nowhere:make"], "the method 'nowhere:make' is not found"),
        (["--method", "mine=json:make"], "json has no function 'make'"),
        (["--only-report"], "name it with --out"),
        (["--out", "pyproject.toml"], "which is a file"),
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
    assert "goes on from there" in " ".join(capsys.readouterr().err.split())
