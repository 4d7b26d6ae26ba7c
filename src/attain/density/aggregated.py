"""What the Wasserstein and the adversarial autoencoder share: rows are decoded from their codes without noise.

Instead of every row's posterior, the distribution of all codes is brought near the prior. The scale of q(z|x), which
neither method has, is trained by the evidence lower bound with all else held, so that log-densities have a bound.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp

from attain.density.bounds import Posterior, exact_terms
from attain.density.objective import averaged
from attain.density.training import Metrics, Schedule

if TYPE_CHECKING:
    from attain.density.mixture import Mixture


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
        shape = (batch.shape[0], model.latent_dim)
        codes = model.posterior(batch).mean[:, 0]
        one = jnp.ones((1, 1), codes.dtype)
        reconstruction = model.log_likelihood(batch, codes[:, None, :], one)[:, 0].mean(axis=0)
        distance, own = self.apart(model, codes, jax.random.normal(prior_key, shape, codes.dtype))
        metrics = averaged(_with_scale(model, batch, jax.random.normal(noise_key, shape, codes.dtype)))
        bound = metrics["reconstruction"].sum() - metrics["kl_latent"].sum()
        loss = -reconstruction.sum() + self.penalty * schedule.beta * distance + own - bound
        return loss, {**metrics, "reconstruction": reconstruction}


def _with_scale(model: Mixture, batch: jax.Array, noise: jax.Array) -> Any:
    """The terms of the bound, in which only the scale of the posterior has a gradient."""
    held = jax.lax.stop_gradient(model)
    scaled = held.with_weights(eqx.tree_at(lambda weights: weights.shared, held.weights, model.weights.shared))
    posterior = scaled.posterior(batch)
    fixed = Posterior(posterior.log_share, jax.lax.stop_gradient(posterior.mean), posterior.scale)
    return exact_terms(fixed, held.prior_mean, lambda z, c: held.log_likelihood(batch, z, c), noise)
