"""The paper's conditional heterogeneous autoencoder, and its relatives with one component."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attain.density.base import Autoencoder
from attain.density.mixture import Estimator
from attain.schema import Schema


class CHVAE(Autoencoder):
    """The density of the free features given the immutable ones: a conditional mixture with one likelihood per column.

    Parameters
    ----------
    schema
        What the columns are. Immutable features are conditions; derived ones are left out.
    latent_dim
        Dimensions k of z; by default 6, more beyond 24 free features, at most 16. Fewer are a tighter bottleneck:
        answers are more typical, and fewer people get one.
    components
        Mixture components L; by default one and one more for every 20,000 rows, at most 5. 1 is no mixture.
    hidden
        Widths of the hidden layers of encoder and, in reverse, decoder. None, 0 or () is the linear model, whose
        counterfactuals are best connected to the data; (64,) and more give better densities.
    epochs, batch_size, learning_rate
        At most so many epochs of Adam; by default about 4,000 steps. The learning rate falls along a cosine.
    estimator
        How the expectation over components is taken in training: `exact` sums over them, `relaxed` draws a
        Gumbel-softmax that anneals from 1 to 0.1. The sum has less noise and no bias.
    warm_up, free_bits
        Guards against posterior collapse: the share of epochs over which the KL over z is turned on, and nats per
        latent dimension that cost nothing.
    patience, validation
        Stop after so many epochs without a better bound on this share of rows, held out by seed.
    rows_on_device
        With more rows than this, batches stream through the device.
    random_state
        Same seed, same weights.
    verbose
        Show a progress bar for what takes longer than two seconds.
    """

    _conditional = True
    _mixture = True

    def __init__(
        self,
        schema: Schema,
        *,
        latent_dim: int | None = None,
        components: int | None = None,
        hidden: Sequence[int] | int | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float = 8e-3,
        estimator: Estimator = "exact",
        warm_up: float = 0.1,
        free_bits: float = 0.0,
        patience: int | None = None,
        validation: float = 0.1,
        rows_on_device: int = 20_000_000,
        random_state: Any = 0,
        verbose: bool = True,
    ) -> None:
        self.schema = schema
        self.latent_dim = latent_dim
        self.components = components
        self.hidden = hidden
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.estimator = estimator
        self.warm_up = warm_up
        self.free_bits = free_bits
        self.patience = patience
        self.validation = validation
        self.rows_on_device = rows_on_device
        self.random_state = random_state
        self.verbose = verbose


class _OneComponent(Autoencoder):
    def __init__(
        self,
        schema: Schema,
        *,
        latent_dim: int | None = None,
        hidden: Sequence[int] | int | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float = 8e-3,
        warm_up: float = 0.1,
        free_bits: float = 0.0,
        patience: int | None = None,
        validation: float = 0.1,
        rows_on_device: int = 20_000_000,
        random_state: Any = 0,
        verbose: bool = True,
    ) -> None:
        self.schema = schema
        self.latent_dim = latent_dim
        self.hidden = hidden
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.warm_up = warm_up
        self.free_bits = free_bits
        self.patience = patience
        self.validation = validation
        self.rows_on_device = rows_on_device
        self.random_state = random_state
        self.verbose = verbose


class CVAE(_OneComponent):
    """The conditional autoencoder of the paper's section 3: a `CHVAE` with one component. Parameters as there."""

    _conditional = True
    _mixture = False


class VAE(_OneComponent):
    """The plain autoencoder of the paper's section 3: one component, and immutable features are not looked at.

    It models p(free) with the same likelihoods; `decode` and `sample` copy the immutable cells they are given.
    """

    _conditional = False
    _mixture = False
