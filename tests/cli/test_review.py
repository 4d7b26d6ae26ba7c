"""`attain review`: a person answers in a terminal, here by lines of standard input."""

import io
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from attain import Schema
from attain.cli import main

COMMAND = ["review", "guess.toml", "train.csv", "--label", "decision", "--index", "who", "--model", "mine:classifier"]
WANTED = ["--target", "granted", "--people", "refused.csv", "--by", "Ada"]


@pytest.fixture
def guess(files: Path) -> Path:
    """The inferred schema of the people, in a file."""
    Schema.infer(pd.read_csv("train.csv", index_col="who").drop(columns="decision")).to_toml("guess.toml")
    return files / "guess.toml"


@pytest.fixture
def typed(guess: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Any:
    """What the command prints, and its exit code, where these lines are typed."""

    def run(*lines: str) -> tuple[int, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        code = main([*COMMAND, *WANTED])
        return code, " ".join(capsys.readouterr().out.split())

    return run


def test_decisions_are_written_at_once_and_the_same_command_goes_on(guess: Path, typed: Any) -> None:
    before = Schema.from_toml(guess)
    code, said = typed("n 1")
    assert code == 0
    assert "answers change one of them, such as: For the decision “granted”, " in said or "change it, such as:" in said
    assert "Stopped. All decisions are in guess.toml; the same command goes on from here." in said
    after = Schema.from_toml(guess)
    (decided,) = [feature for feature in after if feature.reviewed]
    assert decided.immutable
    assert decided.reviewed.startswith("Ada, 20")
    assert after.change(decided.name, immutable=False, reviewed="") == before
    code, said = typed("q")
    assert Schema.from_toml(guess) == after
    assert f"Question 1: {decided.name}" not in said


def test_a_review_ends_when_every_answer_rests_on_decisions(guess: Path, typed: Any) -> None:
    code, said = typed(*["c"] * 30)
    assert code == 0
    assert "Done: every answer rests on decisions, which are in guess.toml." in said
    assert "0 % of them change what nobody has decided on." in said
    assert typed()[1].startswith("6 answers found; 0 % of them")


def test_where_nothing_may_change_nobody_has_an_answer(typed: Any) -> None:
    code, said = typed(*["n"] * 30)
    assert code == 3
    assert "0 answers found: nothing that may change is enough." in said


def test_months_are_asked_for_and_what_cannot_be_read_is_asked_again(guess: Path, typed: Any) -> None:
    lines = ("z", "", "c one", "c 99", "c 0", "e", "m", "some", "m", "6")
    _, said = typed(*lines)
    assert "has no choice 'z'; it has" in said
    assert "'one' is no number of a column; type a key and numbers, such as p 1 3-5" in said
    assert "'99' is no column here; they have the numbers 1 to" in said
    assert "'0' is no column here" in said
    assert "How many months? some 'some' is no number of months" in said
    assert [feature.name for feature in Schema.from_toml(guess) if feature.pace]


def test_what_is_skipped_is_asked_again_next_time(guess: Path, typed: Any) -> None:
    before = guess.read_text(encoding="utf-8")
    _, said = typed(*["s"] * 20)
    first = said.split("Question 1")[1].split("Question 2")[0]
    assert guess.read_text(encoding="utf-8") == before
    assert typed("q")[1].split("Question 1")[1].startswith(first.split("Key:")[0])


def test_ctrl_c_ends_with_a_sentence(guess: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    class Interrupted(io.StringIO):
        def readline(self, *_: Any) -> str:
            raise KeyboardInterrupt

    monkeypatch.setattr("sys.stdin", Interrupted())
    assert main([*COMMAND, *WANTED]) == 130
    assert "Stopped. All decisions are in guess.toml" in capsys.readouterr().out


def test_what_must_be_done_to_the_table_is_said_at_the_end(guess: Path, typed: Any) -> None:
    schema = Schema.from_toml(guess)
    name = schema.names[0]
    schema.change(name, immutable=True, reviewed="Ada, 2026-11-19; it must leave the table").to_toml(guess)
    assert f"To do: Leave {name} out of the table and the schema." in typed("q")[1]
