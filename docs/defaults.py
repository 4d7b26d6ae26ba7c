"""What the reference shows of parameters: their defaults, and each by itself."""

import re
from typing import Any

import griffe

DECLARED = {"integer", "number", "choice", "field"}
TOGETHER = re.compile(r"^( *)(\w+(?:, \w+)+)((?:\n\1 +.*|\n(?=\n))+)", re.MULTILINE)
"""Several parameters with one description, which is indented below their names."""


class Defaults(griffe.Extension):
    """`budget: int = integer(50_000, least=2)` has the default 50_000, and `low, high` are two parameters.

    Read as one, several parameters would all be shown with the type and the default of the first.
    """

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        call = attr.value
        first = call.arguments[:1] if isinstance(call, griffe.ExprCall) and str(call.function) in DECLARED else []
        if first and not isinstance(first[0], griffe.ExprKeyword):
            attr.value = first[0]

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = TOGETHER.sub(_apart, obj.docstring.value)


def _apart(found: re.Match[str]) -> str:
    margin, names, description = found.groups()
    return "\n".join(f"{margin}{name}{description.rstrip()}" for name in names.split(", ")) + "\n" * (
        len(description) - len(description.rstrip())
    )
