"""The adversarial autoencoder."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from attain.density.aggregated import Aggregated
from attain.density.columns import Columns
from attain.density.estimator import MixtureEstimator
from attain.density.mixture import Layer, Mixture, layer_of
from attain.density.objective import Objective

WIDTH = 64
"""The hidden units of the critic."""
STEEPNESS = 1.0
"""The weight of the critic's squared slope at draws of the prior (Mescheder et al. 2018): without it codes escape."""


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


@dataclass(eq=False, repr=False, kw_only=True)
class AAE(MixtureEstimator):
    """The adversarial autoencoder (Makhzani et al. 2016), given the immutable features.

    The encoder is deterministic. `log_density` is a bound as in the others: a scale of q(z|x) is trained for it alone.

    Parameters
    ----------
    beta
        The weight of misleading the critic. Other parameters as for `CHVAE`.
    """

    beta: float = 10.0

    def _objective(self, columns: Columns) -> Objective:
        return Adversary(self.beta)
