"""Files answered in slices: what is stopped goes on, the bytes are the same, and what goes wrong costs nothing done."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd
import pyarrow.parquet as pq
import pytest

from attain.core.errors import AttainError, Interrupted
from attain.core.progress import interrupts_kept
from attain.desk.scale import ExplainBatch, explain
from attain.testing import people
from tests.counting import PATIENCE, wait_for

Answered: TypeAlias = Callable[..., tuple[Path, list[str]]]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def unbroken(batch: ExplainBatch, others: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The answers to all people in slices of 20, by this process."""
    out = tmp_path_factory.mktemp("answers") / "out"
    explain(others / "people.parquet", out, batch, people_per_file=20, workers=1)
    return out


@pytest.fixture
def answered(batch: ExplainBatch, others: Path, tmp_path: Path) -> Answered:
    """Answers people in slices of 20, by this process; gives the folder and the notes."""

    def answer(path: str | Path = "people.parquet", **options: Any) -> tuple[Path, list[str]]:
        notes = list[str]()
        wanted = {"out": tmp_path / "out", "batch": batch, "people_per_file": 20, "workers": 1, "note": notes.append}
        explain(others / path, **{**wanted, **options})
        return (wanted | options)["out"], notes

    return answer


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
def test_the_same_people_in_other_files_have_the_same_answers(name: str, unbroken: Path, answered: Answered) -> None:
    found, expected = contents(answered(name, index="who")[0]), contents(unbroken)
    assert found.keys() == expected.keys()
    assert all(content == expected[key] for key, content in found.items() if key != "_run.json")


def test_what_is_there_is_not_answered_again(unbroken: Path, answered: Answered) -> None:
    out, _ = answered()
    for number in (0, 3, 10):
        (out / f"part-{number:08d}.parquet").unlink()
    (out / "_summary.json").unlink()
    (out / ".part-00000003.parquet.0123456789abcdef.part").write_bytes(b"half")
    kept = {path: path.stat().st_mtime_ns for path in out.glob("*.parquet")}
    assert answered()[1] == ["160 people are answered already; 45 are left"]
    assert contents(out) == contents(unbroken)
    assert all(path.stat().st_mtime_ns == before for path, before in kept.items())
    assert answered()[1] == ["205 people are answered already; none is left"]


def test_answers_of_another_run_are_not_mixed_in(
    batch: ExplainBatch, tmp_path: Path, classifier: Any, answered: Answered
) -> None:
    out, _ = answered(people_per_file=100)
    before = contents(out)
    people.frame(205, seed=8).rename_axis("who").to_parquet(tmp_path / "people.parquet")
    X = people.frame(150)
    other = people.tree_model(X, people.labels(X))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    for options, message in (
        ({"path": tmp_path / "people.parquet"}, r"of another run, which differs in people_digest; name a new folder"),
        ({"people_per_file": 50}, r"differs in people_per_file;"),
        ({"batch": ExplainBatch(batch.explainer, batch.model, target=people.DESIRED)}, r"differs in settings.n;"),
        ({"batch": ExplainBatch(batch.explainer, other, target=people.DESIRED, n=2)}, r"settings.model"),
        ({"out": tmp_path / "mine"}, "has files of something else"),
    ):
        with pytest.raises(AttainError, match=message):
            answered(**{"people_per_file": 100, **options})
    assert contents(out) == before


def test_a_full_disk_costs_nothing_that_is_done(
    unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answered: Answered
) -> None:
    out, replace = tmp_path / "out", os.replace

    def full(source: Path, target: Path) -> None:
        if "00000004" in str(target):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(AttainError, match=r"No space left on device; what is answered so far is kept"):
            answered()
    assert len(list(out.glob("*.parquet"))) == 4
    assert not list(out.glob(".*"))
    answered()
    assert contents(out) == contents(unbroken)


def test_input_that_cannot_be_read_costs_nothing_before_it(others: Path, tmp_path: Path, answered: Answered) -> None:
    lines = (others / "people.csv").read_text().splitlines()
    (tmp_path / "people.csv").write_text("\n".join([*lines[:150], "p149,1", *lines[151:]]))
    with pytest.raises(AttainError, match=r"line 151: it has 2 cells, .*; what is answered so far is kept"):
        answered(tmp_path / "people.csv", index="who")


def test_answers_to_people_who_have_not_changed_are_kept(others: Path, tmp_path: Path, answered: Answered) -> None:
    lines, path = (others / "people.csv").read_text().splitlines(), tmp_path / "people.csv"
    path.write_text("\n".join(lines))
    answered(path, index="who", people_per_file=50)
    path.write_text("\n".join([*lines[:60], lines[60].replace("p59", "p590"), *lines[61:]]))
    out, notes = answered(path, index="who", people_per_file=50)
    assert notes == ["155 people are answered already; 50 are left"]
    assert contents(out) == contents(answered(path, index="who", people_per_file=50, out=tmp_path / "new")[0])


def test_a_file_with_answers_to_others_is_not_trusted_by_its_name(
    unbroken: Path, tmp_path: Path, answered: Answered
) -> None:
    out = tmp_path / "out"
    shutil.copytree(unbroken, out)
    shutil.copy(out / "part-00000002.parquet", out / "part-00000005.parquet")
    shutil.copy(out / "part-00000002.parquet", out / "part-00000077.parquet")
    assert answered()[1] == ["185 people are answered already; 20 are left"]
    assert contents(out) == contents(unbroken)


