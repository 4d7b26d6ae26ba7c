"""What methods share that search in the latent space of an autoencoder: fitting it, codes, decoding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from sklearn.base import clone

from attain.core.errors import AttainError, FileError
from attain.density.estimator import Autoencoder, Codes
from attain.density.network import row_keys, uniforms
from attain.methods.base import Explainer
from attain.population.population import Population, Scale
from attain.schema import Schema
from attain.search.moves import fewest_changes, norm_of
from attain.tables import Region, without_unseen

Decode: TypeAlias = Callable[..., np.ndarray]
"""Codes (m, k) and the owner of each (m,), to candidate rows (m, d) of the matrix.

A third argument, where it is given, is the mixture component (m,) that each code is decoded with.
"""
DecodeVjp: TypeAlias = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Codes (m, k), their owners and a gradient in the decoded rows (m, d), to the gradient in the codes (m, k)."""


@dataclass(frozen=True)
class Latent:
    """The codes of a batch of rows, the range of the training codes, and the decoder.

    Attributes
    ----------
    codes
        The rows' own codes (n, k).
    low, high
        The box: the range of the training codes (k,).
    active
        Which units (k,) the decoder uses.
    decode
        From codes to candidate rows.
    decode_vjp
        The gradient of `decode`; None where the autoencoder has none.
    components
        How many mixture components each code is decoded with: more than one where all of them are tried.
    """

    codes: np.ndarray
    low: np.ndarray
    high: np.ndarray
    active: np.ndarray
    decode: Decode
    decode_vjp: DecodeVjp | None = None
    components: int = 1

    def inside(self, codes: np.ndarray) -> np.ndarray:
        """Which codes (..., k) lie in the box, in every active unit."""
        return np.asarray(((codes >= self.low) & (codes <= self.high) | ~self.active).all(axis=-1))

    def farthest(self, norm: float) -> np.ndarray:
        """The distance from each of the rows' own codes to the farthest corner of the box (n,)."""
        reach = np.maximum(np.abs(self.codes - self.low), np.abs(self.codes - self.high))
        return norm_of(reach[:, self.active], norm)


AutoencoderChoice: TypeAlias = Autoencoder | Literal["chvae"]
"""An autoencoder, fitted or not; or `"chvae"`, a `CHVAE` with default parameters."""
Component: TypeAlias = Literal["frozen", "argmax", "sampled", "all"]
"""Which mixture component a code is decoded with: the row's own, the most probable one there, a drawn one, each."""
_CALLED = ("encode", "decode", "log_density")
_DEFINING = ("name", "kind", "levels", "special", "immutable", "derived", "follows")
"""What of a feature decides how its cells are modelled."""


