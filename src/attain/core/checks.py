"""Checks of parameters and of names of columns.

Messages name the parameter, what it must be and what it is.
"""

from __future__ import annotations

import math
import numbers
import re
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Final

import numpy as np

from attain.core.errors import AttainError, did_you_mean

TIMEOUT: Final = 60.0
"""The seconds that each person has by default: many times what a search takes, so that answers do not depend on it."""
_LARGEST = 2**63 - 1


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
