"""The reference shows the defaults of parameters, not the calls that declare them with their limits."""

from typing import Any

import griffe

DECLARED = {"integer", "number", "choice", "field"}


class Defaults(griffe.Extension):
    """`budget: int = integer(50_000, least=2)` has the default 50_000."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        call = attr.value
        first = call.arguments[:1] if isinstance(call, griffe.ExprCall) and str(call.function) in DECLARED else []
        if first and not isinstance(first[0], griffe.ExprKeyword):
            attr.value = first[0]
