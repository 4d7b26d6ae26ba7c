"""C-CHVAE as the code released with the paper searches, for comparison with the method as it is written."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Final

import numpy as np

from attain.density.estimator import MixtureEstimator
from attain.methods.cchvae import CCHVAE, Algorithm1
from attain.methods.latent import Latent
from attain.search.moves import streams
from attain.search.pool import diverse
from attain.search.problem import Answers, Problem

_SAMPLES: Final = 1000
_STREAM: Final = 0x5E1EA5ED
"""Keeps the random decoding apart from the shells' random numbers."""


class ReleasedCCHVAE(CCHVAE):
    """Algorithm 1 as released: no box, random decoding, and the least distance in the inputs.

    Each candidate is one random draw from the decoded likelihoods; shells of width 0.5 with 1,000 samples each grow up
    to 500 times; among what flips the decision the least l₁ distance of standardised free features wins.
    """

    def search(self, problem: Problem) -> Answers:
        latent = self._released(self._latent(problem.region), problem)
        settings = copy(self).set_params(
            samples=_SAMPLES, step=0.5, norm=2, radius="uniform", max_shells=500, stop="all"
        )
        algorithm = _Released(settings, problem, latent)
        status, pool = algorithm.run(), algorithm.pool
        rows, owners, distance = diverse(pool.rows, pool.owners, pool.distances, problem.region, problem.options)
        return Answers(rows, owners, distance, status, {"input_distance": np.round(distance, 6)})

    def _released(self, latent: Latent, problem: Problem) -> Latent:
        """The latent space as the released code searches it."""
        autoencoder, region = self.autoencoder_, problem.region
        assert isinstance(autoencoder, MixtureEstimator)
        context, network = autoencoder.encode(region.factuals).context, autoencoder.network_
        generators = streams(region.factuals, problem.seed ^ _STREAM)

        def decode(z: np.ndarray, owners: np.ndarray, component: None = None) -> np.ndarray:
            free = np.empty((len(z), len(self.population_.schema.free_columns)))
            for owner in np.unique(owners):
                mine = np.flatnonzero(owners == owner)
                padded = np.resize(z[mine], (_SAMPLES, z.shape[1]))
                given = np.repeat(context[[owner]], _SAMPLES, axis=0)
                random = np.random.default_rng(int(generators[owner].integers(2**31 - 1)))
                shares = np.maximum(random.random((_SAMPLES, network.columns.width)), 2.0**-54)
                free[mine] = network.draw(padded, given[:, 1:], given[:, 0].astype(np.intp), shares)[: len(mine)]
            return self._rows(region, owners, free)

        unbounded = np.full(latent.codes.shape[1], np.inf)
        return replace(latent, low=-unbounded, high=unbounded, decode=decode)


class _Released(Algorithm1):
    """Without the reconstruction, and by distances in the inputs."""

    def _reconstruct(self) -> None:
        pass

    def _distance(self, rows: np.ndarray, codes: np.ndarray, owners: np.ndarray) -> np.ndarray:
        moved = np.abs(rows - self.problem.region.factuals[owners]) / self.settings.scale_.spread
        return np.asarray(np.nansum(moved[:, self.problem.region.schema.free_columns], axis=1))
