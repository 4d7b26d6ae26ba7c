"""What tests of experiments share: where the real data sets are, made-up people, and methods from outside."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from attain import Feature, Schema
from attain.datasets import Dataset

QUICK = {
    "test_every_person_of_every_cell_has_a_row",
    "test_measures_are_those_of_evaluate",
    "test_an_answer_that_breaks_a_rule_is_counted_and_is_none",
    "test_a_run_that_was_stopped_goes_on_where_it_was",
    "test_a_claim_is_reproduced_if_all_parts_hold_and_partly_if_some_do",
    "test_quick_and_full_runs_and_the_report",
}
"""The tests that `.ci/run` makes; all others are slow."""
FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if FOLDER in item.path.parents and getattr(item, "originalname", item.name) not in QUICK:
            item.add_marker(pytest.mark.slow)


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


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of the real data sets; a test that asks for it is skipped where there is none."""
    named = os.environ.get("ATTAIN_DATA")
    folder = Path(named) if named else Path(__file__).parents[3] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real data sets are not here; name their folder in the environment variable ATTAIN_DATA")
    return folder
