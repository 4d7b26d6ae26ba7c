"""Rules and laws as sentences, with translated names of inputs and levels."""

from __future__ import annotations

from functools import reduce
from typing import Final

from attain.core.text import joined
from attain.desk.letters.texts import Texts
from attain.schema import Feature, Schema
from attain.schema.formulas import Among, And, Comparison, Expression, Formula, Implication, Missing, Not, Or

_SIGNS: Final = {"<=": "≤", ">=": "≥", "-": "−", "*": "×", "/": "÷", "**": "^"}
_JOINED: Final = {And: "{} and {}", Or: "{} or {}"}


def rule_sentence(formula: Formula, schema: Schema, texts: Texts) -> str:
    """“If housing = “rents”, then mortgage = 0 $.”"""
    sentence = _Words(schema, texts).of(formula)
    return f"{sentence[:1].upper()}{sentence[1:]}."


class _Words:
    """Puts formulas into the words of a table of texts."""

    def __init__(self, schema: Schema, texts: Texts) -> None:
        self._schema, self._texts, self._said = schema, texts, texts.language.said

    def of(self, formula: Formula) -> str:
        if isinstance(formula, Implication):
            return self._said("If {}, then {}", self._inner(formula.condition), self._inner(formula.consequence))
        if isinstance(formula, And | Or):
            template = _JOINED[type(formula)]
            return reduce(lambda left, right: self._said(template, left, right), map(self._inner, formula.parts))
        if isinstance(formula, Not):
            part = formula.part
            if isinstance(part, Missing):
                return self._said("{} is known", self._label(part.name))
            return self._among(part, "≠") if isinstance(part, Among) else self._said("not: {}", self._inner(part))
        if isinstance(formula, Missing):
            return self._said("{} is missing", self._label(formula.name))
        return self._among(formula, "=") if isinstance(formula, Among) else self._comparison(formula)

    def _inner(self, part: Formula) -> str:
        joined = isinstance(part, Or | Implication) or (isinstance(part, Not) and not isinstance(part.part, Missing))
        return f"({self.of(part)})" if joined else self.of(part)

    def _among(self, formula: Among, sign: str) -> str:
        feature = self._schema[formula.name]
        values = [self._value(feature, cell) for cell in formula.values]
        between = self._said("{} or {}", "", "")  # the word of the language, with blanks around it
        return f"{self._label(formula.name)} {sign} {joined(values, between)}"

    def _comparison(self, formula: Comparison) -> str:
        left, right = formula.left, formula.right
        if formula.operator == "<=" and not right.names and (apart := left.distance) is not None:
            name, value = apart
            return f"{self._label(name)} = {self._expression(value, name)} ± {self._expression(right, None)}"
        sign = _SIGNS.get(formula.operator, formula.operator)
        return f"{self._expression(left, right.column)} {sign} {self._expression(right, left.column)}"

    def _expression(self, expression: Expression, compared: str | None) -> str:
        """An expression; a constant that is compared with a column is one of its values."""
        if compared is not None and len(expression.steps) == 1 and expression.steps[0][0] == "number":
            return self._value(self._schema[compared], float(expression.steps[0][1]))
        stack: list[tuple[str, bool]] = []
        for kind, content in expression.steps:
            if kind == "number":
                stack.append((self._texts.language.number(content), False))
            elif kind == "column":
                stack.append((self._label(content), False))
            elif kind == "table":
                stack.append((self._said("{} by a table", self._label(content.name)), False))
            else:
                stack[-content:] = [_operation(kind, stack[-content:])]
        return stack.pop()[0]

    def _label(self, name: str) -> str:
        return self._texts.label(self._schema[name])

    def _value(self, feature: Feature, cell: float) -> str:
        if feature.numeric:
            return self._texts.value(feature, cell)
        return self._said("“{}”", self._texts.value(feature, feature.levels[int(cell)]))


_INFIX: Final = ("+", "-", "*", "/", "**")


def _operation(kind: str, operands: list[tuple[str, bool]]) -> tuple[str, bool]:
    """An operation with its operands, and whether it needs parentheses inside another one."""
    if kind not in _INFIX and kind != "negate":
        return f"{kind}({', '.join(text for text, _ in operands)})", False
    inner = [f"({text})" if joined else text for text, joined in operands]
    return (f"−{inner[0]}" if kind == "negate" else f" {_SIGNS.get(kind, kind)} ".join(inner)), True
