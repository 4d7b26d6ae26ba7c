"""Answers people with two processes whose model hangs, until it is interrupted; run by test_local.py.

With a third argument it interrupts itself, while it waits for answers and holds the locks of futures.
"""

import os
import signal
import sys
import time
from contextlib import contextmanager

import numpy as np

from attain.core.errors import Interrupted
from attain.methods import NearestUnlike
from attain.scale import ExplainBatch, explain, workers
from attain.testing import people

X = people.frame(150)
model = people.linear_model(X, people.labels(X))


class Hanging:
    classes_ = model.classes_
    feature_names_in_ = model.feature_names_in_

    def predict(self, frame):  # type: ignore[no-untyped-def]
        if len(frame) == 50:
            time.sleep(600)
        return model.predict(frame)

    def predict_proba(self, frame):  # type: ignore[no-untyped-def]
        if len(frame) == 50:
            time.sleep(600)
        return np.asarray(model.predict_proba(frame))


@contextmanager
def futures_locked(futures):  # type: ignore[no-untyped-def]
    """As an interrupt between locking futures and the block that unlocks them: it leaves them locked."""
    for future in futures:
        future._condition.acquire()
    yield
    for future in futures:
        future._condition.release()


if __name__ == "__main__":
    explainer = NearestUnlike(people.schema(), laws=people.LAWS).fit(X, people.labels(X))
    batch = ExplainBatch(explainer, Hanging(), target=people.DESIRED)
    waited = workers.wait

    def wait(futures, *rest):  # type: ignore[no-untyped-def]
        workers.wait = waited
        if len(sys.argv) > 3:
            with futures_locked(futures):
                os.kill(os.getpid(), signal.SIGINT)
            return waited(futures, *rest)
        done = waited(futures, *rest)
        print("begun", flush=True)
        return done

    workers.wait = wait
    try:
        explain(sys.argv[1], sys.argv[2], batch, people_per_file=50, workers=2)
    except Interrupted:
        print("interrupted", flush=True)
