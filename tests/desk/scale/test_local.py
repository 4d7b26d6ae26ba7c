"""Files answered in slices: what is stopped goes on, the bytes are the same, and what goes wrong costs nothing done."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from attain.core.errors import AttainError, Interrupted
from attain.core.progress import interrupts_kept
from attain.desk.scale import ExplainBatch, explain
from attain.testing import people
from tests.counting import PATIENCE, wait_for


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def unbroken(batch: ExplainBatch, others: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The answers to all people in slices of 20, by this process."""
    out = tmp_path_factory.mktemp("answers") / "out"
    explain(others / "people.parquet", out, batch, people_per_file=20, workers=1)
    return out


def test_the_folder_is_the_table_of_answers(batch: ExplainBatch, others: Path, unbroken: Path) -> None:
    X = people.frame(205, seed=7)
    expected = batch.named_by("who", integers=False).table(batch.explain(X.rename_axis("who")))
    assert pq.read_table(unbroken).equals(expected)
    assert len(list(unbroken.glob("*.parquet"))) == 11
    facts = json.loads((unbroken / "_summary.json").read_text())
    frame = expected.to_pandas()
    assert facts["people"] == 205
    assert facts["found"] == frame.loc[frame["status"] == "FOUND", "who"].nunique()
    assert facts["options"] == frame["option"].notna().sum()
    best = frame[frame["option"] == 1]
    assert facts["means"]["total_shift"] == pytest.approx(best["total_shift"].mean() / 100)
    assert facts["verdict"] == best["verdict"].value_counts().to_dict()


@pytest.mark.parametrize("name", ["people.csv", "parts"])
def test_the_same_people_in_other_files_have_the_same_answers(
    name: str, batch: ExplainBatch, others: Path, unbroken: Path, tmp_path: Path
) -> None:
    explain(others / name, tmp_path / "out", batch, index="who", people_per_file=20, workers=1)
    expected = {key: value for key, value in contents(unbroken).items() if key != "_run.json"}
    assert {key: value for key, value in contents(tmp_path / "out").items() if key != "_run.json"} == expected


def test_what_is_there_is_not_answered_again(batch: ExplainBatch, others: Path, unbroken: Path, tmp_path: Path) -> None:
    out, notes = tmp_path / "out", list[str]()
    explain(others / "people.parquet", out, batch, people_per_file=20, workers=1)
    for number in (0, 3, 10):
        (out / f"part-{number:08d}.parquet").unlink()
    (out / "_summary.json").unlink()
    (out / ".part-00000003.parquet.0123456789abcdef.part").write_bytes(b"half")
    kept = {path: path.stat().st_mtime_ns for path in out.glob("*.parquet")}
    explain(others / "people.parquet", out, batch, people_per_file=20, workers=1, note=notes.append)
    assert contents(out) == contents(unbroken)
    assert all(path.stat().st_mtime_ns == before for path, before in kept.items())
    assert notes == ["160 people are answered already; 45 are left"]
    explain(others / "people.parquet", out, batch, people_per_file=20, workers=1, note=notes.append)
    assert notes[1:] == ["205 people are answered already; none is left"]


def test_answers_of_another_run_are_not_mixed_in(
    batch: ExplainBatch, others: Path, tmp_path: Path, classifier: Any
) -> None:
    out, path = tmp_path / "out", others / "people.parquet"
    explain(path, out, batch, people_per_file=100, workers=1)
    before = contents(out)
    people.frame(205, seed=8).rename_axis("who").to_parquet(tmp_path / "people.parquet")
    with pytest.raises(AttainError, match=r"of another run, which differs in people_digest; name a new folder"):
        explain(tmp_path / "people.parquet", out, batch, people_per_file=100)
    with pytest.raises(AttainError, match=r"differs in people_per_file;"):
        explain(path, out, batch, people_per_file=50)
    with pytest.raises(AttainError, match=r"differs in settings.n;"):
        explain(path, out, ExplainBatch(batch.explainer, batch.model, target=people.DESIRED), people_per_file=100)
    X = people.frame(150)
    other = people.tree_model(X, people.labels(X))
    with pytest.raises(AttainError, match=r"settings.model"):
        explain(path, out, ExplainBatch(batch.explainer, other, target=people.DESIRED, n=2), people_per_file=100)
    assert contents(out) == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(AttainError, match="has files of something else"):
        explain(path, tmp_path / "mine", batch)


