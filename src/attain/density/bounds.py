"""The evidence lower bound of log p(x) for a mixture of Gaussian latents.

The model is p(c) = 1/L, p(z|c) = N(μ(c), I), p(x|z, c); the posterior is q(c|x) q(z|x, c) with diagonal Gaussians. The
functions are independent of any network: a log-likelihood is a function of z, and noise is passed in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp

from attain.density.network import Posterior

LogLikelihood: TypeAlias = Callable[[jax.Array, jax.Array], jax.Array]
"""Codes (n, m, k) and component weights (…, m, L) to log p of each column (n, m, columns)."""


class Terms(NamedTuple):
    """The parts of the bound for each row: reconstruction (n, columns), KL over z (n, k) and KL over c (n,)."""

    reconstruction: jax.Array
    kl_latent: jax.Array
    kl_component: jax.Array

    @property
    def bound(self) -> jax.Array:
        """The evidence lower bound (n,)."""
        return self.reconstruction.sum(axis=-1) - self.kl_latent.sum(axis=-1) - self.kl_component


def component_divergence(log_share: jax.Array) -> jax.Array:
    """KL[q(c|x) ‖ uniform], with a gradient."""
    return (jnp.exp(log_share) * log_share).sum(axis=-1) + jnp.log(log_share.shape[-1])


def latent_divergence(mean: jax.Array, scale: jax.Array, prior_mean: jax.Array) -> jax.Array:
    """KL[N(mean, scale²) ‖ N(prior mean, 1)] of each latent dimension."""
    return 0.5 * (scale * scale + (mean - prior_mean) ** 2 - 1) - jnp.log(scale)


def exact_terms(posterior: Posterior, prior_mean: jax.Array, log_likelihood: LogLikelihood, noise: jax.Array) -> Terms:
    """The bound with the expectation over c as a sum; `noise` (n, k) is shared by the components of a row."""
    share = jnp.exp(posterior.log_share)[..., None]
    codes = posterior.mean + posterior.scale * noise[:, None, :]
    columns = log_likelihood(codes, jnp.eye(prior_mean.shape[0], dtype=codes.dtype))
    divergence = latent_divergence(posterior.mean, posterior.scale, prior_mean)
    return Terms(
        (share * columns).sum(axis=1), (share * divergence).sum(axis=1), component_divergence(posterior.log_share)
    )


def relaxed_terms(
    posterior: Posterior,
    prior_mean: jax.Array,
    log_likelihood: LogLikelihood,
    noise: jax.Array,
    gumbel: jax.Array,
    temperature: jax.Array,
) -> Terms:
    """The bound with c relaxed to a Gumbel-softmax draw; equal in expectation to `exact_terms` as it turns cold."""
    weights = jax.nn.softmax((posterior.log_share + gumbel) / temperature, axis=-1)
    mean = jnp.einsum("nl,nlk->nk", weights, posterior.mean)
    scale = jnp.einsum("nl,nlk->nk", weights, posterior.scale)
    columns = log_likelihood((mean + scale * noise)[:, None, :], weights[:, None, :])
    divergence = latent_divergence(mean, scale, weights @ prior_mean)
    return Terms(columns[:, 0, :], divergence, component_divergence(posterior.log_share))
