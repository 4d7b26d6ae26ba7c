"""Features that are immutable for some people: every method keeps them, and exact answers match brute force."""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from attain import Feature, GrowingSpheres, Guarded, Schema, Status
from attain.methods import ActionableRecourse, NearestUnlike

RANDOM = np.random.default_rng(0)
INCOME = np.where(RANDOM.random(300) < 0.3, np.nan, RANDOM.integers(1, 9, 300))
TRAIN = pd.DataFrame({"income": INCOME, "debt": RANDOM.integers(0, 9, 300), "cards": RANDOM.integers(0, 6, 300)})
MERIT = TRAIN["income"].fillna(4) - TRAIN["debt"] - 0.5 * TRAIN["cards"]
LABELS = np.where(MERIT + RANDOM.normal(0, 0.5, 300) > -1, "yes", "no")
LINEAR = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()).fit(TRAIN[["debt", "cards"]], LABELS)
TREES = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(TRAIN, LABELS)
CONDITION = "income is missing or (cards > 3 and debt < 9)"


def fixed(person: Any) -> bool:
    """The condition in plain Python."""
    return bool(np.isnan(person["income"]) or (person["cards"] > 3 and person["debt"] < 9))


def test_exact_answers_are_the_cheapest_of_all_that_leave_the_feature_where_it_is_immutable() -> None:
    train = TRAIN[["debt", "cards"]]
    schema = Schema(
        (
            Feature("debt", "count", immutable_if="cards > 3 and debt < 9"),
            Feature("cards", "count", direction="decrease"),
        )
    )
    explainer = ActionableRecourse(schema, laws=None).fit(train, LABELS)
    people = train[LINEAR.predict(train) == "no"].head(40)
    result = explainer.explain(LINEAR, people, target="yes")
    held = 0
    for i, person in enumerate(people.to_dict("records")):
        stays = person["cards"] > 3 and person["debt"] < 9
        debts = [person["debt"]] if stays else range(9)
        rows = np.array(list(product(debts, range(person["cards"] + 1))), dtype=float)
        flips = LINEAR.predict(pd.DataFrame(rows, columns=train.columns)) == "yes"
        assert result.found[i] == flips.any()
        if flips.any():
            own = np.array([list(person.values())] * int(flips.sum()), dtype=float)
            least = explainer.population_.percentiles.shift(own, rows[flips]).sum(axis=1).min()
            assert result.figures["total_shift"].iloc[i] == pytest.approx(least, abs=1e-6)
        held += stays
    assert 5 < held < 35


@pytest.mark.parametrize("method", [Guarded, GrowingSpheres, NearestUnlike])
def test_answers_leave_it_as_it_is_for_those_people_only(method: Any) -> None:
    schema = Schema(
        (Feature("income", "count"), Feature("debt", "count", immutable_if=CONDITION), Feature("cards", "count"))
    )
    explainer = method(schema, laws=None).fit(TRAIN, LABELS)
    people = TRAIN[TREES.predict(TRAIN) == "no"].head(60)
    result = explainer.explain(TREES, people, target="yes")
    changed = set(result.changes.loc[result.changes["feature"] == "debt", "person"])
    held = {label for label, person in people.iterrows() if fixed(person)}
    assert held & set(people.index[result.found])
    assert changed
    assert not changed & held


def test_it_is_judged_on_the_own_record_and_only_where_it_is_certainly_true() -> None:
    schema = Schema(
        (
            Feature("income", "count", fillable=True, special={-9: "not asked"}),
            Feature("debt", "count", immutable_if="income < 3"),
            Feature("cards", "count", immutable=True),
        )
    )
    people = pd.DataFrame({"income": [1.0, 5.0, -9.0, np.nan], "debt": [8] * 4, "cards": [5] * 4})
    constraints = {"immutable": ["income"]}
    result = (
        GrowingSpheres(schema, laws=None)
        .fit(TRAIN, LABELS)
        .explain(TREES, people, target="yes", constraints=constraints)
    )
    # unknown where income is a code or missing: the debt may change
    assert [status is Status.NOTHING_FREE for status in result.statuses] == [True, False, False, False]


def test_what_follows_by_a_law_is_held_together_with_what_it_follows() -> None:
    features = (
        Feature("debt", "count", immutable_if="cards = 5"),
        Feature("owed", "count"),
        Feature("cards", "count", immutable=True),
    )
    train = TRAIN[["debt", "cards"]].assign(owed=2 * TRAIN["debt"])[["debt", "owed", "cards"]]
    model = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(train, LABELS)
    people = train[(model.predict(train) == "no")].head(60)
    explainer = GrowingSpheres(Schema(features), laws=["owed = 2 * debt"]).fit(train, LABELS)
    result = explainer.explain(model, people, target="yes")
    held = (people["cards"] == 5).to_numpy()
    assert 0 < held.sum() < 60
    assert [status is Status.NOTHING_FREE for status in result.statuses] == held.tolist()
    assert (result.frame["owed"] == 2 * result.frame["debt"]).all()
