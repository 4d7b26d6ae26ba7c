"""What methods share that search in the latent space of an autoencoder: fitting it, codes, decoding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from sklearn.base import clone

from attain.core.errors import AttainError, FileError
from attain.density.autoencoder import Autoencoder, Codes
from attain.methods.base import Explainer
from attain.methods.context import ModelContext
from attain.methods.latent_plane import MOST_SHOWN, plane_of, spaced
from attain.methods.search.latent_space import DecodeVjp, Latent
from attain.methods.search.moves import Scale, fewest_changes
from attain.models import GoalLike, probe_rows
from attain.results.plots.latent import Plane
from attain.schema import Schema
from attain.tables import Region, without_unseen

AutoencoderChoice: TypeAlias = Autoencoder | Literal["chvae"] | None
"""An autoencoder, fitted or not; `"chvae"`, a `CHVAE` with default parameters; or None, for methods that allow it."""
_RANKED, _RANK_SAMPLES = 1000, 20
"""Among how many real rows an answer's density is ranked, and with how many draws each density is bounded."""

_CALLED = ("encode", "decode", "log_density")
_DEFINING = ("name", "kind", "levels", "special", "immutable", "derived")
"""What of a feature decides how its cells are encoded."""


class LatentExplainer(Explainer):
    """An explainer with an autoencoder: `autoencoder` is the parameter, `autoencoder_` the fitted one.

    A fitted autoencoder is used as it is, if its schema agrees. One that is not fitted is cloned, and fitted with the
    explainer's schema.
    """

    needs_autoencoder: ClassVar[bool] = True
    """False for methods that also work with `autoencoder=None`; `autoencoder_` and `box_` are None then."""

    autoencoder: AutoencoderChoice
    autoencoder_: Any
    """The fitted autoencoder, or None."""
    box_: tuple[np.ndarray, np.ndarray] | None
    """The range of the training rows' codes, each (k,)."""
    scale_: Scale

    def _check_parameters(self) -> None:
        super()._check_parameters()
        given = self.autoencoder
        if given is None and self.needs_autoencoder:
            raise AttainError(f"{type(self).__name__} needs an autoencoder; pass one, or autoencoder='chvae'")
        if isinstance(given, str) and given != "chvae":
            none = "" if self.needs_autoencoder else ", None"
            raise AttainError(f"autoencoder must be an autoencoder{none} or 'chvae', got {given!r}")
        if given is None or isinstance(given, str):
            return
        lacking = [name for name in _CALLED if not hasattr(given, name)]
        if not hasattr(given, "schema_") and not hasattr(given, "fit"):
            lacking.append("fit")
        if lacking:
            raise AttainError(
                f"autoencoder is a {type(given).__name__}, which has no {', '.join(lacking)}; "
                "see attain.density.Autoencoder"
            )

    def _prepare(self) -> None:
        rows = self._rows_to_learn_from()
        self.autoencoder_, self.box_ = self._fitted_autoencoder(rows), None
        if self.autoencoder_ is not None:
            codes = self.autoencoder_.encode(rows).z.astype(np.float64)
            self.box_ = (codes.min(axis=0), codes.max(axis=0))
        self.scale_ = Scale(self.schema_, self.table_.values)

    def _rows_to_learn_from(self) -> np.ndarray:
        """The training rows that the autoencoder is fitted on: all, unless some are held out."""
        return self.table_.values

    def _fitted_autoencoder(self, rows: np.ndarray) -> Autoencoder | None:
        given = self.autoencoder
        if given is not None and not isinstance(given, str) and hasattr(given, "schema_"):
            _check_schema(given, self.schema_)
            return given
        fresh = self._unfitted_autoencoder()
        return None if fresh is None else fresh.fit(rows)

    def _unfitted_autoencoder(self) -> Autoencoder | None:
        given = self.autoencoder
        if given is None:
            return None
        if isinstance(given, str):
            from attain.density import CHVAE  # needs JAX

            return CHVAE(self.schema_, random_state=self._seed)
        fresh: Autoencoder = clone(given).set_params(schema=self.schema_)
        return fresh

    def _learned(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        if self.autoencoder_ is None or self.box_ is None:
            return {}, {}
        if not hasattr(self.autoencoder_, "state") or not hasattr(self.autoencoder_, "get_params"):
            raise AttainError(
                f"this {type(self).__name__} cannot be saved: its autoencoder, a {type(self.autoencoder_).__name__}, "
                "needs state, restore and scikit-learn's get_params; see attain.density.Autoencoder"
            )
        facts, arrays = self.autoencoder_.state()
        return {"autoencoder": facts}, {**arrays, "box.low": self.box_[0], "box.high": self.box_[1]}

    def _restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        fresh = self._unfitted_autoencoder()
        self.autoencoder_, self.box_ = None, None
        self.scale_ = Scale(self.schema_, self.table_.values)
        if fresh is None:
            return
        self.autoencoder_ = fresh.restore(facts["autoencoder"], arrays)
        self.box_ = (arrays["box.low"], arrays["box.high"])
        units = np.shape(self.autoencoder_.active_units)
        if any(side.shape != units or side.dtype != np.float64 for side in self.box_):
            raise FileError("the file does not have the range of the training codes for each latent unit")

    def _latent(self, region: Region) -> Latent:
        """The rows' codes and the decoder: typical cells beside each row's own immutable ones."""
        assert self.box_ is not None
        autoencoder: Autoencoder = self.autoencoder_
        own = autoencoder.encode(without_unseen(self.schema_, region.factuals))

        def decode(z: np.ndarray, owners: np.ndarray) -> np.ndarray:
            return self._rows(region, owners, autoencoder.decode(Codes(z, own.context[owners])))

        units = np.asarray(autoencoder.active_units, dtype=bool)
        active = units if units.any() else np.ones_like(units)
        vjp = self._decode_vjp(own) if hasattr(autoencoder, "decode_vjp") else None
        return Latent(own.z.astype(np.float64), *self.box_, active, decode, decode_vjp=vjp)

    def _decode_vjp(self, own: Codes) -> DecodeVjp:
        free, decode_vjp = self.schema_.free_columns, self.autoencoder_.decode_vjp

        def pulled_back(z: np.ndarray, owners: np.ndarray, gradient: np.ndarray) -> np.ndarray:
            in_codes = np.asarray(decode_vjp(Codes(z, own.context[owners]), gradient[:, free]), dtype=np.float64)
            return np.nan_to_num(in_codes, posinf=0.0, neginf=0.0)

        return pulled_back

    def latent_plane(
        self, model: Any, factuals: np.ndarray, options: np.ndarray, *, target: Any, probability: float | None = None
    ) -> Plane:
        """Real people, rows and decision regions in a plane of the latent space, for `result.plot.latent_map`.

        Where the latent space has two dimensions and `factuals` one row, the regions are decisions about decoded rows
        that keep this row's immutable features. Otherwise a point has the decisions about real people nearby in the
        plane, which is that of the two leading principal components of the training rows' codes.

        Parameters
        ----------
        model, target, probability
            As in `explain`.
        factuals, options
            Rows of the matrix, (p, d) and (m, d).
        """
        goal = self._request(model, target, probability)
        if self.autoencoder_ is None:
            raise AttainError(f"this {type(self).__name__} has no latent space; fit it with autoencoder='chvae'")
        if not self.rows_are_real_:
            raise AttainError("this explainer was saved without its training rows, so there are no people to show")
        chosen = spaced(len(self.table_), MOST_SHOWN)
        people, accepted = self.table_.values[chosen], self._context(goal).met(goal)[chosen]
        every = np.concatenate([people, factuals, options])
        codes = self.autoencoder_.encode(without_unseen(self.schema_, every)).z.astype(np.float64)
        return plane_of(codes, len(factuals), accepted, self._decided(goal, factuals) if len(factuals) == 1 else None)

    def _decided(self, goal: GoalLike, factual: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Which codes (n, k) decode to a row with the desired decision, for one row's immutable features."""
        own = self.autoencoder_.encode(without_unseen(self.schema_, factual))

        def decided(z: np.ndarray) -> np.ndarray:
            rows = np.repeat(factual, len(z), axis=0)
            rows[:, self.schema_.free_columns] = self.autoencoder_.decode(
                Codes(z, np.repeat(own.context, len(z), axis=0))
            )
            return goal.judge(rows).met

        return decided

    def _density_rank(self, rows: np.ndarray, goal: GoalLike, context: ModelContext) -> dict[str, np.ndarray]:
        """The rank of each answer's density, given its immutable features, among real rows of the desired class."""
        values = context.reference(goal).values
        if not len(rows) or not len(values):
            return {"density_rank": np.full(len(rows), np.nan)}
        some = probe_rows(values, _RANKED)
        real = context.kept("densities", lambda: np.sort(self._log_density(some, _RANK_SAMPLES)))
        own = self._log_density(rows, _RANK_SAMPLES)
        return {"density_rank": np.round(np.searchsorted(real, own) / len(real), 3)}

    def _rows(self, region: Region, owners: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Complete rows: decoded free cells beside each owner's immutable ones, with as few changes as possible."""
        rows = region.factuals[owners]
        rows[:, self.schema_.free_columns] = free
        return fewest_changes(rows, owners, region, self.scale_)

    def _log_density(self, rows: np.ndarray, samples: int) -> np.ndarray:
        """The log-density (n,) of the rows' free features given their immutable ones."""
        known = without_unseen(self.schema_, rows)
        return np.asarray(self.autoencoder_.log_density(known, samples)) if len(rows) else np.empty(0)


def _check_schema(autoencoder: Autoencoder, schema: Schema) -> None:
    """Refuses an autoencoder that was fitted on other columns, or on the same in another order."""
    other, name = autoencoder.schema_, type(autoencoder).__name__
    if other.names != schema.names:
        raise AttainError(
            f"autoencoder is a {name} fitted with the columns {', '.join(other.names)}, but the explainer's are "
            f"{', '.join(schema.names)}; fit it with the explainer's schema, or pass one that is not fitted"
        )
    for own, its in zip(schema, other, strict=True):
        for part in _DEFINING:
            if getattr(own, part) != getattr(its, part):
                raise AttainError(
                    f"autoencoder is a {name} fitted with another schema: {part} of {own.name!r} is "
                    f"{getattr(its, part)!r} there and {getattr(own, part)!r} here; "
                    "fit it with the explainer's schema, or pass one that is not fitted"
                )
