"""Densities of answers and their ranks: a density in closed form, and an autoencoder."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from attain.core.errors import AttainError
from attain.density import CVAE
from attain.metrics import density_rank, log_density, log_density_with_error
from attain.schema import Feature, Schema

NAN = float("nan")
SCHEMA = Schema((Feature("x", "real"), Feature("y", "real")))


class Gaussian:
    """A density model whose bound is exact."""

    schema_ = SCHEMA

    def log_density(self, rows: np.ndarray, samples: int) -> np.ndarray:
        return norm.logpdf(rows).sum(axis=1)

    def log_density_with_error(self, rows: np.ndarray, samples: int) -> tuple[np.ndarray, np.ndarray]:
        return self.log_density(rows, samples), np.full(len(rows), 1 / samples)


MODEL: Any = Gaussian()


def test_densities_stay_with_their_people() -> None:
    answers = np.array([[0, 0], [NAN, NAN], [1, 2], [3, 0.0]])
    expected = -np.log(2 * np.pi) - np.array([0, NAN, 2.5, 4.5])
    np.testing.assert_allclose(log_density(answers, MODEL), expected)
    bound, error = log_density_with_error(answers, MODEL, samples=50)
    np.testing.assert_allclose(bound, expected)
    np.testing.assert_array_equal(error, [0.02, NAN, 0.02, 0.02])
    told = log_density(answers, MODEL, found=[False, False, True, False])
    np.testing.assert_array_equal(np.isnan(told), [True, True, False, True])


def test_rank_is_the_share_of_people_further_out() -> None:
    people = np.column_stack((np.arange(10.0), np.zeros(10)))
    answers = np.array([[0.5, 0], [0, 0], [0, 9.0], [0, 100], [NAN, NAN]])
    np.testing.assert_allclose(density_rank(answers, MODEL, people), [0.9, 1, 0.1, 0, NAN])
    assert np.isnan(density_rank(answers, MODEL, np.empty((0, 2)))).all()


def test_an_autoencoder_gives_the_bound_and_strangers_rank_low() -> None:
    rng = np.random.default_rng(0)
    train = rng.normal(size=(300, 2))
    model = CVAE(SCHEMA, latent_dim=1, epochs=20, verbose=False).fit(train)
    answers = np.array([[0.0, 0], [NAN, NAN], [9, -9]])
    bound = log_density(answers, model, samples=20)
    np.testing.assert_array_equal(bound[[0, 2]], model.log_density(answers[[0, 2]], 20))
    rank = density_rank(answers, model, rng.normal(size=(200, 2)), samples=20)
    assert rank[0] > 0.8
    assert np.isnan(rank[1])
    assert rank[2] == 0


def test_misuse_is_told() -> None:
    with pytest.raises(AttainError, match="samples is 0"):
        log_density([[0.0, 0.0]], MODEL, samples=0)
