"""Methods of other packages: what they are told, how answers are read; by stand-ins and, if installed, in truth."""

import importlib.util
import random
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from attain import Feature, Schema
from attain.core.errors import MissingExtraError, ModelError
from attain.datasets import Dataset
from experiments.bench.classifiers import CLASSIFIERS
from experiments.bench.methods import OUTSIDE
from experiments.bench.run import run
from experiments.outside.dice import DiceML
from experiments.outside.nice import FrozenNICE
from experiments.outside.treecf import TreeCF

LEVELS = ("none", "some", "much")


@pytest.fixture(scope="module")
def people():
    """Income and savings decide; savings only grow, the code -9 of debt is no number, nobody moves from b to a."""
    draw = np.random.default_rng(1)
    X = pd.DataFrame(
        {
            "income": draw.integers(0, 100, 300),
            "debt": np.where(draw.random(300) < 0.1, -9.0, draw.random(300).round(2)),
            "savings": draw.choice(LEVELS, 300),
            "town": draw.choice(["a", "b", "c"], 300),
            "age": draw.integers(18, 80, 300),
        }
    )
    schema = Schema(
        (
            Feature("income", "count", bounds=(0, 120)),
            Feature("debt", "real", bounds=(0, 1), step=0.01, special={-9: "none"}),
            Feature("savings", "ordinal", levels=LEVELS, direction="increase"),
            Feature("town", "categorical", levels=("a", "b", "c"), transitions={"b": ("c",)}),
            Feature("age", "count", immutable=True),
        )
    )
    y = pd.Series(np.where(X["income"] + 30 * X["savings"].map(LEVELS.index) > 60, 1, 0), index=X.index)
    return Dataset("made up", X, y, schema, 1, "made up", "nowhere", "free")


@pytest.fixture(scope="module")
def forest(people):
    return CLASSIFIERS["random forest"](people.schema, 0).fit(people.X, people.y)


@pytest.fixture
def dice(monkeypatch):
    """A stand-in for dice-ml that asks the model, draws random numbers, and answers with the best permitted income."""
    told = []

    class Nothing(Exception):
        pass

    class Dice:
        def __init__(self, data, model, method):
            self.data, self.model, self.method = data, model, method

        def generate_counterfactuals(self, person, *, total_CFs, desired_class, features_to_vary, permitted_range):
            chance = self.model.model.predict_proba(person)[0, desired_class]
            told.append(
                SimpleNamespace(
                    data=self.data, method=self.method, free=features_to_vary, permitted=permitted_range, chance=chance,
                    decided=self.model.model.predict(person)[0], drawn=(random.random(), np.random.rand()),  # noqa: NPY002
                )
            )  # fmt: skip
            if person["age"].iloc[0] > 70:
                raise Nothing
            best = permitted_range["savings"][-1]
            answer = person.assign(income=float(permitted_range["income"][1]), savings=best)
            answer = answer.assign(debt=answer["debt"].astype(np.float32), outcome=1)
            return SimpleNamespace(cf_examples_list=[SimpleNamespace(final_cfs_df=answer)])

    module, exceptions = ModuleType("dice_ml"), ModuleType("raiutils.exceptions")
    module.Data = lambda **given: SimpleNamespace(**given)
    module.Model = lambda model, backend: SimpleNamespace(model=model, backend=backend)
    module.Dice, exceptions.UserConfigValidationException = Dice, Nothing
    monkeypatch.setitem(sys.modules, "dice_ml", module)
    monkeypatch.setitem(sys.modules, "raiutils", ModuleType("raiutils"))
    monkeypatch.setitem(sys.modules, "raiutils.exceptions", exceptions)
    return told


def some(people, **cells):
    frame = pd.DataFrame(
        {"income": [10, 20], "debt": [0.37, -9.0], "savings": ["some", "none"], "town": ["b", "a"], "age": [30, 40]}
    )
    return frame.assign(**cells).astype(people.X.dtypes)


def test_dice_is_told_what_each_person_may_reach(people, forest, dice):
    method = DiceML(people.schema, 3, "genetic").fit(people.X, people.y)
    asked = some(people)
    result = method.explain(forest, asked, target=1)
    first, second = dice
    assert first.method == "genetic"
    assert first.data.continuous_features == ["income", "debt", "age"]
    assert (first.free, second.free) == (["income", "debt", "savings", "town"], ["income", "savings", "town"])
    assert first.permitted["savings"] == ["some", "much"]
    assert first.permitted["town"] == ["b", "c"]
    assert second.permitted["town"] == ["a", "b", "c"]
    assert first.permitted["debt"] == [people.X["debt"][people.X["debt"] >= 0].min(), people.X["debt"].max()]
    np.testing.assert_allclose([t.chance for t in dice], forest.predict_proba(asked)[:, 1])
    assert [t.decided for t in dice] == [0, 0]
    # 0.37 went through 32 bits and is the person's own again
    assert result.frame["debt"].tolist() == [0.37, -9.0]
    assert result.frame["income"].tolist() == [people.X["income"].max()] * 2
    assert result.frame["savings"].tolist() == ["much", "much"]
    np.testing.assert_array_equal(result.person_figures["rows_scored"], [2, 2])


