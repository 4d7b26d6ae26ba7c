"""A fitted autoencoder as plain arrays, and back.

The arrays are the leaves of the model's tree, in its fixed order. To read them, the tree is built anew from the schema
and rows with the same columns, and every leaf is put into its place; a leaf of another shape is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import numpy as np

from attain.autoencoders.columns import Columns
from attain.autoencoders.mixture import Mixture
from attain.errors import FileError
from attain.training import History

if TYPE_CHECKING:
    from attain.autoencoders.chvae import Autoencoder
    from attain.schema import Schema


def to_arrays(autoencoder: Autoencoder) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Sizes and history as JSON, weights and constants as arrays."""
    model = autoencoder.model_
    facts = {
        "latent_dim": model.latent_dim,
        "components": model.components,
        "hidden": [int(layer.bias.shape[0]) for layer in model.weights.encoder],
        "estimator": model.estimator,
        "history": autoencoder.history,
        "best_epoch": autoencoder.best_epoch_,
    }
    arrays = {f"model.{i:04d}": np.asarray(leaf) for i, leaf in enumerate(_leaves(model))}
    arrays |= {f"columns.{i:04d}": np.asarray(leaf) for i, leaf in enumerate(_leaves(autoencoder.columns_))}
    return facts, arrays | {"active": np.asarray(autoencoder.active_units)}


def from_arrays(
    autoencoder: Autoencoder, schema: Schema, rows: np.ndarray, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Puts what `to_arrays` gave into an autoencoder that is not fitted; `rows` only give the columns their form."""
    columns = Columns.fit(schema, rows, conditional=autoencoder._conditional)
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
    autoencoder._active = np.asarray(arrays["active"], dtype=bool)


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
    kept = [new if isinstance(old, np.ndarray) else jax.numpy.asarray(new) for old, new in zip(leaves, stored, strict=True)]
    return eqx.combine(jax.tree.unflatten(structure, kept), static)
