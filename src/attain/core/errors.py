"""Exceptions whose messages say what to do.

Every exception of this package derives from `AttainError`. Its message names the column or parameter, what was found,
and what to do about it. A search that finds nothing raises no exception: that is a `Status`.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

_LONGEST_WORD = 100
"""Longer words are not compared with others, which takes time."""


_LONGEST_MESSAGE = 1500
"""Longer messages about files are cut in the middle."""


class AttainError(ValueError):
    """The call was wrong; the message says what went wrong, where, and how to fix it."""


class SchemaError(AttainError):
    """The schema contradicts itself, or a file is not a schema."""


class DataError(AttainError):
    """A frame does not fit its schema."""


class ConstraintError(AttainError):
    """The constraints of a call are invalid, or would loosen the schema."""


class ModelError(AttainError):
    """The classifier could not be called, or returned something that is not a prediction."""


class FileError(AttainError):
    """A file is missing, cannot be written, or is not in the expected format: every file that is not read raises it."""

    def __init__(self, message: str) -> None:
        # a message may quote what is in the file, which may be of any length
        half = _LONGEST_MESSAGE // 2
        super().__init__(message if len(message) <= _LONGEST_MESSAGE else f"{message[:half]} … {message[-half:]}")


def unread(path: object, error: OSError, what: str = "") -> FileError:
    """The error for a file that is missing, or that the system does not read; `what` is a noun, or a flag and `:`."""
    if isinstance(error, FileNotFoundError):
        return FileError(f"{what if what.endswith(':') else ''} there is no file {str(path)!r}".lstrip())
    return FileError(f"{what} {str(path)!r} could not be read: {error.strerror or error}".lstrip())


class MissingExtraError(AttainError, ImportError):
    """An optional dependency is required but not installed."""


def listed(items: Iterable[object], most: int = 8) -> str:
    """`'a', 'b' and 3 more`, for messages."""
    shown = [repr(item) for item in items]
    if len(shown) <= most:
        return ", ".join(shown) if shown else "none"
    return ", ".join(shown[:most]) + f" and {len(shown) - most} more"


def did_you_mean(word: str, known: Iterable[str] | Mapping[str, str]) -> str:
    """`; did you mean …?` with the closest of the known words; empty where none is close.

    A mapping says how each is written; otherwise they are quoted.
    """
    written = known if isinstance(known, Mapping) else {text: repr(text) for text in known}
    folded = {text.casefold(): shown for text, shown in written.items()}
    close = get_close_matches(word.casefold(), folded, n=1) if len(word) <= _LONGEST_WORD else []
    return f"; did you mean {folded[close[0]]}?" if close else ""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C stopped a search; `result` has the answers found until then, and `INTERRUPTED` for all other rows."""

    def __init__(self, result: object) -> None:
        super().__init__("the search was interrupted; the answers found until then are in the exception's `result`")
        self.result = result
