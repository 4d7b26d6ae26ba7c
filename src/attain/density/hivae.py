"""The autoencoder for heterogeneous and incomplete data that the CHVAE extends."""

from __future__ import annotations

from dataclasses import dataclass

from attain.density.chvae import CHVAE
from attain.density.estimator import Estimator


@dataclass(eq=False, repr=False, kw_only=True)
class HIVAE(CHVAE):
    """HI-VAE (Nazábal et al. 2020): a mixture of latent Gaussians, one likelihood per column, missing cells left out.

    A `CHVAE` that is not given the immutable features: it models p(free). The component is a Gumbel-softmax draw.
    Parameters as for `CHVAE`.
    """

    estimator: Estimator = "relaxed"

    conditional = False
