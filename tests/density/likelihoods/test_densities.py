"""Log-densities against SciPy, on grids with extremes, in float32 and in float64.

The error is |ours − SciPy's| / max(1, |SciPy's|). SciPy is asked at the very parameters and values the graph saw, after
their rounding to the tested precision.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from attain.density.likelihoods import Categorical, Gaussian, Likelihood, LogNormal, Ordinal, Poisson, TruncatedNormal
from attain.density.likelihoods.levels import Thresholds
from attain.density.likelihoods.numbers import Normal, Rate
from attain.schema import Feature
from tests.density.precision import enable_x64

TOLERANCE = {np.float32: 1e-5, np.float64: 1e-10}
PRECISIONS = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def fitted(likelihood: type[Likelihood], kind: str, values: list[float], **properties: Any) -> Any:
    return likelihood.fit([Feature("x", kind, **properties)], np.array(values, float)[:, None])  # type: ignore[arg-type]


def compare(
    likelihood: Likelihood, make: Callable[..., Any], grid: list[np.ndarray], x: np.ndarray, oracle: Any, dtype: type
) -> float:
    """The largest error over the product of parameter grids and values; `oracle(x, t, *parameters)` is the truth."""
    *parameters, x = (axis.ravel() for axis in np.meshgrid(*grid, x, indexing="ij"))
    parameters = [np.asarray(p, dtype).astype(np.float64) for p in parameters]
    t = np.asarray(likelihood.normalise(x[:, None]), dtype)
    with enable_x64(dtype is np.float64):
        density = jax.jit(lambda p, t: likelihood.log_density(p, t))(
            make(*(jnp.asarray(p[:, None], dtype) for p in parameters)), jnp.asarray(t)
        )
        assert density.dtype == dtype
        ours = np.asarray(density, np.float64)[:, 0] + likelihood.log_base(x[:, None])[:, 0]
    expected = oracle(x, t.astype(np.float64)[:, 0], *parameters)
    assert np.isfinite(expected).all()
    return float((np.abs(ours - expected) / np.maximum(1, np.abs(expected))).max())


def _poisson(x: np.ndarray, t: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """SciPy's form loses digits for large counts; longdouble keeps them."""
    wide, mean = x.astype(np.longdouble), rate.astype(np.longdouble)
    factorial = np.array([_log_factorial(int(v)) for v in x], np.longdouble)
    exact = np.where(x > 0, wide * np.log(mean), 0) - mean - factorial
    near = x < 200
    assert np.allclose(exact[near].astype(float), stats.poisson.logpmf(x[near], rate[near]), rtol=1e-9, atol=1e-9)
    return exact.astype(np.float64)


def _log_factorial(n: int) -> np.longdouble:
    if n < 3000:
        return np.log(np.arange(1, n + 1, dtype=np.longdouble)).sum()
    a = np.longdouble(n)
    series = 1 / (12 * a) - 1 / (360 * a**3) + 1 / (1260 * a**5)
    return (a + np.longdouble(0.5)) * np.log(a) - a + np.log(2 * np.longdouble(np.pi)) / 2 + series


GAUSSIAN = fitted(Gaussian, "real", [1e6, 1e6 + 1, 1e6 + 5])
LOGNORMAL = fitted(LogNormal, "positive", [0.0, 0.5, 3.0, 4e5])


