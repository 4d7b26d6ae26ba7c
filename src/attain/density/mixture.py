"""The paper's density model (section 4.2): a conditional mixture of latent Gaussians with heterogeneous likelihoods.

p(c) = 1/L, p(z|c) = N(μ(c), I), p(x_free | z, c, x_immutable) = Π p(x_d | z, c, x_immutable), and
q(c|x), q(z|x, c) for x = (x_free, x_immutable). One component is a CVAE; without conditions it is a VAE. No hidden
width is the linear model. All methods are pure functions of the weights, rows and keys. This is the model as it is
trained; `attain.density.network` is the trained one.

The evidence lower bound is independent of any network: a log-likelihood is a function of z, and noise is passed in.

Objectives are what training minimises: the members of the autoencoder family differ in them, and in the columns that
are given. The Wasserstein and the adversarial autoencoder decode rows from their codes without noise. Instead of every
row's posterior, the distribution of all codes is brought near the prior. The scale of q(z|x), which neither has, is
trained by the evidence lower bound with all else held, so that log-densities have a bound.
"""

from __future__ import annotations

import abc
import math
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Self, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from attain.density.columns import Columns
from attain.density.likelihoods.base import Tree, tree_classes
from attain.density.network import Posterior, Sizes, affine, decoder_layers, posterior
from attain.density.training import Metrics, Schedule, Weights

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


_KNOWN: set[type[Tree]] = set()
"""The classes of trees that JAX knows."""


