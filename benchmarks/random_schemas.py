"""Random schemas with people, a classifier, and rules that are known twice: as text, and as a Python function.

`make_world(seed)` draws a schema of 4 to 14 columns of all kinds, with special codes, missing cells, transitions,
ranges, directions, derived columns, paces and clocks; rules, laws and conditions between columns; constraints of a
call; and a frame of people who keep the rules, but for a few. The functions are what answers are checked with, so that
the package's parser and its rule books take no part in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from attain.schema import Feature, Schema

Record: TypeAlias = Mapping[str, Any]
"""By column, the value of a cell; None where it is missing."""
Holds: TypeAlias = Callable[[Record], bool | None]
"""Whether a rule holds in a record whose special codes are None, too; None where that is not known."""
Random: TypeAlias = np.random.Generator

MODELS = ("linear", "tree", "forest", "boosting", "labels")
TRAINING, PEOPLE, BREAKERS = 200, 160, 8
"""Rows that methods and classifiers are fitted on, people to explain, and how many of these may break rules."""


@dataclass(frozen=True)
class Rule:
    """A rule as text for the package, and as a function for the checker."""

    text: str
    holds: Holds


@dataclass(frozen=True, eq=False)
class World:
    """A schema, people and a classifier.

    Attributes
    ----------
    rules, laws
        Rules that answers satisfy, and laws that they break only where the person does.
    conditions
        By column, the condition under which it is immutable.
    derived
        By column, the columns that it follows from, and how.
    constraints
        Those of the call.
    """

    schema: Schema
    rules: tuple[Rule, ...]
    laws: tuple[Rule, ...]
    conditions: Mapping[str, Rule]
    derived: Mapping[str, tuple[tuple[str, ...], Callable[[Record], float]]]
    constraints: Mapping[str, Any]
    train: pd.DataFrame
    labels: np.ndarray
    people: pd.DataFrame
    target: Any
    kind: str
    model: Any

    def predict(self, frame: pd.DataFrame) -> np.ndarray:
        """The classifier's own decisions."""
        return np.asarray(self.model(frame) if self.kind == "labels" else self.model.predict(frame))


@dataclass(eq=False)
class _Draft:
    """What is drawn before the people are: columns with their values, and what refers to them."""

    random: Random
    rows: int
    features: list[Feature] = field(default_factory=list)
    values: dict[str, np.ndarray] = field(default_factory=dict)
    derived: dict[str, tuple[tuple[str, ...], Callable[[Record], float]]] = field(default_factory=dict)

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def one(self, options: Sequence[Any]) -> Any:
        return options[int(self.random.integers(len(options)))]

    def add(self, feature: Feature, values: np.ndarray) -> None:
        self.features.append(feature)
        self.values[feature.name] = values

    def plain(self) -> list[str]:
        """Numbers that are never missing nor special, and are no clocks."""
        return [
            one.name
            for one in self.features
            if one.numeric and not one.special and one.clock is None and not pd.isna(self.values[one.name]).any()
        ]

    def numbers(self) -> list[str]:
        return [one.name for one in self.features if one.numeric and one.clock is None and one.derived is None]

    def quantile(self, name: str, share: float) -> float:
        """A round number near a quantile of a column's ordinary values."""
        special = list(next(one for one in self.features if one.name == name).special)
        usual = self.values[name][~np.isin(self.values[name], special)]
        return float(f"{np.nanquantile(usual.astype(float), share):.3g}")


def make_world(seed: int) -> World:
    """A random schema, people and a classifier; the same for the same seed."""
    draft = _Draft(np.random.default_rng(seed), 8 * (TRAINING + PEOPLE))
    for number in range(int(draft.random.integers(4, 13))):
        (_add_number if draft.chance(0.6) else _add_levels)(draft, f"c{number}")
    if not any(one.searched for one in draft.features):
        _add_number(draft, "free", frozen=False)
    if draft.chance(0.4) and len(draft.plain()) >= 2:
        _add_derived(draft)
    rules = [rule for rule in (_rule(draft) for _ in range(int(draft.random.integers(0, 6)))) if rule is not None]
    laws = [rule for rule in (_rule(draft) for _ in range(int(draft.random.integers(0, 3)))) if rule is not None]
    conditions = _with_conditions(draft)
    schema = Schema(
        tuple(draft.features),
        rules=tuple(rule.text for rule in rules),
        laws=tuple(rule.text for rule in laws),
        max_months=36 if any(one.pace or one.clock for one in draft.features) else None,
    )
    frame = _people(draft, schema, [*rules, *laws])
    train, people = frame.iloc[:TRAINING], frame.iloc[TRAINING:]
    classes = draft.one([("no", "yes"), (0, 1), (False, True)])
    labels = _labels(draft.random, train, schema, classes)
    kind = MODELS[seed % len(MODELS)]
    model = _classifier(kind, train, labels, schema)
    constraints = _constraints(draft, people)
    world = (schema, tuple(rules), tuple(laws), conditions, draft.derived, constraints)
    return World(*world, train, labels, people, classes[1], kind, model)


