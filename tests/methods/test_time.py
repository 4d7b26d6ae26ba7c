"""Clocks and paces, for every method: rules by a second check, and exact answers by going through all months."""

from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import attain
from attain import Constraints, Feature, Guarded, Schema, Status
from attain.density import CHVAE
from attain.methods import ActionableRecourse, Explainer
from attain.tables import Region, Table
from tests.changes import faults

FEATURES = (
    Feature("age", "count", clock=1 / 12, unit="years"),
    Feature("since", "count", clock=True, special={-9: "never"}),
    Feature("open", "positive", step=1.0, clock=True),
    Feature("used", "interval", bounds=(0, 1), step=0.01, pace=0.05),
    Feature("debt", "positive", step=10.0, pace=100),
    Feature("job", "categorical", levels=("none", "clerk", "boss"), pace=0.2),
)
SCHEMA = Schema(FEATURES, max_months=30)
NUMBERS = ["age", "since", "open", "used", "debt"]


def frame(people: int = 300, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": random.integers(20, 70, people),
            "since": np.where(random.random(people) < 0.1, -9, random.integers(0, 60, people)),
            "open": random.integers(0, 200, people).astype(float),
            "used": np.round(random.beta(2, 2, people), 2),
            "debt": np.round(random.lognormal(7, 0.6, people) / 10) * 10,
            "job": random.choice(["none", "clerk", "boss"], people),
        }
    )


def merit(X: pd.DataFrame) -> np.ndarray:
    since, boss = X["since"].clip(lower=0), X["job"] == "boss"
    return np.asarray(0.03 * since + 0.01 * X["open"] - 3 * X["used"] - 0.0005 * X["debt"] + 0.5 * boss)


TRAIN = frame()
LABELS = np.where(merit(TRAIN) + np.random.default_rng(1).normal(0, 0.3, 300) > np.median(merit(TRAIN)), "yes", "no")
PREPARED = make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), ["job"]))
MODEL = make_pipeline(PREPARED, LogisticRegression(max_iter=1000)).fit(TRAIN, LABELS)
TREE = make_pipeline(PREPARED, DecisionTreeClassifier(max_depth=5, random_state=0)).fit(TRAIN, LABELS)
PEOPLE = TRAIN[(MODEL.predict(TRAIN) == "no") & (TREE.predict(TRAIN) == "no")].iloc[:8]

SLOW = ("CCHVAE", "REVISE", "Wachter")
METHODS = [
    pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
    for name in attain.methods.__all__
    if name != "Explainer"
]


@pytest.fixture(scope="module")
def autoencoder() -> Any:
    return CHVAE(SCHEMA, hidden=0, epochs=5).fit(TRAIN)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_keeps_clocks_in_step_and_no_change_is_faster_than_its_pace(name: str, autoencoder: Any) -> None:
    method = getattr(attain.methods, name)
    options = {"autoencoder": autoencoder} if name in ("CCHVAE", "REVISE") else {}
    explainer: Explainer = method(SCHEMA, laws=None, **options).fit(TRAIN, LABELS)
    model = TREE if name == "FeatureTweaking" else MODEL
    result = explainer.explain(model, PEOPLE, target="yes", n=2)
    assert result.found.mean() >= (0.4 if name in ("CCHVAE", "FACE", "FeatureTweaking", "REVISE") else 0.8)
    assert (model.predict(result.frame[result.found]) == "yes").all()
    for row in result.options.to_dict("records"):
        assert not faults(SCHEMA, PEOPLE.loc[row["person"]].to_dict(), row)
    months = result.option_figures["months"]
    assert ((months >= 0) & (months <= 30) & (months == np.floor(months))).all()
    assert result.figures["months"][result.found].notna().all()


def every_row(region: Region, columns: dict[str, np.ndarray], spans: Iterable[float]) -> np.ndarray:
    """All rows that one person can become: in each number of months, with every change that there is time for."""
    own = region.factuals[0]
    rows = []
    for months in spans:
        advanced = own.copy()
        for name, rate in (("age", 1 / 12), ("since", 1), ("open", 1)):
            j = region.schema.position(name)
            if own[j] != -9:
                advanced[j] = own[j] + np.floor(rate * months + 1e-9)
        within = []
        for name, cells in columns.items():
            j = region.schema.position(name)
            pace = region.schema[name].pace
            assert pace is not None
            size = np.abs(cells - own[j]) if region.schema[name].ordered else (cells != own[j]).astype(float)
            within.append(np.append(own[j], cells[size <= pace * months + 1e-9]))
        for cells in product(*within):
            row = advanced.copy()
            row[[region.schema.position(name) for name in columns]] = cells
            rows.append(row)
    return np.array(rows)