class Mixture(eqx.Module):
    """Weights, columns and sizes of the model."""

    weights: Weights
    """Everything that training changes: the arrays of `Sizes.shapes`, and under `extra` what the objective adds."""
    columns: Columns
    sizes: Sizes = eqx.field(static=True)
    estimator: str = eqx.field(static=True)
    complete: bool = eqx.field(static=True)
    """Whether every cell of the training rows counts, so that training needs no masks."""
    objective: Objective = eqx.field(static=True)
    """What training minimises."""

    @classmethod
    def initial(
        cls,
        columns: Columns,
        key: jax.Array,
        sizes: Sizes,
        objective: Objective,
        *,
        estimator: str = "exact",
        complete: bool = False,
    ) -> Self:
        """The model before training: every column near its marginal, every posterior near its prior.

        Components start close together and share most of the encoder, so that they separate only where that helps.
        """
        (latent_dim, components, hidden), shapes = sizes, sizes.shapes(columns)
        weights = OrderedDict((name, jnp.zeros(shape, jnp.float32)) for name, shape in shapes.items())
        keys = iter(jax.random.split(key, 8 + 2 * len(hidden)))

        def draw(name: str, gain: float = 1.0) -> None:
            weights[name] = random_matrix(next(keys), shapes[name], gain)

        for i in range(len(hidden)):
            draw(f"encoder.{i}.matrix")
        if components > 1:
            weights["prior"] = 0.5 * jax.random.normal(next(keys), (components, latent_dim), jnp.float32)
            draw("separate.matrix", 0.25)
            centres = slice(components, components * (1 + latent_dim))
            weights["separate.bias"] = weights["separate.bias"].at[centres].set(weights["prior"].ravel())
        for i in range(len(hidden)):
            draw(f"decoder.{i}.matrix")
        marginal = jnp.asarray(columns.initial(), jnp.float32)
        weights["from_component"] = 0.1 * jax.random.normal(next(keys), shapes["from_component"], jnp.float32)
        if hidden:
            last = f"decoder.{len(hidden) - 1}"
            weights[f"{last}.matrix"], weights[f"{last}.bias"] = 0.3 * weights[f"{last}.matrix"], marginal
        else:
            weights["from_component"] = weights["from_component"] + marginal
        draw("shared.matrix", 0.5)
        draw("from_latent", 1.0 if hidden else 0.3)
        if "from_conditions" in shapes:
            draw("from_conditions", 0.3)
        weights["extra"] = objective.initial(jax.random.fold_in(key, 1), latent_dim)
        return cls(weights, in_single_precision(columns), sizes, estimator, complete, objective)

    def arrays(self, weights: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Trained weights for `Network`."""
        return {name: np.asarray(weights[name]) for name in self.sizes.shapes(self.columns)}

    @property
    def prior_mean(self) -> jax.Array:
        """μ(c) for every component (L, k); 0 where there is one."""
        none = jnp.zeros((1, self.sizes.latent_dim), jnp.float32)
        return jnp.asarray(self.weights.get("prior", none))

    def posterior(self, rows: jax.Array) -> Posterior:
        """q(c|x) and q(z|x, c) of compact rows."""
        x = jnp.concatenate([self.columns.encode(rows), self.columns.encode_conditions(rows)], axis=-1)
        return posterior(self.sizes, self.weights, x)

    def log_likelihood(self, rows: jax.Array, codes: jax.Array, component: jax.Array) -> jax.Array:
        """log p of each compact column (n, m, width) at m codes per row, without `log_base`."""
        conditions = self.columns.encode_conditions(rows)[:, None, :]
        raw = decoder_layers(self.weights, codes, component @ self.weights["from_component"], conditions)[-1]
        return self.columns.log_density(raw, rows[:, None, :], complete=self.complete)

    def terms(self, rows: jax.Array, key: jax.Array, temperature: jax.Array) -> Terms:
        """The parts of the bound for training rows, by this model's estimator."""
        noise_key, gumbel_key = jax.random.split(key)
        noise = jax.random.normal(noise_key, (rows.shape[0], self.sizes.latent_dim), jnp.float32)
        if self.estimator == "exact" or self.sizes.components == 1:
            return self.bound(rows, noise)
        posterior, log_likelihood = self.posterior(rows), partial(self.log_likelihood, rows)
        gumbel = jax.random.gumbel(gumbel_key, posterior.log_share.shape, jnp.float32)
        return relaxed_terms(posterior, self.prior_mean, log_likelihood, noise, gumbel, temperature)

    def loss(self, weights: Weights, batch: jax.Array, key: jax.Array, schedule: Schedule) -> tuple[jax.Array, Metrics]:
        """The objective on a batch, for `train`."""
        return self.objective.loss(self.with_weights(weights), batch, key, schedule)

    def validate(self, weights: Weights, rows: jax.Array, key: jax.Array) -> tuple[jax.Array, Metrics]:
        """What the kept epoch maximises on held-out rows, and its reconstruction by column, for `train`."""
        return _validated(self.with_weights(weights), rows, key)

    def bound(self, rows: jax.Array, noise: jax.Array) -> Terms:
        """The parts of the bound with c summed over, for given noise (n, k)."""
        return exact_terms(self.posterior(rows), self.prior_mean, partial(self.log_likelihood, rows), noise)

    def with_weights(self, weights: Weights) -> Self:
        """The same model with other weights."""
        return eqx.tree_at(lambda model: model.weights, self, weights)


@eqx.filter_jit
def _validated(model: Mixture, rows: jax.Array, key: jax.Array) -> tuple[jax.Array, Metrics]:
    return model.objective.held_out(model, rows, key)


def in_single_precision(columns: Columns) -> Columns:
    """The same columns with float32 constants, for compiled functions."""
    for kind in set(tree_classes()) - _KNOWN:
        jax.tree_util.register_dataclass(kind, *kind.parts())
        _KNOWN.add(kind)
    single: Columns = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), columns)
    return single


def random_matrix(key: jax.Array, shape: tuple[int, ...], gain: float = 1.0) -> jax.Array:
    """Random weights (inputs, outputs) of variance gain² / inputs."""
    return gain * np.sqrt(1.0 / max(shape[0], 1)) * jax.random.normal(key, shape, jnp.float32)


CHECKED = 100.0
"""The weight of the discrepancy between held-out codes and prior, by which epochs are compared."""
WIDTH = 64
"""The hidden units of the critic."""
STEEPNESS = 1.0
"""The weight of the critic's squared slope at draws of the prior (Mescheder et al. 2018): without it codes escape."""


@dataclass(frozen=True)
class Bound:
    """The negative evidence lower bound, −Σ reconstruction + β Σ KL_z + KL_c, with β = `weight`."""

    weight: float = 1.0

    def initial(self, key: jax.Array, latent_dim: int) -> Any:
        """Further weights, trained with those of the model; None if there are none."""
        return None

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
        """As that of `Bound`."""
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


Objective: TypeAlias = Bound | Aggregated
"""A loss of a model on a batch: hashable, as it is part of what is compiled.

`loss` gives the scalar to minimise on compact rows, and its terms by name; `held_out` what the epoch that is kept has
most of, on compact held-out rows, and its reconstruction by column.
"""