def record(row: Record, schema: Schema, known_only: bool = False) -> dict[str, Any]:
    """A row as plain values, None where they are missing or, with `known_only`, special codes."""
    cells = {one.name: row[one.name] for one in schema}
    for one in schema:
        value = cells[one.name]
        if value is None or value != value or (known_only and value in one.special):
            cells[one.name] = None
    return cells


def _add_number(draft: _Draft, name: str, frozen: bool = True) -> None:
    kind = draft.one(("real", "positive", "count", "interval"))
    random, rows = draft.random, draft.rows
    values = {
        "real": lambda: np.round(random.normal(0, 3, rows), 2),
        "positive": lambda: np.round(random.lognormal(3, 0.8, rows)),
        "count": lambda: random.poisson(5, rows).astype(float),
        "interval": lambda: np.round(random.beta(2, 3, rows), 2),
    }[kind]()
    given: dict[str, Any] = {}
    low, high = float(values.min()), float(values.max())
    given["bounds"] = (0.0, 1.0) if kind == "interval" else (low, high) if draft.chance(0.5) else (None, None)
    if kind in ("interval", "real") and draft.chance(0.4):
        given["step"] = 0.01
    clock = kind == "count" and frozen and draft.chance(0.1)
    if clock:
        given |= {"clock": draft.one((True, 1 / 12)), "bounds": (0.0, None)}
    elif frozen and draft.chance(0.2):
        given["immutable"] = True
    else:
        given |= _moves(draft, low, high)
    if not clock and draft.chance(0.25):
        values = np.where(random.random(rows) < 0.1, -99.0, values)
        given["special"] = {-99: "no record"}
        if draft.chance(0.5):
            given["transitions"] = {draft.one((-99, "value")): (draft.one(("value", -99)),)}
    if draft.chance(0.25):
        values = np.where(random.random(rows) < 0.1, np.nan, values)
        given["fillable"] = not clock and not given.get("immutable", False) and draft.chance(0.5)
    whole = kind == "count" and not np.isnan(values).any() and draft.chance(0.7)
    draft.add(Feature(name, kind, **given), values.astype(np.int64) if whole else values)


def _moves(draft: _Draft, low: float, high: float) -> dict[str, Any]:
    """How a number may move."""
    given: dict[str, Any] = {"direction": draft.one(("any", "any", "increase", "decrease"))}
    width = high - low
    if draft.chance(0.2):
        given["range"] = (-round(width / 2, 2), round(width / 2, 2))
    if draft.chance(0.15):
        given["reach"] = (round(low + 0.05 * width, 2), round(high - 0.05 * width, 2))
    if draft.chance(0.1):
        given["pace"] = max(round(width / 12, 3), 1e-3)
    return given


def _add_levels(draft: _Draft, name: str) -> None:
    ordered = draft.chance(0.4)
    number = int(draft.random.integers(2, 7))
    levels: Any = tuple(f"l{i}" for i in range(number))
    if not ordered and draft.chance(0.2):
        levels = (False, True)
    share = draft.random.dirichlet(np.full(len(levels), 3.0))
    chosen = draft.random.choice(len(levels), draft.rows, p=share)
    values = np.array(levels, dtype=object)[chosen]
    given: dict[str, Any] = {"levels": levels}
    if draft.chance(0.2):
        given["immutable"] = True
    elif ordered:
        given["direction"] = draft.one(("any", "increase", "decrease"))
        if draft.chance(0.2):
            given["range"] = (-1, 1)
        if draft.chance(0.2):
            given["reach"] = (None, levels[-1 if len(levels) < 3 else -2])
    else:
        if draft.chance(0.3):
            given["transitions"] = {levels[0]: tuple(levels[1 : 1 + int(draft.random.integers(1, len(levels)))])}
        if len(levels) > 2 and draft.chance(0.2):
            given["avoid"] = (levels[-1],)
    if levels != (False, True) and draft.chance(0.15):
        values = np.where(draft.random.random(draft.rows) < 0.1, None, values)
        given["fillable"] = draft.chance(0.5) and not given.get("immutable", False)
    elif levels == (False, True):
        values = values.astype(bool)
    draft.add(Feature(name, "ordinal" if ordered else "categorical", **given), values)


