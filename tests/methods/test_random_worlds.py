"""Random small worlds, all methods: a status for everybody or an `AttainError`, and answers that keep the rules."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from attain import AttainError, Feature, Schema, Status
from attain.methods import (
    FACE,
    ActionableRecourse,
    BudgetedInverseClassification,
    FeatureTweaking,
    GrowingSpheres,
    Guarded,
    HillClimbingLocalSearch,
    NearestUnlike,
    Russell,
    Wachter,
)
from attain.testing.rules import broken_rules

METHODS = (
    FACE, ActionableRecourse, BudgetedInverseClassification, FeatureTweaking, GrowingSpheres, Guarded,
    HillClimbingLocalSearch, NearestUnlike, Russell, Wachter,
)  # fmt: skip
ROWS = 60


@dataclass
class World:
    """A schema, a table that keeps its rules, and constraints of a call."""

    schema: Schema
    X: pd.DataFrame
    y: np.ndarray
    constraints: dict[str, Any]


def feature(random: np.random.Generator, name: str, earlier: list[str]) -> tuple[Feature, Any]:
    """A random column: its feature, and a function of the table so far that gives its cells."""
    kind = random.choice(["real", "positive", "count", "interval", "ordinal", "categorical", "categorical", "derived"])
    more: dict[str, Any] = {}
    if random.random() < 0.15:
        more["immutable"] = True
    if kind == "derived" and earlier:
        source = str(random.choice(earlier))
        return Feature(name, "real", derived=f"2 * {source} + 1"), lambda X: 2 * X[source] + 1
    if kind in ("ordinal", "categorical", "derived"):
        levels = tuple("abcdef"[: random.integers(2, 6)])
        if kind == "ordinal" and random.random() < 0.4:
            more["direction"] = str(random.choice(["increase", "decrease"]))
        if kind != "ordinal" and random.random() < 0.4:
            more["transitions"] = {levels[0]: levels[1 : 1 + random.integers(0, 2)]}
        kind = "ordinal" if kind == "ordinal" else "categorical"
        return Feature(name, kind, levels=levels, **more), lambda X: random.choice(levels, ROWS)
    whole = kind == "count"
    if random.random() < 0.4:
        more["step"] = 1.0 if whole else float(random.choice([0.1, 0.5, 2.0]))
    if random.random() < 0.3:
        more["direction"] = str(random.choice(["increase", "decrease"]))
    if random.random() < 0.3:
        more["range"] = tuple(map(float, random.choice([(0, 0), (-1, 2), (0, 0.01), (-50, 0)])))
    if random.random() < 0.2 and kind != "interval":
        more["special"] = {-9: "unknown"}
        more["transitions"] = {-9: ("value",)} if random.random() < 0.5 else {}
    elif random.random() < 0.25 and not whole:
        more["fillable"] = bool(random.random() < 0.5)
    if kind == "interval":
        more["bounds"] = (0, 10)
    step = more.get("step") or (1.0 if whole else None)
    constant, off_grid = random.random() < 0.1, not whole and random.random() < 0.3

    def cells(X: pd.DataFrame) -> np.ndarray:
        values = np.full(ROWS, 4.0) if constant else np.clip(random.gamma(3, 1.5, ROWS), 0, 10)
        values = np.rint(values / step) * step if step and not off_grid else np.round(values, 3)
        values = np.clip(values, 0, 10)
        if "special" in more:
            values = np.where(random.random(ROWS) < 0.2, -9, values)
        if "fillable" in more:
            values = np.where(random.random(ROWS) < 0.2, np.nan, values)
        return values.astype(int) if whole else values

    return Feature(name, kind, **more), cells


def rules(random: np.random.Generator, features: list[Feature], X: pd.DataFrame) -> list[str]:
    """Rules of several kinds that the rows keep."""
    numbers = [f.name for f in features if f.numeric and f.derived is None]
    levels = [f for f in features if not f.numeric]
    found = []
    if len(numbers) > 1 and random.random() < 0.5:
        a, b = random.choice(numbers, 2, replace=False)
        found.append(f"{a} <= {b} + {np.nanmax([(X[a] - X[b]).max(), 0]) + 0.5:.1f}")
    if levels and numbers and random.random() < 0.5:
        a, chosen = str(random.choice(numbers)), levels[random.integers(len(levels))]
        some = X[a][X[chosen.name] == chosen.levels[0]]
        found.append(f"if {chosen.name} = {chosen.levels[0]} then {a} <= {np.nan_to_num(some.max()) + 0.5:.1f}")
    if numbers and random.random() < 0.3:
        a = str(random.choice(numbers))
        found.append(f"{a} <= 10 or {a} >= 20")
    return found


def world(seed: int) -> World:
    random = np.random.default_rng(seed)
    features: list[Feature] = []
    X = pd.DataFrame(index=[f"p{i}" for i in range(ROWS)])
    kinds = random.choice([0, 1, 2], p=[0.7, 0.15, 0.15])  # all kinds, levels only, numbers only
    while len(features) < random.integers(2, 7) or not features:
        numbers = [f.name for f in features if f.numeric and not f.special and f.derived is None]
        made, cells = feature(random, f"x{len(features)}", numbers)
        if (kinds == 1 and made.numeric) or (kinds == 2 and not made.numeric):
            continue
        X[made.name] = cells(X)
        features.append(made)
    schema = Schema(tuple(features), rules=tuple(rules(random, features, X)))
    signal = sum(pd.factorize(X[name], sort=True)[0] * random.normal() for name in X)
    y = np.where(signal > np.median(signal), "yes", "no")
    y[:2] = "yes", "no"
    searched = [f for f in features if f.searched]
    constraints: dict[str, Any] = {}
    if searched and random.random() < 0.4:
        constraints["max_changes"] = int(random.integers(1, 3))
    if searched and random.random() < 0.3:
        constraints["immutable"] = [searched[0].name]
    ordered = [f for f in searched if f.ordered and f.numeric]
    if ordered and random.random() < 0.5:
        constraints["range"] = {ordered[-1].name: tuple(map(float, random.choice([(0, 0), (0, 1e-9), (-1, 1)])))}
    return World(schema, X, y, constraints)


def model(random: np.random.Generator, world: World) -> Any:
    """A random classifier: one that methods can look into, a function, or one that misbehaves."""
    numbers, texts = make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")
    scaled = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
    encoder = make_column_transformer((scaled, numbers), (OneHotEncoder(handle_unknown="ignore"), texts))
    kind = random.choice(["linear", "forest", "smooth", "function", "broken"], p=[0.35, 0.2, 0.15, 0.15, 0.15])
    inner = {
        "forest": RandomForestClassifier(8, max_depth=3, random_state=0),
        "smooth": SVC(kernel="rbf"),
    }.get(kind, LogisticRegression())
    fitted = make_pipeline(encoder, inner).fit(world.X, world.y)
    if kind == "function":
        return lambda frame: fitted.predict(frame)
    if kind == "broken":
        return Broken(fitted, str(random.choice(["nan", "shape", "raises", "exits", "text"])), int(random.integers(6)))
    return fitted


class Broken:
    """A classifier that, from some call on, returns NaN, another shape or text, raises an error, or calls exit."""

    def __init__(self, model: Any, how: str, after: int) -> None:
        self.model, self.how, self.after, self.classes_ = model, how, after, model.classes_

    def _spoiled(self, answer: np.ndarray) -> Any:
        self.after -= 1
        if self.after >= 0:
            return answer
        if self.how == "raises":
            raise RuntimeError("out of order")
        if self.how == "exits":
            raise SystemExit(3)
        return {"nan": np.full(answer.shape, np.nan), "shape": answer[:-1], "text": np.full(answer.shape, "?")}[
            self.how
        ]

    def predict(self, X: pd.DataFrame) -> Any:
        return self._spoiled(self.model.predict(X))

    def predict_proba(self, X: pd.DataFrame) -> Any:
        return self._spoiled(self.model.predict_proba(X))


def explained(seed: int, method: type) -> str:
    """What became of a world: the statuses, or the error."""
    random, made = np.random.default_rng([seed, METHODS.index(method)]), world(seed)
    classifier = model(random, made)
    settings: dict[str, Any] = {"n": int(random.integers(1, 4)), "constraints": made.constraints}
    for name in ("ranges", "importance", "contributions"):
        settings[name] = bool(random.random() < 0.2)
    X = made.X.iloc[:5]
    try:
        explainer = method(made.schema, budget=int(random.choice([2, 30, 300])), figures=bool(random.random() < 0.3))
        result = explainer.fit(made.X, made.y).explain(classifier, X, target="yes", timeout=20, **settings)
    except AttainError as error:
        return type(error).__name__
    assert not result.failures, f"searches ended with {result.failures}"
    predict = getattr(getattr(classifier, "model", classifier), "predict", classifier)
    options = result.options
    for position in range(len(options)):
        option = options.iloc[[position]]
        before = made.X.loc[option["person"].iloc[0]].to_dict()
        after = option.drop(columns=["person", "option"])
        assert not broken_rules(made.schema, before, after.iloc[0].to_dict())
        if not isinstance(classifier, Broken):
            assert predict(after)[0] == "yes"
    return " ".join(sorted({status.name for status in result.statuses}))


def test_methods_that_move_numbers_take_tables_without_any() -> None:
    schema = Schema(tuple(Feature(name, "categorical", levels=tuple("abc")) for name in "xyz"))
    X = pd.DataFrame(np.random.default_rng(0).choice(list("abc"), (80, 3)), columns=list("xyz"))
    y = np.where((X["x"] == "a") | (X["y"] == "b"), "yes", "no")
    for inner in (LogisticRegression(C=10), SVC(kernel="rbf", C=10)):
        classifier = make_pipeline(OneHotEncoder(), inner).fit(X, y)
        for method in (Wachter, BudgetedInverseClassification):
            result = method(schema).fit(X, y).explain(classifier, X[y == "no"], target="yes")
            assert result.found.all()


@pytest.mark.parametrize("explained_model", ["linear", "function"])
def test_a_range_that_leaves_no_step_is_no_action(explained_model: str) -> None:
    random = np.random.default_rng(0)
    X = pd.DataFrame({name: np.round(random.uniform(1, 9, 80), 3) for name in "xyz"})
    y = np.where(X["x"] + X["y"] > 10, "yes", "no")
    features = (Feature("x", "real", step=2.0, range=(0, 0.01)), Feature("y", "real", step=2.0), Feature("z", "real"))
    fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    classifier = fitted if explained_model == "linear" else lambda frame: fitted.predict(frame)
    for rules in ((), ("x <= y + 20",), ("x * z <= 100",)):
        explainer = ActionableRecourse(Schema(features, rules=rules), figures=False, samples=40).fit(X, y)
        result = explainer.explain(
            classifier, X[y == "no"].iloc[:5], target="yes", constraints={"range": {"y": (0, 1e-9)}}
        )
        assert "x" not in set(result.changes["feature"])


def test_a_person_is_already_as_desired_if_the_model_says_so_whatever_the_library() -> None:
    arrow = pytest.importorskip("pyarrow")
    for seed in range(3):
        made = world(seed)
        people = made.X.iloc[:20]
        encoder = make_column_transformer(
            (SimpleImputer(keep_empty_features=True), make_column_selector(dtype_include="number")),
            (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
        )
        classifier = make_pipeline(encoder, RandomForestClassifier(8, random_state=0)).fit(made.X, made.y)
        table = arrow.Table.from_pandas(people, preserve_index=False)
        granted = (classifier.predict(people) == "yes").tolist()
        assert (classifier.predict(table.to_pandas()) == "yes").tolist() == granted
        explainer = NearestUnlike(made.schema, laws=None, figures=False, margin=0.0)
        for training in (made.X, arrow.Table.from_pandas(made.X, preserve_index=False)):
            for frame in (people, table):
                result = explainer.fit(training, made.y).explain(classifier, frame, target="yes")
                assert [status is Status.ALREADY_DESIRED for status in result.statuses] == granted


@pytest.mark.parametrize("method", METHODS)
def test_a_random_world_ends_in_statuses_or_an_error_of_the_package(method: type) -> None:
    for seed in range(5):
        assert explained(seed, method)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_many_random_worlds_do(method: type) -> None:
    for seed in range(5, 150):
        assert explained(seed, method)
