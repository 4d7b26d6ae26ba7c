"""The paper's conditional heterogeneous autoencoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from attain.core.errors import check_choice, check_integer
from attain.density.estimator import Estimator, MixtureEstimator


@dataclass(eq=False, repr=False, kw_only=True)
class CHVAE(MixtureEstimator):
    """The density of the free features given the immutable ones: a conditional mixture with one likelihood per column.

    Parameters
    ----------
    schema
        What the columns are. Immutable features are conditions; derived ones are left out.
    likelihoods
        What features that name no likelihood have: `"binned"`, a histogram of each number whose bins the network
        weighs; or `"paper"`, a Gaussian, log-normal, Poisson or truncated normal by the feature's kind.
    latent_dim
        Dimensions k of z; by default 6, more beyond 24 free features, at most 16. Fewer are a tighter bottleneck:
        counterfactuals are more typical, and fewer rows get one.
    components
        Mixture components L; by default one, to which histograms leave little to add. With the paper's likelihoods one
        more for every 20,000 rows, at most 5.
    hidden
        Widths of the hidden layers of the encoder and, in reverse, the decoder; 0 or () is the paper's linear model.
        None is one layer of 64, or with fewer than 5,000 rows whichever of the two has the better bound on held-out
        rows.
    epochs, batch_size, learning_rate
        The largest number of epochs of Adam, by default enough for about 4,000 steps. The learning rate falls along a
        cosine.
    estimator
        How the expectation over components is taken in training: `exact` sums over them, `relaxed` draws a
        Gumbel-softmax that anneals from 1 to 0.1. The sum has less noise and no bias.
    beta
        The weight of the KL over z; 1 is the evidence lower bound.
    warm_up
        The share of epochs over which the weight of the KL over z rises to 1, against posterior collapse.
    patience, validation
        Stop after this many epochs without a better bound on this share of the rows, held out by seed.
    random_state
        Same seed, same weights.
    verbose
        Show a progress bar for training that takes longer than two seconds.
    """

    components: int | None = None
    estimator: Estimator = "exact"

    def _mixture(self, rows: int) -> tuple[int, Estimator]:
        usual = min(1 + rows // 20_000, 5) if self.likelihoods == "paper" else 1
        return self.components or usual, self.estimator

    def _check(self) -> None:
        super()._check()
        check_choice("estimator", self.estimator, get_args(Estimator))
        if self.components is not None:
            check_integer("components", self.components, 1)
