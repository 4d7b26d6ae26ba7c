"""Logs of explanations: what happens to a file is found, a crash can be repaired, and explanations are made again."""

import hashlib
import hmac
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attain import Counterfactuals, Feature, Schema, Status, audit
from attain.core.errors import AttainError, FileError
from attain.desk.audit.lines import Head, chained
from tests.counting import PATIENCE
from tests.golden import check_golden
from tests.results.handmade import result_of

GOLDEN = Path(__file__).parent / "golden"
KEY = b"k" * 32
SETTINGS = {"constraints": {}, "seed": 0, "robust": [], "parameters": {}}
SCHEMA = Schema((Feature("income", "real"), Feature("job", "categorical", levels=("cook", "nurse"))))
PEOPLE = pd.DataFrame(
    {"income": [10.5, 20.0, float("nan")], "job": ["cook", "nurse", "cook"]}, index=["p1", "p2", "p3"]
)


def result(settings: dict[str, Any] = SETTINGS) -> Counterfactuals:
    """Two options for the first person, none for the others."""
    found = result_of(
        SCHEMA,
        PEOPLE,
        {0: [{"income": 12.0}, {"income": 11.0, "job": "nurse"}]},
        statuses={1: Status.ALREADY_DESIRED, 2: Status.INTERRUPTED},
        total_shift=[0.25, float("nan")],
    )
    return replace(found, settings=settings)


def written(folder: Path, name: str = "log.jsonl", **arguments: Any) -> audit.AuditLog:
    log = audit.AuditLog(folder / name, **{"key": KEY, **arguments})
    log.append(result())
    return log


def lines(log: audit.AuditLog) -> list[bytes]:
    return log.path.read_bytes().splitlines(keepends=True)


def rebuilt(contents: list[dict[str, Any]], key: bytes | None) -> bytes:
    """A chain as somebody would forge it: every hash is right."""
    head, texts = Head(), []
    for content in contents:
        derived = ("number", "previous", "mac", "hash", "id", "key", "format", "time")
        line = chained({k: v for k, v in content.items() if k not in derived}, head, content["time"], key)
        head = Head(line["number"], line["hash"])
        texts.append(json.dumps(line, sort_keys=True, separators=(",", ":")).encode() + b"\n")
    return b"".join(texts)


# what a line holds


def test_a_line_can_be_checked_without_this_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    previous, now = None, datetime(2031, 5, 9, tzinfo=UTC)
    monkeypatch.setattr("attain.desk.audit.log.datetime", SimpleNamespace(now=lambda _: now))
    for number, text in enumerate(lines(written(tmp_path)), start=1):
        line = json.loads(text)
        assert (line["number"], line["previous"]) == (number, previous)
        assert datetime.fromisoformat(line["time"]) == now
        own, identifier = line.pop("hash"), line.pop("id")

        def dumped(value: Any) -> bytes:
            return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()

        assert hashlib.sha256(dumped(line)).hexdigest() == own
        assert own.startswith(identifier)
        mac = line.pop("mac")
        assert hmac.new(KEY, b"line:" + dumped(line), hashlib.sha256).hexdigest() == mac
        previous = own


def test_everybody_has_a_line_and_nothing_personal_is_in_it_by_default(tmp_path: Path) -> None:
    log = written(tmp_path)
    first = json.loads(lines(log)[0])
    expected = hmac.new(KEY, b'input:{"income":10.5,"job":"cook"}', hashlib.sha256).hexdigest()
    assert first["input"] == {"hmac": expected}
    assert b"p1" not in log.path.read_bytes()
    assert b"10.5" not in log.path.read_bytes()


