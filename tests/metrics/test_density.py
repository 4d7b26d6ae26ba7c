"""Densities of answers: a density in closed form, and an autoencoder."""

from typing import Any

import numpy as np
from scipy.stats import norm

from attain.density import CVAE
from attain.metrics import log_density
from attain.schema import Feature, Schema

NAN = float("nan")
SCHEMA = Schema((Feature("x", "real"), Feature("y", "real")))


class Gaussian:
    """A density model whose bound is exact."""

    schema_ = SCHEMA

    def log_density(self, rows: np.ndarray) -> np.ndarray:
        return norm.logpdf(rows).sum(axis=1)


MODEL: Any = Gaussian()


def test_densities_stay_with_their_people() -> None:
    answers = np.array([[0, 0], [NAN, NAN], [1, 2], [3, 0.0]])
    expected = -np.log(2 * np.pi) - np.array([0, NAN, 2.5, 4.5])
    np.testing.assert_allclose(log_density(answers, MODEL), expected)
    told = log_density(answers, MODEL, found=[False, False, True, False])
    np.testing.assert_array_equal(np.isnan(told), [True, True, False, True])


def test_an_autoencoder_gives_the_bound() -> None:
    rng = np.random.default_rng(0)
    train = rng.normal(size=(300, 2))
    model = CVAE(SCHEMA, hidden=0, latent_dim=1, epochs=20, verbose=False).fit(train)
    answers = np.array([[0.0, 0], [NAN, NAN], [9, -9]])
    bound = log_density(answers, model)
    np.testing.assert_array_equal(bound[[0, 2]], model.log_density(answers[[0, 2]]))
    assert bound[0] > bound[2]
