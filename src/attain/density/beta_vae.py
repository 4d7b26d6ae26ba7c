"""The autoencoder with a weight on the divergence from the prior."""

from __future__ import annotations

from dataclasses import dataclass

from attain.density.estimator import MixtureEstimator


@dataclass(eq=False, repr=False, kw_only=True)
class BetaVAE(MixtureEstimator):
    """β-VAE (Higgins et al. 2017), given the immutable features: a `CVAE` whose KL over z has the weight `beta`.

    Above 1, codes carry less and latent units are more independent; below 1, reconstructions are better and the prior
    fits worse. Other parameters as for `CHVAE`.
    """

    beta: float = 4.0
