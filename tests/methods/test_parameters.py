"""Parameters declared as fields are checked in `fit` and in `explain`, by name."""

from dataclasses import dataclass
from typing import Any, Literal

import pytest

from attain.core.errors import AttainError
from attain.methods.base import check_fields, choice, integer, number


@dataclass
class Method:
    samples: int = integer(200, least=1)
    share: float = number(0.5, above=0, below=1)
    most: int | None = integer(None, least=2)
    kind: Literal["a", "b"] = choice("a", Literal["a", "b"])
    free: Any = None


def test_defaults_and_values_within_limits_are_taken() -> None:
    check_fields(Method())
    check_fields(Method(samples=1, share=0.9, most=2, kind="b", free=object()))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"samples": 0}, "samples must be an integer ≥ 1, got 0"),
        ({"samples": None}, "samples must be an integer ≥ 1, got None"),
        ({"share": 1}, "share must be a number > 0 and < 1, got 1"),
        ({"most": 1}, "most must be an integer ≥ 2, got 1"),
        ({"kind": "c"}, "kind must be one of 'a', 'b', got 'c'"),
    ],
)
def test_a_wrong_value_is_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(AttainError) as raised:
        check_fields(Method(**wrong))
    assert str(raised.value) == message


@dataclass
class More(Method):
    samples: int = 300


def test_another_default_keeps_the_check() -> None:
    check_fields(More())
    with pytest.raises(AttainError, match="samples must be"):
        check_fields(More(samples=0))
