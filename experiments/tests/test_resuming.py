"""A bench that stops goes on where it was, in this process or in several, and ends with the same table."""

import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from attain import AttainError
from experiments.bench.classifiers import CLASSIFIERS
from experiments.bench.methods import METHODS, Factory
from experiments.bench.run import read_rows, run, settings
from experiments.bench.workers import Task
from experiments.store import Artifact, Store

TIMES = ["cpu_seconds", "fit_seconds"]
LOGISTIC = {"logistic regression": CLASSIFIERS["logistic regression"]}


def untimed(frame):
    return frame.drop(columns=TIMES)


class Stops:
    """Counts its calls; after so many it is interrupted."""

    def __init__(self, after=10**6):
        self.calls, self.after = 0, after

    def explain(self, model, X, *, target):
        self.calls += 1
        if self.calls > self.after:
            raise KeyboardInterrupt
        return X.assign(merit=1.0)


def test_a_run_that_was_stopped_goes_on_where_it_was(data, tmp_path):
    few = {name: CLASSIFIERS[name] for name in ("logistic regression", "random forest")}
    whole = run([data], people=3, classifiers=few, explainers={"steady": Stops()})
    stopping = Stops(after=2)  # one call warms up, one counts: the second classifier is never reached
    with pytest.raises(KeyboardInterrupt):
        run([data], people=3, classifiers=few, explainers={"steady": stopping}, folder=tmp_path)
    kept = {path: path.read_bytes() for path in tmp_path.glob("*.part")}
    assert len(kept) == 1
    steady = Stops()
    resumed = run([data], people=3, classifiers=few, explainers={"steady": steady}, folder=tmp_path)
    assert steady.calls == 2
    assert all(path.read_bytes() == content for path, content in kept.items())
    pd.testing.assert_frame_equal(untimed(resumed), untimed(whole))
    again = Stops()
    pd.testing.assert_frame_equal(
        run([data], people=3, classifiers=few, explainers={"steady": again}, folder=tmp_path), resumed
    )
    assert again.calls == 0


def test_a_cell_that_failed_is_run_again(data, tmp_path):
    first = run([data], people=3, classifiers=LOGISTIC, explainers={"method": Factory("nowhere:make")}, folder=tmp_path)
    assert set(first["status"]) == {"failed"}
    assert len(first) == 3
    second = run([data], people=3, classifiers=LOGISTIC, explainers={"method": Stops()}, folder=tmp_path)
    assert set(second["status"]) == {"ok"}


def test_a_folder_fills_with_further_methods_and_seeds(data, tmp_path):
    spheres, nearest = ({name: METHODS[name]} for name in ("GrowingSpheres", "NearestUnlike"))
    run([data], people=3, classifiers=LOGISTIC, explainers=spheres, folder=tmp_path)
    run([data], people=3, classifiers=LOGISTIC, explainers=nearest, seeds=(1,), folder=tmp_path)
    both = read_rows(Store.opened(tmp_path))
    assert both.groupby(["method", "seed"]).size().to_dict() == {("GrowingSpheres", 0): 3, ("NearestUnlike", 1): 3}


def test_parts_of_another_run_are_not_mixed_in(data, tmp_path):
    def again(data=data, people=3, explainers=None):
        run([data], people=people, classifiers=LOGISTIC, explainers=explainers or {"m": Stops()}, folder=tmp_path)

    again()
    with pytest.raises(AttainError, match="other settings"):
        again(people=4)
    with pytest.raises(AttainError, match="from other data or with other parameters"):
        again(explainers={"m": METHODS["GrowingSpheres"]})
    with pytest.raises(AttainError, match="from other data or with other parameters"):
        again(replace(data, y=data.y.iloc[::-1].set_axis(data.y.index)))


