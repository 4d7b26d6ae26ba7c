"""What methods that search in the latent space of an autoencoder share: fitting it, its codes, the way back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np
from sklearn.base import clone

from attain.core.errors import FileError
from attain.density import CHVAE, CVAE, VAE, Autoencoder, decode_matrix, state
from attain.density.tiles import in_tiles
from attain.methods.base import Explainer
from attain.methods.cchvae.shells import Latent
from attain.methods.search.moves import Scale, fewest_changes
from attain.tables import Region

_SLOPE_TILE = 256

Pull = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Codes (m, k), whose each is, and a gradient in the decoded rows (m, d), to the gradient in the codes (m, k)."""


class LatentExplainer(Explainer):
    """An explainer with an autoencoder: `autoencoder` is the parameter, `autoencoder_` the fitted one.

    An autoencoder that is not fitted is cloned and fitted with the schema; by default it is a `CHVAE`.
    """

    autoencoder: Autoencoder | None
    autoencoder_: Autoencoder
    box_: tuple[np.ndarray, np.ndarray]
    """The range of the training people's codes, each (k,)."""
    scale_: Scale

    def _prepare(self) -> None:
        given, rows = self.autoencoder, self._rows_to_learn_from()
        if given is None:
            self.autoencoder_ = CHVAE(self.schema_, random_state=self.random_state).fit(rows)
        elif hasattr(given, "model_"):
            self.autoencoder_ = given
        else:
            self.autoencoder_ = clone(given).set_params(schema=self.schema_).fit(rows)
        codes = self.autoencoder_.encode(rows).z.astype(np.float64)
        self.box_ = (codes.min(axis=0), codes.max(axis=0))
        self.scale_ = Scale(self.schema_, self.table_.values)

    def _rows_to_learn_from(self) -> np.ndarray:
        """The training rows that the autoencoder is fitted on: all, unless some are kept for something else."""
        return self.table_.values

    def _learned(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        facts, arrays = state.to_arrays(self.autoencoder_)
        kind = type(self.autoencoder_).__name__
        return {"autoencoder": kind, "state": facts}, {**arrays, "box.low": self.box_[0], "box.high": self.box_[1]}

    def _restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        kinds = {kind.__name__: kind for kind in (CHVAE, CVAE, VAE)}
        given = self.autoencoder
        fresh = (
            kinds[facts["autoencoder"]](self.schema_) if given is None else clone(given).set_params(schema=self.schema_)
        )
        state.from_arrays(fresh, self.schema_, self.table_.values, facts["state"], arrays)
        box = (arrays["box.low"], arrays["box.high"])
        if any(side.shape != (facts["state"]["latent_dim"],) or side.dtype != np.float64 for side in box):
            raise FileError("the file has no range of codes for each latent unit")
        self.autoencoder_, self.box_ = fresh, box
        self.scale_ = Scale(self.schema_, self.table_.values)

    def _latent(self, region: Region) -> Latent:
        """The people's codes and the way back: typical cells beside each person's own immutable ones."""
        autoencoder, factuals = self.autoencoder_, region.factuals
        codes = autoencoder.encode(factuals)
        conditions = autoencoder.encode_conditions(factuals)

        def decode(z: np.ndarray, owners: np.ndarray) -> np.ndarray:
            return self._rows(region, owners, autoencoder.decode_free(z, conditions[owners], codes.component[owners]))

        units = np.asarray(autoencoder.active_units, dtype=bool)
        active = units if units.any() else np.ones_like(units)
        return Latent(codes.z.astype(np.float64), *self.box_, active, decode)

    def _pull(self, region: Region) -> Pull:
        """The slope of what `_latent` decodes."""
        autoencoder = self.autoencoder_
        component = autoencoder.encode(region.factuals).component
        conditions = autoencoder.encode_conditions(region.factuals)
        free = self.schema_.free_columns

        def pull(z: np.ndarray, owners: np.ndarray, gradient: np.ndarray) -> np.ndarray:
            given = (z, conditions[owners], gradient[:, free])
            arrays = [*(np.asarray(array, np.float32) for array in given), np.asarray(component[owners], np.int32)]
            pulled = in_tiles(lambda *tiles: _pulled(autoencoder.model_, *tiles), arrays, _SLOPE_TILE)
            return np.asarray(np.nan_to_num(pulled.astype(np.float64), posinf=0.0, neginf=0.0))

        return pull

    def _rows(self, region: Region, owners: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Whole rows: decoded free cells beside the person's own immutable ones, as few changed as they may be."""
        rows = region.factuals[owners]
        rows[:, self.schema_.free_columns] = free
        return fewest_changes(rows, owners, region, self.scale_)


@eqx.filter_jit
def _pulled(model: Any, z: jax.Array, conditions: jax.Array, gradient: jax.Array, component: jax.Array) -> jax.Array:
    """The gradient in the codes of a score whose gradient in the typical cells is given."""
    _, pull = jax.vjp(lambda codes: decode_matrix(model, codes, conditions, component), z)
    pulled: jax.Array = pull(gradient)[0]
    return pulled
