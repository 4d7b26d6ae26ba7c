"""The certificate of connectedness: its inequality holds for every answer, and on a line it is exact."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from attain.datasets import load_german
from attain.methods import CCHVAE
from attain.metrics import nearest_distance
from attain.population.population import Reference
from attain.schema import Feature, Schema
from attain.tables import Table
from attain.testing import people
from experiments.research.autoencoder_certificate import certified_distance
from tests.density.outside import ProbabilisticPCA

LINE = Schema((Feature("x", "real"), Feature("y", "real")))


def test_it_bounds_the_distance_of_every_counterfactual() -> None:
    X = people.frame(400)
    y = people.labels(X)
    model = people.linear_model(X, y)
    for units in (1, 2, 4):
        autoencoder = ProbabilisticPCA(people.schema(), units)
        explainer = CCHVAE(people.schema(), autoencoder=autoencoder, figures=False).fit(X, y)
        result = explainer.explain(model, X[model.predict(X) != "granted"].head(40), target="granted")
        values = Table.read(X, people.schema()).values
        reference = Reference.build(people.schema(), values, met=model.predict(X) == "granted")
        assert result.found.sum() > 5
        for steps in (1, 16):
            bound = certified_distance(result.answers, explainer.autoencoder_, reference, steps=steps)
            nearest = nearest_distance(result.answers, reference)
            assert (bound[result.found] >= nearest[result.found] - 1e-9).all()
            assert np.isnan(bound[~result.found]).all()


def test_it_bounds_the_distance_of_every_counterfactual_of_a_chvae_and_certifies_some() -> None:
    from attain.density import CHVAE

    data = load_german()
    model = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(), make_column_selector(dtype_exclude="number")), remainder=StandardScaler()
        ),
        LogisticRegression(max_iter=1000),
    ).fit(data.X, data.y)
    met = model.predict(data.X) == data.desired
    reference = Reference.build(data.schema, Table.read(data.X, data.schema).values, met=met)
    for sizes, certified in (
        ({"latent_dim": 6, "hidden": 64}, 0.0),
        ({"latent_dim": 12, "hidden": 64, "beta": 0.2}, 0.2),
    ):
        autoencoder = CHVAE(data.schema, **sizes, verbose=False).fit(data.X)
        explainer = CCHVAE(data.schema, autoencoder=autoencoder, figures=False).fit(data.X, data.y)
        result = explainer.explain(model, data.X[~met].head(40), target=data.desired)
        assert result.found.mean() > 0.9
        nearest = nearest_distance(result.answers, reference)[result.found]
        bound, path = (
            certified_distance(result.answers, autoencoder, reference, steps=steps)[result.found] for steps in (1, 16)
        )
        assert (nearest <= bound + 1e-9).all()
        assert (bound <= path + 1e-9).all(), "a line is no longer than a path"
        assert (bound <= reference.epsilon[0.9]).mean() >= certified


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.floats(-30, 30)] * 2), min_size=1, max_size=5), st.integers(1, 5), st.integers(1, 9))
def test_it_bounds_the_distance_of_any_row(rows: list[tuple[float, float]], nearest: int, steps: int) -> None:
    autoencoder, reference = line()
    answers = np.array(rows)
    bound = certified_distance(answers, autoencoder, reference, nearest=nearest, steps=steps)
    assert (bound >= nearest_distance(answers, reference) * (1 - 1e-9) - 1e-9).all()


def line() -> tuple[ProbabilisticPCA, Reference]:
    """Points near a line, and an autoencoder with one unit."""
    x = np.random.default_rng(0).normal(size=60)
    values = np.column_stack([x, 2 * x + np.random.default_rng(1).normal(0, 0.01, 60)])
    return ProbabilisticPCA(LINE, 1).fit(values), Reference.build(LINE, values, met=np.ones(60, bool))


def test_on_a_line_it_is_close_to_the_distance() -> None:
    autoencoder, reference = line()
    answers = np.array([[4.0, 8.0], [0.1, 0.2], [-5.0, -10.0]])
    bound, nearest = certified_distance(answers, autoencoder, reference), nearest_distance(answers, reference)
    assert bound == pytest.approx(nearest, abs=0.1)
    off = np.array([[0.0, 4.0]])
    assert certified_distance(off, autoencoder, reference)[0] > 1.0, "the reconstruction error of the answer counts"


def test_without_answers_and_without_real_rows_there_is_no_number() -> None:
    autoencoder, reference = line()
    assert np.isnan(certified_distance(np.full((2, 2), np.nan), autoencoder, reference)).all()
    assert pd.isna(certified_distance(np.zeros((1, 2)), autoencoder, reference.subset(np.zeros(0, int)))).all()