def test_only_one_process_writes_into_a_folder(batch: ExplainBatch, answered: Answered) -> None:
    real, refused = ExplainBatch.explain, list[str]()

    class Greedy(ExplainBatch):
        def explain(self, frame: pd.DataFrame) -> Any:
            if len(frame) and not refused:
                with pytest.raises(AttainError, match="another process is writing answers into") as error:
                    answered()
                refused.append(str(error.value))
            return real(self, frame)

        def named_by(self, index: str | None, *, integers: bool) -> ExplainBatch:
            return Greedy(self.explainer, self.model, index=index, integers=integers, **self.request)

    answered(batch=Greedy(batch.explainer, batch.model, **batch.request))
    assert len(refused) == 1


def test_people_of_the_same_name_are_noted(tmp_path: Path, answered: Answered) -> None:
    X = people.frame(6, seed=7)
    X.index = pd.Index(["a", "b", "b", "c", "c", "d"], name="who")
    X.to_parquet(tmp_path / "people.parquet")
    out, notes = answered(tmp_path / "people.parquet")
    assert notes == ["several people have the same name in 'who', such as 'b'; each has their own answer"]
    assert pq.read_table(out).to_pandas().query("option.isna() or option == 1")["who"].tolist() == list(X.index)


def test_one_bad_record_is_one_status(batch: ExplainBatch, others: Path, tmp_path: Path, answered: Answered) -> None:
    frame = pd.read_csv(others / "people.csv", dtype=str)
    frame.loc[30, "income"], frame.loc[50, "education"] = "a lot", "PhD"
    frame.to_csv(tmp_path / "people.csv", index=False)
    answers = pd.read_parquet(answered(tmp_path / "people.csv", index="who")[0])
    bad, good = answers["status"] == "UNREADABLE", batch.named_by("who", integers=False)(people.frame(205, seed=7))
    assert answers.loc[bad, "who"].tolist() == ["p30", "p50"]
    assert answers.loc[bad, "problem"].str.contains("found 'a lot'|found 'PhD'").all()
    others_good = good[~good["who"].isin(["p30", "p50"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(answers[~bad].reset_index(drop=True), others_good, check_dtype=False)


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
    module: Any, batch: ExplainBatch, tmp_path: Path, answered: Answered
) -> None:
    fine, once = (ExplainBatch(batch.explainer, model, target=people.DESIRED) for model in (module.fine, module.once))
    alone = contents(answered(batch=fine, people_per_file=50, out=tmp_path / "fine")[0])
    assert contents(answered(batch=once, people_per_file=50, workers=2)[0]) == alone
    assert (tmp_path / "died").exists()


@pytest.mark.slow
def test_a_slice_on_which_processes_die_again_and_again_is_named(
    module: Any, batch: ExplainBatch, answered: Answered
) -> None:
    own = ExplainBatch(batch.explainer, module.always, target=people.DESIRED)
    with pytest.raises(AttainError, match=r"a process ended 3 times while it answered the .* people of slice"):
        answered(batch=own, people_per_file=50, workers=2)


def test_a_model_that_cannot_be_sent_is_refused(batch: ExplainBatch, answered: Answered) -> None:
    lock = threading.Lock()

    def decide(frame: pd.DataFrame) -> Any:
        with lock:
            return batch.model.model.predict(frame)

    own = ExplainBatch(batch.explainer, decide, target=people.DESIRED)
    with pytest.raises(AttainError, match=r"cannot be sent to other processes .*; use one worker"):
        answered(batch=own, people_per_file=50, workers=2)


def test_an_interruption_keeps_what_is_done(
    unbroken: Path, monkeypatch: pytest.MonkeyPatch, answered: Answered
) -> None:
    real, seen = ExplainBatch.explain, []

    def stopped(self: ExplainBatch, frame: pd.DataFrame) -> Any:
        seen.append(len(frame))
        if len(seen) == 6:  # the first batch is empty
            raise KeyboardInterrupt
        return real(self, frame)

    with monkeypatch.context() as patch:
        patch.setattr(ExplainBatch, "explain", stopped)
        with pytest.raises(Interrupted) as stop:
            answered()
    assert stop.value.result.people == 80  # type: ignore[attr-defined]
    out, notes = answered()
    assert notes == ["80 people are answered already; 125 are left"]
    assert contents(out) == contents(unbroken)


@pytest.mark.parametrize(
    ("number", "kills", "workers"),
    [(25, 20, 1), *(pytest.param(*case, marks=pytest.mark.slow) for case in ((25, 100, 1), (205, 20, 2)))],
)
def test_killed_at_many_moments_it_ends_with_the_same_bytes(
    number: int, kills: int, workers: int, tmp_path: Path
) -> None:
    people.frame(number, seed=7).to_parquet(tmp_path / "few.parquet", row_group_size=30)
    command = [sys.executable, str(Path(__file__).parent / "killing.py"), str(tmp_path), str(tmp_path / "few.parquet")]
    command += [str(kills), str(workers)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    report = json.loads(done.stdout.splitlines()[-1])
    assert report == {"kills": kills, "runs": report["runs"], "equal": report["runs"]}


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