class LatentExplainer(Explainer):
    """An explainer with an autoencoder: `autoencoder` is the parameter, `autoencoder_` the fitted one.

    A fitted autoencoder is used as it is, if its schema agrees. One that is not fitted is cloned, and fitted with the
    explainer's schema.
    """

    autoencoder: AutoencoderChoice
    autoencoder_: Any
    """The fitted autoencoder."""
    box_: tuple[np.ndarray, np.ndarray]
    """The range of the training rows' codes, each (k,)."""
    scale_: Scale

    def _check_parameters(self) -> None:
        super()._check_parameters()
        given = self.autoencoder
        if given is None:
            raise AttainError(f"{type(self).__name__} needs an autoencoder; pass one, or autoencoder='chvae'")
        if isinstance(given, str):
            if given != "chvae":
                raise AttainError(f"autoencoder must be an autoencoder or 'chvae', got {given!r}")
            return
        lacking = [member for member in _CALLED if not hasattr(given, member)]
        if not hasattr(given, "schema_") and not hasattr(given, "fit"):
            lacking.append("fit")
        if lacking:
            raise AttainError(
                f"autoencoder is a {type(given).__name__}, which has no {', '.join(lacking)}; "
                "see attain.density.Autoencoder"
            )

    def prepare(self, population: Population) -> None:
        rows = population.values
        self.autoencoder_ = self._fitted_autoencoder(rows)
        codes = self.autoencoder_.encode(rows).z.astype(np.float64)
        self.box_ = (codes.min(axis=0), codes.max(axis=0))

    def _fitted_autoencoder(self, rows: np.ndarray) -> Autoencoder:
        given = self.autoencoder
        if not isinstance(given, str) and hasattr(given, "schema_"):
            fitted: Any = given
            if hasattr(fitted, "for_schema") and fitted.schema_.names == self.population_.schema.names:
                fitted = fitted.for_schema(self.population_.schema)
            _check_same_columns(fitted, self.population_.schema)
            known: Autoencoder = fitted
            return known
        return self._unfitted_autoencoder().fit(rows)

    def _unfitted_autoencoder(self) -> Autoencoder:
        given = self.autoencoder
        if isinstance(given, str):
            from attain.density import CHVAE

            return CHVAE(self.population_.schema, likelihoods="paper", hidden=0, random_state=self._seed)
        fresh: Autoencoder = clone(given).set_params(schema=self.population_.schema)
        return fresh

    def _learned(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        if not hasattr(self.autoencoder_, "state") or not hasattr(self.autoencoder_, "get_params"):
            raise AttainError(
                f"this {type(self).__name__} cannot be saved: its autoencoder, a {type(self.autoencoder_).__name__}, "
                "needs state, restore and scikit-learn's get_params; see attain.density.Autoencoder"
            )
        facts, arrays = self.autoencoder_.state()
        return {"autoencoder": facts}, {**arrays, "box.low": self.box_[0], "box.high": self.box_[1]}

    def _restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        self.autoencoder_ = self._unfitted_autoencoder().restore(facts["autoencoder"], arrays)
        self.box_ = (arrays["box.low"], arrays["box.high"])
        units = np.shape(self.autoencoder_.active_units)
        if any(side.shape != units or side.dtype != np.float64 for side in self.box_):
            raise FileError("the file does not have the range of the training codes for each latent unit")

    def _latent(self, region: Region, rule: Component = "frozen") -> Latent:
        """The rows' codes and the decoder: typical cells beside each row's own immutable ones.

        The `rule` says which mixture component a code is decoded with, where the autoencoder has several.
        """
        autoencoder: Autoencoder = self.autoencoder_
        own = autoencoder.encode(without_unseen(self.population_.schema, region.start))
        log_components: Callable[[np.ndarray], np.ndarray] | None = getattr(autoencoder, "log_components", None)
        several = 1 if log_components is None else log_components(own.z[:1]).shape[1]

        def decode(z: np.ndarray, owners: np.ndarray, component: np.ndarray | None = None) -> np.ndarray:
            context = own.context[owners]
            if component is None and log_components is not None and several > 1 and rule in ("argmax", "sampled"):
                component = _chosen(log_components(z), z, rule, self._seed)
            if component is not None:
                context[:, 0] = component
            return self._rows(region, owners, autoencoder.decode(Codes(z, context)))

        units = np.asarray(autoencoder.active_units, dtype=bool)
        active = units if units.any() else np.ones_like(units)
        vjp = self._decode_vjp(own) if hasattr(autoencoder, "decode_vjp") else None
        components = several if rule == "all" else 1
        return Latent(own.z.astype(np.float64), *self.box_, active, decode, decode_vjp=vjp, components=components)

    def _decode_vjp(self, own: Codes) -> DecodeVjp:
        free, decode_vjp = self.population_.schema.free_columns, self.autoencoder_.decode_vjp

        def pulled_back(z: np.ndarray, owners: np.ndarray, gradient: np.ndarray) -> np.ndarray:
            in_codes = np.asarray(decode_vjp(Codes(z, own.context[owners]), gradient[:, free]), dtype=np.float64)
            return np.nan_to_num(in_codes, posinf=0.0, neginf=0.0)

        return pulled_back

    def _rows(self, region: Region, owners: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Complete rows: decoded free cells beside each owner's immutable ones, with as few changes as possible."""
        rows = region.start[owners]
        rows[:, self.population_.schema.free_columns] = free
        return fewest_changes(rows, owners, region, self.population_.scale)


def _check_same_columns(autoencoder: Autoencoder, schema: Schema) -> None:
    """Refuses an autoencoder that was fitted on other columns, or on the same in another order."""
    other, kind = autoencoder.schema_, type(autoencoder).__name__
    if other.names != schema.names:
        raise AttainError(
            f"autoencoder is a {kind} fitted with the columns {', '.join(other.names)}, but the explainer's are "
            f"{', '.join(schema.names)}; fit it with the explainer's schema, or pass one that is not fitted"
        )
    for own, its in zip(schema, other, strict=True):
        for part in _DEFINING:
            if getattr(own, part) != getattr(its, part):
                raise AttainError(
                    f"autoencoder is a {kind} fitted with another schema: {part} of {own.name!r} is "
                    f"{getattr(its, part)!r} there and {getattr(own, part)!r} here; "
                    "fit it with the explainer's schema, or pass one that is not fitted"
                )


def _chosen(log_probability: np.ndarray, z: np.ndarray, rule: Component, seed: int) -> np.ndarray:
    """The component (n,) of each code, by log p(c | z) but for a constant, (n, L); a draw depends on z and the seed."""
    if rule == "argmax":
        return np.asarray(log_probability.argmax(axis=1))
    share = np.exp(log_probability - log_probability.max(axis=1, keepdims=True))
    reached = np.cumsum(share, axis=1)
    drawn = uniforms(row_keys(np.ascontiguousarray(z, dtype=np.float64), seed), 0) * reached[:, -1]
    return np.asarray((reached <= drawn[:, None]).sum(axis=1))
