"""An adapter written outside the package works everywhere a model is taken."""

import sys

import numpy as np
import pytest

from attain.core.errors import ModelError
from attain.methods import GrowingSpheres, Wachter
from attain.metrics import evaluate
from attain.models import Adapter, Goal, Model, library_name, register
from attain.models import model as wrapping
from attain.schema import Feature, Schema

WEIGHTS = np.array([1.0, -0.2])
SCHEMA = Schema((Feature("visits", "real"), Feature("income", "real")))


class Abacus:
    """A classifier with methods of its own; its library cannot be imported."""

    __module__ = "abacus.classifiers"

    def odds_of(self, cells):
        return cells @ WEIGHTS - 1.0


class Abaci:
    @staticmethod
    def recognises(model):
        return "abacus" in library_name(model)

    @staticmethod
    def adapt(model, options):
        return Adapter(
            title="the abacus",
            ask=lambda kind, batch: {kind: model.odds_of(batch)},
            kinds=("scores",),
            classes=options.classes or ("no", "yes"),
            accepts="numpy",
            names=("visits", "income"),
            gradient=lambda batch, k: (model.odds_of(batch) * (2 * k - 1), 0 * batch + WEIGHTS * (2 * k - 1)),
        )


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr(wrapping, "_SOURCES", list(wrapping._SOURCES))
    assert register(Abaci) is Abaci


@pytest.mark.usefixtures("registered")
def test_goals_methods_and_measures_take_the_model(numbers):
    model, decided = Abacus(), numbers.array @ WEIGHTS > 1.0
    goal = Goal(model, numbers.layout, target="yes", probe=numbers.probe)
    np.testing.assert_array_equal(goal.confirm_rows(numbers.rows).met, decided)
    refused = numbers.frame[~decided].iloc[:5]
    for method in (GrowingSpheres(SCHEMA), Wachter(SCHEMA, method="gradient")):
        explainer = method.fit(numbers.frame, np.where(decided, "yes", "no"))
        result = explainer.explain(model, refused, target="yes")
        assert result.found.all()
    evaluate(result, model, numbers.frame, np.where(decided, "yes", "no"))
    assert "abacus" not in sys.modules


@pytest.mark.usefixtures("registered")
def test_a_registered_adapter_comes_before_the_built_in_ones():
    class Callable(Abacus):
        def __call__(self, frame):
            raise AssertionError

    assert Model(Callable()).adapter.title == "the abacus"
    assert Model(Callable(), classes=["a", "b"]).adapter.classes == ("a", "b")


def test_without_its_adapter_the_model_is_refused_and_half_an_adapter_too():
    with pytest.raises(ModelError, match=r"type Abacus cannot be asked.*attain\.models\.register"):
        Model(Abacus())
    with pytest.raises(ModelError, match="must have a function 'adapt'"):
        register(type("Half", (), {"recognises": Abaci.recognises}))