def _add_derived(draft: _Draft) -> None:
    one, other = draft.random.choice(draft.plain(), 2, replace=False)
    text, made = draft.one(
        (
            (f"{one} + {other}", lambda row: row[one] + row[other]),
            (f"{one} / (1 + abs({other}))", lambda row: row[one] / (1 + abs(row[other]))),
            (f"max({one}, {other}) * 2", lambda row: max(row[one], row[other]) * 2),
        )
    )
    values = [made(row) for row in pd.DataFrame({name: draft.values[name] for name in (one, other)}).to_dict("records")]
    draft.derived["derived"] = ((str(one), str(other)), made)
    draft.add(Feature("derived", "real", derived=text), np.array(values, dtype=float))


def at_most(left: float | None, right: float | None) -> bool | None:
    """left ≤ right, up to rounding; None where one of them is not known."""
    if left is None or right is None:
        return None
    return bool(left - right <= 1e-9 * max(1.0, min(abs(left), abs(right))))


def either(one: bool | None, other: bool | None) -> bool | None:
    """Kleene's or."""
    return True if one or other else None if one is None or other is None else False


def opposite(one: bool | None) -> bool | None:
    """Kleene's not."""
    return None if one is None else not one


def among(value: Any, levels: Sequence[Any]) -> bool | None:
    """Whether a level is one of some; None where it is missing."""
    return None if value is None else value in levels


def _rule(draft: _Draft) -> Rule | None:
    """A rule that most people keep; None where the columns for it are lacking."""
    numbers = draft.numbers()
    levels = [one for one in draft.features if one.levels and one.levels != (False, True)]
    makers = [_comparison, _limit] if len(numbers) >= 2 else [_limit] if numbers else []
    if levels and numbers:
        makers += [_limit_of_level, _level_or_number]
    if len(levels) >= 2:
        makers.append(_not_both)
    return draft.one(makers)(draft, numbers, levels) if makers else None


def _comparison(draft: _Draft, numbers: list[str], levels: list[Feature]) -> Rule:
    one, other = (str(name) for name in draft.random.choice(numbers, 2, replace=False))
    far = draft.quantile(one, 0.95) - draft.quantile(other, 0.2)
    constant = float(f"{far:.3g}")
    text = f"{one} <= {other} + {constant:g}" if constant >= 0 else f"{one} <= {other} - {-constant:g}"

    def holds(row: Record) -> bool | None:
        return at_most(row[one], None if row[other] is None else row[other] + constant)

    return Rule(text, holds)


def _limit(draft: _Draft, numbers: list[str], levels: list[Feature]) -> Rule:
    name = draft.one(numbers)
    limit = draft.quantile(name, 0.97)
    return Rule(f"{name} <= {limit:g}", lambda row: at_most(row[name], limit))


def _limit_of_level(draft: _Draft, numbers: list[str], levels: list[Feature]) -> Rule:
    column, name = draft.one(levels), draft.one(numbers)
    level, limit = draft.one(column.levels), draft.quantile(name, 0.8)

    def holds(row: Record) -> bool | None:
        return either(opposite(among(row[column.name], (level,))), at_most(row[name], limit))

    return Rule(f"if {column.name} = {level} then {name} <= {limit:g}", holds)


def _level_or_number(draft: _Draft, numbers: list[str], levels: list[Feature]) -> Rule:
    column, name = draft.one(levels), draft.one(numbers)
    chosen, limit = column.levels[:-1], draft.quantile(name, 0.1)

    def holds(row: Record) -> bool | None:
        return either(among(row[column.name], chosen), at_most(limit, row[name]))

    return Rule(f"{column.name} in ({', '.join(chosen)}) or {name} >= {limit:g}", holds)


