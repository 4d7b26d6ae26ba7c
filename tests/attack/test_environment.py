"""Odd environments: no Unicode, no home, caches that cannot be written, output in the way, two runs at once."""

import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from attain.cli import main
from attain.methods import NearestUnlike
from attain.testing import people
from tests.attack.world import arguments, refused, trained
from tests.misuse import under_headings

MODEL = ["--model", "mine:classifier"]
EXPLAIN = ["explain", "é.attain", "people.csv", *MODEL, "--index", "who", "--target", people.DESIRED]
MEASURE = [*MODEL, "--train", "train.csv", "--index", "who", "--label", "decision"]


@pytest.fixture(scope="module")
def _files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("environment")
    X, y, _ = trained()
    X.assign(decision=y).to_csv(folder / "train.csv")
    refused().to_csv(folder / "people.csv")
    (folder / "mine.py").write_text(
        "from attain.testing import people\nX = people.frame(60)\n"
        "classifier = people.linear_model(X, people.labels(X))\n"
    )
    people.schema().to_toml(folder / "schema.toml")
    NearestUnlike(people.schema()).fit(X, y).save(folder / "é.attain")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main([*EXPLAIN, "--out", "r.json"]) == 0
    return folder


@pytest.fixture
def files(_files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for path in _files.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes()) if path.is_file() else None
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_unicode_home_and_caches(files: Path) -> None:
    nowhere = "/dev/null/nowhere"  # not even root can write there
    environment = {name: value for name, value in os.environ.items() if name not in ("HOME", "LANG", "PYTHONUTF8")}
    environment |= {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    environment |= {"XDG_CACHE_HOME": nowhere, "TMPDIR": str(files)}
    command = [sys.executable, "-m", "attain.cli", *EXPLAIN, "--out", "ä.csv"]
    done = subprocess.run(command, capture_output=True, env=environment, check=False, cwd=files)
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert done.stderr == b""
    assert (files / "ä.csv").exists() or (files / os.fsdecode("ä.csv".encode())).exists()


COMPARE = ["compare", "train.csv", "people.csv", *MODEL, *MEASURE[4:], "--target", people.DESIRED]
COMPARE += ["--methods", "nearest-unlike", "--schema", "schema.toml"]
IN_THE_WAY = {
    name: (arguments(words, globals()), sentence)
    for _, name, text in under_headings(Path(__file__).with_name("in_the_way.txt"))
    for words, _, sentence in [text.partition(" → ")]
}
"""By name: a command and what it says."""


@pytest.mark.parametrize("name", IN_THE_WAY)
def test_output_in_the_way_is_a_sentence(name: str, files: Path, capsys: Any) -> None:
    given, sentence = IN_THE_WAY[name]
    for folder in ("taken", "taken.csv", "taken.html", "taken.toml"):
        (files / folder).mkdir()
        (files / folder / "mine").touch()
    (files / "file").write_text("kept")
    assert main(given) == 1
    message = capsys.readouterr().err
    assert re.search(sentence, message)
    assert "Traceback" not in message
    assert (files / "file").read_text() == "kept"
    assert (files / "taken" / "mine").exists()


ORDINARY = """
import os, sys
from attain.cli import main
explain = sys.argv[1:]
folder = [*explain, "--workers", "1", "--out"]
os.mkdir("writable")
os.chmod("writable", 0o777)
for out in ("writable/w.csv", "writable/w/"):  # whatever is imported on first use
    assert main([*explain, "--workers", "1", "--out", out]) == 0
assert main(["schema", "infer", "people.csv", "--out", "writable/w.toml"]) == 0
assert main(["audit", "key", "writable/key"]) == 0
os.mkdir("closed", 0o700 if os.geteuid() == 0 else 0)
os.chmod(".", 0o555)
if os.geteuid() == 0:
    os.setuid(65534)
before = sorted(os.listdir())
for out in ("a.csv", "closed/a.csv", "b/", "é.attain/"):
    print(main([*explain, "--workers", "1", "--out", out]))
print(main(["schema", "infer", "people.csv", "--out", "s.toml"]))
print(main(["audit", "key", "key"]))
print(main([*explain, "--out", "writable/w.csv"]))
assert sorted(os.listdir()) == before
"""


def test_a_read_only_folder_of_an_ordinary_user(files: Path) -> None:
    command = [sys.executable, "-c", ORDINARY, *EXPLAIN]
    with tempfile.TemporaryDirectory() as place:  # not below the folder of pytest, which only its user may enter
        os.chmod(place, 0o755)
        shutil.copytree(files, place, dirs_exist_ok=True)
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=place)
        os.chmod(place, 0o755)
    assert done.returncode == 0, done.stderr[-2000:]
    codes = [line for line in done.stdout.splitlines() if len(line) == 1]
    assert codes == ["1"] * 6 + ["0"]
    assert done.stderr.count("not writable; name a file elsewhere") >= 3
    assert "you may not read or write 'closed/a.csv'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_clock_that_jumps_changes_no_answer(files: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    jumps = itertools.cycle((0.0, 4e9, -1e9))
    monkeypatch.setattr(time, "time", lambda: next(jumps))
    monkeypatch.setattr("attain.desk.audit.log.datetime", Backwards)
    assert main(["audit", "key", "key"]) == 0
    for _ in range(2):
        assert main([*EXPLAIN, "--out", "later.json", "--audit", "log", "--audit-key", "key"]) == 0
    assert (files / "later.json").read_bytes() == (files / "r.json").read_bytes()
    assert main(["audit", "verify", "log", "--key", "key"]) == 0
    assert "is intact" in capsys.readouterr().out


class Backwards(datetime):
    """A clock that is set back by a year whenever it is read."""

    years = itertools.count(2500, -1)

    @classmethod
    def now(cls, tz: Any = None) -> datetime:
        return datetime(next(cls.years), 1, 1, tzinfo=tz)


@pytest.mark.slow
def test_two_runs_into_one_output(files: Path) -> None:
    runs = [[sys.executable, "-m", "attain.cli", *EXPLAIN, "--out", out, *extra] for out, extra in RUNS]
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda run: subprocess.run(run, capture_output=True, text=True, check=False), runs))
    codes, errors = [one.returncode for one in done], "".join(one.stderr for one in done)
    assert codes[:2] == [0, 0], errors
    assert sorted(codes[2:]) in ([0, 0], [0, 1]), errors
    assert ("another process is writing answers into" in errors) == (1 in codes)
    assert "Traceback" not in errors
    assert (files / "one.json").read_bytes() in {(files / "r.json").read_bytes(), _twice(files)}
    assert sorted(path.name for path in (files / "folder").iterdir() if not path.name.startswith("_")) == [
        "part-00000000.parquet"
    ]


RUNS = [("one.json", []), ("one.json", ["--n", "2"])] + [("folder/", ["--workers", "1"])] * 2


def _twice(files: Path) -> bytes:
    assert main([*EXPLAIN, "--out", "two.json", "--n", "2"]) == 0
    return (files / "two.json").read_bytes()
