"""Misuse, told in words.

Every exception of this package derives from `AttainError`. Its message names the column or parameter, says what was
found, and says what to do about it. A search that finds nothing is no exception: that is a `Status`.
"""

from collections.abc import Iterable


class AttainError(ValueError):
    """Something about the call was wrong; the message says what, where and how to mend it."""


class SchemaError(AttainError):
    """The schema contradicts itself, or a text is not a schema."""


class DataError(AttainError):
    """A frame does not fit its schema."""


class ConstraintError(AttainError):
    """The constraints of one call cannot be understood, or would loosen the schema."""


class ModelError(AttainError):
    """The classifier cannot be asked, or gave an answer that is none."""


class FileError(AttainError):
    """A file is not there, or is not what it should be."""


class MissingDataSetError(AttainError):
    """A data set is not here; the message says where to get it and where to put it."""


class MissingExtraError(AttainError, ImportError):
    """An optional dependency is needed and is not installed."""


def listed(items: Iterable[object], most: int = 8) -> str:
    """`'a', 'b' and 3 more`, for messages."""
    shown = [repr(item) for item in items]
    if len(shown) <= most:
        return ", ".join(shown) if shown else "none"
    return ", ".join(shown[:most]) + f" and {len(shown) - most} more"
