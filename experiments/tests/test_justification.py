"""Justification: regions of a classifier whose connectedness is known."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import DBSCAN
from sklearn.neighbors import NearestNeighbors

from attain.methods.search.moves import streams
from attain.models import Goal, Model
from attain.population.reference import Reference
from attain.schema import Feature, Schema
from attain.tables import Table
from experiments.research.justification import _asked, _ball, justified

NAN = float("nan")
PLANE = Schema((Feature("x", "real"), Feature("y", "real")))


def case(schema: Schema, frame: pd.DataFrame, function: Any) -> tuple[Goal, Reference]:
    table = Table.read(frame, schema)
    goal = Goal(Model(function, classes=[0, 1]), table.layout, target=1, probe=table.values)
    met = goal.decide(table.values).met
    return goal, Reference.build(schema, table.values, met=met, desired_labels=met & (table.values[:, 0] > 0))


def plane(seed: int = 0) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(seed).uniform(-3, 3, size=(300, 2)), columns=["x", "y"])


def half_plane(frame: pd.DataFrame) -> np.ndarray:
    return (frame["x"] > 1).to_numpy().astype(int)


def with_island(frame: pd.DataFrame) -> np.ndarray:
    island = (frame["x"] + 2) ** 2 + frame["y"] ** 2 < 0.5
    return ((frame["x"] > 1) | island).to_numpy().astype(int)


def test_an_answer_in_a_connected_region_is_justified() -> None:
    goal, reference = case(PLANE, plane(), half_plane)
    answers = np.array([[1.2, 0.0], [5.0, 5.0], [1.01, -2.9]])
    np.testing.assert_array_equal(justified(answers, reference, goal, samples=1000), [1, 1, 1])


def test_an_answer_on_an_island_is_not() -> None:
    goal, reference = case(PLANE, plane(), with_island)
    answers = np.array([[1.2, 0.0], [-2.0, 0.1], [NAN, NAN], [-1.8, -0.3], [0.0, 0.0]])
    expected = [1, 0, NAN, 0, 0]
    np.testing.assert_array_equal(justified(answers, reference, goal, samples=2000), expected)
    found = np.array([True, True, False, False, False])
    told = justified(answers, reference, goal, samples=500, found=found)
    np.testing.assert_array_equal(told, [1, 0, NAN, NAN, NAN])


def test_verdicts_are_those_of_scikit_learns_dbscan() -> None:
    def stripes(frame: pd.DataFrame) -> np.ndarray:
        return (np.sin(3 * frame["x"]) + frame["y"] / 4 > 0.3).to_numpy().astype(int)

    goal, reference = case(PLANE, plane(), stripes)
    rng = np.random.default_rng(1)
    answers = rng.uniform(-4, 4, size=(40, 2))
    verdicts = justified(answers, reference, goal, samples=300, random_state=3)
    expected = []
    distances, nearest = reference.nearest(answers)
    for answer, generator, radius, which in zip(
        answers, streams(answers, 3), distances[:, 0], nearest[:, 0], strict=True
    ):
        drawn = _ball(answer, reference.values[which], radius, reference, 300, generator)
        scaled = reference.space.transform(np.vstack((answer, reference.values[which], drawn)))[:, :2]
        assert (np.linalg.norm(scaled[2:] - scaled[0], axis=1) <= radius * (1 + 1e-9)).all()
        kept = scaled[2:][stripes(pd.DataFrame(drawn, columns=["x", "y"])) == 1]
        if not stripes(pd.DataFrame([answer], columns=["x", "y"]))[0] or not len(kept):
            expected.append(0)
            continue
        points = np.vstack((scaled[:2], kept))
        step = NearestNeighbors(n_neighbors=2).fit(points).kneighbors(kept)[0][:, 1].max()
        labels = DBSCAN(eps=step * (1 + 1e-12), min_samples=2).fit(points).labels_
        expected.append(int(labels[0] == labels[1] != -1))
    np.testing.assert_array_equal(verdicts, expected)
    assert set(verdicts) == {0.0, 1.0}


def test_the_ball_is_filled_evenly() -> None:
    _, reference = case(PLANE, plane(), half_plane)
    answer = np.array([2.0, 0.0])
    drawn = _ball(answer, np.array([2.5, 1.0]), 1.0, reference, 20_000, np.random.default_rng(0))
    radii = np.linalg.norm(
        reference.space.transform(drawn)[:, :2] - reference.space.transform(answer[None])[0, :2], axis=1
    )
    for radius in (0.3, 0.6, 0.9):
        assert (radii < radius).mean() == pytest.approx(radius**2, abs=0.01)


def test_an_answer_does_not_depend_on_its_company_and_one_that_is_a_person_is_justified() -> None:
    goal, reference = case(PLANE, plane(), with_island)
    answers = np.vstack((reference.values[3], [[-1.9, 0.1], [1.1, 0.2]]))
    verdicts = justified(answers, reference, goal, samples=200)
    np.testing.assert_array_equal(verdicts, [1, 0, 1])
    alone = np.concatenate([justified(answers[[row]], reference, goal, samples=200) for row in range(3)])
    np.testing.assert_array_equal(verdicts, alone)


MIXED = Schema(
    (
        Feature("income", "positive"),
        Feature("school", "ordinal", levels=("none", "some", "all")),
        Feature("home", "categorical", levels=("rents", "owns")),
        Feature("late", "count", special={-9: "no record"}),
        Feature("double", "real", derived="2 * income"),
    )
)


def mixed_people() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    income = rng.uniform(0, 10, 120)
    return pd.DataFrame(
        {
            "income": income,
            "school": rng.choice(["none", "some", "all"], 120),
            "home": "owns",
            "late": rng.choice([-9, 0, 1, 2], 120),
            "double": 2 * income,
        }
    )


def owners_or_rich(frame: pd.DataFrame) -> np.ndarray:
    return ((frame["home"] == "owns") | (frame["double"] > 12)).to_numpy().astype(int)


def test_records_are_ones_that_exist_and_states_are_the_answers_or_the_persons() -> None:
    _, reference = case(MIXED, mixed_people(), owners_or_rich)
    answer, person = np.array([0.5, 1.0, 0.0, -9.0, 1.0]), np.array([9.0, 2.0, 1.0, 1.0, 18.0])
    radius = float(np.linalg.norm(np.diff(reference.space.transform(np.vstack((answer, person))), axis=0)))
    drawn = _ball(answer, person, radius, reference, 500, np.random.default_rng(0))
    asked = _asked(drawn, answer, reference)
    np.testing.assert_array_equal(asked[:250, 2:4], np.tile([0.0, -9.0], (250, 1)))
    assert (asked[250:, 2] == 1).all()
    assert len(np.unique(asked[250:, 3])) > 100, (
        "a number that the answer has no record of is drawn where the person has"
    )
    assert asked[:, 0].min() >= 0
    assert asked[250:, 3].min() >= 0
    assert set(asked[:, 1]) <= {0.0, 1.0, 2.0}
    np.testing.assert_array_equal(asked[:, 4], 2 * asked[:, 0])
    # Everything in the ball of the measuring space but the derived coordinate, which follows the income.
    coordinates = np.delete(reference.space.transform(drawn) - reference.space.transform(answer[None]), 3, axis=1)
    assert (np.linalg.norm(coordinates, axis=1) <= radius * (1 + 1e-9)).all()


def test_a_chain_may_change_levels_where_both_meet_the_goal() -> None:
    goal, reference = case(MIXED, mixed_people(), owners_or_rich)
    assert (reference.values[:, 2] == 1).all(), "every real person owns"
    rich_renter, owner, poor_renter = [9.0, 1.0, 0.0, 0.0, 18.0], [3.0, 1.0, 1.0, 0.0, 6.0], [3.0, 1.0, 0.0, 0.0, 6.0]
    answers = np.array([rich_renter, owner, poor_renter])
    np.testing.assert_array_equal(justified(answers, reference, goal, samples=800), [1, 1, 0])


def test_records_whose_derived_columns_cannot_be_computed_are_left_out() -> None:
    schema = Schema(
        (Feature("income", "positive"), Feature("debt", "positive"), Feature("ratio", "real", derived="debt / income"))
    )
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"income": rng.uniform(0.1, 2, 60), "debt": rng.uniform(0, 2, 60)})
    frame["ratio"] = frame["debt"] / frame["income"]

    def affordable(rows: pd.DataFrame) -> np.ndarray:
        assert np.isfinite(rows["ratio"]).all()
        return (rows["ratio"] < 3).to_numpy().astype(int)

    goal, reference = case(schema, frame, affordable)
    # Around so small an income half of the records have none.
    np.testing.assert_array_equal(justified([[0.05, 0.02, 0.4]], reference, goal, samples=2000), [1])


def test_states_alone_are_one_step_apart() -> None:
    schema = Schema(
        (Feature("a", "categorical", levels=("no", "yes")), Feature("b", "categorical", levels=("no", "yes")))
    )
    frame = pd.DataFrame({"a": ["yes", "yes", "no"], "b": ["yes", "yes", "no"]})
    goal, reference = case(schema, frame, lambda rows: (rows["a"] == "yes").to_numpy().astype(int))
    np.testing.assert_array_equal(justified([[1.0, 0.0], [0.0, 1.0]], reference, goal, samples=10), [1, 0])


def test_an_empty_reference_is_nan() -> None:
    goal, reference = case(PLANE, plane(), half_plane)
    empty = Reference.build(PLANE, plane().to_numpy(), met=np.zeros(300, dtype=bool))
    assert np.isnan(justified([[2.0, 0.0]], empty, goal)).all()
    assert np.isnan(justified([[NAN, NAN]], reference, goal)).all()
