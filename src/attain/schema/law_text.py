"""What was found, in the language of rules and in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attain.core.text import number
from attain.schema.finding.statements import Excludes, Relation, Statement, States, Table
from attain.schema.finding.states import Atom, Column, Feature
from attain.schema.language import quoted_level, quoted_name


def law_text(statement: Statement, features: Sequence[Feature]) -> str:
    """The rule that says it."""
    if isinstance(statement, Relation):
        a, b = (quoted_name(features[j].name) for j in (statement.a, statement.b))
        return f"{a} {statement.sign} {b}"
    if isinstance(statement, Table):
        return _table(statement, features[statement.a], features[statement.b])
    if isinstance(statement, Excludes):
        condition = " or ".join(map(_condition, statement.given))
        return f"if {condition} then {' and '.join(map(_consequence, statement.excluded))}"
    name, low, high = quoted_name(statement.column.feature.name), statement.low, statement.high
    between = [
        *([_exact(low), "<="] if low is not None else []),
        name,
        *(["<=", _exact(high)] if high is not None else []),
    ]
    consequence = " ".join(between) if high is not None else f"{name} >= {_exact(low or 0.0)}"
    return f"if {_condition(statement.given)} then {consequence}"


def _exact(value: float) -> str:
    """A number that is read back as the same float."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def _table(table: Table, a: Feature, b: Feature) -> str:
    entries = ", ".join(f"{_cell(a, x)}: {_cell(b, y)}" for x, y in table.entries.items())
    return f"{quoted_name(b.name)} = table({quoted_name(a.name)}, {{{entries}}})"


def _cell(feature: Feature, value: float) -> str:
    return _exact(value) if feature.numeric else quoted_level(feature.levels[int(value)])


def _condition(given: States) -> str:
    """A row is in one of the states: several levels, or one state."""
    column, name = given.column, quoted_name(given.column.feature.name)
    atoms = [column.atom(state) for state in given.states]
    if len(atoms) > 1:
        return _among(name, [_cell(column.feature, atom.low) for atom in atoms if atom is not None])
    atom = atoms[0]
    if atom is None:
        codes = [_exact(other.low) for other in column.atoms if other.kind == "special"]
        return _among(name, codes, "not") if codes else f"{name} is not missing"
    if atom.kind == "missing":
        return f"{name} is missing"
    return _gap(name, atom) if atom.kind == "gap" else f"{name} = {_cell(column.feature, atom.low)}"


def _among(name: str, values: Sequence[str], negated: str = "") -> str:
    if len(values) == 1:
        return f"{name} {'≠' if negated else '='} {values[0]}"
    return " ".join(filter(None, (name, negated, f"in ({', '.join(values)})")))


def _gap(name: str, atom: Atom) -> str:
    if np.isinf(atom.low):
        return f"{name} < {_exact(atom.high)}"
    if np.isinf(atom.high):
        return f"{name} > {_exact(atom.low)}"
    return f"{_exact(atom.low)} < {name} < {_exact(atom.high)}"


def _consequence(excluded: States) -> str:
    """A row is in none of the states, which are all of presence or all of ordinary cells."""
    column = excluded.column
    atoms = [column.atom(state) for state in excluded.states]
    if column.presence(excluded.states[0]):
        return _presence(column, atoms)
    if not column.feature.numeric:
        return _levels(excluded)
    return _numbers(column, [atom for atom in atoms if atom is not None])


def _presence(column: Column, atoms: Sequence[Atom | None]) -> str:
    name, codes = quoted_name(column.feature.name), [atom for atom in column.atoms if atom.kind == "special"]
    gone = [_exact(code.low) for code in codes if code in atoms]
    left = [_exact(code.low) for code in codes if code not in atoms]
    if None in atoms and not left:
        return f"{name} is missing"
    parts = [_among(name, left) if None in atoms else _among(name, gone, "not")] if left or gone else []
    if any(atom is not None and atom.kind == "missing" for atom in atoms):
        parts.append(f"{name} is not missing")
    return " and ".join(parts)


def _levels(excluded: States) -> str:
    column, levels = excluded.column, excluded.column.feature.levels
    name, left = quoted_name(column.feature.name), column.remaining(excluded.states)
    if left:
        return _among(name, [quoted_level(levels[k]) for k in left])
    gone = [atom for atom in map(column.atom, excluded.states) if atom is not None]
    return _among(name, [quoted_level(levels[int(atom.low)]) for atom in gone], "not")


def _numbers(column: Column, gone: Sequence[Atom]) -> str:
    """Numbers outside some atoms; special codes do not break it, so they are not compared for equality."""
    name, codes = quoted_name(column.feature.name), any(atom.kind == "special" for atom in column.atoms)
    ordinary = [atom for atom in column.atoms if atom.ordinary]
    left = [k for k, atom in enumerate(ordinary) if atom not in gone]
    if left and left == list(range(left[0], left[-1] + 1)):
        first, last = ordinary[left[0]], ordinary[left[-1]]
        if first is last and first.kind == "point" and not codes:
            return f"{name} = {_exact(first.low)}"
        below, above = left[0] > 0, left[-1] < len(ordinary) - 1
        lowest, highest = "<=" if first.kind == "point" else "<", "<=" if last.kind == "point" else "<"
        if not above:
            return f"{name} {lowest.replace('<', '>')} {_exact(first.low)}"
        return f"{f'{_exact(first.low)} {lowest} ' if below else ''}{name} {highest} {_exact(last.high)}"
    return " and ".join(_outside(name, atom, codes) for atom in gone)


def _outside(name: str, atom: Atom, codes: bool) -> str:
    if atom.kind == "gap":
        return f"not ({_gap(name, atom)})"
    value = _exact(atom.low)
    return f"({name} < {value} or {name} > {value})" if codes else f"{name} ≠ {value}"


def law_sentence(statement: Statement, features: Sequence[Feature]) -> str:
    """“Whoever has relationship Husband has sex Male.”"""
    if isinstance(statement, Relation):
        a, b = features[statement.a].title, features[statement.b].title
        return f"{a} {'equals' if statement.sign == '=' else 'is never larger than'} {b}."
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


def _excludes(statement: Excludes) -> str:
    given = _joined(list(map(_phrase, statement.given)), "or")
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
