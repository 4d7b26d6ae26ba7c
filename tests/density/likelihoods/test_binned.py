"""The binned likelihood: at zero weights it is the column's histogram, and weights tilt it as its formula says."""

from dataclasses import replace

import numpy as np
import pytest

from attain.core.errors import FileError
from attain.density.likelihoods import Binned
from attain.schema import Feature

FEATURES = (
    Feature("visits", "count", special={-1: "never asked", -2: "refused"}),
    Feature("trades", "count", special={-9: "no record"}),
)
CELLS = np.column_stack([
    np.repeat([0.0, 1.0, 2.0, 7.0, -1.0, np.nan], [40, 30, 20, 6, 3, 1]),
    np.repeat([3.0, -9.0, 5.0], [30, 60, 10]),
])  # fmt: skip


def raw(fitted: Binned, weights: float = 0.0) -> np.ndarray:
    return np.full((1, fitted.outputs), weights)


def probabilities(fitted: Binned, x: np.ndarray, weights: float = 0.0) -> np.ndarray:
    return np.exp(fitted.log_prob(fitted.parameters(raw(fitted, weights)), x))


def test_without_weights_it_is_the_histogram() -> None:
    found = probabilities(Binned.fit(FEATURES, CELLS), np.array([[0.0, 3.0], [-2.0, 3.0], [4.0, 3.0]]))[:, 0]
    # half a row is added to each state: the values seen, both codes, 3 to 6 together, and the tail above 7
    assert found == pytest.approx(np.array([40.5, 0.5, 0.5 / 4]) / (99 + 8 / 2), rel=1e-5)


def test_the_probability_of_a_bin_is_tilted_by_its_functions() -> None:
    fitted = Binned.fit(FEATURES, CELLS)
    x = np.array([[0.0, -9.0], [1.0, 3.0], [2.0, 5.0], [7.0, 3.0], [-1.0, 3.0], [-2.0, 3.0]])
    bins = fitted.normalise(x).astype(int)
    for column in range(2):
        phi = fitted.phi[column].sum(axis=1)
        tilted = np.exp(fitted.log_share[column] + 0.7 * phi)
        expected = probabilities(fitted, x)[:, column] * np.exp(0.7 * phi[bins[:, column]]) / tilted.sum()
        assert probabilities(fitted, x, 0.7)[:, column] == pytest.approx(expected, rel=1e-4)


def test_the_typical_value_is_the_median_or_a_code_that_is_more_probable() -> None:
    typical = Binned.fit(FEATURES, CELLS).typical(raw(Binned.fit(FEATURES, CELLS)))[0]
    assert np.round(typical[0]) == np.nanmedian(CELLS[CELLS[:, 0] >= 0, 0])
    assert typical[1] == -9.0
    rng = np.random.default_rng(1)
    column = rng.lognormal(0.0, 2.0, (2000, 1))
    fitted = Binned.fit([Feature("income", "positive")], column)
    assert fitted.typical(raw(fitted))[0, 0] == pytest.approx(np.median(column), rel=0.05)


def test_the_typical_value_moves_without_jumps() -> None:
    column = np.random.default_rng(2).poisson(6.0, (3000, 1)).astype(float)
    fitted = Binned.fit([Feature("trades", "count")], column)
    weights = np.zeros((2001, fitted.outputs))
    weights[:, 0] = np.linspace(-4, 4, 2001)  # of the normal score
    moved = fitted.typical(weights)[:, 0]
    assert np.abs(np.diff(moved)).max() < 0.05
    assert (np.diff(moved) >= 0).all()
    assert moved[0] < 1.0 < 14.0 < moved[-1]


def test_draws_are_values_of_the_data_to_the_last_bit() -> None:
    column = np.random.default_rng(3).choice([0.1, 0.3, 1 / 3, -5.0], (400, 1), p=[0.4, 0.3, 0.2, 0.1])
    fitted = Binned.fit([Feature("rate", "real", special={-5: "none"})], column)
    parameters = fitted.parameters(np.zeros((5000, fitted.outputs)))
    draws = fitted.quantile(parameters, np.random.default_rng(0).random((5000, 1)))[:, 0]
    shares = [(draws == value).mean() for value in (0.1, 0.3, 1 / 3, -5.0)]
    assert sum(shares) > 0.98
    assert np.abs(np.array(shares) - [(column == v).mean() for v in (0.1, 0.3, 1 / 3, -5.0)]).max() < 0.03


def test_constants_of_a_file_that_cannot_be_are_refused() -> None:
    fitted = Binned.fit(FEATURES, CELLS)
    fitted.check()
    for name, place, value in (("bin", (0, 1), 99), ("starts", (0, 1), -1e9), ("phi", (0, 0, 0), np.nan)):
        broken = getattr(fitted, name).copy()
        broken[place] = value
        with pytest.raises(FileError, match="does not hold the histograms of 'visits'"):
            replace(fitted, **{name: broken}).check()