def _not_both(draft: _Draft, numbers: list[str], levels: list[Feature]) -> Rule:
    one, other = (levels[int(i)] for i in draft.random.choice(len(levels), 2, replace=False))
    first, second = draft.one(one.levels), draft.one(other.levels)

    def holds(row: Record) -> bool | None:
        return either(opposite(among(row[one.name], (first,))), opposite(among(row[other.name], (second,))))

    return Rule(f"not ({one.name} = {first} and {other.name} = {second})", holds)


def _with_conditions(draft: _Draft) -> dict[str, Rule]:
    """Gives one column in some schemas a condition under which it is immutable."""
    places = [i for i, one in enumerate(draft.features) if one.searched and one.clock is None]
    numbers = draft.numbers()
    if not draft.chance(0.2) or len(places) < 2 or not numbers:
        return {}
    place, name = draft.one(places), draft.one(numbers)
    limit = draft.quantile(name, 0.7)
    feature = draft.features[place]
    made = {key: getattr(feature, key) for key in feature.__dataclass_fields__}
    draft.features[place] = Feature(**{**made, "immutable_if": f"{name} >= {limit:g}"})
    return {feature.name: Rule(f"{name} >= {limit:g}", lambda row: at_most(limit, row[name]))}


def _people(draft: _Draft, schema: Schema, rules: Sequence[Rule]) -> pd.DataFrame:
    """People who keep the rules, and at the end a few who may not."""
    frame = pd.DataFrame({one.name: draft.values[one.name] for one in schema})
    kept = []
    for row in frame.to_dict("records"):
        known = record(row, schema, known_only=True)
        kept.append(not any(rule.holds(known) is False for rule in rules))
    good, bad = frame[kept].iloc[: TRAINING + PEOPLE - BREAKERS], frame[~np.array(kept)].iloc[:BREAKERS]
    made = pd.concat([good, bad])
    made.index = pd.Index([f"p{i}" for i in range(len(made))])
    return made.astype(frame.dtypes)


def _labels(random: Random, frame: pd.DataFrame, schema: Schema, classes: tuple[Any, Any]) -> np.ndarray:
    """Labels by a random score of all columns, half of them desired."""
    score = random.normal(0, 0.3, len(frame))
    for one in schema:
        column = pd.Series(frame[one.name])
        if one.numeric:
            numbers = column.astype(float).fillna(column.astype(float).median()).to_numpy()
            score += random.normal() * (numbers - numbers.mean()) / (numbers.std() + 1e-9)
        else:
            effect = {level: random.normal() for level in one.levels}
            score += column.map(effect).astype(float).fillna(0.0).to_numpy()
    return np.array(classes)[(score > np.median(score)).astype(int)]


def _classifier(kind: str, train: pd.DataFrame, labels: np.ndarray, schema: Schema) -> Any:
    numbers = [one.name for one in schema if one.numeric]
    levels = [one.name for one in schema if not one.numeric]
    prepared = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore"), levels),
        sparse_threshold=0,
    )
    made = {
        "linear": LogisticRegression(max_iter=500),
        "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
        "forest": RandomForestClassifier(10, max_depth=5, random_state=0),
        "boosting": HistGradientBoostingClassifier(max_iter=10, random_state=0),
        "labels": DecisionTreeClassifier(max_depth=4, random_state=0),
    }[kind]
    fitted = make_pipeline(prepared, made).fit(train, labels)
    return fitted.predict if kind == "labels" else fitted


def _constraints(draft: _Draft, people: pd.DataFrame) -> dict[str, Any]:
    """Constraints of the call, in half of the schemas."""
    free = [one for one in draft.features if one.searched and one.clock is None]
    given: dict[str, Any] = {}
    if draft.chance(0.5) or len(free) < 3:
        return given
    given["immutable"] = [draft.one(free).name]
    others = [one for one in free if one.name not in given["immutable"] and one.ordered and one.direction == "any"]
    if others and draft.chance(0.5):
        given["direction"] = {draft.one(others).name: draft.one(("increase", "decrease"))}
    if draft.chance(0.5):
        given["max_changes"] = int(draft.random.integers(2, len(free) + 1))
    return given