def test_a_full_disk_costs_nothing_that_is_done(
    batch: ExplainBatch, others: Path, unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, replace = tmp_path / "out", os.replace

    def full(source: Path, target: Path) -> None:
        if "00000004" in str(target):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(AttainError, match=r"No space left on device; what is answered so far is kept"):
            explain(others / "people.parquet", out, batch, people_per_file=20, workers=1)
    assert len(list(out.glob("*.parquet"))) == 4
    assert not list(out.glob(".*"))
    explain(others / "people.parquet", out, batch, people_per_file=20, workers=1, note=str)
    assert contents(out) == contents(unbroken)


def test_input_that_cannot_be_read_costs_nothing_before_it(batch: ExplainBatch, others: Path, tmp_path: Path) -> None:
    lines = (others / "people.csv").read_text().splitlines()
    path = tmp_path / "people.csv"
    path.write_text("\n".join([*lines[:150], "p149,1", *lines[151:]]))
    with pytest.raises(AttainError, match=r"line 151: it has 2 cells, .*; what is answered so far is kept"):
        explain(path, tmp_path / "out", batch, index="who", people_per_file=20, workers=1)


def test_answers_to_people_who_have_not_changed_are_kept(batch: ExplainBatch, others: Path, tmp_path: Path) -> None:
    lines, path, notes = (others / "people.csv").read_text().splitlines(), tmp_path / "people.csv", list[str]()
    path.write_text("\n".join(lines))
    explain(path, tmp_path / "out", batch, index="who", people_per_file=50, workers=1)
    path.write_text("\n".join([*lines[:60], lines[60].replace("p59", "p590"), *lines[61:]]))
    explain(path, tmp_path / "out", batch, index="who", people_per_file=50, workers=1, note=notes.append)
    assert notes == ["155 people are answered already; 50 are left"]
    explain(path, tmp_path / "new", batch, index="who", people_per_file=50, workers=1)
    assert contents(tmp_path / "out") == contents(tmp_path / "new")


def test_a_file_with_answers_to_others_is_not_trusted_by_its_name(
    batch: ExplainBatch, others: Path, unbroken: Path, tmp_path: Path
) -> None:
    out, notes = tmp_path / "out", list[str]()
    shutil.copytree(unbroken, out)
    shutil.copy(out / "part-00000002.parquet", out / "part-00000005.parquet")
    shutil.copy(out / "part-00000002.parquet", out / "part-00000077.parquet")
    explain(others / "people.parquet", out, batch, people_per_file=20, workers=1, note=notes.append)
    assert notes == ["185 people are answered already; 20 are left"]
    assert contents(out) == contents(unbroken)


def test_only_one_process_writes_into_a_folder(batch: ExplainBatch, others: Path, tmp_path: Path) -> None:
    real = ExplainBatch.explain
    path, out, refused = others / "people.parquet", tmp_path / "out", list[str]()

    class Greedy(ExplainBatch):
        def explain(self, frame: pd.DataFrame) -> Any:
            if len(frame) and not refused:
                with pytest.raises(AttainError, match="another process is writing answers into") as error:
                    explain(path, out, batch, people_per_file=100, workers=1)
                refused.append(str(error.value))
            return real(self, frame)

        def named_by(self, index: str | None, *, integers: bool) -> ExplainBatch:
            return Greedy(self.explainer, self.model, index=index, integers=integers, **self.request)

    own = Greedy(batch.explainer, batch.model, **batch.request)
    explain(path, out, own, people_per_file=100, workers=1)
    assert len(refused) == 1


def test_people_of_the_same_name_are_noted(batch: ExplainBatch, tmp_path: Path) -> None:
    X = people.frame(6, seed=7)
    X.index = pd.Index(["a", "b", "b", "c", "c", "d"], name="who")
    X.to_parquet(tmp_path / "people.parquet")
    notes = list[str]()
    explain(tmp_path / "people.parquet", tmp_path / "out", batch, workers=1, note=notes.append)
    assert notes == ["several people have the same name in 'who', such as 'b'; each has their own answer"]
    assert pq.read_table(tmp_path / "out").to_pandas().query("option.isna() or option == 1")["who"].tolist() == list(
        X.index
    )


def test_one_bad_record_is_one_status(batch: ExplainBatch, others: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(others / "people.csv", dtype=str)
    frame.loc[30, "income"], frame.loc[50, "education"] = "a lot", "PhD"
    frame.to_csv(tmp_path / "people.csv", index=False)
    explain(tmp_path / "people.csv", tmp_path / "out", batch, index="who", people_per_file=20, workers=1)
    answers, good = pd.read_parquet(tmp_path / "out"), batch.named_by("who", integers=False)(people.frame(205, seed=7))
    bad = answers["status"] == "UNREADABLE"
    assert answers.loc[bad, "who"].tolist() == ["p30", "p50"]
    assert answers.loc[bad, "problem"].str.contains("found 'a lot'|found 'PhD'").all()
    pd.testing.assert_frame_equal(
        answers[~bad].reset_index(drop=True),
        good[~good["who"].isin(["p30", "p50"])].reset_index(drop=True),
        check_dtype=False,
    )


_MODEL = """
import os, time
from attain.testing import people

X = people.frame(150)
classifier = people.linear_model(X, people.labels(X))


class Model:
    classes_ = classifier.classes_
    feature_names_in_ = classifier.feature_names_in_

    def __init__(self, how):
        self.how = how

    def predict_proba(self, frame):
        if len(frame) < 100 and self.how != "fine" and os.getpid() != int(os.environ["PARENT"]):
            if self.how == "always" or not os.path.exists("died"):
                open("died", "w").close()
                os.kill(os.getpid(), 9)
        return classifier.predict_proba(frame)

    def predict(self, frame):
        return classifier.predict(frame)


fine, once, always = Model("fine"), Model("once"), Model("always")
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module with models that end their process: never, once, always."""
    (tmp_path / "ending.py").write_text(_MODEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PARENT", str(os.getpid()))
    import ending  # type: ignore[import-not-found]

    yield ending
    sys.modules.pop("ending")


def test_processes_give_the_same_bytes_also_where_one_dies(
    module: Any, batch: ExplainBatch, others: Path, tmp_path: Path
) -> None:
    path, done = others / "people.parquet", []
    for name, workers in (("fine", 1), ("once", 2)):
        own = ExplainBatch(batch.explainer, getattr(module, name), target=people.DESIRED)
        explain(path, tmp_path / name, own, people_per_file=50, workers=workers, note=str)
        done.append(contents(tmp_path / name))
    assert (tmp_path / "died").exists()
    assert done[0] == done[1]


@pytest.mark.slow
def test_a_slice_on_which_processes_die_again_and_again_is_named(
    module: Any, batch: ExplainBatch, others: Path, tmp_path: Path
) -> None:
    own = ExplainBatch(batch.explainer, module.always, target=people.DESIRED)
    with pytest.raises(AttainError, match=r"a process ended 3 times while it answered the .* people of slice"):
        explain(others / "people.parquet", tmp_path / "always", own, people_per_file=50, workers=2)


def test_a_model_that_cannot_be_sent_is_refused(batch: ExplainBatch, others: Path, tmp_path: Path) -> None:
    import threading

    lock = threading.Lock()

    def decide(frame: pd.DataFrame) -> Any:
        with lock:
            return batch.model.model.predict(frame)

    own = ExplainBatch(batch.explainer, decide, target=people.DESIRED)
    with pytest.raises(AttainError, match=r"cannot be sent to other processes .*; use one worker"):
        explain(others / "people.parquet", tmp_path / "out", own, people_per_file=50, workers=2)


def test_an_interruption_keeps_what_is_done(
    batch: ExplainBatch, others: Path, unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, seen = tmp_path / "out", []
    real = ExplainBatch.explain

    def stopped(self: ExplainBatch, frame: pd.DataFrame) -> Any:
        seen.append(len(frame))
        if len(seen) == 6:  # the first batch is empty
            raise KeyboardInterrupt
        return real(self, frame)

    with monkeypatch.context() as patch:
        patch.setattr(ExplainBatch, "explain", stopped)
        with pytest.raises(Interrupted) as stop:
            explain(others / "people.parquet", out, batch, people_per_file=20, workers=1)
    assert stop.value.result.people == 80  # type: ignore[attr-defined]
    assert len(list(out.glob("*.parquet"))) == 4
    explain(others / "people.parquet", out, batch, people_per_file=20, workers=1, note=str)
    assert contents(out) == contents(unbroken)


def _kills(folder: Path, path: Path, kills: int, workers: int) -> dict[str, Any]:
    """What tests/desk/scale/killing.py reports."""
    command = [sys.executable, str(Path(__file__).parent / "killing.py"), str(folder), str(path), str(kills)]
    done = subprocess.run([*command, str(workers)], capture_output=True, text=True, timeout=PATIENCE, check=True)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("kills", [20, pytest.param(100, marks=pytest.mark.slow)])
def test_killed_at_many_moments_it_ends_with_the_same_bytes(kills: int, tmp_path: Path) -> None:
    people.frame(25, seed=7).to_parquet(tmp_path / "few.parquet")
    report = _kills(tmp_path, tmp_path / "few.parquet", kills, 1)
    assert report == {"kills": kills, "runs": report["runs"], "equal": report["runs"]}


@pytest.mark.slow
def test_killed_with_its_workers_it_ends_with_the_same_bytes(others: Path, tmp_path: Path) -> None:
    report = _kills(tmp_path, others / "people.parquet", 20, 2)
    assert report == {"kills": 20, "runs": report["runs"], "equal": report["runs"]}


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("moment", ["attain-*/state", pytest.param("hanging", marks=pytest.mark.slow)])
def test_ctrl_c_stops_all_processes(others: Path, tmp_path: Path, moment: str) -> None:
    """While processes start, and while their model hangs. What they are sent is not where others may write."""
    script = Path(__file__).parent / "interrupted.py"
    command = [sys.executable, "-W", "ignore", str(script), str(others / "people.parquet"), str(tmp_path / "out")]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in the background
    try:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, "TMPDIR": str(tmp_path)},
        )
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        wait_for(lambda: list(tmp_path.glob(moment)) or process.poll() is not None)
        assert all(folder.stat().st_mode & 0o077 == 0 for folder in tmp_path.glob("attain-*"))
        os.killpg(process.pid, signal.SIGINT)
        out, error = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert (out, error, process.returncode) == ("interrupted\n", "", 0)
    assert not list(tmp_path.glob("attain-*"))
    wait_for(lambda: not _alive(process.pid))


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_while_a_process_is_started_is_kept_for_later() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    blocked = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))"
    try:
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012
            with interrupts_kept():
                os.kill(os.getpid(), signal.SIGINT)
                done = subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True, check=True)
            raise AssertionError("the signal is lost")
        assert done.stdout == "True\n"
        with interrupts_kept():
            pass
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    finally:
        signal.signal(signal.SIGINT, before)