def _norm(x: np.ndarray, t: np.ndarray, location: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return stats.norm.logpdf(t, location, scale) - np.log(GAUSSIAN.deviation[0])


def _lognorm(x: np.ndarray, t: np.ndarray, location: np.ndarray, scale: np.ndarray) -> np.ndarray:
    mean, deviation, shift = LOGNORMAL.mean[0], LOGNORMAL.deviation[0], LOGNORMAL.shift[0]
    assert shift == 0.25
    seen = np.exp(mean + deviation * t) - shift
    at_seen = stats.lognorm.logpdf(seen, s=deviation * scale, loc=-shift, scale=np.exp(mean + deviation * location))
    return at_seen + np.log((seen + shift) / (x + shift))


def _truncnorm(x: np.ndarray, t: np.ndarray, location: np.ndarray, scale: np.ndarray) -> np.ndarray:
    low, high = -location / scale, (1 - location) / scale
    return stats.truncnorm.logpdf(t, low, high, location, scale) - np.log(100)


RATES = [1e-8, 0.01, 0.9, 1, 3, 15.5, 99, 1001, 12000, 1e6, 2e7]
COUNTS = np.array([0, 1, 2, 3, 4, 14, 15, 16, 17, 98, 1000, 12345, 1e6])
FAR = GAUSSIAN.mean[0] + GAUSSIAN.deviation[0] * np.array([-1e3, -8, -1, -1e-3, 0, 0.5, 3, 40, 1e4])
BOUNDED = fitted(TruncatedNormal, "interval", [0, 20, 100, 100], bounds=(0, 100))
LOCATIONS = [-30, -3, -0.5, -0.01, 0, 0.2, 0.5, 0.7, 1, 1.05, 2, 20]
CASES = [
    (GAUSSIAN, Normal, [[-50, -1, 0, 0.3, 50], [0.01, 0.5, 1, 30]], FAR, _norm),
    (LOGNORMAL, Normal, [[-9, -1, 0, 2, 9], [0.01, 0.7, 5]], np.array([0.0, 1e-4, 0.5, 1.0, 1e3, 3e6, 1e12]), _lognorm),
    (fitted(Poisson, "count", [0, 1, 5]), Rate, [RATES], COUNTS, _poisson),
    (BOUNDED, Normal, [LOCATIONS, [0.02, 0.1, 0.4, 1, 4]], np.array([0, 1e-3, 5, 50, 99, 100]), _truncnorm),
]


@PRECISIONS
@pytest.mark.parametrize(("likelihood", "make", "grid", "x", "oracle"), CASES, ids=lambda one: type(one).__name__)
def test_densities_are_scipys(likelihood: Any, make: Any, grid: Any, x: np.ndarray, oracle: Any, dtype: type) -> None:
    assert compare(likelihood, make, list(map(np.array, grid)), x, oracle, dtype) < TOLERANCE[dtype]


@PRECISIONS
def test_categorical_is_a_softmax_whose_first_logit_is_zero(dtype: type) -> None:
    features = [Feature(name, "categorical", levels=tuple(levels)) for name, levels in (("x", "abc"), ("y", "pqrs"))]
    likelihood = Categorical.fit(features, np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [2.0, 3.0]]))
    raw = np.array([[-40.0, 25.0, 7.0, 0.3, -2.0, 4.0], [0.0, 0.0, 0.0, 30.0, 30.0, -30.0]]).astype(dtype)
    with enable_x64(dtype is np.float64):
        parameters = likelihood.parameters(jnp.asarray(raw))
        for column, width in ((0, 3), (1, 4)):
            logits = np.column_stack([np.zeros(2), raw[:, 3 * column : 3 * column + width - 1]]).astype(np.float64)
            for level in range(width):
                expected = special.log_softmax(logits, axis=1)[:, level]
                ours = np.asarray(likelihood.log_prob(parameters, np.full((2, 2), float(level))))[:, column]
                assert (np.abs(ours - expected) / np.maximum(1, np.abs(expected))).max() < TOLERANCE[dtype]


@PRECISIONS
def test_ordinal_is_a_cumulative_logit_with_ordered_thresholds(dtype: type) -> None:
    likelihood = Ordinal.fit([Feature("x", "ordinal", levels=tuple("abcde"))], np.arange(5.0)[:, None])
    first = np.array([-30.0, -2.0, 0.0, 15.0], dtype)
    gaps = np.array([[0.001, 0.5, 3.0, 1.0, 1.0, 1.0]], dtype).repeat(4, axis=0)
    with enable_x64(dtype is np.float64):
        made = Thresholds(jnp.asarray(first[:, None]), jnp.asarray(gaps[:, None, :]))
        levels = [np.asarray(likelihood.log_prob(made, np.full((4, 1), k)), float)[:, 0] for k in range(5)]
    ours, steps = np.column_stack(levels), np.cumsum(gaps[:, :3].astype(np.longdouble), axis=1)
    thresholds = first[:, None].astype(np.longdouble) + np.concatenate([np.zeros((4, 1)), steps], axis=1)
    below = np.concatenate([np.zeros((4, 1)), 1 / (1 + np.exp(-thresholds)), np.ones((4, 1))], axis=1)
    above = np.concatenate([np.ones((4, 1)), 1 / (1 + np.exp(thresholds)), np.zeros((4, 1))], axis=1)
    shares = np.where(below[:, 1:] < 0.5, np.diff(below, axis=1), -np.diff(above, axis=1))
    expected = np.log(shares).astype(np.float64)
    assert (np.abs(ours - expected) / np.maximum(1, np.abs(expected))).max() < TOLERANCE[dtype]
    assert np.allclose(np.exp(ours).sum(axis=1), 1, atol=1e-6)


def test_ordinal_with_two_levels_is_logistic() -> None:
    likelihood = Ordinal.fit([Feature("x", "ordinal", levels=("no", "yes"))], np.array([[0.0], [1.0]]))
    raw = np.linspace(-9, 9, 7, dtype=np.float32)[:, None]
    yes = np.exp(np.asarray(likelihood.log_prob(likelihood.parameters(jnp.asarray(raw)), np.ones((7, 1)))))[:, 0]
    assert np.allclose(yes, special.expit(-raw[:, 0]), atol=1e-6)
