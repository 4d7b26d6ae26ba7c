"""The conformance suite of likelihoods: `check_likelihood(MyLikelihood)` tests one, built in or from outside."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from scipy import integrate, stats

from attain.density.likelihoods import Likelihood
from attain.schema import Feature
from attain.tables import is_on_grid

DRAWS = 4000
_ENDS = (1e-9, 1 - 1e-9)
"""The shares at the ends of what a density is summed over."""


def check_likelihood(likelihood: type[Likelihood], *, seed: int = 0) -> None:
    """Raises AssertionError, with a sentence, where a likelihood breaks its contract.

    It is fitted to small training data of each of its kinds. Tested are shapes, finiteness, that the density sums or
    integrates to one, that draws fit the density, that gradients are finite and agree with finite
    differences, that NumPy and JAX agree, and that missing cells stay missing.
    """
    for kind in likelihood.kinds:
        features, values = example(kind, seed=seed)
        fitted = likelihood.fit(features, values)
        raw = _raw(fitted, seed)
        _check_shapes(fitted, values, raw)
        _check_mass_and_draws(fitted, features, raw[0], seed)
        _check_gradient(fitted, raw, values)


def example(kind: str, *, seed: int = 0) -> tuple[Sequence[Feature], np.ndarray]:
    """Two features of a kind with training values, a missing cell among them."""
    rng, rows = np.random.default_rng(seed), 300
    features: list[Feature]
    if kind == "real":
        features = [Feature("a", "real"), Feature("b", "real", step=1)]
        values = np.column_stack([rng.normal(3.0, 2.0, rows), np.round(rng.normal(0.0, 5.0, rows))])
    elif kind == "positive":
        features = [Feature("a", "positive"), Feature("b", "positive")]
        values = np.column_stack([rng.lognormal(0.0, 1.0, rows), np.maximum(rng.normal(0.0, 2.0, rows), 0.0)])
    elif kind == "count":
        features = [Feature("a", "count"), Feature("b", "count")]
        values = np.column_stack([rng.poisson(3.0, rows), rng.negative_binomial(2, 0.3, rows)]).astype(np.float64)
    elif kind == "interval":
        features = [Feature("a", "interval", bounds=(0, 100), step=1), Feature("b", "interval", bounds=(1, 3))]
        values = np.column_stack([np.round(100 * rng.beta(2, 1, rows)), 2 * rng.beta(1, 3, rows) + 1])
        values[:5] = [100.0, 1.0]
    else:
        made = [("u", "v", "w"), ("p", "q", "r", "s")]
        pairs = zip("ab", made, strict=True)
        features = [Feature(name, kind, levels=levels) for name, levels in pairs]  # type: ignore[arg-type]
        values = np.column_stack([rng.choice(3, rows, p=[0.5, 0.3, 0.2]), rng.choice(4, rows)]).astype(np.float64)
    values[7, 0] = np.nan
    return features, values


def _raw(fitted: Likelihood, seed: int) -> np.ndarray:
    """Raw outputs near the marginal: what a network gives early in training."""
    rng = np.random.default_rng(seed + 1)
    return (fitted.initial() + rng.normal(0.0, 0.3, (4, fitted.outputs))).astype(np.float32)


def _check_shapes(fitted: Likelihood, values: np.ndarray, raw: np.ndarray) -> None:
    name, columns = fitted.name, values.shape[1]
    assert fitted.columns == columns, f"{name}: columns is {fitted.columns}, but it was fitted to {columns}"
    assert fitted.initial().shape == (fitted.outputs,), f"{name}: initial() must have one number per output"
    assert np.isfinite(fitted.initial()).all(), f"{name}: initial() is not finite"
    t, base = fitted.normalise(values), fitted.log_base(values)
    for given, what in ((t, "normalise"), (base, "log_base")):
        assert given.shape == values.shape, f"{name}: {what} changes the shape"
        assert np.array_equal(np.isnan(given), np.isnan(values)), (
            f"{name}: {what} must give NaN for missing cells and only for them"
        )
    inputs = fitted.encode(t[10:])
    _check_agreement(f"{name}: encode", inputs, fitted.encode(jnp.asarray(t[10:], jnp.float32)))
    assert inputs.shape == (len(values) - 10, fitted.inputs), f"{name}: encode gives {inputs.shape[1]} inputs"
    assert np.isfinite(inputs).all(), f"{name}: encode gives inputs that are not finite"
    _check_typical(fitted, raw[:, : fitted.typical_outputs].astype(np.float64))
    marginal = np.tile(fitted.initial(), (len(t), 1))
    log_prob = fitted.log_prob(fitted.parameters(marginal), values)[10:]
    in_jax = fitted.log_prob(fitted.parameters(jnp.asarray(marginal, jnp.float32)), values)
    _check_agreement(f"{name}: log_density", log_prob, in_jax[10:])
    assert log_prob.shape == values[10:].shape, f"{name}: log_prob must have one number per cell"
    assert np.isfinite(log_prob).all(), f"{name}: log_prob of training values is not finite"


def _check_typical(fitted: Likelihood, raw: np.ndarray) -> None:
    typical = fitted.typical(raw)
    assert typical.shape == (len(raw), fitted.columns), f"{fitted.name}: typical gives the shape {typical.shape}"
    assert np.isfinite(typical).all(), f"{fitted.name}: typical is not finite"
    random = np.random.default_rng(0)
    gradient, direction = random.normal(size=typical.shape) / (1 + np.abs(typical)), random.normal(size=raw.shape)
    pulled = fitted.typical_vjp(raw, gradient)
    assert pulled.shape == raw.shape, f"{fitted.name}: typical_vjp gives the shape {pulled.shape}"
    ends = [fitted.typical(raw + side * 1e-6 * direction) for side in (1, -1)]
    change, slope = (gradient * (ends[0] - ends[1])).sum() / 2e-6, (pulled * direction).sum()
    assert abs(change - slope) < 1e-4 * (1 + abs(slope)), f"{fitted.name}: slope {slope:.6g}, differences {change:.6g}"


def _check_agreement(what: str, numpy: np.ndarray, jax: jax.Array) -> None:
    assert np.allclose(numpy, jax, rtol=1e-3, atol=1e-3), f"{what} differs between NumPy and JAX arrays"


def _check_mass_and_draws(fitted: Likelihood, features: Sequence[Feature], raw: np.ndarray, seed: int) -> None:
    shares = np.random.default_rng(seed).random((DRAWS, fitted.columns))
    draws = fitted.quantile(fitted.parameters(np.tile(raw.astype(np.float64), (DRAWS, 1))), shares)
    assert draws.shape == (DRAWS, fitted.columns), f"{fitted.name}: quantile gives the shape {draws.shape}"
    assert np.isfinite(draws).all(), f"{fitted.name}: quantile is not finite"
    rises = (np.diff(np.take_along_axis(draws, shares.argsort(axis=0), axis=0), axis=0) >= 0).all()
    assert rises, f"{fitted.name}: quantile does not rise with the share"
    both = fitted.parameters(np.tile(raw.astype(np.float64), (2, 1)))
    ends = fitted.quantile(both, np.array([_ENDS] * fitted.columns).T)
    discrete, atoms, grids = [], [], []
    for column, feature in enumerate(features):
        cells, (low, high) = draws[:, column], ends[:, column]
        discrete.append(bool((feature.kind == "count" or feature.levels) and is_on_grid(cells, 1.0).all()))
        if not discrete[-1] and feature.step is not None and is_on_grid(cells, feature.step).all():
            # a draw on the grid stands for an interval of one step
            cells += feature.step * (np.random.default_rng(seed).random(DRAWS) - 0.5)
            low, high = low - feature.step / 2, high + feature.step / 2
        values, counts = np.unique(cells, return_counts=True)
        atoms.append(values[:0] if discrete[-1] else values[counts > 1])
        grids.append(np.append(atoms[-1], np.arange(low, high + 1) if discrete[-1] else _grid(low, high, cells)))
    longest = max(map(len, grids))
    x = np.column_stack([np.append(grid, np.full(longest - len(grid), grid[-1])) for grid in grids])
    with np.errstate(all="ignore"):  # both sides of a choice are computed
        density = np.exp(fitted.log_prob(fitted.parameters(raw.astype(np.float64)), x))
    for c in range(fitted.columns):
        total, chance = _check_column(draws[:, c], x[:, c], density[:, c], len(atoms[c]), discrete=discrete[c])
        what = f"{fitted.name}: column {c}:"
        assert abs(total - 1) < 5e-3, f"{what} the density has total mass {total:.5f}, not 1"
        assert chance > 1e-4, f"{what} draws do not fit the density (p = {chance:.2g})"


def _check_column(
    draws: np.ndarray, x: np.ndarray, density: np.ndarray, atoms: int, *, discrete: bool
) -> tuple[float, float]:
    """The total mass, and the p-value of the draws: those of the first `atoms` values, and of the others."""
    if discrete:
        return _check_discrete(draws, x, density)
    apart = ~np.isin(draws, x[:atoms])
    mass, chance = 0.0, 1.0
    if apart.any():
        mass, chance = _check_continuous(draws[apart], x[atoms:], density[atoms:])
    observed = np.array([*(np.sum(draws == atom) for atom in x[:atoms]), apart.sum()])
    expected = DRAWS * np.append(density[:atoms], mass)
    if atoms:
        kept = expected > 5
        scaled = expected[kept] * observed[kept].sum() / expected[kept].sum()
        chance = min(chance, float(stats.chisquare(observed[kept], scaled).pvalue))
    return float(density[:atoms].sum()) + mass, chance


def _grid(low: float, high: float, draws: np.ndarray) -> np.ndarray:
    """Points that carry the density's mass: a grid that is fine near the draws."""
    reach = np.ptp(draws) + 1e-6
    left = max(low + 1e-9 * reach, draws.min() - 2 * reach)
    right = min(high - 1e-9 * reach, draws.max() + 4 * reach)
    near = np.quantile(draws, np.linspace(0, 1, 801))
    towards_left = near[0] + (left - near[0]) * np.geomspace(1e-9, 1, 400)
    return np.sort(np.clip(np.concatenate([np.linspace(left, right, 8001), near, towards_left]), left, right))


