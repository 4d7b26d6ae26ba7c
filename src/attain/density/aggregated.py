"""What the Wasserstein and the adversarial autoencoder share: rows are decoded from their codes without noise.

Instead of every row's posterior, the distribution of all codes is brought near the prior. The scale of q(z|x), which
neither method has, is trained by the evidence lower bound with all else held, so that log-densities have a bound.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from attain.density.bounds import Posterior, Terms, exact_terms
from attain.density.mixture import Layer, Mixture, layer_of
from attain.density.training import Metrics, Schedule

CHECKED = 100.0
"""The weight of the discrepancy between held-out codes and prior, by which epochs are compared."""
WIDTH = 64
"""The hidden units of the critic."""
STEEPNESS = 1.0
"""The weight of the critic's squared slope at draws of the prior (Mescheder et al. 2018): without it codes escape."""


def mean_discrepancy(x: jax.Array, y: jax.Array) -> jax.Array:
    """The unbiased estimate of MMD² between two samples (n, k), for k(a, b) = C / (C + ‖a − b‖²) with C = 2k."""
    size, n = 2.0 * x.shape[1], x.shape[0]

    def kernel(a: jax.Array, b: jax.Array) -> jax.Array:
        squares = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2 * a @ b.T
        return size / (size + jnp.maximum(squares, 0.0))

    within = (kernel(x, x).sum() + kernel(y, y).sum() - 2 * n) / (n * (n - 1))
    return within - 2 * kernel(x, y).mean()


@dataclass(frozen=True)
class Aggregated(abc.ABC):
    """−Σ reconstruction(mean code) + `penalty` · distance of the codes from the prior, for one component."""

    penalty: float

    def initial(self, key: jax.Array, latent_dim: int) -> Any:
        """Nothing."""
        return None

    @abc.abstractmethod
    def apart(self, model: Mixture, codes: jax.Array, prior: jax.Array) -> tuple[jax.Array, jax.Array]:
        """How far codes (n, k) are from draws of the prior (n, k), and a loss of the objective's own weights."""

    def loss(self, model: Mixture, batch: jax.Array, key: jax.Array, schedule: Schedule) -> tuple[jax.Array, Metrics]:
        """The objective on compact rows."""
        noise_key, prior_key = jax.random.split(key)
        reconstruction, codes, prior = _decoded(model, batch, prior_key)
        distance, own = self.apart(model, codes, prior)
        bound = _with_scale(model, batch, jax.random.normal(noise_key, codes.shape, codes.dtype)).bound.mean()
        metrics = _metrics(reconstruction, self.penalty * distance)
        return -reconstruction.sum() + schedule.beta * metrics["kl_latent"] + own - bound, metrics

    def held_out(self, model: Mixture, rows: jax.Array, key: jax.Array) -> tuple[jax.Array, Metrics]:
        """Reconstruction less the weighted discrepancy of codes and prior.

        Not the bound, which falls while reconstructions without noise improve; nor the distance by a critic, which
        changes from epoch to epoch.
        """
        reconstruction, codes, prior = _decoded(model, rows, key)
        metrics = _metrics(reconstruction, CHECKED * mean_discrepancy(codes, prior))
        return reconstruction.sum() - metrics["kl_latent"], metrics


def _decoded(model: Mixture, rows: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The mean log-likelihood of each column at the codes, the codes (n, k), and as many draws of the prior."""
    codes = model.posterior(rows).mean[:, 0]
    columns = model.log_likelihood(rows, codes[:, None, :], jnp.ones((1, 1), codes.dtype))[:, 0]
    return columns.mean(axis=0), codes, jax.random.normal(key, codes.shape, codes.dtype)


def _metrics(reconstruction: jax.Array, distance: jax.Array) -> Metrics:
    """By the names of the bound's terms: the weighted distance is in the place of the KL over z."""
    return {"reconstruction": reconstruction, "kl_latent": distance, "kl_component": jnp.zeros((), distance.dtype)}


def _with_scale(model: Mixture, batch: jax.Array, noise: jax.Array) -> Terms:
    """The terms of the bound, in which only the scale of the posterior has a gradient."""
    held = jax.lax.stop_gradient(model)
    scaled = held.with_weights(eqx.tree_at(lambda weights: weights.shared, held.weights, model.weights.shared))
    posterior = scaled.posterior(batch)
    fixed = Posterior(posterior.log_share, jax.lax.stop_gradient(posterior.mean), posterior.scale)
    return exact_terms(fixed, held.prior_mean, lambda z, c: held.log_likelihood(batch, z, c), noise)


@dataclass(frozen=True)
class Discrepancy(Aggregated):
    """The distance of codes from the prior is their maximum mean discrepancy."""

    def apart(self, model: Mixture, codes: jax.Array, prior: jax.Array) -> tuple[jax.Array, jax.Array]:
        """MMD² of codes and draws of the prior."""
        return mean_discrepancy(codes, prior), jnp.zeros((), codes.dtype)


@dataclass(frozen=True)
class Adversary(Aggregated):
    """A critic, trained beside the model, tells codes from draws of the prior; the encoder is trained to mislead it."""

    def initial(self, key: jax.Array, latent_dim: int) -> Any:
        """The critic's two layers."""
        first, second = jax.random.split(key)
        return layer_of(first, latent_dim, WIDTH), layer_of(second, WIDTH, 1)

    def apart(self, model: Mixture, codes: jax.Array, prior: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The critic's log-loss on codes taken for draws, 0 where it cannot tell them apart; and its own loss."""
        critic = model.weights.extra
        missed = jax.nn.softplus(-_score(jax.lax.stop_gradient(critic), codes)).mean() - math.log(2)
        own = jax.nn.softplus(_score(critic, jax.lax.stop_gradient(codes))) + jax.nn.softplus(-_score(critic, prior))
        return missed, own.mean() + STEEPNESS * _steepness(critic, prior)


def _score(critic: tuple[Layer, Layer], z: jax.Array) -> jax.Array:
    """The log-odds that z is a draw of the prior."""
    first, second = critic
    return second(jnp.tanh(first(z)))[:, 0]


def _steepness(critic: tuple[Layer, Layer], z: jax.Array) -> jax.Array:
    """The mean square of the slope of the critic's score."""
    slope = jax.grad(lambda places: _score(critic, places).sum())(z)
    return (slope * slope).sum(axis=1).mean()
