"""What the columns of a table are, and what may happen to them: features, schemas, constraints of a call."""

from attain.schema.constraints import Constraints
from attain.schema.feature import DIRECTIONS, KINDS, NUMERIC, VALUE, Direction, Feature, Kind, Level, Limits
from attain.schema.schema import Rule, Schema

__all__ = [
    "DIRECTIONS",
    "KINDS",
    "NUMERIC",
    "VALUE",
    "Constraints",
    "Direction",
    "Feature",
    "Kind",
    "Level",
    "Limits",
    "Rule",
    "Schema",
]
