"""The autoencoder with a weight on the divergence from the prior."""

from __future__ import annotations

from dataclasses import dataclass

from attain.core.checks import check_number
from attain.density.columns import Columns
from attain.density.estimator import MixtureEstimator
from attain.density.objective import Bound, Objective


@dataclass(eq=False, repr=False, kw_only=True)
class BetaVAE(MixtureEstimator):
    """β-VAE (Higgins et al. 2017), given the immutable features: a `CVAE` whose KL over z has the weight `beta`.

    Parameters
    ----------
    beta
        Above 1, codes carry less and latent units are more independent; below 1, reconstructions are better and the
        prior fits worse. 1 is the `CVAE`. Other parameters as for `CHVAE`.
    """

    beta: float = 4.0

    def _objective(self, columns: Columns) -> Objective:
        return Bound(weight=self.beta)

    def _check(self) -> None:
        super()._check()
        check_number("beta", self.beta, least=0.0)
