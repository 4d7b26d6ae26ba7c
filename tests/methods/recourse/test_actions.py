"""The best actions of all rows at once, against those of one row after the other."""

import numpy as np
import pandas as pd
import pytest

from attain import Feature, Schema
from attain.methods.recourse.actions import ActionGrid, Actions, _pruned
from attain.methods.recourse.program import Choices, Program, Row
from attain.models.structure.encoding import Encoding
from attain.models.structure.linear import LinearScore
from attain.population.percentiles import Percentiles
from attain.schema import Constraints
from attain.tables import Region, Table
from tests.both_paths import by

SCHEMA = Schema(
    (
        Feature("number", "real"),
        Feature("stepped", "positive", step=0.5, bounds=(0, 40)),
        Feature("up", "count", direction="increase"),
        Feature("coded", "count", special={-1: "unknown", -2: "none"}),
        Feature("grade", "ordinal", levels=("a", "b", "c", "d")),
        Feature("house", "categorical", levels=("rents", "owns", "parents")),
    )
)


def score_of(random: np.random.Generator, schema: Schema = SCHEMA) -> LinearScore:
    """A linear score of each cell, with weights for levels and special codes."""
    d = len(schema)
    levels = tuple(random.normal(size=(len(feature.levels), 1)) for feature in schema)
    special = tuple(random.normal(size=(len(feature.special), 1)) for feature in schema)
    slopes = np.where([[feature.numeric] for feature in schema], random.normal(size=(d, 1)), 0.0)
    encoding = Encoding(schema, np.zeros(1), slopes, levels, special, random.normal(size=(d, 1)))
    return LinearScore(encoding, 1.0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("grid", ["observed", "exact", 10])
def test_the_best_actions_are_those_of_one_row_after_the_other(seed, grid) -> None:
    random = np.random.default_rng(seed)
    coded = np.where(random.random(80) < 0.3, random.choice([-1, -2], 80), random.poisson(5, 80))
    frame = pd.DataFrame(
        {
            "number": random.normal(size=80).round(int(random.integers(1, 4))),
            "stepped": random.integers(0, 60, 80) / 2,
            "up": random.poisson(4, 80),
            "coded": coded,
            "grade": random.choice(SCHEMA.features[4].levels, 80),
            "house": random.choice(SCHEMA.features[5].levels, 80),
        }
    )
    table, rows = Table.read(frame.iloc[:40], SCHEMA), Table.read(frame, SCHEMA).values
    region = Region.of(table, Constraints.of({"range": {"number": (-1.0, 1.5)}}))
    percentiles, score = Percentiles.fit(SCHEMA, rows), score_of(random)

    def actions() -> Actions:
        made = Actions(region, ActionGrid(SCHEMA, rows, grid), percentiles, "total")
        made.prepare(score)
        return made

    plain, fast = by(False, actions), by(True, actions)
    assert not plain._pruned_already
    assert set(fast._pruned_already) == set(range(len(SCHEMA)))
    for i in range(len(region)):
        for j in range(len(SCHEMA)):
            one, other = _pruned(plain._single(i, j, score)), fast._known_best(i, j)
            for name in ("columns", "cells", "moved", "cost", "gain"):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=f"{i} {j} {name}")


def test_a_thinned_program_keeps_staying_and_actions_of_all_costs() -> None:
    random = np.random.default_rng(0)
    groups = []
    for j, size in enumerate((1, 4, 500, 900)):
        cost = np.append(0.0, random.random(size - 1))
        moved = np.arange(size)[:, None] > 0
        groups.append(Choices(np.array([j]), random.normal(size=(size, 1)), moved, cost, random.normal(size=size)))
    row = Row(tuple(some.gain for some in groups), -np.inf, 1.0)
    program = Program(groups, [row], 1.0, 4, None)
    assert program.thinned(1405) is program
    thin = program.thinned(80)
    assert [len(some.cost) for some in thin.choices] == [1, 4, 21, 21]
    for some, few, coefficients in zip(groups, thin.choices, thin.rows[0].coefficients, strict=True):
        assert few.cost[0] == 0
        assert not few.moved[0, 0]
        assert few.cost.max() == some.cost.max()
        assert np.isin(few.cells, some.cells).all()
        np.testing.assert_array_equal(coefficients, few.gain)
        assert np.diff(np.sort(few.cost)).max(initial=0.0) < 0.1 or len(some.cost) < 50


@pytest.mark.parametrize("tied", [True, False])
def test_a_program_for_another_score_is_that_of_new_actions(tied: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the rules' joint actions are written out, or the features stay apart."""
    if not tied:
        monkeypatch.setattr("attain.methods.recourse.actions._MOST_JOINT", 1)
    features = (
        Feature("a", "count", bounds=(0, 12)),
        Feature("b", "count", bounds=(0, 12)),
        Feature("c", "real"),
        Feature("share", "real", derived="a / (b + 1)"),
        Feature("grade", "ordinal", levels=("a", "b", "c", "d")),
        Feature("house", "categorical", levels=("rents", "owns", "parents")),
    )
    schema = Schema(features, ("if house = owns then c <= 2",))
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.poisson(4, 60), "b": random.poisson(4, 60), "c": random.normal(size=60).round(1)})
    frame["share"] = frame["a"] / (frame["b"] + 1)
    frame["grade"], frame["house"] = random.choice(features[4].levels, 60), random.choice(features[5].levels, 60)
    values = Table.read(frame, schema).values
    region = Region.of(Table.read(frame.iloc[:4], schema), Constraints.of(None))
    given = (region, ActionGrid(schema, values, "observed"), Percentiles.fit(schema, values), "total")
    again = Actions(*given, again=True)
    for _ in range(3):
        score = score_of(random, schema)
        fresh = Actions(*given)
        for i in range(len(region)):
            one, other = (actions.program(i, score, 1.0) for actions in (again, fresh))
            assert one.whole == other.whole == tied
            for some, same in zip(one.choices, other.choices, strict=True):
                for name in ("columns", "cells", "moved", "cost", "gain"):
                    np.testing.assert_array_equal(getattr(some, name), getattr(same, name))
    assert again._kept
    assert not fresh._kept
