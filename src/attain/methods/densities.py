"""The density model of a method: its parameter, and what `fit` makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from sklearn.base import clone

from attain.core.errors import AttainError
from attain.density.autoencoder import Autoencoder, State
from attain.density.densities import AutoencoderDensity, Density, TreeDensity
from attain.schema import Schema

DensityChoice: TypeAlias = Density | Autoencoder | Literal["trees"] | None
"""A density or an autoencoder, fitted or not; `"trees"`, a `TreeDensity` with default parameters; or None."""

_CALLED = ("log_density", "sample")
_LATENT = ("encode", "decode")
_PREFIX = "density."
_DEFINING = ("name", "kind", "levels", "special", "immutable", "derived")
"""What of a feature decides how its cells are modelled."""


def check_density_choice(given: Any) -> None:
    """Refuses what is neither a density nor an autoencoder."""
    if given is None or given == "trees":
        return
    if isinstance(given, str):
        raise AttainError(f"density must be a density, an autoencoder, 'trees' or None, got {given!r}")
    check_members("density", given, _CALLED, "attain.densities.Density")


def check_members(name: str, given: Any, called: Sequence[str], contract: str) -> None:
    """Refuses a model that lacks what is called, or that is neither fitted nor can be."""
    lacking = [member for member in called if not hasattr(given, member)]
    if not hasattr(given, "schema_") and not hasattr(given, "fit"):
        lacking.append("fit")
    if lacking:
        raise AttainError(f"{name} is a {type(given).__name__}, which has no {', '.join(lacking)}; see {contract}")


def unfitted_density(given: DensityChoice, schema: Schema, seed: int, samples: int) -> Density | None:
    """The density that a parameter names, not fitted; an autoencoder's is bounded with `samples` draws a row."""
    if given is None:
        return None
    if isinstance(given, str):
        return TreeDensity(schema, random_state=seed)
    if _is_autoencoder(given):
        return AutoencoderDensity(schema, autoencoder=clone(given), samples=samples, random_state=seed)
    fresh: Density = clone(given).set_params(schema=schema)
    return fresh


def fitted_density(given: DensityChoice, schema: Schema, rows: np.ndarray, seed: int, samples: int) -> Density | None:
    """The density that a parameter names, fitted on rows (n, d); one that is fitted is used as it is."""
    fitted: Any = given
    if hasattr(fitted, "schema_"):
        fitted = for_schema(fitted, schema)
        check_same_columns("density", fitted, schema)
        known: Density = fitted
        return AutoencoderDensity.of(fitted, samples=samples, random_state=seed) if _is_autoencoder(fitted) else known
    fresh = unfitted_density(given, schema, seed, samples)
    return None if fresh is None else fresh.fit(rows)


def density_state(density: Density) -> State:
    """What a density has learned, its arrays as `density.NAME`."""
    if not hasattr(density, "state") or not hasattr(density, "get_params"):
        raise AttainError(
            f"this explainer cannot be saved: its density, a {type(density).__name__}, needs state, restore and "
            "scikit-learn's get_params; see attain.densities.Density"
        )
    facts, arrays = density.state()
    return facts, {f"{_PREFIX}{name}": array for name, array in arrays.items()}


def restored_density(
    given: DensityChoice,
    schema: Schema,
    facts: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    seed: int,
    samples: int,
) -> Density | None:
    """The density that a parameter names, with what `density_state` gave."""
    fresh = unfitted_density(given, schema, seed, samples)
    own = {name.removeprefix(_PREFIX): array for name, array in arrays.items() if name.startswith(_PREFIX)}
    return None if fresh is None else fresh.restore(facts, own)


def _is_autoencoder(given: Any) -> bool:
    return all(hasattr(given, name) for name in _LATENT)


def for_schema(model: Any, schema: Schema) -> Any:
    """A fitted model for what this schema says is immutable, where it can be given any columns."""
    return model.for_schema(schema) if hasattr(model, "for_schema") and model.schema_.names == schema.names else model


def check_same_columns(name: str, model: Density | Autoencoder, schema: Schema) -> None:
    """Refuses a model, of the parameter `name`, that was fitted on other columns, or on the same in another order."""
    other, kind = model.schema_, type(model).__name__
    if other.names != schema.names:
        raise AttainError(
            f"{name} is a {kind} fitted with the columns {', '.join(other.names)}, but the explainer's are "
            f"{', '.join(schema.names)}; fit it with the explainer's schema, or pass one that is not fitted"
        )
    for own, its in zip(schema, other, strict=True):
        for part in _DEFINING:
            if getattr(own, part) != getattr(its, part):
                raise AttainError(
                    f"{name} is a {kind} fitted with another schema: {part} of {own.name!r} is "
                    f"{getattr(its, part)!r} there and {getattr(own, part)!r} here; "
                    "fit it with the explainer's schema, or pass one that is not fitted"
                )
