"""Threads and processes that share an explainer give the same bytes, for every method."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import attain
from attain.density import training
from attain.methods.base import Explainer
from attain.testing import people
from tests.counting import PATIENCE
from tests.processes.sharing import THREADS

ROOT = Path(__file__).parents[2]
METHODS = [
    name
    for name in attain.methods.__all__
    if isinstance(one := getattr(attain.methods, name), type) and issubclass(one, Explainer) and one is not Explainer
]
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def digests(*names):
    command = [sys.executable, "-m", "tests.processes.sharing", *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, cwd=ROOT)
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


@needs_fork
@pytest.mark.parametrize(
    "names",
    [
        ["Guarded"],
        pytest.param([*METHODS, "Guarded+robust"], marks=pytest.mark.slow),
    ],
    ids=["Guarded", "all"],
)
def test_threads_a_forked_and_a_spawned_process_give_the_same_bytes(names):
    found = digests(*names)
    here = found["here"]
    assert list(here) == names
    assert found["threads"] == {name: [answer] * THREADS for name, answer in here.items()}
    assert found["fork"] == here
    assert found["spawn"] == here


@needs_fork
@pytest.mark.filterwarnings("ignore")
def test_a_process_forked_while_a_thread_learns_about_the_model_does_not_wait_for_it():
    X = people.frame(60)
    explainer = attain.GrowingSpheres(people.schema(), laws=None, budget=50).fit(X)
    asked, going_on = threading.Event(), threading.Event()

    def model(frame):
        if len(frame) == len(X):  # what is learned under a lock
            asked.set()
            going_on.wait(PATIENCE)
        return frame["income"] > 3000

    thread = threading.Thread(target=explainer.session, args=(model,), kwargs={"target": True})
    thread.start()
    assert asked.wait(PATIENCE)
    child = os.fork()
    if not child:
        going_on.set()
        signal.alarm(int(PATIENCE))  # which ends it
        os._exit(not len(explainer.session(model, target=True).decided.reference))
    _, ended = os.waitpid(child, 0)
    going_on.set()
    thread.join()
    assert os.waitstatus_to_exitcode(ended) == 0


@needs_fork
def test_training_in_a_forked_process_is_refused_in_a_sentence(monkeypatch):
    monkeypatch.setattr(training, "_IMPORTED_IN", os.getppid())
    with pytest.raises(attain.AttainError, match="training an autoencoder in a forked process"):
        attain.CCHVAE(people.schema()).fit(people.frame(60))
