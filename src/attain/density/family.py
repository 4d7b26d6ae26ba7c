"""The autoencoders: the paper's CHVAE, those that differ from it in an objective, and one with any columns given."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_args

import numpy as np

from attain.core.errors import DataError, check_choice, check_integer, listed
from attain.core.frames import Frame
from attain.density.columns import Columns
from attain.density.estimator import Estimator, MixtureEstimator
from attain.schema import Schema

if TYPE_CHECKING:
    from attain.density.mixture import Objective


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
        from attain.density.mixture import Discrepancy  # needs JAX

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
        from attain.density.mixture import Adversary  # needs JAX

        return Adversary(self.beta)


class VAEAC(MixtureEstimator):
    """The autoencoder with arbitrary conditioning (Ivanov et al. 2019): p(other columns | given columns) for any.

    It is trained with columns given at random, half of the time the schema's immutable ones. Encoder and decoder see
    the given cells and which they are; the prior of z is N(0, I), since a decoder that sees the given cells can be that
    of any conditional prior. `log_density` and `sample` take `given`, the names of the columns that are held fixed, and
    `for_schema` is the same model for other immutable columns. Parameters as for `CHVAE`.
    """

    any_given: ClassVar[bool] = True

    def for_schema(self, schema: Schema) -> Self:
        """This fitted model for a schema that differs in what is immutable; nothing is trained."""
        self._check_fitted()
        for own, its in zip(self.schema_, schema, strict=True):
            if replace(own, immutable=its.immutable) != its:
                raise DataError(f"column {its.name!r} differs in more than what is immutable; fit the model again")
        other = copy(self)
        other.schema = other.schema_ = schema
        return other

    def log_density(self, X: Frame, samples: int = 100, *, given: Iterable[str] | None = None) -> np.ndarray:
        """A lower bound of log p(other columns | given columns) of each row (n,); the immutable ones by default."""
        return self._bounded(self._values(X), self._places(given), samples)

    def sample(
        self, conditions: Frame, n: int = 1, *, given: Iterable[str] | None = None, random_state: Any = None
    ) -> np.ndarray:
        """`n` draws for each row, one after the other, as rows of the matrix; given columns are copied."""
        return self._sampled(self._values(conditions), self._places(given), n, random_state)

    def _places(self, given: Iterable[str] | None) -> list[int]:
        """The positions of the columns that are given: by default the immutable ones."""
        schema = self.schema_
        if given is None:
            return [int(j) for j in schema.immutable_columns]
        if isinstance(given, str):
            raise DataError(f"given must be a list of column names, got the string {given!r}")
        names = list(given)
        unknown = [name for name in names if name not in schema]
        if unknown:
            raise DataError(f"given names columns that the schema does not have: {listed(unknown)}")
        derived = [name for name in names if schema[name].computed is not None]
        if derived:
            raise DataError(f"given names computed columns: {listed(derived)}; name the columns they are computed from")
        return sorted({schema.position(name) for name in names})

    def _columns(self, schema: Schema, values: np.ndarray) -> Columns:
        modelled = [j for j, feature in enumerate(schema) if feature.computed is None]
        found = Columns.fit(schema, values, free=modelled, given=modelled, likelihoods=self.likelihoods)
        # a cell may be left out of either half: the network has an input for that
        return Columns(found.free, found.conditions, tuple(range(2 * found.width)), found.names)

    def _compact(self, columns: Columns, values: np.ndarray, given: Iterable[int]) -> np.ndarray:
        """Compact rows with the given columns among the conditions and all others among the modelled ones."""
        rows = columns.prepare(values)
        held = np.isin(_positions(columns), list(given))
        rows[:, : columns.width][:, held] = np.nan
        rows[:, columns.width :][:, ~held] = np.nan
        return rows

    def _objective(self, columns: Columns) -> Objective:
        from attain.density.mixture import AnyGiven  # needs JAX

        immutable = tuple(int(j) for j in self.schema.immutable_columns)
        return AnyGiven(weight=self.beta, positions=_positions(columns), immutable=immutable)


def _positions(columns: Columns) -> tuple[int, ...]:
    return tuple(j for block in columns.free for j in block.positions)
