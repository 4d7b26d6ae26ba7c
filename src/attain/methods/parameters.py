"""Parameters of a method with the values they may take, declared as fields: `samples: int = integer(200, least=1)`.

`Explainer` checks them in `fit` and `explain`. A parameter whose default is None may be None.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, fields, is_dataclass
from typing import Any, get_args

from attain.core.checks import check_choice, check_integer, check_number


def integer(default: int | None, least: int) -> Any:
    """A field for an integer ≥ `least`."""
    return _checked(default, lambda name, value: check_integer(name, value, least))


def number(default: float | None, **limits: float) -> Any:
    """A field for a number within limits: `least`, `above` or `below`."""
    return _checked(default, lambda name, value: check_number(name, value, **limits))


def choice(default: str, known: Any) -> Any:
    """A field for one of the `known` values: a `Literal`."""
    return _checked(default, lambda name, value: check_choice(name, value, get_args(known)))


def _checked(default: Any, check: Callable[[str, Any], None]) -> Any:
    return field(default=default, metadata={"check": check})


def check_fields(explainer: Any) -> None:
    """Refuses values that the fields do not take, in a sentence that names the parameter.

    A class that only gives a parameter another default keeps the check of its parent.
    """
    classes = [parent.__dataclass_fields__ for parent in type(explainer).__mro__ if is_dataclass(parent)]
    for parameter in fields(explainer):
        value, name = getattr(explainer, parameter.name), parameter.name
        declared = [known[name].metadata for known in classes if name in known]
        check = next((found["check"] for found in declared if "check" in found), None)
        if check is not None and not (value is None and parameter.default is None):
            check(name, value)
