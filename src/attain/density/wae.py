"""The Wasserstein autoencoder with maximum mean discrepancy."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from attain.density.aggregated import Aggregated, mean_discrepancy
from attain.density.columns import Columns
from attain.density.estimator import MixtureEstimator
from attain.density.mixture import Mixture
from attain.density.objective import Objective


@dataclass(frozen=True)
class Discrepancy(Aggregated):
    """The distance of codes from the prior is their maximum mean discrepancy."""

    def apart(self, model: Mixture, codes: jax.Array, prior: jax.Array) -> tuple[jax.Array, jax.Array]:
        """MMD² of codes and draws of the prior."""
        return mean_discrepancy(codes, prior), jnp.zeros((), codes.dtype)


@dataclass(eq=False, repr=False, kw_only=True)
class WAE(MixtureEstimator):
    """The Wasserstein autoencoder (Tolstikhin et al. 2018) with MMD, given the immutable features.

    The encoder is deterministic. `log_density` is a bound as in the others: a scale of q(z|x) is trained for it alone.

    Parameters
    ----------
    beta
        The weight of the MMD between codes and prior. Other parameters as for `CHVAE`.
    """

    beta: float = 100.0

    def _objective(self, columns: Columns) -> Objective:
        return Discrepancy(self.beta)
