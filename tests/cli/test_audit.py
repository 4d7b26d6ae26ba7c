"""`attain audit`, and `attain explain --audit`, run as people run them."""

import json
from pathlib import Path
from typing import Any

import pytest

from attain import audit
from attain.cli import main

EXPLAIN = ["explain", "e.attain", "refused.csv", "--index", "who", "--model", "mine:classifier", "--target", "granted"]
AUDIT = ["--audit", "log.jsonl", "--audit-key", "audit.key"]
REGENERATE = ["--log", "log.jsonl", "--key", "audit.key", "--explainer", "e.attain", "--people", "refused.csv"]


@pytest.fixture
def log(files: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log of six people."""
    monkeypatch.delenv(audit.KEY_VARIABLE, raising=False)
    assert main(["audit", "key", "audit.key"]) == 0
    assert main([*EXPLAIN, "--out", "o.csv", *AUDIT]) == 0
    streams = capsys.readouterr()
    assert "Keep it secret" in streams.out
    head = audit.verify(files / "log.jsonl").head
    assert f"appended 6 lines to log.jsonl; its head is {head}" in " ".join(streams.err.split())
    return files / "log.jsonl"


def test_a_log_is_verified_and_listed(log: Path, capsys: Any) -> None:
    head = audit.verify(log).head
    assert main(["audit", "verify", "log.jsonl", "--key", "audit.key", "--expect", head]) == 0
    assert capsys.readouterr().out == f"log.jsonl is intact: 6 lines.\nhead: {head}\n"
    assert main(["audit", "verify", "log.jsonl"]) == 0
    assert "signatures were not checked" in capsys.readouterr().err
    assert main(["audit", "list", "log.jsonl"]) == 0
    assert capsys.readouterr().out.count("FOUND") == 6
    assert main([*EXPLAIN, "--out", "o.csv", *AUDIT]) == 0
    assert audit.verify(log, expect=head).lines == 12


def test_what_was_altered_is_exit_code_4(log: Path, capsys: Any) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:2], lines[2].replace(b"FOUND", b"FOUNE"), *lines[4:]]))
    assert main(["audit", "verify", "log.jsonl", "--key", "audit.key"]) == 4
    out = capsys.readouterr().out
    assert "Line 3: its content does not match its hash." in out
    assert "Line 4: its number is 5 instead of 4: lines were deleted, inserted or moved." in out
    assert main(["audit", "verify", "log.jsonl", "--json"]) == 4
    report = json.loads(capsys.readouterr().out)
    assert not report["intact"]
    assert [problem["line"] for problem in report["problems"]] == [3, 4]


def test_nothing_is_explained_where_the_end_of_the_log_is_missing(log: Path, capsys: Any) -> None:
    whole = log.read_bytes()
    log.write_bytes(whole[:-20])
    (log.parent / "o.csv").unlink()
    assert main([*EXPLAIN, "--out", "o.csv", *AUDIT]) == 1
    assert "lines are missing" in " ".join(capsys.readouterr().err.split())
    assert not (log.parent / "o.csv").exists()
    log.write_bytes(whole + b'{"torn')
    assert main([*EXPLAIN, "--out", "o.csv", *AUDIT]) == 0
    assert main(["audit", "verify", "log.jsonl", "--key", "audit.key"]) == 0
    assert "numbers 7" in capsys.readouterr().err


def test_what_was_mixed_up_is_one_sentence(log: Path, capsys: Any) -> None:
    assert main(["audit", "key", "other.key"]) == 0
    assert main(["audit", "verify", "log.jsonl", "--key", "other.key"]) == 4
    out = " ".join(capsys.readouterr().out.split())
    assert out.count("written with the key") == 1
    assert "log.jsonl was not verified: 1 problem in 6 lines." in out
    (log.parent / "log.jsonl.head").unlink()
    assert main(["audit", "verify", "log.jsonl", "--key", "audit.key"]) == 0
    assert "missing lines at the end would not be noticed; pass --expect" in " ".join(capsys.readouterr().err.split())
    assert main(["audit", "verify", "schema.toml"]) == 4
    assert "Every line: it is not JSON." in capsys.readouterr().out
    assert main(["audit", "regenerate", "deadbeef", *REGENERATE, "--model", "mine:classifier"]) == 1
    assert "no lines of 'log.jsonl' have an id that starts with 'deadbeef'" in capsys.readouterr().err


def test_an_explanation_is_made_again(log: Path, capsys: Any) -> None:
    assert main(["audit", "list", "log.jsonl", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["lines"]
    for line in listed[:2]:
        assert main(["audit", "regenerate", line["id"], *REGENERATE, "--model", "mine:classifier"]) == 0
        assert f"{line['id']}, was reproduced byte for byte." in capsys.readouterr().out
    (log.parent / "theirs.py").write_text("import mine\nclassifier = lambda frame: mine.classifier.predict(frame)\n")
    other = ["audit", "regenerate", listed[0]["id"], *REGENERATE, "--model", "theirs:classifier"]
    assert main(other) == 4
    assert "another model" in " ".join(capsys.readouterr().out.split())
    assert main([*other, "--json"]) == 4
    report = json.loads(capsys.readouterr().out)
    assert not report["same"]
    assert "settings.model.answers_digest" in [one["field"] for one in report["differences"]]


def test_a_log_without_a_key_has_plain_inputs_or_is_refused(files: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.delenv(audit.KEY_VARIABLE, raising=False)
    assert main([*EXPLAIN, "--out", "o.csv", "--audit", "log.jsonl"]) == 1
    assert "records are stored as HMACs, which needs a key" in capsys.readouterr().err
    assert main([*EXPLAIN, "--out", "o.csv", "--audit", "log.jsonl", "--audit-inputs", "plain"]) == 0
    line = next(audit.read_lines("log.jsonl"))
    assert line["person"]["plain"].startswith("p")
    assert set(line["input"]) == {"plain"}
