"""What training minimises: the members of the autoencoder family differ in it, and in the columns that are given.

The Wasserstein and the adversarial autoencoder decode rows from their codes without noise. Instead of every row's
posterior, the distribution of all codes is brought near the prior. The scale of q(z|x), which neither has, is trained
by the evidence lower bound with all else held, so that log-densities have a bound.
"""

from __future__ import annotations

import abc
import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp

from attain.density.bounds import Terms, exact_terms
from attain.density.mixture import Mixture, random_matrix
from attain.density.network import Posterior, affine
from attain.density.training import Metrics, Schedule

CHECKED = 100.0
"""The weight of the discrepancy between held-out codes and prior, by which epochs are compared."""
WIDTH = 64
"""The hidden units of the critic."""
STEEPNESS = 1.0
"""The weight of the critic's squared slope at draws of the prior (Mescheder et al. 2018): without it codes escape."""


class Objective(Protocol):
    """A loss of a model on a batch: hashable, as it is part of what is compiled."""

    def initial(self, key: jax.Array, latent_dim: int) -> Any:
        """Further weights, trained with those of the model; None if there are none."""
        ...

    def loss(self, model: Mixture, batch: jax.Array, key: jax.Array, schedule: Schedule) -> tuple[jax.Array, Metrics]:
        """The scalar to minimise on compact rows, and its terms by name, for `train`."""
        ...

    def held_out(self, model: Mixture, rows: jax.Array, key: jax.Array) -> tuple[jax.Array, Metrics]:
        """What the epoch that is kept has most of, on compact held-out rows, and its reconstruction by column."""
        ...


@dataclass(frozen=True)
class Bound:
    """The negative evidence lower bound, −Σ reconstruction + β Σ KL_z + KL_c, with β = `weight`."""

    weight: float = 1.0

    def initial(self, key: jax.Array, latent_dim: int) -> None:
        """Nothing."""

    def loss(self, model: Mixture, batch: jax.Array, key: jax.Array, schedule: Schedule) -> tuple[jax.Array, Metrics]:
        """The bound at the weight of the schedule."""
        metrics = averaged(model.terms(batch, key, schedule.temperature))
        # Only the KL over z is warmed up: without the cost of c, rows settle in components for no good reason.
        paid = self.weight * schedule.beta * metrics["kl_latent"].sum()
        return -metrics["reconstruction"].sum() + paid + metrics["kl_component"], metrics

    def held_out(self, model: Mixture, rows: jax.Array, key: jax.Array) -> tuple[jax.Array, Metrics]:
        """The mean bound at β = 1 with c summed over."""
        terms = model.bound(rows, jax.random.normal(key, (len(rows), model.sizes.latent_dim), jnp.float32))
        return terms.bound.mean(), averaged(terms)


@dataclass(frozen=True)
class AnyGiven(Bound):
    """The bound for columns that are given at random, other ones for every row.

    Half of the rows are given the immutable columns. Of the others, each draws a share from [0, 1], and each column is
    given with that probability.
    """

    positions: tuple[int, ...] = ()
    """The column of the schema that each compact column belongs to; the conditions are the same columns again."""
    immutable: tuple[int, ...] = ()

    def loss(self, model: Mixture, batch: jax.Array, key: jax.Array, schedule: Schedule) -> tuple[jax.Array, Metrics]:
        """The bound of the columns that are not given, given the others."""
        kind_key, share_key, mask_key, rest = jax.random.split(key, 4)
        rows, columns = batch.shape[0], max(self.positions) + 1
        share = jax.random.uniform(share_key, (rows, 1))
        drawn = jax.random.uniform(mask_key, (rows, columns)) < share
        usual = jnp.isin(jnp.arange(columns), jnp.array(self.immutable, int))
        held = jnp.where(jax.random.bernoulli(kind_key, 0.5, (rows, 1)), usual, drawn)[:, jnp.array(self.positions)]
        width = len(self.positions)
        masked = jnp.concatenate(
            [jnp.where(held, jnp.nan, batch[:, :width]), jnp.where(held, batch[:, width:], jnp.nan)], axis=1
        )
        return super().loss(model, masked, rest, schedule)


def averaged(terms: Terms) -> Metrics:
    """The parts of the bound, averaged over rows."""
    return {name: getattr(terms, name).mean(axis=0) for name in Terms._fields}


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
    trained = {name: model.weights[name] for name in ("shared.matrix", "shared.bias")}
    posterior = held.with_weights(OrderedDict({**held.weights, **trained})).posterior(batch)
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
    """A critic learns to separate codes from draws of the prior; the encoder is trained to mislead it."""

    def initial(self, key: jax.Array, latent_dim: int) -> Any:
        """The matrices and biases of the critic's two layers."""
        first, second = jax.random.split(key)
        matrices = random_matrix(first, (latent_dim, WIDTH)), random_matrix(second, (WIDTH, 1))
        return [(matrix, jnp.zeros(matrix.shape[1], jnp.float32)) for matrix in matrices]

    def apart(self, model: Mixture, codes: jax.Array, prior: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The critic's log-loss on codes taken for draws, 0 where it cannot tell them apart; and its own loss."""
        critic = model.weights["extra"]
        missed = jax.nn.softplus(-_score(jax.lax.stop_gradient(critic), codes)).mean() - math.log(2)
        own = jax.nn.softplus(_score(critic, jax.lax.stop_gradient(codes))) + jax.nn.softplus(-_score(critic, prior))
        return missed, own.mean() + STEEPNESS * _steepness(critic, prior)


def _score(critic: Any, z: jax.Array) -> jax.Array:
    """The log-odds that z is a draw of the prior."""
    first, second = critic
    found: jax.Array = affine(jnp.tanh(affine(z, *first)), *second)[:, 0]
    return found


def _steepness(critic: Any, z: jax.Array) -> jax.Array:
    """The mean square of the slope of the critic's score."""
    slope = jax.grad(lambda places: _score(critic, places).sum())(z)
    return (slope * slope).sum(axis=1).mean()
