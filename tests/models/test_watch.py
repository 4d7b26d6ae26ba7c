"""Calls that may take only so long."""

import contextvars
import threading
import time

import numpy as np
import pytest
import sklearn

from attain.core.errors import ModelError
from attain.models import Goal
from attain.models.reader import by_halves
from attain.models.watch import SlowModelError, Watch

TIMEOUT = 0.3


def test_what_a_call_returns_or_raises_is_passed_on():
    watch = Watch(60.0, "the model")
    assert watch.run(lambda: 7, 1) == 7
    with pytest.raises(ZeroDivisionError):
        watch.run(lambda: 1 / 0, 1)
    with pytest.raises(KeyboardInterrupt):
        watch.run(lambda: (_ for _ in ()).throw(KeyboardInterrupt), 1)


def test_a_call_sees_the_settings_of_its_caller():
    variable = contextvars.ContextVar("variable", default=0)
    variable.set(3)
    with sklearn.config_context(transform_output="pandas"), np.errstate(divide="raise"):
        seen = Watch(60.0, "the model").run(
            lambda: (variable.get(), sklearn.get_config()["transform_output"], np.geterr()["divide"]), 1
        )
    assert seen == (3, "pandas", "raise")


def test_a_call_that_hangs_is_given_up_in_time_and_named():
    released, watch = threading.Event(), Watch(0.1, "the model")
    started = time.perf_counter()
    with pytest.raises(SlowModelError, match=r"the model took longer than 0\.1 s when asked about 3 rows"):
        watch.run(released.wait, 3)
    assert time.perf_counter() - started < 5
    thread = next(thread for thread in threading.enumerate() if thread.name == "attain-model")
    assert thread.daemon
    released.set()
    thread.join(5)


def test_the_limit_grows_with_the_rows_by_what_the_probe_took():
    watch = Watch(0.05, "the model")
    watch.learning = True
    watch.run(lambda: time.sleep(0.04), 10)
    watch.learning = False
    assert 0.04 <= watch.usual(1) == watch.usual(10) < 1
    assert watch.usual(40) == pytest.approx(4 * watch.usual(10))
    watch.run(lambda: time.sleep(0.16), 40)
    assert watch.usual(40) == pytest.approx(4 * watch.usual(10))


def test_slow_rows_are_found_by_owner():
    owners = np.array([5, 3, 5, 9, 3, 7, 9])
    asked = []

    def ask(rows):
        asked.append(rows[:, 0].astype(int).tolist())
        if (owners[rows[:, 0].astype(int)] == 9).any():
            raise SlowModelError("slow")
        return rows

    parts, failures = by_halves(ask, np.arange(7.0)[:, None], owners)
    assert sorted(failures) == [3, 6]
    assert sorted(np.concatenate([at for at, _ in parts]).tolist()) == [0, 1, 2, 4, 5]
    assert all((at == rows[:, 0]).all() for at, rows in parts)
    assert [3] not in asked
    assert [6] not in asked


@pytest.mark.parametrize("tolerant", [True, False])
def test_a_goal_finds_rows_on_which_the_model_hangs(numbers, tolerant):
    hangs = numbers.rows[70:72]
    position = numbers.table.schema.position("income")

    def model(frame):
        if frame["income"].isin(hangs[:, position]).any():
            threading.Event().wait(20)
        return (frame["income"] > 3).to_numpy()

    kinds = {"target": True, "probe": numbers.probe, "tolerant": tolerant}
    rows = numbers.rows[66:74]
    expected = Goal(lambda frame: (frame["income"] > 3).to_numpy(), numbers.layout, **kinds).judge(rows)
    judged = Goal(model, numbers.layout, timeout=TIMEOUT, **kinds).judge(rows)
    wrong = np.isin(rows[:, position], hangs[:, position])
    assert judged.slow == tuple(np.flatnonzero(wrong)) == tuple(sorted(judged.failures))
    assert not judged.met[wrong].any()
    np.testing.assert_array_equal(judged.met[~wrong], expected.met[~wrong])
    np.testing.assert_array_equal(judged.score[~wrong], expected.score[~wrong])


def test_a_model_that_hangs_on_everything_raises(numbers):
    with pytest.raises(ModelError, match="took longer than"):
        Goal(lambda frame: threading.Event().wait(20), numbers.layout, target=1, probe=numbers.probe, timeout=0.1)
