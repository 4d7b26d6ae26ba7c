"""Answers people with two processes whose model hangs, until it is interrupted; run by test_local.py.

A process that hangs makes the file `hanging` beside the folder of answers.
"""

import sys
import time
from pathlib import Path

import numpy as np

from attain.core.errors import Interrupted
from attain.desk.scale import ExplainBatch, explain
from attain.methods import NearestUnlike
from attain.testing import people

X = people.frame(150)
model = people.linear_model(X, people.labels(X))


class Hanging:
    classes_ = model.classes_
    feature_names_in_ = model.feature_names_in_

    def predict_proba(self, frame):  # type: ignore[no-untyped-def]
        if len(frame) == 50:
            (Path(sys.argv[2]).parent / "hanging").touch()
            time.sleep(9999)
        return np.asarray(model.predict_proba(frame))

    def predict(self, frame):  # type: ignore[no-untyped-def]
        return model.classes_[self.predict_proba(frame).argmax(axis=1)]


if __name__ == "__main__":
    explainer = NearestUnlike(people.schema(), laws=people.LAWS).fit(X, people.labels(X))
    batch = ExplainBatch(explainer, Hanging(), target=people.DESIRED)
    try:
        explain(sys.argv[1], sys.argv[2], batch, people_per_file=50, workers=2)
    except Interrupted:
        print("interrupted", flush=True)