def test_folders_are_merged(tmp_path):
    first, second = (Store(tmp_path / name, settings(3, None)) for name in ("first", "second"))
    first.put("a", Artifact({"of": "first"}, {}))
    second.put("a", Artifact({"of": "second"}, {}))
    second.put("b", Artifact({}, {"numbers": np.arange(3.0)}))
    assert first.merge(tmp_path / "second") == 1
    assert {key: dict(part.facts) for key, part in first.items()} == {"a": {"of": "first"}, "b": {}}
    np.testing.assert_array_equal(first.read("b").arrays["numbers"], [0, 1, 2])
    Store(tmp_path / "third", settings(4, None))
    with pytest.raises(AttainError, match="other settings"):
        first.merge(tmp_path / "third")
    with pytest.raises(AttainError, match="is not the folder of a run"):
        first.merge(tmp_path / "nowhere")


def test_a_file_that_was_never_finished_is_no_part(tmp_path):
    store = Store(tmp_path, {})
    store.put("a", Artifact({}, {}))
    (tmp_path / ".a-123.part.xyz.part").write_bytes(b"half")
    assert [key for key, _ in store.items()] == ["a"]


def test_processes_give_the_same_table_and_survive_what_methods_do(data, outsiders):
    methods = {name: Factory(f"outsiders:{name}") for name in ("low", "high", "raises", "dies")}
    methods["GrowingSpheres"] = METHODS["GrowingSpheres"]
    given = {"people": 3, "classifiers": LOGISTIC}
    table = run([data], explainers=methods, jobs=2, **given)
    ends = table.groupby("method")[["status", "reason"]].first()
    assert ends["status"].to_dict() == {
        "low": "ok", "high": "ok", "GrowingSpheres": "ok", "raises": "failed", "dies": "failed"
    }  # fmt: skip
    assert ends.loc["raises", "reason"] == "RuntimeError: the method broke"
    assert ends.loc["dies", "reason"] == "its process ended with exit code 7"
    assert table.groupby("method").size().eq(3).all()
    fine = [name for name in methods if name in ("low", "high", "GrowingSpheres")]
    alone = run([data], explainers={name: methods[name] for name in fine}, **given)
    pd.testing.assert_frame_equal(untimed(table[table["method"].isin(fine)]).reset_index(drop=True), untimed(alone))


@pytest.mark.slow
def test_a_cell_that_takes_too_long_is_stopped_and_the_others_are_not(data, outsiders, monkeypatch):
    def limited(name, needs=frozenset(), limit=None):
        return Task(name, needs, limit if getattr(name, "method", None) == "sleeps" else None)

    monkeypatch.setattr(sys.modules[run.__module__], "Task", limited)  # others never take too long
    methods = {name: Factory(f"outsiders:{name}") for name in ("sleeps", "low")}
    table = run([data], people=3, classifiers=LOGISTIC, explainers=methods, jobs=1, limit=2.0)
    ends = table.groupby("method")[["status", "reason"]].first()
    assert ends["status"].to_dict() == {"low": "ok", "sleeps": "stopped"}
    assert ends.loc["sleeps", "reason"] == "it took longer than 2 seconds"
    assert table.groupby("method").size().eq(3).all()


def test_what_cannot_be_sent_to_other_processes_is_refused_in_words(data):
    class Local(Stops):
        pass

    with pytest.raises(AttainError, match="cannot be sent to other processes"):
        run([data], people=3, classifiers=LOGISTIC, explainers={"local": Local()}, jobs=1)


@pytest.mark.slow
def test_methods_with_an_autoencoder_share_one_and_do_not_depend_on_the_processes(data, tmp_path):
    methods = {name: METHODS[name] for name in ("CCHVAE", "REVISE")}
    given = {"people": 3, "classifiers": LOGISTIC, "explainers": methods}
    tables = [run([data], jobs=jobs, folder=tmp_path / str(jobs), **given) for jobs in (None, 1, 2)]
    for other in tables[1:]:
        pd.testing.assert_frame_equal(untimed(other), untimed(tables[0]))
    for jobs in (None, 1, 2):
        assert len(list((tmp_path / str(jobs)).glob("autoencoder-*.part"))) == 1
