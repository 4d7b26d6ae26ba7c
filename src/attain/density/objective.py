"""What training minimises: the members of the autoencoder family differ in it, and in the columns that are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import jax
import jax.numpy as jnp

from attain.density.bounds import Terms
from attain.density.training import Metrics, Schedule

if TYPE_CHECKING:
    from attain.density.mixture import Mixture


class Objective(Protocol):
    """A loss of a model on a batch: hashable, as it is part of what is compiled."""

    def initial(self, key: jax.Array, latent_dim: int) -> Any:
        """Weights of its own, which are trained with the model's; None for none."""
        ...

    def loss(self, model: Mixture, batch: jax.Array, key: jax.Array, schedule: Schedule) -> tuple[jax.Array, Metrics]:
        """The scalar to minimise on compact rows, and its terms by name, for `train`."""
        ...

    def held_out(self, model: Mixture, rows: jax.Array, key: jax.Array) -> tuple[jax.Array, Metrics]:
        """What the epoch that is kept has most of, on compact held-out rows, and its reconstruction by column."""
        ...


@dataclass(frozen=True)
class Bound:
    """The negative evidence lower bound, −Σ reconstruction + β Σ max(KL_z, free bits) + KL_c, with β = `weight`."""

    weight: float = 1.0

    def initial(self, key: jax.Array, latent_dim: int) -> None:
        """Nothing."""

    def loss(self, model: Mixture, batch: jax.Array, key: jax.Array, schedule: Schedule) -> tuple[jax.Array, Metrics]:
        """The bound at the weight of the schedule."""
        metrics = averaged(model.terms(batch, key, schedule.temperature))
        paid = jnp.maximum(metrics["kl_latent"], schedule.free_bits).sum()
        # Only the KL over z is warmed up: without the cost of c, rows settle in components for no good reason.
        beta = self.weight * schedule.beta
        return -metrics["reconstruction"].sum() + beta * paid + metrics["kl_component"], metrics

    def held_out(self, model: Mixture, rows: jax.Array, key: jax.Array) -> tuple[jax.Array, Metrics]:
        """The mean bound at β = 1 with c summed over."""
        terms = model.bound(rows, jax.random.normal(key, (len(rows), model.latent_dim), jnp.float32))
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


BOUND = Bound()


def averaged(terms: Terms) -> Metrics:
    """The parts of the bound, averaged over rows."""
    return {name: getattr(terms, name).mean(axis=0) for name in Terms._fields}
