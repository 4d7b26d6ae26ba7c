"""Methods of other packages on the bench's people: DiCE (dice-ml 0.12) and treecf (0.3.2), where they are installed.

Each is told all of a schema that it can be told: which columns are fixed, the bounds of numbers, which way they may
move, their steps, which levels can be reached. A person's special codes and missing cells stay as they are. What a
package cannot be told it may break; the bench counts that. Cells that a package leaves alone are the person's own, to
the last bit. Each function here makes a method for a schema and a seed.
"""

from __future__ import annotations

from attain.schema import Schema
from experiments.outside.dice import DiceML
from experiments.outside.treecf import TreeCF

__all__ = ["DiceML", "TreeCF", "dice_genetic", "dice_kdtree", "dice_random", "treecf_exact", "treecf_genetic"]


def dice_genetic(schema: Schema, seed: int) -> DiceML:
    """DiCE's genetic search."""
    return DiceML(schema, "genetic", seed)


def dice_random(schema: Schema, seed: int) -> DiceML:
    """DiCE's random search."""
    return DiceML(schema, "random", seed)


def dice_kdtree(schema: Schema, seed: int) -> DiceML:
    """DiCE's choice among training people."""
    return DiceML(schema, "kdtree", seed)


def treecf_genetic(schema: Schema, seed: int) -> TreeCF:
    """treecf's genetic search."""
    return TreeCF(schema, "genetic", seed)


def treecf_exact(schema: Schema, seed: int) -> TreeCF:
    """treecf's exact search."""
    return TreeCF(schema, "exact", seed)
