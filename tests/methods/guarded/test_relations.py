"""Answers keep relations: of discs whose area follows from their radius, no area is suggested that does not fit."""

import re
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from attain import Counterfactuals, Guarded
from attain.methods import GrowingSpheres
from attain.results.details import Related
from tests.population.test_relations import discs


@cache
def world() -> tuple[pd.DataFrame, np.ndarray, Any, pd.DataFrame]:
    """Training rows, labels, a model that wants small discs, and people who are refused."""
    X = discs(700)
    y = (X["radius"] + 0.5 * X["weight"] < 8).to_numpy().astype(int)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    new = discs(200, seed=3)
    return X, y, model, new[model.predict(new) == 0].head(30)


@cache
def answered(black_box: bool = False) -> tuple[Guarded, Counterfactuals]:
    X, y, model, people = world()
    explainer = Guarded(random_state=0).fit(X, y)
    asked = model.predict_proba if black_box else model
    return explainer, explainer.explain(asked, people, target=1, n=2)


@pytest.mark.parametrize("black_box", [False, True])
def test_areas_fit_their_radius(black_box: bool) -> None:
    _, result = answered(black_box)
    assert result.found.all()
    assert (result.verdict == "typical").mean() > 0.9
    own, answers = world()[3], result.frame
    off = answers["area"] / (np.pi * answers["radius"] ** 2) - 1
    before = own["area"] / (np.pi * own["radius"] ** 2) - 1
    # near the ends of a curve between knots, a relation is a little less exact than the made-up one
    assert (off.abs() <= np.maximum(0.15, before.abs() + 0.01)).all()
    assert (answers["radius"] != own["radius"]).any()


def test_the_verdict_has_two_p_values_and_the_lesser_decides() -> None:
    explainer, result = answered()
    figures = result.figures
    least = figures[["typicality_p", "relations_p"]].min(axis=1)
    assert ((figures["typicality"] == 0) == (least > 0.18)).all()
    own, rows = result.table.values[result.owners], result.rows
    assert np.allclose(
        explainer.population_.relations.p_value(rows, own), result.option_figures["relations_p"], atol=1e-6
    )


def test_a_change_that_follows_is_said_apart_and_stands_in_the_table() -> None:
    _, result = answered()
    changes = result.changes
    follow = changes[changes["follows"] & (changes["option"] == 1)]
    assert len(follow)
    assert set(follow["feature"]) <= {"area", "radius"}
    person = follow["person"].iloc[0]
    assert re.search("; with (it|these) goes? ", result.sentences[person])
    assert result.table.schema[follow["feature"].iloc[0]].title in result.describe(person)


def test_no_change_is_left_out_of_a_sentence_whatever_follows() -> None:
    _, result = answered()
    every = Related(np.ones(result.rows.shape, dtype=bool), ("",) * len(result.rows))
    for version in (result, replace(result, related=every)):
        for person, sentence in version.sentences.items():
            best = (version.changes["person"] == person) & (version.changes["option"] == 1)
            changed = version.changes.loc[best, "feature"]
            assert len(changed)
            assert all(name in sentence for name in changed), sentence


def test_the_answers_of_every_method_are_judged() -> None:
    X, y, model, people = world()
    result = GrowingSpheres(random_state=0).fit(X, y).explain(model, people, target=1)
    wrong = result.figures["relations_p"] <= 0.18
    assert wrong.mean() > 0.5
    assert result.sentences[wrong].str.contains("contradicts itself: ").all()
    assert not result.sentences[~wrong].str.contains("contradicts").any()


def test_what_relations_say_is_written_and_read() -> None:
    _, result = answered()
    again = Counterfactuals.from_json(result.to_json())
    assert again.related is not None
    assert result.related is not None
    assert (again.related.follows == result.related.follows).all()
    assert list(again.sentences) == list(result.sentences)


def test_nothing_is_said_without_relations() -> None:
    X, y, model, people = world()
    columns = ["radius", "weight"]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[columns], y)
    explainer = Guarded(random_state=0).fit(X[columns], y)
    result = explainer.explain(model, people[columns], target=1)
    assert str(explainer.population_.relations) == "No column can be predicted from the others."
    assert result.related is None
    assert "relations_p" not in result.figures
