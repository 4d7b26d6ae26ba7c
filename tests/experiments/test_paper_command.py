"""`python -m experiments paper` as people use it."""

import json

import pandas as pd
import pytest

import experiments.paper
from attain.cli.exits import INTERRUPTED
from experiments.__main__ import main
from experiments.paper import FULL, QUICK

CLAIMS = pd.DataFrame(
    [
        {"section": "5.2", "claim": "Staying costs nothing.", "shown in": "", "verdict": "reproduced", "reason": "0."},
        {"section": "6.1", "claim": "It is so.", "shown in": "", "verdict": "not reproduced", "reason": "It is not."},
    ]
)


@pytest.fixture
def asked(monkeypatch):
    """What the experiments were called with; they do nothing."""
    calls = []

    def run(out, *, settings, data):
        calls.append((out, settings, data))
        return CLAIMS

    monkeypatch.setattr(experiments.paper, "run", run)
    return calls


def test_quick_and_full_runs_and_the_report(asked, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["paper", "--quick", "--out", "here"]) == 0
    assert main(["paper", "--out", "there", "--data", "folder"]) == 0
    assert asked == [("here", QUICK, None), ("there", FULL, "folder")]
    out = capsys.readouterr().out
    assert "2 claims: 1 reproduced, 1 not reproduced." in out
    assert "not reproduced: It is so. (6.1)" in out
    assert "index.html" in out


def test_the_report_as_json(asked, capsys):
    assert main(["paper", "--quick", "--out", "here", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["page"].endswith("index.html")
    assert [claim["verdict"] for claim in told["claims"]] == ["reproduced", "not reproduced"]


def test_a_stopped_run_says_that_it_goes_on(monkeypatch, capsys):
    def run(out, *, settings, data):
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


def test_the_help_has_an_example(capsys):
    with pytest.raises(SystemExit):
        main(["paper", "--help"])
    assert "experiments paper --quick" in capsys.readouterr().out
