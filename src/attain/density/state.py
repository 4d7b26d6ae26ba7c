"""The arrays of a fitted mixture model, and the way back.

The arrays are the leaves of the model's tree, in its fixed order. To read them, the tree is built from the schema, and
every leaf is replaced; a leaf of another shape is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import equinox as eqx
import jax
import numpy as np

from attain.core.errors import FileError
from attain.density.columns import Columns
from attain.density.mixture import Mixture
from attain.density.objective import Objective


def leaves(name: str, tree: Any) -> dict[str, np.ndarray]:
    """The arrays of a tree, named `name.0000` and so on."""
    found = jax.tree.leaves(eqx.filter(tree, eqx.is_array))
    return {f"{name}.{i:04d}": np.asarray(leaf) for i, leaf in enumerate(found)}


def rebuilt(
    form: Columns, objective: Objective, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> tuple[Columns, Mixture]:
    """Columns and model with the sizes of `facts` and the leaves of `arrays`.

    Of `form`, columns of the same schema, only the structure is used: every constant comes from the arrays.
    """
    columns = Columns(form.free, form.conditions, _flagged(facts["flagged"], form), form.names)
    _check_sizes(facts, sum(array.size for array in arrays.values()))
    # Only the shapes of its arrays: nothing is drawn or compiled.
    model = jax.eval_shape(
        lambda: Mixture.initial(
            columns,
            jax.random.key(0),
            latent_dim=facts["latent_dim"],
            components=facts["components"],
            hidden=tuple(facts["hidden"]),
            estimator=facts["estimator"],
            objective=objective,
        )
    )
    filled: Columns = _filled(columns, "columns", arrays)
    for block in (*filled.free, *filled.conditions):
        block.likelihood.check()
    return filled, _filled(model, "model", arrays)


def _flagged(places: Any, columns: Columns) -> tuple[int, ...]:
    """The columns that had missing cells in training."""
    count = sum(len(block.positions) for block in (*columns.free, *columns.conditions))
    if not isinstance(places, list) or not all(type(place) is int and 0 <= place < count for place in places):
        raise FileError(f"the file flags the columns {places!r}, where there are {count}")
    return tuple(places)


def _check_sizes(facts: Mapping[str, Any], stored: int) -> None:
    """Refuses sizes for which the file has too few numbers, before room is made for them."""
    hidden = facts["hidden"]
    sizes = [facts["latent_dim"], facts["components"], *hidden]
    if not all(type(size) is int and size >= 1 for size in sizes):
        raise FileError(f"sizes must be integers ≥ 1, got {sizes[:8]}")
    needed = sum(2 * size for size in hidden) + sum(before * after for before, after in pairwise(hidden))
    if needed + facts["latent_dim"] + facts["components"] > stored:
        raise FileError("the file names sizes of a network that is larger than the file")


def _filled(tree: Any, name: str, arrays: Mapping[str, np.ndarray]) -> Any:
    dynamic, static = eqx.partition(tree, lambda leaf: eqx.is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct))
    old_leaves, structure = jax.tree.flatten(dynamic)
    stored = [arrays[key] for key in sorted(arrays) if key.startswith(f"{name}.")]
    if len(stored) != len(old_leaves):
        raise FileError(f"the file has {len(stored)} arrays for the {name}, where the schema needs {len(old_leaves)}")
    for old, new in zip(old_leaves, stored, strict=True):
        if np.shape(old) != np.shape(new) or old.dtype != new.dtype:
            raise FileError(f"an array of the {name} has the shape {np.shape(new)}, where {np.shape(old)} is needed")
    kept = [
        new if isinstance(old, np.ndarray) else jax.numpy.asarray(new)
        for old, new in zip(old_leaves, stored, strict=True)
    ]
    return eqx.combine(jax.tree.unflatten(structure, kept), static)
