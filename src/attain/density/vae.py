"""The plain autoencoder: one component, nothing given."""

from __future__ import annotations

from attain.density.estimator import MixtureEstimator


class VAE(MixtureEstimator):
    """The plain autoencoder of the paper's section 3: one component, and immutable features are not used.

    It models p(free) with the same likelihoods; `decode_rows` and `sample` copy the immutable cells they are given.
    Parameters as for `CVAE`.
    """

    conditional = False
