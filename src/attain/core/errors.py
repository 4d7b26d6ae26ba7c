"""Exceptions whose messages say what to do, and checks of parameters and of names of columns, which raise them.

Every exception of this package derives from `AttainError`. Its message names the column or parameter, what was found,
and what to do about it. A search that finds nothing raises no exception: that is a `Status`.
"""

import math
import numbers
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import Final

import numpy as np

TIMEOUT: Final = 60.0
"""The seconds that each person has by default: many times what a search takes, so that answers do not depend on it."""
_LARGEST = 2**63 - 1
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


def check_integer(name: str, value: object, least: int) -> None:
    """Raises unless `value` is an integer ≥ `least` of at most 63 bits."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
        raise AttainError(f"{name} must be an integer ≥ {least}, got {value!r}")
    if int(value) > _LARGEST:
        raise AttainError(f"{name} must be an integer ≤ {_LARGEST}, got one of {int(value).bit_length()} bits")


def check_number(
    name: str,
    value: object,
    *,
    least: float | None = None,
    above: float | None = None,
    below: float = math.inf,
    most: float = math.inf,
) -> None:
    """Raises unless `value` is a finite number ≥ `least`, > `above`, < `below` and ≤ `most`."""
    number = float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else math.nan
    if (least is None or number >= least) and (above is None or number > above) and number < below and number <= most:
        return
    limits = [f"≥ {least:g}"] if least is not None else []
    limits += [f"> {above:g}"] if above is not None else []
    limits += [f"< {below:g}"] if below < math.inf else []
    limits += [f"≤ {most:g}"] if most < math.inf else []
    raise AttainError(f"{name} must be a number {' and '.join(limits)}, got {value!r}")


def check_boolean(name: str, value: object) -> None:
    """Raises unless `value` is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise AttainError(f"{name} must be True or False, got {value!r}")


def check_choice(name: str, value: object, choices: Iterable[object]) -> None:
    """Raises unless `value` is one of `choices`."""
    known = list(choices)
    if not any(value is choice or (type(value) is type(choice) and value == choice) for choice in known):
        raise AttainError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}")


def free_name(name: str, taken: Collection[str]) -> str:
    """The name, with underscores appended until it is unused."""
    while name in taken:
        name += "_"
    return name


def matching(name: str, text: str, choices: Iterable[str]) -> str:
    """The choice that a text means, in upper or lower case, with or without hyphens; `name` is the parameter's."""
    known = {_letters(choice): choice for choice in choices}
    if _letters(text) not in known:
        meant = did_you_mean(text, known.values())
        raise AttainError(f"{name} must be one of {', '.join(known.values())}, got {text!r}{meant}")
    return known[_letters(text)]


def _letters(text: str) -> str:
    return re.sub(r"[-_ ]", "", text).lower()


def repeated(names: Iterable[str]) -> list[str]:
    """The names that occur more than once."""
    return [name for name, count in Counter(names).items() if count > 1]
