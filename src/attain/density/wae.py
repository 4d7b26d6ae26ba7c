"""The Wasserstein autoencoder with maximum mean discrepancy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attain.density.columns import Columns
from attain.density.estimator import MixtureEstimator

if TYPE_CHECKING:
    from attain.density.objective import Objective


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
        from attain.density.aggregated import Discrepancy  # needs JAX

        return Discrepancy(self.beta)
