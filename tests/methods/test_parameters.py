"""Parameters declared as fields are checked in `fit` and in `explain`, by name."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from attain.methods.base import check_fields, choice, integer, number
from tests.misuse import calls, check_call


@dataclass
class Method:
    samples: int = integer(200, least=1)
    share: float = number(0.5, above=0, below=1)
    most: int | None = integer(None, least=2)
    kind: Literal["a", "b"] = choice("a", Literal["a", "b"])
    free: Any = None


@dataclass
class More(Method):
    samples: int = 300


def test_defaults_and_values_within_limits_are_taken() -> None:
    check_fields(Method())
    check_fields(More())
    check_fields(Method(samples=1, share=0.9, most=2, kind="b", free=object()))


@pytest.mark.parametrize(("call", "message"), calls(Path(__file__).with_name("parameters.txt")))
def test_a_wrong_value_is_named(call: str, message: str) -> None:
    check_call(call, message, globals())
