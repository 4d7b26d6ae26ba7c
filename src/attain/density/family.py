"""The members of the family of `CHVAE` that differ from it in one line: an objective, or what is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attain.density.chvae import CHVAE
from attain.density.columns import Columns
from attain.density.estimator import Estimator, MixtureEstimator

if TYPE_CHECKING:
    from attain.density.objectives import Objective


class CVAE(MixtureEstimator):
    """The conditional autoencoder of the paper's section 3: a `CHVAE` with one component. Parameters as there."""


class VAE(MixtureEstimator):
    """The plain autoencoder of the paper's section 3: one component, and immutable features are not used.

    It models p(free) with the same likelihoods; `decode_rows` and `sample` copy the immutable cells they are given.
    Parameters as for `CHVAE`.
    """

    conditional = False


@dataclass(eq=False, repr=False, kw_only=True)
class HIVAE(CHVAE):
    """HI-VAE (Nazábal et al. 2020): a mixture of latent Gaussians, one likelihood per column, missing cells left out.

    A `CHVAE` that is not given the immutable features: it models p(free). The component is a Gumbel-softmax draw.
    Parameters as for `CHVAE`.
    """

    estimator: Estimator = "relaxed"

    conditional = False


@dataclass(eq=False, repr=False, kw_only=True)
class BetaVAE(MixtureEstimator):
    """β-VAE (Higgins et al. 2017), given the immutable features: a `CVAE` whose KL over z has the weight `beta`.

    Above 1, codes carry less and latent units are more independent; below 1, reconstructions are better and the prior
    fits worse. Other parameters as for `CHVAE`.
    """

    beta: float = 4.0


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
        from attain.density.objectives import Discrepancy  # needs JAX

        return Discrepancy(self.beta)


@dataclass(eq=False, repr=False, kw_only=True)
class AAE(MixtureEstimator):
    """The adversarial autoencoder (Makhzani et al. 2016), given the immutable features.

    The encoder is deterministic. `log_density` is a bound as in the others: a scale of q(z|x) is trained for it alone.

    Parameters
    ----------
    beta
        The weight of misleading the critic. Other parameters as for `CHVAE`.
    """

    beta: float = 10.0

    def _objective(self, columns: Columns) -> Objective:
        from attain.density.objectives import Adversary  # needs JAX

        return Adversary(self.beta)
