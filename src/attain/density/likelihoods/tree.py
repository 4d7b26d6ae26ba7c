"""Frozen dataclasses of arrays that compiled functions of JAX take, and that NumPy code can use as they are."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, dataclass_transform

import jax


def static() -> Any:
    """A field that is no array: a compiled function is compiled for its value."""
    return field(metadata={"static": True})


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field, static))
class Tree:
    """Makes a subclass, by its annotated fields, a frozen dataclass and a tree of arrays for JAX."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        dataclass(frozen=True, eq=False)(cls)
        every = fields(cls)  # type: ignore[arg-type]
        meta = [one.name for one in every if one.metadata.get("static")]
        jax.tree_util.register_dataclass(cls, [one.name for one in every if one.name not in meta], meta)
