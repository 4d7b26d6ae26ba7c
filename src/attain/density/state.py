"""A fitted autoencoder as plain arrays, and back.

The arrays are the leaves of the model's tree, in its fixed order. To read them, the tree is built anew from the schema
and rows with the same columns, and every leaf is put into its place; a leaf of another shape is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import numpy as np

from attain.core.errors import FileError
from attain.density.columns import Columns
from attain.density.mixture import Mixture
from attain.density.training import History

if TYPE_CHECKING:
    from attain.density.base import Autoencoder
    from attain.schema import Schema


def to_arrays(autoencoder: Autoencoder) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Sizes and history as JSON, weights and constants as arrays."""
    model = autoencoder.model_
    facts = {
        "latent_dim": model.latent_dim,
        "components": model.components,
        "hidden": [int(layer.bias.shape[0]) for layer in model.weights.encoder],
        "estimator": model.estimator,
        "flagged": list(autoencoder.columns_.flagged),
        "history": autoencoder.history,
        "best_epoch": autoencoder.best_epoch_,
    }
    arrays = {f"model.{i:04d}": np.asarray(leaf) for i, leaf in enumerate(_leaves(model))}
    arrays |= {f"columns.{i:04d}": np.asarray(leaf) for i, leaf in enumerate(_leaves(autoencoder.columns_))}
    return facts, arrays | {"active": np.asarray(autoencoder.active_units)}


def from_arrays(
    autoencoder: Autoencoder,
    schema: Schema,
    rows: np.ndarray,
    facts: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
) -> None:
    """Puts what `to_arrays` gave into an autoencoder that is not fitted; `rows` only give the columns their form."""
    fitted = Columns.fit(schema, rows, conditional=autoencoder._conditional)
    columns = Columns(fitted.free, fitted.conditions, _flagged(facts["flagged"], fitted), fitted.names)
    _check_sizes(facts, sum(array.size for array in arrays.values()))
    model = Mixture.initial(
        columns,
        jax.random.key(0),
        latent_dim=facts["latent_dim"],
        components=facts["components"],
        hidden=tuple(facts["hidden"]),
        estimator=facts["estimator"],
    )
    autoencoder.schema_ = schema
    autoencoder.n_features_in_ = len(schema)
    autoencoder.columns_ = _filled(columns, "columns", arrays)
    autoencoder.model_ = _filled(model, "model", arrays)
    history = facts["history"]
    autoencoder._history = History(
        history["reconstruction"], history["kl_latent"], history["kl_component"], history["validation"]
    )
    autoencoder.best_epoch_ = facts["best_epoch"]
    active = arrays["active"]
    if active.shape != (facts["latent_dim"],) or active.dtype != np.bool_:
        raise FileError("the file does not say of each latent unit whether it is active")
    autoencoder._active = active


def _flagged(places: Any, columns: Columns) -> tuple[int, ...]:
    """The columns that had missing cells in training, which rows held back may have too."""
    count = sum(len(block.positions) for block in (*columns.free, *columns.conditions))
    if not isinstance(places, list) or not all(type(place) is int and 0 <= place < count for place in places):
        raise FileError(f"the file flags the columns {places!r}, where there are {count}")
    return tuple(places)


def _check_sizes(facts: Mapping[str, Any], stored: int) -> None:
    """Refuses sizes for which the file has too few numbers, before room is made for them."""
    hidden = facts["hidden"]
    sizes = [facts["latent_dim"], facts["components"], *hidden]
    if not all(type(size) is int and size >= 1 for size in sizes):
        raise FileError(f"the file names sizes that are no whole numbers from 1 upward: {sizes[:8]}")
    needed = sum(2 * size for size in hidden) + sum(before * after for before, after in pairwise(hidden))
    if needed + facts["latent_dim"] + facts["components"] > stored:
        raise FileError("the file names sizes of a network that is larger than the file")


def _leaves(tree: Any) -> list[Any]:
    return jax.tree.leaves(eqx.filter(tree, eqx.is_array))


def _filled(tree: Any, name: str, arrays: Mapping[str, np.ndarray]) -> Any:
    dynamic, static = eqx.partition(tree, eqx.is_array)
    leaves, structure = jax.tree.flatten(dynamic)
    stored = [arrays[key] for key in sorted(arrays) if key.startswith(f"{name}.")]
    if len(stored) != len(leaves):
        raise FileError(f"the file has {len(stored)} arrays for the {name}, where the schema needs {len(leaves)}")
    for old, new in zip(leaves, stored, strict=True):
        if np.shape(old) != np.shape(new) or np.asarray(old).dtype != new.dtype:
            raise FileError(f"an array of the {name} has the shape {np.shape(new)}, where {np.shape(old)} is needed")
    kept = [
        new if isinstance(old, np.ndarray) else jax.numpy.asarray(new) for old, new in zip(leaves, stored, strict=True)
    ]
    return eqx.combine(jax.tree.unflatten(structure, kept), static)
