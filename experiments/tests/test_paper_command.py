"""`python -m experiments paper` as people use it."""

import json
from dataclasses import replace

import pandas as pd
import pytest

import experiments.paper
from attain.cli.layer import INTERRUPTED
from experiments.__main__ import main
from experiments.paper import FULL, QUICK

CLAIMS = pd.DataFrame(
    [("1.1", "“It is.”", "reproduced", "Holds: it (1/1)."), ("6.1", "“It is so.”", "partly reproduced", "")],
    columns=["section", "claim", "verdict", "seeds"],
).assign(tested="It.", cited=False, figures="0.", **{"shown in": ""})


@pytest.fixture
def asked(monkeypatch):
    """What the experiments were called with; they do nothing."""
    calls = []

    def run(out, *, settings, data, jobs):
        calls.append((out, settings, data, jobs))
        return CLAIMS

    monkeypatch.setattr(experiments.paper, "run", run)
    return calls


def test_quick_and_full_runs_and_the_report(asked, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["paper", "--quick", "--out", "here"]) == 0
    assert main(["paper", "--out", "there", "--data", "folder", "--seeds", "1", "--jobs", "2"]) == 0
    assert asked == [("here", QUICK, None, 1), ("there", replace(FULL, seeds=1), "folder", 2)]
    out = capsys.readouterr().out
    assert "2 claims: 1 reproduced, 1 partly reproduced." in out
    assert "partly reproduced: “It is so.” (6.1)" in out
    assert "Holds: it (1/1)." in out
    assert "index.html" in out


@pytest.mark.parametrize("option", ["--seeds", "--jobs"])
def test_numbers_below_one_are_refused(asked, capsys, option):
    assert main(["paper", "--quick", "--out", "here", option, "0"]) == 1
    assert f"{option} must be" in capsys.readouterr().err
    assert not asked


def test_the_report_as_json(asked, capsys):
    assert main(["paper", "--quick", "--out", "here", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["page"].endswith("index.html")
    assert [claim["verdict"] for claim in told["claims"]] == ["reproduced", "partly reproduced"]


def test_a_stopped_run_says_that_it_goes_on(monkeypatch, capsys):
    def run(out, *, settings, data, jobs):
        raise KeyboardInterrupt

    monkeypatch.setattr(experiments.paper, "run", run)
    assert main(["paper", "--quick", "--out", "here"]) == INTERRUPTED
    assert "the same command resumes" in capsys.readouterr().err


def test_missing_data_are_told_in_words(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert main(["paper", "--out", str(tmp_path / "out"), "--data", str(tmp_path / "empty")]) == 1
    told = capsys.readouterr().err
    assert "cs-training.csv" in told
    assert "--quick" in told
