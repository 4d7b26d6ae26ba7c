"""Made-up people whose decision rests on one number, and methods from outside that other processes can import."""

import numpy as np
import pandas as pd
import pytest

from attain import Feature, Schema
from attain.datasets import Dataset

OUTSIDERS = '''
"""Methods from outside, each with a known end."""
import os, time
import numpy as np


class Sets:
    def __init__(self, schema, seed, merit):
        self.seed, self.merit = seed, merit

    def explain(self, model, X, *, target):
        return X.assign(merit=self.merit + self.seed)


class Raises(Sets):
    def explain(self, model, X, *, target):
        raise RuntimeError("the method\\nbroke")


class Dies(Sets):
    def explain(self, model, X, *, target):
        os._exit(7)


class Sleeps(Sets):
    def explain(self, model, X, *, target):
        time.sleep(600)


def low(schema, seed): return Sets(schema, seed, 1.0)
def high(schema, seed): return Sets(schema, seed, 2.0)
def raises(schema, seed): return Raises(schema, seed, 0.0)
def dies(schema, seed): return Dies(schema, seed, 0.0)
def sleeps(schema, seed): return Sleeps(schema, seed, 0.0)
'''


@pytest.fixture(scope="session")
def data() -> Dataset:
    """One number decides: who has more than 0 is accepted."""
    random = np.random.default_rng(0)
    X = pd.DataFrame({"merit": random.normal(0, 1, 400).round(3), "age": random.integers(18, 80, 400)})
    schema = Schema((Feature("merit", "real", bounds=(-5, 5), step=0.001), Feature("age", "count", immutable=True)))
    y = pd.Series(np.where(X["merit"] > 0, "yes", "no"), index=X.index)
    return Dataset("made up", X, y, schema, "yes", "made up", "nowhere", "free")


@pytest.fixture
def outsiders(tmp_path_factory, monkeypatch) -> None:
    """The module `outsiders`, importable here and in every process that is started from here."""
    folder = tmp_path_factory.mktemp("modules")
    (folder / "outsiders.py").write_text(OUTSIDERS)
    monkeypatch.syspath_prepend(folder)
