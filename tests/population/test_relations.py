"""Relations on made-up tables, where it is known what predicts what."""

import warnings

import numpy as np
import pandas as pd
import pytest

from attain import Schema
from attain.population.relations import Relations
from attain.tables import Table


def discs(n: int, seed: int = 0) -> pd.DataFrame:
    """Discs with a radius, the area that follows from it but for 1 %, a colour, and a weight of something else."""
    random = np.random.default_rng(seed)
    radius = random.uniform(1, 10, n).round(3)
    area = (np.pi * radius**2 * random.normal(1, 0.01, n)).round(2)
    return pd.DataFrame({"radius": radius, "area": area, "weight": random.normal(5, 1, n).round(3)})


def learned(frame: pd.DataFrame) -> tuple[Relations, Schema]:
    schema = Schema.infer(frame)
    return Relations.fit(schema, Table.read(frame, schema).values), schema


def rows_of(schema: Schema, *rows: tuple[object, ...]) -> np.ndarray:
    return Table.read(pd.DataFrame(rows, columns=list(schema.names)), schema).values


def test_columns_that_go_together_are_found_and_others_are_not() -> None:
    relations, schema = learned(discs(600))
    assert sorted(schema.names[j] for j in relations.columns) == ["area", "radius"]
    assert (relations.explained > 0.99).all()
    assert "area: predicted from radius" in str(relations)
    own = rows_of(schema, (8.0, 201.1, 5.0))
    fits, shrunk = rows_of(schema, (4.0, 50.3, 6.0)), rows_of(schema, (4.0, 180.0, 5.0))
    assert relations.p_value(fits, own) > 0.18
    assert relations.p_value(shrunk, own) < 0.01
    assert relations.contradictions(fits, own, 0.18) == [""]
    assert "area does not go with radius" in relations.contradictions(shrunk, own, 0.18)[0]


def test_real_people_are_refused_as_often_as_the_rate_says() -> None:
    relations, schema = learned(discs(2000))
    new = Table.read(discs(2000, seed=1), schema).values
    for rate in (0.05, 0.18):
        assert abs((relations.p_value(new) <= rate).mean() - rate) < 0.03
        beyond = relations.farthest(new) >= relations.limit(rate) - 1e-9
        assert ((relations.p_value(new) <= rate) == beyond).mean() > 0.999


def test_a_person_beyond_a_limit_may_stay_there_and_not_go_further() -> None:
    relations, schema = learned(discs(600))
    own = rows_of(schema, (5.0, 150.0, 5.0))
    assert relations.p_value(own) < 0.01
    assert relations.p_value(own, own) == 1
    assert relations.p_value(rows_of(schema, (5.0, 130.0, 5.0)), own) == 1
    assert relations.p_value(rows_of(schema, (5.0, 190.0, 5.0)), own) < 0.01
    assert relations.p_value(rows_of(schema, (5.0, 40.0, 5.0)), own) < 0.01


def test_a_change_follows_what_predicts_it() -> None:
    relations, schema = learned(discs(600))
    own = rows_of(schema, (8.0, 201.1, 5.0), (8.0, 201.1, 5.0), (8.0, 201.1, 5.0))
    rows = rows_of(schema, (4.0, 50.3, 5.0), (8.0, 201.1, 4.0), (4.0, 50.3, 4.0))
    area = schema.names.index("area")
    follows = relations.follows(rows, own, 0.18)
    assert follows[:, area].tolist() == [True, False, True]
    assert follows.sum() == 2


def test_levels_codes_and_missing_cells_are_states_that_predict_and_are_predicted() -> None:
    random = np.random.default_rng(0)
    plan = random.choice(["none", "slow", "fast"], 900)
    speed = np.where(plan == "none", np.nan, np.where(plan == "slow", 10.0, 100.0) + random.uniform(0, 5, 900))
    streams = np.where(plan == "none", "no internet", random.choice(["yes", "no"], 900))
    frame = pd.DataFrame({"plan": plan, "speed": speed, "streams": streams, "x": random.normal(size=900)})
    relations, schema = learned(frame)
    assert {schema.names[j] for j in relations.columns} == {"plan", "speed", "streams"}
    own = rows_of(schema, ("none", np.nan, "no internet", 0.0))
    wrong = rows_of(schema, ("none", np.nan, "yes", 0.0))
    right = rows_of(schema, ("fast", 102.0, "yes", 0.0))
    assert relations.p_value(wrong, own) < 0.02
    assert relations.p_value(right, own) > 0.18


def test_an_order_that_nearly_everybody_keeps_is_a_relation() -> None:
    random, n = np.random.default_rng(0), 2000
    cards = random.poisson(9, n)
    good = random.binomial(cards, 0.7)
    good[:200] = cards[:200]
    good[200:300] = cards[200:300] + random.integers(1, 4, 100)
    other = random.poisson(9, n)
    relations, schema = learned(pd.DataFrame({"cards": cards, "good": good, "other": other}))
    assert [text for text in relations.sentences() if "at most" in text] == ["good: at most cards, of 95 % of people"]
    own = rows_of(schema, (8, 5, 9), (8, 9, 9))
    assert relations.p_value(rows_of(schema, (8, 9, 9), (8, 9, 4)), own)[0] < 0.06
    assert relations.p_value(rows_of(schema, (8, 9, 9), (8, 9, 4)), own)[1] == 1
    assert relations.contradictions(rows_of(schema, (8, 9, 9)), own[:1], 0.18)[0].startswith(
        "good does not go with cards"
    )
    assert 0 < relations.limit(0.18) < 2


def test_the_order_of_the_rows_does_not_matter() -> None:
    frame = discs(400)
    one, _ = learned(frame)
    other, schema = learned(frame.sample(frac=1, random_state=0))
    rows = Table.read(discs(50, seed=2), schema).values
    assert one.engine.offs(rows).tobytes() == other.engine.offs(rows).tobytes()
    assert one.calibration.tobytes() == other.calibration.tobytes()


X = np.random.default_rng(0).normal(size=300)
ODD = {
    "constant": {"a": X, "b": np.full(300, 3.0)},
    "duplicated": {"a": X, "b": X, "c": X},
    "nearly all missing": {"a": X, "b": np.where(np.arange(300) < 2, X, np.nan)},
    "two columns": {"a": X, "b": np.random.default_rng(1).normal(size=300)},
    "30 rows": {"a": X[:30], "b": X[:30]},
    "many levels": {"a": X, "b": [f"level {k}" for k in [0, *range(299)]]},
    "every column exact": {"a": X, "b": 2 * X + 1, "c": np.exp(X), "d": np.where(X > 0, "up", "down")},
}


@pytest.mark.parametrize("name", ODD)
def test_odd_tables_are_taken_without_a_warning(name: str) -> None:
    frame = pd.DataFrame(ODD[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        relations, schema = learned(frame)
        values = Table.read(frame, schema).values
        p_value = relations.p_value(values, values[::-1].copy())
        texts = relations.contradictions(values, values[::-1].copy(), 0.18)
    assert ((p_value > 0) & (p_value <= 1)).all()
    assert len(texts) == len(frame)
    assert (len(relations) > 0) == (name in ("duplicated", "every column exact"))