@pytest.mark.parametrize(("inputs", "key"), [("hmac", KEY), ("plain", None)])
def test_lines_are_as_a_person_has_read_them(
    inputs: str, key: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime(2031, 5, 9, tzinfo=UTC)
    monkeypatch.setattr("attain.desk.audit.log.datetime", SimpleNamespace(now=lambda _: now))
    found = [json.loads(line) for line in lines(written(tmp_path, inputs=inputs, key=key))]
    check_golden(json.dumps(found, indent=1, sort_keys=True) + "\n", GOLDEN / f"log-{inputs}.json")


def test_a_record_has_one_hmac_whatever_its_dtypes_and_the_order_of_its_columns(tmp_path: Path) -> None:
    schema = Schema((Feature("n", "count"), Feature("job", "categorical", levels=("cook", "nurse"))))
    log = audit.AuditLog(tmp_path / "log", key=KEY)
    for frame in (
        pd.DataFrame({"n": [5], "job": ["cook"]}),
        pd.DataFrame({"job": pd.Categorical(["cook"]), "n": [5.0]}),
        pd.DataFrame({"n": pd.array([5], dtype="Int64"), "job": ["cook"]}),
    ):
        log.append(replace(result_of(schema, frame, {}), settings=SETTINGS))
    assert len({line["input"]["hmac"] for line in audit.read_lines(log.path)}) == 1


def test_constraints_of_others_are_not_in_a_line(tmp_path: Path) -> None:
    people = [{"person": "p1", "max_changes": 1}, {"person": "p2", "immutable": ["job"]}]
    log = audit.AuditLog(tmp_path / "log", key=KEY)
    log.append(result({**SETTINGS, "constraints": {"immutable": ["income"], "people": people}}))
    found = [json.loads(text)["settings"]["constraints"] for text in lines(log)]
    assert found == [
        {"immutable": ["income"], "own": {"max_changes": 1}},
        {"immutable": ["income"], "own": {"immutable": ["job"]}},
        {"immutable": ["income"]},
    ]


# what is found


def test_an_intact_log_verifies_with_and_without_the_key(tmp_path: Path) -> None:
    log = written(tmp_path)
    log.append(result())
    for key in (None, KEY):
        found = audit.verify(log.path, key=key, expect=log.head)
        assert found
        assert (found.lines, found.head, found.signed) == (6, log.head, key is not None)
    assert audit.AuditLog(log.path, key=KEY).head == log.head


def test_every_changed_byte_is_found(tmp_path: Path) -> None:
    log = written(tmp_path)
    original = log.path.read_bytes()
    log.path.with_name("log.jsonl.head").unlink()
    copy = tmp_path / "copy"
    masks = np.random.default_rng(0).integers(1, 256, len(original)).tolist()
    for position, mask in enumerate(masks):
        altered = bytearray(original)
        altered[position] ^= mask
        copy.write_bytes(altered)
        assert not audit.verify(copy), (position, mask)


@given(order=st.permutations(range(18)), deep=st.booleans())
def test_fields_that_were_moved_are_found(
    order: list[int], deep: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    log = written(tmp_path_factory.mktemp("log"))
    text = lines(log)[0]
    line = json.loads(text)
    names = sorted(line)
    assert len(names) == len(order)
    moved = {names[k]: line[names[k]] for k in order}
    if deep:
        moved["settings"] = dict(reversed(moved["settings"].items()))
    altered = json.dumps(moved, separators=(",", ":")).encode() + b"\n"
    log.path.write_bytes(b"".join([altered, *lines(log)[1:]]))
    assert bool(audit.verify(log.path, key=KEY)) is (altered == text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"number":1,', b'"number": 1,'),
        (b'"number":1,', b'"number":1.0,'),
        (b'"number":1,', b'"number":1,"number":1,'),
        (b"12.0", b"1.2e1"),
        (b'"FOUND"', b'"\\u0046OUND"'),
        (b"}\n", b"}\r\n"),
        (b"{", b"\xef\xbb\xbf{"),
    ],
)
def test_the_same_content_in_other_bytes_is_found(old: bytes, new: bytes, tmp_path: Path) -> None:
    log = written(tmp_path)
    first, *others = lines(log)
    assert old in first
    log.path.write_bytes(b"".join([first.replace(old, new, 1), *others]))
    for key in (None, KEY):
        assert audit.verify(log.path, key=key).problems[0].line == 1
    assert [line["number"] for line in audit.read_lines(log.path)] == [2, 3]


@given(data=st.data())
def test_every_deleted_inserted_duplicated_or_moved_line_is_found(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("log")
    log = written(folder)
    log.append(result())
    original = lines(log)
    altered = list(original)
    for _ in range(data.draw(st.integers(1, 3))):
        change = data.draw(st.sampled_from(["delete", "duplicate", "move", "insert"]))
        place = data.draw(st.integers(0, len(altered) - 1)) if altered else 0
        if change == "delete" and altered:
            del altered[place]
        elif change == "duplicate" and altered:
            altered.insert(data.draw(st.integers(0, len(altered))), altered[place])
        elif change == "move" and altered:
            altered.insert(data.draw(st.integers(0, len(altered) - 1)), altered.pop(place))
        else:
            altered.insert(place, data.draw(st.binary(max_size=30)) + b"\n")
    log.path.write_bytes(b"".join(altered))
    assert bool(audit.verify(log.path, key=KEY)) is (altered == original)


def test_a_first_line_that_follows_another_is_found(tmp_path: Path) -> None:
    line = chained({"kind": "repair", "removed": ""}, Head(0, "0" * 64), "2026-11-19T12:00:00.000000Z", None)
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(line, sort_keys=True, separators=(",", ":")) + "\n")
    (problem,) = audit.verify(path).problems
    assert "does not have the hash of the line before it" in problem.text


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_a_truncated_end_is_found_by_a_known_head_alone(kept: int, tmp_path: Path) -> None:
    log = written(tmp_path)
    head = log.head
    log.path.write_bytes(b"".join(lines(log)[:kept]))
    assert [problem.line for problem in audit.verify(log.path).problems] == [0]
    with pytest.raises(FileError, match="lines are missing"):
        log.append(result())
    log.path.with_name("log.jsonl.head").unlink()
    found = audit.verify(log.path, key=KEY)
    assert found
    assert not found.end_known
    assert not audit.verify(log.path, expect=head)
    assert audit.verify(log.path, expect=head).end_known


def test_a_head_of_long_ago_is_still_known(tmp_path: Path) -> None:
    log = written(tmp_path)
    old = log.head
    log.append(result())
    assert audit.verify(log.path, expect=old)
    assert audit.verify(log.path, expect="0:")
    with pytest.raises(AttainError, match="NUMBER:HASH"):
        audit.verify(log.path, expect="7")


def test_a_chain_that_was_made_anew_is_found_by_the_key_alone(tmp_path: Path) -> None:
    log = written(tmp_path)
    log.path.with_name("log.jsonl.head").unlink()
    contents = [json.loads(text) for text in lines(log)]
    contents[0]["status"] = "OUT_OF_REACH"
    for forged in (rebuilt(contents, None), rebuilt(contents, b"z" * 32)):
        log.path.write_bytes(forged)
        assert audit.verify(log.path)
        (problem,) = audit.verify(log.path, key=KEY).problems
        assert problem.line == 0
        assert problem.text.startswith("every line: it ")
    log.path.write_bytes(rebuilt(contents, KEY))
    assert audit.verify(log.path, key=KEY)


def test_a_wrong_key_is_named(tmp_path: Path) -> None:
    log = written(tmp_path)
    (other,) = audit.verify(log.path, key=b"z" * 32).problems
    assert other.text.startswith("every line: it was written with the key " + json.loads(lines(log)[0])["key"])
    with pytest.raises(FileError, match="it was written with the key"):
        written(tmp_path, key=b"z" * 32)
    with pytest.raises(FileError, match="got no key"):
        written(tmp_path, key=None, inputs="plain")


@pytest.mark.parametrize(
    "text", [b"[]\n", b"NaN\n", b'{"number":1}\n', b"[" * 100_000 + b"\n", b"\xff\n", b"\n", b"1" * 5000 + b"\n"]
)
def test_what_is_no_line_is_a_problem_and_no_error(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(text)
    found = audit.verify(tmp_path / "log")
    assert [problem.line for problem in found.problems] == [1]
    assert not list(audit.read_lines(tmp_path / "log"))
    with pytest.raises(FileError, match="nothing can follow the last line"):
        audit.AuditLog(tmp_path / "log", key=KEY).append(result())


# what a crash leaves


@pytest.mark.parametrize("head", [True, False])
def test_a_torn_line_is_reported_and_recorded_by_whoever_appends_next(head: bool, tmp_path: Path) -> None:
    log = written(tmp_path)
    beside = log.path.with_name("log.jsonl.head")
    known = beside.read_bytes()
    log.append(result())
    lost, whole = log.head, log.path.read_bytes()
    start = len(b"".join(lines(log)[:-1]))
    for cut in (start + 1, start + 40, len(whole) - 1):
        log.path.write_bytes(whole[:cut])
        beside.write_bytes(known) if head else beside.unlink(missing_ok=True)
        assert "incomplete" in audit.verify(log.path).problems[0].text
        assert len(log.append(result())) == 3
        found = audit.verify(log.path, key=KEY)
        assert found
        assert found.repairs == (6,)
        assert json.loads(lines(log)[5])["removed"].encode() == whole[start:cut]
        assert bool(audit.verify(log.path, expect=lost)) is False


def test_what_cannot_be_written_leaves_the_log_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = written(tmp_path)
    before = log.path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("attain.desk.audit.log.os.fsync", full)
    with pytest.raises(FileError, match="No space left"):
        log.append(result())
    assert log.path.read_bytes() == before


def test_processes_that_append_at_once_keep_the_chain(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom attain import audit\nfrom tests.desk.audit.test_audit import KEY, result\n"
        "log, answers = audit.AuditLog(sys.argv[1], key=KEY), result()\n"
        "for _ in range(10): log.append(answers)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "log")]
    writers = [subprocess.Popen(command, cwd=Path(__file__).parents[3]) for _ in range(2)]
    assert [writer.wait(timeout=PATIENCE) for writer in writers] == [0, 0]
    found = audit.verify(tmp_path / "log", key=KEY)
    assert found
    assert found.lines == 2 * 10 * 3


# what is refused


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda log: audit.AuditLog(log, inputs="hmac"), "needs a key"),
        (lambda log: audit.AuditLog(log, key=b"short"), "at least 32 bytes"),
        (lambda log: audit.AuditLog(log, key="k" * 32), "must be bytes"),
        (lambda log: audit.AuditLog(log, key=KEY, inputs="clear"), "inputs must be one of"),
        (lambda log: audit.AuditLog(log, key=KEY).append(result({})), "no settings"),
        (lambda log: audit.verify(log), "there is no file"),
        (lambda log: audit.read_key(log), "there is no file"),
    ],
)
def test_wrong_calls_are_refused(
    call: Callable[[Path], Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(audit.KEY_VARIABLE, raising=False)
    with pytest.raises(AttainError, match=message):
        call(tmp_path / "log")


def test_a_key_is_read_from_a_file_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(audit.KEY_VARIABLE, raising=False)
    assert audit.read_key() is None
    audit.new_key(tmp_path / "key")
    key = audit.read_key(tmp_path / "key")
    assert key is not None
    assert len(key) == 64
    assert (tmp_path / "key").stat().st_mode & 0o077 == 0
    monkeypatch.setenv(audit.KEY_VARIABLE, f" {key.decode()}\n")
    assert audit.read_key() == key
    written(tmp_path, key=None)
    assert audit.verify(tmp_path / "log.jsonl", key=key)
    with pytest.raises(FileError, match="already exists"):
        audit.new_key(tmp_path / "key")
