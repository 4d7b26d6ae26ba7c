"""FACE against densities of scikit-learn, shortest paths of SciPy, and graphs drawn by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse.csgraph import shortest_path
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KernelDensity

from attain.core.errors import AttainError
from attain.methods import FACE, GrowingSpheres
from attain.methods.face import GaussianDensity, RowGraph, admissible_rows
from attain.results.counterfactuals import Counterfactuals
from attain.schema import Constraints, Feature, Schema
from attain.tables import Region, Table
from attain.testing import people

PLANE = Schema((Feature("x", "real"), Feature("y", "real")))


def plane(size=120, seed=0):
    random = np.random.default_rng(seed)
    return pd.DataFrame(np.round(random.normal(0, 1, (size, 2)), 3), columns=["x", "y"])


def right(frame):
    return (frame["x"].to_numpy() > 1).astype(int)


def explained(explainer, asked, **arguments):
    return explainer.explain(right, asked, target=1, **arguments)


def test_the_density_is_that_of_scikit_learn_up_to_a_constant():
    random = np.random.default_rng(1)
    centres, points = random.normal(size=(60, 3)), random.normal(size=(25, 3))
    own = GaussianDensity(centres, 0.4).log(points)
    expected = KernelDensity(bandwidth=0.4).fit(centres).score_samples(points)
    np.testing.assert_allclose(own - expected, (own - expected)[0], atol=1e-7)


def test_a_step_weighs_its_length_and_the_rarity_at_its_midpoint():
    values = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]])
    density = GaussianDensity(values, 1.0)
    graph = RowGraph(PLANE, values, values, 2, density)
    unit = density.log(values).max()
    for start, end, weight in zip(graph.starts, graph.ends, graph.weights, strict=True):
        rarity = unit - density.log((values[[start]] + values[[end]]) / 2)[0]
        assert weight == pytest.approx(abs(values[start, 0] - values[end, 0]) * (1 + max(rarity, 0)))
    assert len(graph.starts) == 6


def test_path_lengths_are_the_shortest_ones_through_the_rows_each_person_may_be():
    X = plane()
    schema = PLANE.change("y", direction="increase")
    fitted = FACE(schema, neighbours=6, figures=False).fit(X)
    graph = fitted.graph_
    asked = Table.read(plane(12, seed=3), fitted.population_.schema).values
    region = Region.of(
        Table.read(plane(12, seed=3), fitted.population_.schema), Constraints(), fitted.population_.observed
    )
    lengths, before = fitted._routes(region)
    for i in range(len(asked)):
        allowed = graph.values[:, 1] >= asked[i, 1]
        dense = np.full((len(graph) + 1, len(graph) + 1), np.inf)
        for start, end, weight in zip(graph.starts, graph.ends, graph.weights, strict=True):
            if allowed[start] and allowed[end]:
                assert graph.values[end, 1] >= graph.values[start, 1]
                dense[start, end] = weight
        own = fitted.population_.space.transform(asked[[i]])[0]
        distance = np.sqrt(((graph.points - own) ** 2).sum(axis=1))
        near = [v for v in np.argsort(distance, kind="stable") if allowed[v]][:6]
        dense[-1, near] = graph._weights(np.tile(own, (len(near), 1)), graph.points[near])
        expected = shortest_path(dense, method="BF" if i == 0 else "D", indices=len(graph))[:-1]
        np.testing.assert_allclose(lengths[i], expected, atol=1e-6)
        assert (before[i][near][np.isclose(expected[near], dense[-1, near])] == -1).all()


def test_the_answer_is_the_end_with_the_shortest_path():
    X = plane()
    fitted = FACE(PLANE, neighbours=6, least_density=0.0, figures=False).fit(X)
    asked = plane(30, seed=5)
    asked = asked[asked["x"] <= 1]
    result = explained(fitted, asked)
    lengths, _ = fitted._routes(Region.of(result.table, Constraints(), fitted.population_.observed))
    ends = right(pd.DataFrame(fitted.graph_.values, columns=["x", "y"])) == 1
    for k, owner in enumerate(result.owners):
        assert result.option_figures["path_length"][k] == pytest.approx(lengths[owner][ends].min(), abs=1e-5)
        np.testing.assert_array_equal(X.to_numpy()[int(result.option_figures["endpoint"][k])], result.rows[k])
    assert (result.option_figures["copies_a_person"] == 1).all()


def test_a_path_goes_round_an_empty_region_through_real_people():
    # people along a horseshoe: from one tip to the other, no one is in between
    angle = np.linspace(0, np.pi, 61)
    shoe = pd.DataFrame({"x": np.round(np.cos(angle), 4), "y": np.round(np.sin(angle), 4)})
    fitted = FACE(PLANE, neighbours=2, bandwidth=0.1, least_density=0.0, figures=False).fit(shoe)
    model = lambda frame: (frame["x"].to_numpy() > 0.99).astype(int)  # noqa: E731
    result = fitted.explain(model, pd.DataFrame({"x": [-1.0], "y": [0.0]}), target=1)
    path = fitted.paths(result)
    assert path["step"].tolist() == list(range(len(path)))
    assert path["y"].max() > 0.99
    assert len(path) > 25
    assert path.iloc[-1][["x", "y"]].tolist() == result.rows[0].tolist()


def test_ends_are_sure_and_dense_enough():
    X = plane(200)
    model = LogisticRegression(C=5).fit(X, X["x"] > 0)
    asked = X[model.predict(X) == 0].iloc[:15]
    fitted = FACE(PLANE, least_density=0.3, figures=False).fit(X)
    result = fitted.explain(model, asked, target=True, probability=0.9)
    assert result.found.any()
    assert (model.predict_proba(result.frame[result.found])[:, 1] >= 0.9).all()
    place = {int(row): k for k, row in enumerate(fitted.rows_)}
    heights = [fitted.graph_.height[place[int(end)]] for end in result.option_figures["endpoint"]]
    assert min(heights) >= np.quantile(fitted.graph_.height, 0.3)


def mixed():
    X = people.frame()
    y = people.labels(X)
    model = people.linear_model(X, y)
    asked = people.frame(120, seed=7)
    return X, y, model, asked[model.predict(asked) == people.REFUSED].iloc[:25]


def test_immutables_directions_and_constraints_hold_on_every_step():
    X, y, model, asked = mixed()
    fitted = FACE(people.schema(), tolerance=0.7, figures=False).fit(X, y)
    constraints = {"immutable": ["housing"], "direction": {"debt": "decrease"}}
    result = fitted.explain(model, asked, target=people.DESIRED, constraints=constraints)
    assert result.found.mean() > 0.3
    path = fitted.paths(result, constraints)
    spread = X["age"].std(ddof=0)
    for person, steps in path.groupby("person"):
        own = asked.loc[person]
        assert (steps["sex"] == own["sex"]).all()
        assert (steps["housing"] == own["housing"]).all()
        assert ((steps["age"] - own["age"]).abs() <= 0.7 * spread).all()
        assert steps["income"].is_monotonic_increasing
        assert (steps["debt"] <= own["debt"]).all()
        assert steps["age"].iloc[-1] == own["age"]


def test_paths_are_found_again_after_json_and_only_with_the_same_constraints():
    X, y, model, asked = mixed()
    fitted = FACE(people.schema(), figures=False).fit(X, y)
    constraints = {"immutable": ["housing", "education"]}
    result = fitted.explain(model, asked, target=people.DESIRED, n=2)
    again = Counterfactuals.from_json(result.to_json())
    pd.testing.assert_frame_equal(fitted.paths(again), fitted.paths(result))
    tight = fitted.explain(model, asked, target=people.DESIRED, constraints=constraints)
    with pytest.raises(AttainError, match="pass the same constraints"):
        fitted.paths(result, {"immutable": list(people.schema().names)})
    assert set(fitted.paths(tight, constraints)["person"]) == set(asked.index[tight.found])
    other = GrowingSpheres(people.schema(), figures=False, budget=300).fit(X, y)
    with pytest.raises(AttainError, match="GrowingSpheres, which has no paths"):
        fitted.paths(other.explain(model, asked.iloc[:1], target=people.DESIRED))


def test_rows_a_person_could_become_are_those_the_rules_allow_cell_by_cell():
    schema = Schema(
        (
            Feature("age", "real", immutable=True),
            Feature("sex", "categorical", levels=("f", "m"), immutable=True),
            Feature("late", "count", special={-9: "no record"}, transitions={-9: ("value",)}),
            Feature("pay", "real", range=(0, 2)),
        )
    )
    frame = pd.DataFrame({"age": [30.0, 30.0], "sex": ["f", "f"], "late": [2, -9], "pay": [5.0, np.nan]})
    region = Region.of(Table.read(frame, schema), Constraints())
    rows = np.array(
        [
            [31.0, 0, 3, 6.0],
            [33.0, 0, 3, 6.0],  # too old
            [30.0, 1, 3, 6.0],  # another sex
            [30.0, 0, -9, 6.0],  # into a special code
            [30.0, 0, 3, 8.0],  # out of range
            [30.0, 0, 3, 4.0],
        ]
    )
    allowed = admissible_rows(region, rows, np.ones(4), 2.0)
    assert allowed[0].tolist() == [True, False, False, False, False, False]
    assert allowed[1].tolist() == [True, False, False, True, True, True]


def test_a_graph_of_some_of_the_people_depends_on_the_seed_alone():
    X = plane(200)
    one, two, other = (FACE(PLANE, max_rows=50, random_state=seed).fit(X).rows_ for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert len(one) == 50
    assert set(one) != set(other)