def test_dice_is_repeatable_in_any_company_and_leaves_global_generators_alone(people, forest, dice):
    method = DiceML(people.schema, 3, "random").fit(people.X, people.y)
    asked, before = some(people), (random.getstate(), np.random.get_state()[1].copy())  # noqa: NPY002
    method.explain(forest, asked, target=1)
    method.explain(forest, asked.iloc[1:], target=1)
    assert dice[1].drawn == dice[2].drawn != dice[0].drawn
    assert random.getstate() == before[0]
    np.testing.assert_array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002


def test_people_whom_dice_does_not_answer_have_missing_rows(people, forest, dice):
    method = DiceML(people.schema).fit(people.X, people.y)
    asked = some(people, age=[75, 40], town=["b", None])
    result = method.explain(forest, asked, target=1)
    assert result.frame.isna().all(axis=None)
    assert len(dice) == 1


def test_dice_refuses_a_model_without_probabilities(people, dice):
    with pytest.raises(ModelError, match="predict_proba"):
        DiceML(people.schema).fit(people.X, people.y).explain(SimpleNamespace(), some(people), target=1)


@pytest.fixture
def treecf(monkeypatch):
    """A stand-in for treecf that raises the first number and moves to the last level that is not frozen."""
    told = []
    module = ModuleType("treecf")
    for name in ("Freeze", "Range", "Monotone", "Grid", "OneHot"):
        setattr(module, name, lambda *given, name=name: (name, *given))
    module.Infeasible = type("Infeasible", (), {})
    module.UnsupportedModelError = type("UnsupportedModelError", (Exception,), {})
    module.Target = SimpleNamespace(raw=lambda op, value: (op, value))

    class Explainer:
        def __init__(self, model, background, constraints=(), value_policy=None):
            if type(model).__name__ == "LogisticRegression":
                raise module.UnsupportedModelError("no trees")
            width = background.shape[1]
            self.ir, self.background = SimpleNamespace(feature_names=[f"f{i}" for i in range(width)]), background
            self.constraints, self.policy = constraints, value_policy

        def explain(self, x, target, *, backend, time_budget_s, seed):
            told.append(
                SimpleNamespace(target=target, rules=self.constraints, policy=self.policy, seed=seed, backend=backend)
            )
            if x[2] > 70:
                return module.Infeasible()
            answer = x.copy()
            answer[0] = 100.0
            answer[3:6] = [0, 0, 1]
            return SimpleNamespace(x_cf=answer)

    module.Explainer = Explainer
    monkeypatch.setitem(sys.modules, "treecf", module)
    return told


def test_treecf_is_told_the_rules_in_the_columns_of_the_trees(people, forest, treecf):
    # income, debt, age are f0 to f2, the levels of savings f3 to f5, those of town f6 to f8
    method = TreeCF(people.schema, 3, "exact").fit(people.X, people.y)
    result = method.explain(forest, some(people, age=[30, 75]), target=1)
    first, second = treecf
    assert first.target == (">=", pytest.approx(0.5, abs=1e-5))
    assert first.backend == "exact"
    assert {rule[1] for rule in first.rules if rule[0] == "Freeze"} == {"f2", "f3", "f6"}
    assert {rule[1] for rule in second.rules if rule[0] == "Freeze"} == {"f1", "f2"}
    assert ("Range", "f0", 0.0, 120.0) in first.rules
    assert ("OneHot", ("f3", "f4", "f5")) in first.rules
    assert first.policy == {"f0": "integer", "f1": ("Grid", 0.01)}
    assert first.seed != second.seed
    assert result.frame.iloc[0].tolist() == [100.0, 0.37, "much", "b", 30]
    assert result.frame.iloc[1].isna().all()


def test_treecf_refuses_what_it_cannot_read(people, treecf):
    method = TreeCF(people.schema).fit(people.X, people.y)
    linear = CLASSIFIERS["logistic regression"](people.schema, 0).fit(people.X, people.y)
    with pytest.raises(ModelError, match="not a StandardScaler"):
        method.explain(linear, some(people), target=1)
    numbers = people.X[["income", "age"]]
    with pytest.raises(ModelError, match="no trees"):
        TreeCF(people.schema).fit(numbers, people.y).explain(
            linear[-1].__class__().fit(numbers, people.y), numbers.iloc[:1], target=1
        )


@pytest.mark.parametrize(("module", "make"), [("dice_ml", DiceML), ("treecf", TreeCF), ("nice", FrozenNICE)])
def test_a_package_that_is_not_installed_is_named(people, monkeypatch, module, make):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match="pip install"):
        make(people.schema)


@pytest.mark.slow
@pytest.mark.parametrize("name", OUTSIDE)
def test_the_real_packages_answer_people(people, name):
    module = OUTSIDE[name].needs[0]
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    forest = {"random forest": CLASSIFIERS["random forest"]}
    table = run([people], people=4, classifiers=forest, explainers={name: OUTSIDE[name]})
    assert set(table["status"]) == {"ok"}
    # treecf leaves its grid where a cell of the trees has no point of it; only DiCE's tree may find nobody
    assert set(table["verdict"]) <= {"found", "no answer" if name == "dice-kdtree" else "breaks a rule"}
    assert name == "dice-kdtree" or table["found"].any()
