"""The conditional autoencoder: one component, the immutable features given."""

from __future__ import annotations

from attain.density.estimator import MixtureEstimator


class CVAE(MixtureEstimator):
    """The conditional autoencoder of the paper's section 3: a `CHVAE` with one component. Parameters as there."""

    conditional = True