def observed(name: str) -> np.ndarray:
    return np.unique(TRAIN[name].to_numpy(dtype=float))


def test_exact_recourse_finds_the_cheapest_of_all_changes_in_the_months_that_are_searched() -> None:
    schema = SCHEMA.with_max_months(12).change("debt", pace=None, immutable=True)
    explainer = ActionableRecourse(schema, laws=None).fit(TRAIN, LABELS)
    result = explainer.explain(MODEL, PEOPLE, target="yes")
    assert result.found.any()
    for i in range(len(PEOPLE)):
        region = Region.of(Table.read(PEOPLE.iloc[[i]], schema), Constraints(), explainer.population_.observed)
        longest, columns = int(region.max_months[0]), {"used": observed("used"), "job": np.arange(3.0)}
        of_all, of_searched = (
            least_shift(explainer, region, every_row(region, columns, spans))
            for spans in (range(longest + 1), [months for months in (0, 6, 12) if months < longest] + [longest])
        )
        assert result.found[i] == np.isfinite(of_searched)
        if result.found[i]:
            assert of_all - 1e-6 <= result.figures["total_shift"].iloc[i] <= of_searched + 1e-6
            assert result.figures["proven"].iloc[i] == 1 or "wait" in result.sentences.iloc[i]


def least_shift(explainer: Explainer, region: Region, rows: np.ndarray) -> float:
    flips = MODEL.predict(explainer.population_.table.layout.frame(rows)) == "yes"
    shifts = explainer.population_.percentiles.shift(np.repeat(region.factuals, len(rows), axis=0), rows)
    return float(shifts.sum(axis=1)[flips].min(initial=np.inf))


@pytest.mark.parametrize("month_weight", [None, 0.05])
def test_the_guarded_search_comes_close_to_the_cheapest_of_all_that_pass_its_guard(month_weight: float | None) -> None:
    schema = SCHEMA.with_max_months(12).change("debt", pace=None, immutable=True)
    explainer = Guarded(schema, laws=None, month_weight=month_weight, guard="typical")
    explainer.fit(TRAIN, LABELS)
    result = explainer.explain(MODEL, PEOPLE, target="yes")
    guard = explainer.session(MODEL, target="yes").inspected.guard
    compared = 0
    for i in np.flatnonzero((result.verdict == "typical").to_numpy()):
        region = Region.of(Table.read(PEOPLE.iloc[[i]], schema), Constraints(), explainer.population_.observed)
        grid = np.arange(101) / 100
        longest, costs = int(region.max_months[0]), []
        for spans in (range(longest + 1), [months for months in (0, 6, 12) if months < longest] + [longest]):
            rows = every_row(region, {"used": grid, "job": np.arange(3.0)}, spans)
            rows = rows[region.allows(rows, np.zeros(len(rows), dtype=np.intp))]
            flips = MODEL.predict(explainer.population_.table.layout.frame(rows)) == "yes"
            good = flips & (guard.p_value(guard.score(rows)) > 0.1)
            costs.append(cost(explainer, region, rows[good], month_weight).min())
        mine = cost(explainer, region, result.answers[[i]], month_weight)[0]
        assert costs[0] - 1e-9 <= mine <= 1.1 * costs[1] + 0.02
        compared += 1
    assert compared >= 3


def cost(explainer: Guarded, region: Region, rows: np.ndarray, month_weight: float | None) -> np.ndarray:
    """The cost as documented: shifts of the midranks, the largest once more by half, changes, and months."""
    own = np.repeat(region.factuals, len(rows), axis=0)
    shifts = explainer.session(MODEL, target="yes").inspected.costs.shifts(own, rows)
    months = rows[:, 2] - own[:, 2]
    changes = (rows[:, 3] != own[:, 3]) * 1 + (rows[:, 5] != own[:, 5])
    if month_weight is not None:
        shifts[:, :3] = 0
    total = shifts.sum(axis=1) + 0.5 * shifts.max(axis=1) + 0.02 * changes
    return np.asarray(total + (month_weight or 0.0) * months)


