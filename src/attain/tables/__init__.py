"""Frames as one float64 matrix, and the region of it that each row may reach."""

from attain.core.arrays import unchanged
from attain.engine.cells import on_grid, snapped, spacing
from attain.schema.feature import ordinary
from attain.tables.region import KINDS_OF_VIOLATION, Region
from attain.tables.rules import RuleBook
from attain.tables.table import Errors, Layout, Table, desired_labels, is_on_grid, read_labels, without_unseen

__all__ = [
    "KINDS_OF_VIOLATION",
    "Errors",
    "Layout",
    "Region",
    "RuleBook",
    "Table",
    "desired_labels",
    "is_on_grid",
    "on_grid",
    "ordinary",
    "read_labels",
    "snapped",
    "spacing",
    "unchanged",
    "without_unseen",
]
