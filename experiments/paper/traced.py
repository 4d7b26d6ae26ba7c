"""C-CHVAE's search with its path kept: which latent code each answer was decoded from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from attain.methods.cchvae import CCHVAE
from attain.methods.latent import Component, Latent
from attain.results.counterfactuals import Counterfactuals
from attain.tables import Region


class TracedCCHVAE(CCHVAE):
    """C-CHVAE that remembers every code it decodes, for few people at a time."""

    def _latent(self, region: Region, rule: Component = "frozen") -> Latent:
        latent = super()._latent(region, rule)
        self.decoded_: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

        def decode(z: np.ndarray, owners: np.ndarray, component: np.ndarray | None = None) -> np.ndarray:
            rows = latent.decode(z, owners, component)
            self.decoded_.append((z.copy(), owners.copy(), rows.copy()))
            return rows

        return replace(latent, decode=decode)

    def codes(self, result: Counterfactuals) -> tuple[np.ndarray, np.ndarray]:
        """The people's own codes ẑ and those of their answers z̃*, each (people, k), of the last call of `explain`.

        NaN for people without an answer. Everybody in that call must have been refused, so that all were searched for.
        """
        own = self.autoencoder_.encode(result.table.values).z.astype(np.float64)
        z = np.concatenate([part[0] for part in self.decoded_])
        owners = np.concatenate([part[1] for part in self.decoded_])
        rows = np.concatenate([part[2] for part in self.decoded_])
        distance = np.linalg.norm(z - own[owners], axis=1)
        moved = np.asarray(result.figures["latent_distance"], dtype=np.float64)
        best = np.full(own.shape, np.nan)
        for person in np.flatnonzero(result.found):
            mine = np.flatnonzero((owners == person) & (np.abs(distance - moved[person]) <= 1e-6))
            # two samples can be equally far: the answer is what the right one was decoded to
            apart = np.nansum(np.abs(rows[mine] - result.answers[person]), axis=1)
            best[person] = z[mine[apart.argmin()]]
        return own, best
