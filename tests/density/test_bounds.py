"""The bounds against closed forms: a two-component linear-Gaussian model whose log p(x) is known."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from attain.density.mixture import component_divergence, exact_terms, latent_divergence, relaxed_terms
from attain.density.network import Posterior, log_importance_weights, log_mean
from tests.density.precision import enable_x64

X = np.array([0.4, -0.6])
W = np.array([1.3, -0.7])
B = np.array([0.2, 0.1])
SIGMA = 0.5
MU = np.array([-1.5, 1.0])
LOG_P = -2.7846
WRONG_ELBO = -4.6007


def log_likelihood(codes: jax.Array, component: jax.Array) -> jax.Array:
    """log p of the two columns given z: x = W z + b + σ ε."""
    mean = codes * jnp.asarray(W, codes.dtype) + jnp.asarray(B, codes.dtype)
    z = (jnp.asarray(X, codes.dtype) - mean) / SIGMA
    return -0.5 * z * z - jnp.log(SIGMA * jnp.sqrt(2 * jnp.pi)).astype(codes.dtype)


def prior_mean(dtype: type = np.float64) -> jax.Array:
    return jnp.asarray(MU[:, None], dtype)


def exact_posterior(dtype: type = np.float64) -> Posterior:
    precision = 1 + (W**2).sum() / SIGMA**2
    mean = (MU + (W * (X - B)).sum() / SIGMA**2) / precision
    covariance = np.outer(W, W) + SIGMA**2 * np.eye(2)
    log_joint = np.array([stats.multivariate_normal.logpdf(X, W * mu + B, covariance) for mu in MU]) - np.log(2)
    share = log_joint - np.logaddexp(*log_joint)
    scale = jnp.full((1, 2, 1), precision**-0.5, dtype)
    return Posterior(jnp.asarray(share[None], dtype), jnp.asarray(mean[None, :, None], dtype), scale)


def wrong_posterior(dtype: type = np.float64) -> Posterior:
    share, scale = jnp.full((1, 2), 0.5, dtype), jnp.full((1, 2, 1), 0.5**0.5, dtype)
    return Posterior(jnp.log(share), jnp.zeros((1, 2, 1), dtype), scale)


def log_weights(posterior: Callable[[], Posterior], noise: np.ndarray) -> np.ndarray:
    """What a trained model computes, in NumPy."""

    def of(codes: np.ndarray) -> np.ndarray:
        return np.sum(-0.5 * ((X - codes * W - B) / SIGMA) ** 2 - np.log(SIGMA * np.sqrt(2 * np.pi)), axis=-1)

    with enable_x64(True):
        known = Posterior(*map(np.asarray, posterior()))
    return log_importance_weights(known, MU[:, None], of, noise)


def elbo(posterior: Posterior) -> float:
    """The bound, its expectation over z taken exactly: a quadratic is integrated by the two nodes ±1."""
    nodes = [jnp.full((1, 1), node, posterior.mean.dtype) for node in (-1.0, 1.0)]
    prior = prior_mean(posterior.mean.dtype)
    return float(np.mean([exact_terms(posterior, prior, log_likelihood, node).bound[0] for node in nodes]))


def log_p_by_quadrature() -> float:
    def joint(z: float) -> float:
        prior = 0.5 * stats.norm.pdf(z, MU, 1).sum()
        return float(prior * np.prod(stats.norm.pdf(X, W * z + B, SIGMA)))

    return float(np.log(integrate.quad(joint, -12, 12, limit=200)[0]))


def test_the_oracle_itself() -> None:
    assert log_p_by_quadrature() == pytest.approx(LOG_P, abs=5e-5)


def test_elbo_at_the_exact_posterior_is_the_log_likelihood() -> None:
    with enable_x64(True):
        assert elbo(exact_posterior()) == pytest.approx(log_p_by_quadrature(), abs=1e-9)
    assert elbo(exact_posterior(np.float32)) == pytest.approx(LOG_P, abs=1e-4)


def test_elbo_at_a_wrong_posterior_is_the_known_figure() -> None:
    with enable_x64(True):
        assert elbo(wrong_posterior()) == pytest.approx(WRONG_ELBO, abs=5e-5)


def test_every_importance_weight_at_the_exact_posterior_is_p() -> None:
    noise = np.random.default_rng(0).normal(size=(50, 1, 2, 1))
    assert np.allclose(log_weights(exact_posterior, noise), log_p_by_quadrature(), atol=1e-9)


def test_importance_bound_lies_between_elbo_and_log_p_and_rises_with_the_draws() -> None:
    weights = log_weights(wrong_posterior, np.random.default_rng(1).normal(size=(20_000 * 64, 1, 2, 1)))[:, 0]
    bounds = [float(np.mean(log_mean(weights[: 20_000 * draws].reshape(draws, 20_000)))) for draws in (1, 4, 16, 64)]
    assert WRONG_ELBO < bounds[0] < bounds[1] < bounds[2] < bounds[3] < LOG_P
    assert bounds[3] == pytest.approx(LOG_P, abs=0.05)
    assert log_mean(weights[:, None])[0] == pytest.approx(LOG_P, abs=0.01)


def test_divergences_are_the_closed_forms() -> None:
    share = np.array([0.7, 0.2, 0.1])
    known = float(stats.entropy(share, np.full(3, 1 / 3)))
    assert float(component_divergence(jnp.log(jnp.asarray(share)))) == pytest.approx(known, abs=1e-6)
    mean, scale, centre = 0.7, 0.3, -0.4
    grid = np.linspace(-8, 8, 200_001)
    q = stats.norm.pdf(grid, mean, scale)
    ratio = stats.norm.logpdf(grid, mean, scale) - stats.norm.logpdf(grid, centre, 1)
    known = float(integrate.trapezoid(q * ratio, grid))
    found = latent_divergence(*map(jnp.asarray, (mean, scale, centre)))
    assert float(found) == pytest.approx(known, abs=1e-5)


def gradients(function: Callable[[jax.Array], jax.Array], start: jax.Array) -> tuple[np.ndarray, np.ndarray]:
    """The gradient by JAX, and by finite differences."""
    sides = [[float(function(start.at[i].add(sign * 1e-6))) for sign in (1, -1)] for i in range(len(start))]
    return np.asarray(jax.grad(function)(start)), -np.diff(sides, axis=1)[:, 0] / 2e-6


def test_divergence_over_components_has_the_gradient_of_finite_differences() -> None:
    """In the released code this gradient is 0."""
    with enable_x64(True):
        start = jnp.asarray([1.0, -0.5, 0.2])
        gradient, differences = gradients(lambda logits: component_divergence(jax.nn.log_softmax(logits)), start)
    assert np.allclose(gradient, differences, atol=1e-8)
    assert np.abs(gradient).max() > 0.1


def test_gradient_of_the_bound_is_that_of_finite_differences() -> None:
    with enable_x64(True):
        noise = jnp.asarray([[0.3]])
        start = jnp.asarray([0.2, -0.4, 0.1, 0.5, -0.3, 0.2, -1.5, 1.0])

        def bound(flat: jax.Array) -> jax.Array:
            share, mean, scale = flat[None, :2], flat[None, 2:4, None], flat[None, 4:6, None]
            posterior = Posterior(jax.nn.log_softmax(share), mean, jnp.exp(scale))
            return exact_terms(posterior, flat[6:, None], log_likelihood, noise).bound[0]

        assert np.allclose(*gradients(bound, start), atol=1e-7)


def test_a_cold_relaxation_has_the_expectation_of_the_sum() -> None:
    with enable_x64(True):
        draws = 40_000
        posterior = Posterior(*(jnp.repeat(part, draws, axis=0) for part in wrong_posterior()))
        generator = np.random.default_rng(3)
        noise = jnp.asarray(generator.normal(size=(draws, 1)))
        gumbel = jnp.asarray(generator.gumbel(size=(draws, 2)))
        cold = relaxed_terms(posterior, prior_mean(), log_likelihood, noise, gumbel, jnp.asarray(1e-3)).bound
        assert float(cold.mean()) == pytest.approx(WRONG_ELBO, abs=4 * float(cold.std()) / draws**0.5)
