"""What was found, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attain.core.text import number
from attain.schema.finding.statements import Excludes, Relation, Statement, States, Table
from attain.schema.finding.states import Atom, Column, Feature


def law_sentence(statement: Statement, features: Sequence[Feature]) -> str:
    """“Whoever has relationship Husband has sex Male.”"""
    if isinstance(statement, Relation):
        return _relation(statement, [feature.title for feature in features])
    if isinstance(statement, Table):
        return f"{features[statement.b].title} follows from {features[statement.a].title}."
    if isinstance(statement, Excludes):
        return _excludes(statement)
    feature, low, high = statement.column.feature, statement.low, statement.high
    if low is not None and high is not None:
        limits = f"between {_amount(feature, low)} and {_amount(feature, high)}"
    else:
        limits = f"of at most {_amount(feature, high)}" if high is not None else f"of at least {_amount(feature, low)}"
    return f"Whoever has {_phrase(statement.given)} has {feature.title} {limits}."


def _relation(relation: Relation, titles: Sequence[str]) -> str:
    a, b = titles[relation.a], titles[relation.b]
    if relation.sign == "<=":
        return f"{a} is never larger than {b}."
    if relation.c is None:
        return f"{a} equals {b}."
    c, exact = titles[relation.c], relation.decimals is None and not relation.tolerance
    said = {"+": f"the sum of {b} and {c}", "*": f"{b} times {c}", "/": f"{b} divided by {c}"}[relation.operator]
    return f"{a} is {said}{'' if exact else ', up to rounding'}."


def _excludes(statement: Excludes) -> str:
    given = _joined(list(map(_phrase, statement.given)), "or" if statement.either else "and")
    left = [_remaining(states) for states in statement.excluded]
    if all(left):
        return f"Whoever has {given} has {_joined([phrase for phrase in left if phrase], 'and')}."
    column = statement.excluded[0].column
    phrases = [_phrase(States(column, (state,))) for state in statement.excluded[0].states]
    shared = f"{column.feature.title} "
    return f"Nobody with {given} has {_joined([phrases[0], *(p.removeprefix(shared) for p in phrases[1:])], 'or')}."


def _phrase(given: States) -> str:
    """“relationship Husband or Wife”, “capital-gain above 0”, “no value of income”."""
    feature, atoms = given.column.feature, [given.column.atom(state) for state in given.states]
    if atoms[0] is None:
        return f"a value of {feature.title}"
    if atoms[0].kind == "missing":
        return f"no value of {feature.title}"
    return f"{feature.title} {_joined([_shown(feature, atom) for atom in atoms if atom is not None], 'or')}"


def _remaining(excluded: States) -> str:
    """What is left of a column, where that is said easily; empty otherwise."""
    column, feature = excluded.column, excluded.column.feature
    atoms = [column.atom(state) for state in excluded.states]
    gone = [atom for atom in atoms if atom is not None]
    if column.presence(excluded.states[0]):
        return _codes(column, gone) if None in atoms else ""
    if not feature.numeric:
        left = column.remaining(excluded.states)
        return f"{feature.title} {_joined([str(feature.levels[k]) for k in left], 'or')}" if left else ""
    ordinary = [atom for atom in column.atoms if atom.ordinary and atom not in gone]
    return f"{feature.title} {_shown(feature, ordinary[0])}" if len(ordinary) == 1 else ""


def _codes(column: Column, gone: Sequence[Atom]) -> str:
    """The special codes that are left, and missing cells."""
    feature, left = column.feature, [atom for atom in column.atoms if not atom.ordinary and atom not in gone]
    codes = [_shown(feature, atom) for atom in left if atom.kind == "special"]
    phrases = [f"{feature.title} {_joined(codes, 'or')}"] if codes else []
    if any(atom.kind == "missing" for atom in left):
        phrases.append(f"no value of {feature.title}")
    return _joined(phrases, "or")


def _shown(feature: Feature, atom: Atom) -> str:
    if atom.kind == "gap":
        if np.isinf(atom.low):
            return f"below {_amount(feature, atom.high)}"
        low = _amount(feature, atom.low)
        return f"above {low}" if np.isinf(atom.high) else f"between {low} and {_amount(feature, atom.high)}"
    if atom.kind == "special":
        meaning = feature.special.get(atom.low, "")
        return number(atom.low) + (f" ({meaning})" if meaning else "")
    return _amount(feature, atom.low) if feature.numeric else str(feature.levels[int(atom.low)])


def _amount(feature: Feature, value: float | None) -> str:
    return number(value) + (f" {feature.unit}" if feature.unit else "")


def _joined(words: Sequence[str], last: str) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"