@pytest.mark.parametrize("name", ["Guarded", "GrowingSpheres", "ActionableRecourse", "NearestUnlike", "Russell"])
def test_somebody_who_can_only_wait_waits_as_long_as_it_takes(name: str) -> None:
    schema = SCHEMA.change(["used", "debt", "job"], pace=None, immutable=True)
    method = getattr(attain.methods, name)
    explainer = method(schema, laws=None).fit(TRAIN, LABELS)
    result = explainer.explain(MODEL, PEOPLE, target="yes")
    for i, (_, person) in enumerate(PEOPLE.iterrows()):
        later = pd.DataFrame([person] * 31).infer_objects()
        months = np.arange(31)
        later["age"] += months // 12
        later["since"] = np.where(later["since"] == -9, -9, later["since"] + months)
        later["open"] += months
        within = (later[["age", "since", "open"]] <= TRAIN[["age", "since", "open"]].max()).all(axis=1).to_numpy()
        flips = (MODEL.predict(later) == "yes") & within
        assert result.found[i] == flips.any()
        if flips.any():
            assert result.figures["months"].iloc[i] == flips.argmax()
            assert f"wait {result.figures['months'].iloc[i]:.0f} month" in result.sentences.iloc[i]


def test_no_answer_takes_longer_than_a_call_allows() -> None:
    explainer = Guarded(SCHEMA, laws=None).fit(TRAIN, LABELS)
    free = explainer.explain(MODEL, PEOPLE, target="yes")
    short = explainer.explain(MODEL, PEOPLE, target="yes", constraints={"max_months": 4})
    assert free.figures["months"].max() > 4
    assert 0 < short.figures["months"].max() <= 4
    still = explainer.explain(MODEL, PEOPLE, target="yes", constraints={"max_months": 0})
    assert set(still.statuses) == {Status.NOTHING_FREE}
    with pytest.raises(attain.errors.ConstraintError, match="max_months"):
        explainer.explain(MODEL, PEOPLE, target="yes", constraints={"max_months": 0.5})


def test_months_have_a_price_where_the_user_says_so() -> None:
    months = [
        np.nanmean(
            Guarded(SCHEMA, laws=None, month_weight=weight)
            .fit(TRAIN, LABELS)
            .explain(MODEL, PEOPLE, target="yes")
            .figures["months"]
        )
        for weight in (0.0, 0.2)
    ]
    assert months[1] < months[0]


WITHOUT_CLOCKS = SCHEMA.change(["age", "since", "open"], clock=None, immutable=True)
ONLY_AGE = WITHOUT_CLOCKS.change("age", clock=1 / 12)


def test_an_immutable_clock_advances_and_is_not_free() -> None:
    explainer = Guarded(ONLY_AGE, laws=None).fit(TRAIN, LABELS)
    result = explainer.explain(MODEL, PEOPLE, target="yes", n=2, contributions=True)
    assert result.found.any()
    for row in result.options.to_dict("records"):
        own = PEOPLE.loc[row["person"]]
        assert not faults(ONLY_AGE, own.to_dict(), row)
    figures, answers = result.figures[result.found], result.frame[result.found]
    older = answers["age"] - PEOPLE["age"][result.found]
    assert (older == figures["months"] // 12).all()
    assert (older > 0).any()
    assert not any("wait" in text for text in result.sentences)
    assert not result.contributions.query("feature == 'age'")["free"].any()


def test_a_range_ends_where_the_time_does() -> None:
    schema = WITHOUT_CLOCKS.change(["debt", "job"], pace=None, immutable=True).change("used", direction="decrease")
    explainer = Guarded(schema, laws=None).fit(TRAIN, LABELS)
    result = explainer.explain(MODEL, PEOPLE, target="yes", ranges=True)
    assert result.found.any()
    for entry in result.ranges.to_dict("records"):
        own, months = PEOPLE.loc[entry["person"], "used"], result.figures.loc[entry["person"], "months"]
        assert entry["low"] == pytest.approx(
            max(np.ceil(100 * (own - 0.05 * months) - 1e-9) / 100, TRAIN["used"].min())
        )
        text = result.sentences[entry["person"]]
        if entry["low"] < entry["high"]:  # a linear model accepts all that is less
            assert f"any used from {entry['low']:g} to {entry['high']:g} will do" in text