def _check_discrete(draws: np.ndarray, x: np.ndarray, density: np.ndarray) -> tuple[float, float]:
    x, first = np.unique(x, return_index=True)
    density = density[first]
    expected, observed = DRAWS * density, (draws[:, None] == x).sum(axis=0)
    common = expected >= 5
    expected = np.append(expected[common], DRAWS - expected[common].sum())
    observed = np.append(observed[common], DRAWS - observed[common].sum())
    kept = expected > 1
    scaled = expected[kept] * observed[kept].sum() / expected[kept].sum()
    return float(density.sum()), float(stats.chisquare(observed[kept], scaled).pvalue)


def _check_continuous(draws: np.ndarray, x: np.ndarray, density: np.ndarray) -> tuple[float, float]:
    mass = np.concatenate([[0.0], integrate.cumulative_trapezoid(density, x)])
    return float(mass[-1]), float(stats.kstest(draws, lambda v: np.interp(v, x, mass / mass[-1])).pvalue)


def _check_gradient(fitted: Likelihood, raw: np.ndarray, values: np.ndarray) -> None:
    x = values[10:14]
    t = jnp.asarray(fitted.normalise(x), jnp.float32)

    @jax.jit
    def total(raw: jax.Array) -> jax.Array:
        return fitted.log_density(fitted.parameters(raw), t).sum()

    gradient = np.asarray(jax.jit(jax.grad(total))(jnp.asarray(raw)), np.float64)
    assert np.isfinite(gradient).all(), f"{fitted.name}: the gradient of log_density is not finite"
    direction = np.random.default_rng(0).normal(size=raw.shape).astype(np.float32)
    step = 1e-2
    change = float(total(jnp.asarray(raw + step * direction)) - total(jnp.asarray(raw - step * direction))) / (2 * step)
    slope = float((gradient * direction).sum())
    assert abs(change - slope) < 2e-2 * (1 + abs(slope)), (
        f"{fitted.name}: gradient {slope:.4g}, differences {change:.4g}"
    )
