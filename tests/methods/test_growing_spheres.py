"""Growing Spheres: known answers, every kind of column, budgets, targets and parameters."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from attain import Feature, GrowingSpheres, Model, Schema, Status

RANDOM = np.random.default_rng(0)


def plane(weights: np.ndarray, offset: float) -> Any:
    """A linear classifier: 1 where w·x ≥ b."""
    return Model(lambda X: (X @ weights >= offset).astype(int), accepts="numpy", classes=[0, 1])


def reals(d: int, **properties: Any) -> Schema:
    return Schema(tuple(Feature(f"x{j}", "real", **properties) for j in range(d)))


@pytest.mark.parametrize("angle", [0.3, 1.0, 2.2])
def test_the_nearest_point_on_a_plane_is_found(angle: float) -> None:
    training = RANDOM.normal(size=(2000, 2)) * 2.0
    spread = training.std(axis=0)
    weights, offset = np.array([np.cos(angle), np.sin(angle)]), 1.5
    people = training[training @ weights < 0.5][:20]
    explainer = GrowingSpheres(
        reals(2), sparsity=False, samples=1000, step=0.02, growth=0.0, budget=500_000, figures=False
    )
    result = explainer.fit(training).explain(plane(weights, offset), people, target=1)
    assert result.found.all()
    distance = np.linalg.norm((result.answers - people) / spread, axis=1)
    nearest = (offset - people @ weights) / np.linalg.norm(weights * spread)
    assert (distance >= nearest - 1e-4).all()
    assert (distance <= 1.1 * nearest + 0.02).all()


def test_rounding_undoes_no_answer_on_counts() -> None:
    training = RANDOM.poisson(3, size=(500, 8))
    weights = RANDOM.normal(size=8)
    scores = training @ weights
    model, people = plane(weights, float(np.quantile(scores, 0.7))), training[scores < np.quantile(scores, 0.6)][:40]
    counts = Schema(tuple(Feature(f"x{j}", "count") for j in range(8)))
    whole = GrowingSpheres(counts, figures=False).fit(training).explain(model, people, target=1)
    assert whole.found.all()
    assert (whole.answers == np.rint(whole.answers)).all()
    assert (whole.answers @ weights >= np.quantile(scores, 0.7)).all()
    raw = (
        GrowingSpheres(reals(8), figures=False)
        .fit(training.astype(float))
        .explain(model, people.astype(float), target=1)
    )
    rounded = np.rint(raw.answers) @ weights >= np.quantile(scores, 0.7)
    assert rounded.mean() < 0.8  # what happens without


def test_needless_changes_are_taken_back() -> None:
    training = RANDOM.normal(size=(300, 10))
    people = training[training[:, 0] < 0][:15]
    model = plane(np.eye(10)[0], 1.0)
    result = GrowingSpheres(reals(10), figures=False).fit(training).explain(model, people, target=1)
    assert result.found.all()
    assert set(result.changes["feature"]) == {"x0"}


def mixed() -> tuple[pd.DataFrame, Schema]:
    n = 300
    late = np.where(RANDOM.random(n) < 0.2, -8, RANDOM.poisson(3, n))
    income = np.round(RANDOM.lognormal(7, 0.4, n))
    debt = np.round(RANDOM.lognormal(6, 0.5, n))
    frame = pd.DataFrame(
        {
            "late": late,
            "income": income,
            "debt": debt,
            "ratio": debt / income,
            "house": RANDOM.choice(["rents", "owns", "parents"], n),
            "savings": np.where(RANDOM.random(n) < 0.3, np.nan, np.round(RANDOM.lognormal(5, 1, n))),
        }
    )
    schema = Schema(
        (
            Feature("late", "count", special={-8: "no account"}, transitions={-8: ("value",)}),
            Feature("income", "positive", step=1.0),
            Feature("debt", "positive", step=1.0),
            Feature("ratio", "real", derived="debt / income"),
            Feature("house", "categorical", levels=("rents", "owns", "parents"), transitions={"rents": ("owns",)}),
            Feature("savings", "real", fillable=True, step=1.0, bounds=(0, None)),
        ),
        rules=("debt <= 2 * income", "if house = owns then income >= 500"),
    )
    return frame, schema


def explained(decide: Any, X: pd.DataFrame, frame: pd.DataFrame, schema: Schema, **arguments: Any) -> Any:
    model = Model(lambda X: decide(X).astype(int).to_numpy(), accepts="pandas", classes=[0, 1])
    return GrowingSpheres(schema, figures=False).fit(frame).explain(model, X, target=1, **arguments)


def test_special_codes_are_left_by_their_transitions_only() -> None:
    frame, schema = mixed()
    X = frame[frame["late"] == -8].head(10)
    out = explained(lambda X: X["late"] >= 0, X, frame, schema)
    assert out.found.all()
    assert (out.frame["late"] >= 0).all()
    into = explained(lambda X: X["late"] == -8, frame[frame["late"] >= 0].head(10), frame, schema)
    assert set(into.statuses) == {Status.OUT_OF_REACH}


def test_missing_cells_are_filled_where_they_may_be() -> None:
    frame, schema = mixed()
    X = frame[frame["savings"].isna()].head(10)
    result = explained(lambda X: X["savings"] > 100, X, frame, schema)
    assert result.found.all()
    fixed = schema.change("savings", fillable=False)
    assert not explained(lambda X: X["savings"] > 100, X, frame, fixed).found.any()


def test_who_breaks_a_rule_that_cannot_be_kept_is_told() -> None:
    frame, schema = mixed()
    schema = schema.change(["income", "house"], immutable=True).with_rules("income >= 100000")
    result = explained(lambda X: X["debt"] < 10, frame.head(3), frame, schema)
    assert set(result.statuses) == {Status.RULES_CONFLICT}


@pytest.mark.parametrize("rule", ["ratio >= 1000", "twice >= 1000", "if debt >= 0 then twice >= 1000"])
def test_a_rule_on_a_derived_column_conflicts_only_where_all_it_is_computed_from_is_frozen(rule: str) -> None:
    random = np.random.default_rng(3)
    frame = pd.DataFrame({"income": random.uniform(100, 900, 60), "debt": random.uniform(1, 90, 60), "cards": 3.0})
    frame["ratio"] = frame["debt"] / frame["income"]
    frame["twice"] = 2 * frame["ratio"]
    frame.loc[::2, "cards"] = 5.0
    names = ("income", "debt", "cards")
    derived = (Feature("ratio", "real", derived="debt / income"), Feature("twice", "real", derived="2 * ratio"))
    schema = Schema((*(Feature(name, "real") for name in names), *derived)).with_rules(rule)
    model = Model(lambda X: (X["cards"] > 4).astype(int), accepts="pandas", classes=[0, 1])
    explainer = GrowingSpheres(schema, samples=20, budget=100).fit(frame)
    for frozen, conflict in ((["income", "debt"], True), (["income"], False), ([], False)):
        result = explainer.explain(model, frame[1:6:2], target=1, constraints={"immutable": frozen})
        assert {status is Status.RULES_CONFLICT for status in result.statuses} == {conflict}