def _alive(group: int) -> list[str]:
    """The processes of a group that have not ended."""
    listed = subprocess.run(["ps", "-A", "-o", "pgid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    processes = [line.split(maxsplit=2) for line in listed.splitlines()]
    return [args for pgid, stat, args in processes if int(pgid) == group and not stat.startswith("Z")]


_PEAK = """
import resource, sys
from attain.methods import NearestUnlike
from attain.desk.scale import ExplainBatch, explain
from attain.testing import people

X = people.frame(150)
explainer = NearestUnlike(people.schema(), laws=people.LAWS).fit(X, people.labels(X))
batch = ExplainBatch(explainer, people.linear_model(X, people.labels(X)), target=people.DESIRED)
print(explain(sys.argv[1], sys.argv[2], batch, workers=1).people)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems count memory in other units")
def test_memory_does_not_grow_with_people(classifier: Any, tmp_path: Path) -> None:
    X = people.frame(1000, seed=7)
    accepted = X[classifier.predict(X) == people.DESIRED].iloc[:200]
    refused = X[classifier.predict(X) == people.REFUSED].iloc[:10]
    peaks = []
    for number in (20_000, 200_000):
        frame = pd.concat([pd.concat([accepted] * (number // 200)).iloc[: number - 10], refused], ignore_index=True)
        frame.to_parquet(tmp_path / "people.parquet", row_group_size=10_000)
        command = [sys.executable, "-W", "ignore", "-c", _PEAK, "people.parquet", f"out-{number}"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        answered, peak = map(int, done.stdout.split())
        assert answered == number
        peaks.append(peak / 1024)
    assert peaks[1] < peaks[0] + 60, peaks  # MB; 200,000 people with their sentences take several times as much
