"""Frozen dataclasses of arrays, which training hands to compiled functions of JAX, and NumPy code uses as they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, dataclass_transform

import numpy as np


def static() -> Any:
    """A field that is no array: a compiled function is compiled for its value."""
    return field(metadata={"static": True})


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field, static))
class Tree:
    """Makes a subclass, by its annotated fields, a frozen dataclass and a tree of arrays."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        dataclass(frozen=True, eq=False)(cls)

    @classmethod
    def parts(cls) -> tuple[list[str], list[str]]:
        """The names of the fields with arrays, and of the static ones."""
        every = fields(cls)  # type: ignore[arg-type]
        meta = [one.name for one in every if one.metadata.get("static")]
        return [one.name for one in every if one.name not in meta], meta


def every_tree(kind: type[Tree] = Tree) -> Iterator[type[Tree]]:
    """All classes of trees that exist by now."""
    for one in kind.__subclasses__():
        yield one
        yield from every_tree(one)


def leaves(tree: Any) -> list[np.ndarray]:
    """The arrays of a tree, in the fixed order of its fields."""
    if isinstance(tree, Tree):
        return [leaf for name in tree.parts()[0] for leaf in leaves(getattr(tree, name))]
    return [leaf for part in tree for leaf in leaves(part)] if isinstance(tree, tuple) else [tree]


def filled(tree: Any, arrays: Iterator[np.ndarray]) -> Any:
    """The tree with other arrays, in the order of `leaves`."""
    if isinstance(tree, Tree):
        names, meta = tree.parts()
        own = {name: filled(getattr(tree, name), arrays) for name in names}
        return type(tree)(**own, **{name: getattr(tree, name) for name in meta})
    return tuple(filled(part, arrays) for part in tree) if isinstance(tree, tuple) else next(arrays)
