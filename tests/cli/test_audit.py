"""`attain audit`, and `attain explain --audit`, run as people run them."""

from pathlib import Path

import pytest

from attain import audit
from tests.cli.conftest import EXPLAIN, Run

AUDITED = f"{EXPLAIN} --out o.csv --audit log.jsonl --audit-key audit.key"
REGENERATE = "--log log.jsonl --key audit.key --explainer e.attain --people refused.csv --model"


@pytest.fixture
def log(files: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log of six people."""
    monkeypatch.delenv(audit.KEY_VARIABLE, raising=False)
    assert "Keep it secret" in run("audit key audit.key").out
    noted = run(AUDITED).noted
    assert f"appended 6 lines to log.jsonl; its head is {audit.verify(files / 'log.jsonl').head}" in noted
    return files / "log.jsonl"


def test_a_log_is_verified_and_listed(log: Path, run: Run) -> None:
    head = audit.verify(log).head
    verified = run(f"audit verify log.jsonl --key audit.key --expect {head}")
    assert verified.out == f"log.jsonl is intact: 6 lines.\nhead: {head}\n"
    assert "signatures were not checked" in run("audit verify log.jsonl").err
    assert run("audit list log.jsonl").out.count("FOUND") == 6
    run(AUDITED)
    assert audit.verify(log, expect=head).lines == 12


def test_what_was_altered_is_exit_code_4(log: Path, run: Run) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:2], lines[2].replace(b"FOUND", b"FOUNE"), *lines[4:]]))
    out = run("audit verify log.jsonl --key audit.key", 4).out
    assert "Line 3: its content does not match its hash." in out
    assert "Line 4: its number is 5 instead of 4: lines were deleted, inserted or moved." in out
    report = run("audit verify log.jsonl --json", 4).json
    assert not report["intact"]
    assert [problem["line"] for problem in report["problems"]] == [3, 4]


def test_nothing_is_explained_where_the_end_of_the_log_is_missing(log: Path, run: Run) -> None:
    whole = log.read_bytes()
    log.write_bytes(whole[:-20])
    (log.parent / "o.csv").unlink()
    assert "lines are missing" in run(AUDITED, 1).noted
    assert not (log.parent / "o.csv").exists()
    log.write_bytes(whole + b'{"torn')
    run(AUDITED)
    assert "numbers 7" in run("audit verify log.jsonl --key audit.key").err


def test_what_was_mixed_up_is_one_sentence(log: Path, run: Run) -> None:
    run("audit key other.key")
    said = run("audit verify log.jsonl --key other.key", 4).said
    assert said.count("written with the key") == 1
    assert "log.jsonl was not verified: 1 problem in 6 lines." in said
    (log.parent / "log.jsonl.head").unlink()
    noted = run("audit verify log.jsonl --key audit.key").noted
    assert "missing lines at the end would not be noticed; pass --expect" in noted
    assert "Every line: it is not JSON." in run("audit verify schema.toml", 4).out
    missing = run(f"audit regenerate deadbeef {REGENERATE} mine:classifier", 1)
    assert "no lines of 'log.jsonl' have an id that starts with 'deadbeef'" in missing.err


def test_an_explanation_is_made_again(log: Path, run: Run) -> None:
    first, second, *_ = [line["id"] for line in run("audit list log.jsonl --json").json["lines"]]
    for name in (first, second):
        same = run(f"audit regenerate {name} {REGENERATE} mine:classifier")
        assert f"{name}, was reproduced byte for byte." in same.out
    (log.parent / "theirs.py").write_text("import mine\nclassifier = lambda frame: mine.classifier.predict(frame)\n")
    other = f"audit regenerate {first} {REGENERATE} theirs:classifier"
    assert "another model" in run(other, 4).said
    report = run(f"{other} --json", 4).json
    assert not report["same"]
    assert "settings.model.answers_digest" in [one["field"] for one in report["differences"]]


def test_a_log_without_a_key_has_plain_inputs_or_is_refused(
    files: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(audit.KEY_VARIABLE, raising=False)
    keyless = f"{EXPLAIN} --out o.csv --audit log.jsonl"
    assert "records are stored as HMACs, which needs a key" in run(keyless, 1).err
    run(f"{keyless} --audit-inputs plain")
    line = next(audit.read_lines("log.jsonl"))
    assert line["person"]["plain"].startswith("p")
    assert set(line["input"]) == {"plain"}
