"""Tasks in processes: each once, in order, after what they need, whatever becomes of the others."""

import pytest

from attain.core.errors import AttainError
from experiments.bench.workers import Task, perform_all

WORK = """
import os, time
from pathlib import Path

def start(folder):
    def perform(name):
        if name == "dies":
            os._exit(3)
        if name == "sleeps":
            time.sleep(600)
        Path(folder, str(name)).write_text(str(time.monotonic()))
        time.sleep(0.05)
    return perform
"""


@pytest.fixture
def work(tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("modules")
    (folder / "bench_work.py").write_text(WORK)
    monkeypatch.syspath_prepend(folder)
    import bench_work

    return bench_work.start


def performed(tasks, start, folder, jobs):
    done, lost = [], {}

    def note(name, reason, late):
        lost[name] = (reason, late)

    perform_all(tasks, start, (folder,), jobs=jobs, done=done.append, lost=note)
    return done, lost


def test_tasks_wait_for_what_they_need_and_outlive_what_is_lost(work, tmp_path):
    tasks = [
        Task("last", frozenset(["first", "dies", "sleeps", "unknown"])),
        Task("dies"),
        Task("sleeps", limit=0.3),
        Task("first"),
        Task("next", frozenset(["first"])),
    ]
    done, lost = performed(tasks, work, tmp_path, jobs=2)
    assert sorted(done) == ["first", "last", "next"]
    assert done.index("first") < done.index("next")
    assert lost == {
        "dies": ("its process ended with exit code 3", False),
        "sleeps": ("it took longer than 0.3 seconds", True),
    }
    times = {path.name: float(path.read_text()) for path in tmp_path.iterdir()}
    assert times["first"] < times["next"]
    assert times["first"] < times["last"]


def test_what_cannot_be_pickled_is_refused_before_anything_is_started(tmp_path):
    with pytest.raises(AttainError, match="cannot be sent to other processes"):
        perform_all([Task("a")], lambda folder: print, (tmp_path,), jobs=1, done=print, lost=print)
