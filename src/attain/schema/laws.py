"""Laws: what holds for every real record, or all but a few, and would not by chance.

    laws = attain.laws.find(train)
    print(attain.laws.as_frame(laws))

A law is a rule that was found rather than written: its text is in the language of rules (`Schema.rules`), and it says
how many records it rests on. Explainers keep the laws of their training data (`laws=None` turns them off), and
`Schema.infer` proposes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields, replace

import numpy as np
import pandas as pd

from attain.core.errors import check_number
from attain.core.frames import Frame
from attain.core.text import joined, number
from attain.schema.computed import Proposal, computed_columns
from attain.schema.feature import Feature
from attain.schema.formulas import Formula, Implication, evaluate
from attain.schema.language import parse_rule
from attain.schema.law_candidates import LARGEST_RATE, Relation, rate
from attain.schema.law_selection import Determines, Excludes, Statement, StateSet, Within, findings
from attain.schema.law_states import Atom, LawColumn, shuffled
from attain.schema.reading import read_frame
from attain.schema.schema import Law, Schema
from attain.schema.tokens import quoted_level, quoted_name

__all__ = ["Law", "Proposal", "as_frame", "find", "find_laws", "propose", "with_evidence"]

MOST_ROWS = 200_000
"""The most rows in which laws are looked for; a hash of their cells decides which."""

KEPT = 0.003
"""The share of exceptions that laws to be kept may have, three times that of laws to judge answers by (0.001).

A law at the border is found in one sample of people and not in another: answers that keep the laws of the one, with the
larger share, also keep those of the other.
"""


def find(frame: Frame, schema: Schema | None = None, *, exceptions: float = KEPT) -> tuple[Law, ...]:
    """The laws of a frame, the strongest first.

    Parameters
    ----------
    frame
        Real records: pandas, polars, pyarrow or a two-dimensional array, with the columns of the schema.
    schema
        What the columns are; without one it is inferred (`Schema.infer`).
    exceptions
        The largest share of records that may break a law, below 0.01; by default that of laws which explainers keep.

    See `find_laws` for what is looked for. On fewer than 299 records nothing is found.
    """
    return find_laws(*_read(frame, schema), exceptions=exceptions)


def _read(frame: Frame, schema: Schema | None) -> tuple[Sequence[Feature], np.ndarray]:
    features = (Schema.infer(frame, laws=False) if schema is None else schema).features
    return features, read_frame(frame, features)


def propose(frame: Frame, schema: Schema | None = None) -> tuple[Proposal, ...]:
    """The columns of a frame that look computed from others, the best fitted first. Nothing is applied.

    Looked for are products and ratios of up to three columns, with powers from −2 to 2, and sums, means and differences
    of up to six. Where each of the columns could be computed from the others, the one that varies most is proposed:
    which of them it is, only a person can say. Formulas are fitted on one half of at most 5,000 rows, and must hold on
    the other: R² is at least 0.99, and four of five people are within 5 %. Columns that are immutable, clocks, have a
    pace, or are computed already are left out.

    Parameters
    ----------
    frame
        Real records, with the columns of the schema.
    schema
        What the columns are; without one it is inferred (`Schema.infer`).
    """
    return tuple(computed_columns(*_read(frame, schema)))


def find_laws(features: Sequence[Feature], values: np.ndarray, *, exceptions: float = 0.001) -> tuple[Law, ...]:
    """The laws that hold in a matrix (n, d) of these features, the strongest first.

    Kinds: orders (`a <= b`) and equalities of numbers; tables, where a level or one of few numbers fixes another
    column; pairs of states that exclude each other; ranges of a number given a state. A law may be broken by a share of
    `exceptions` of the rows, and the 95 % upper bound of the share of new rows that break it is at most 1 %, so it
    rests on 299 rows at least. On columns that are independent of each other, any law at all is found with probability
    1 % at most.

    The result does not depend on the order of the rows. Limits: 200,000 rows are looked at, chosen by a hash; 64 levels
    of a column are states; tables have at most 1,000 entries.
    """
    check_number("exceptions", exceptions, least=0.0, below=LARGEST_RATE)
    named = {feature.name: feature for feature in features}
    order, coin = shuffled(list(named), values)
    values, coin = values[order[:MOST_ROWS]], coin[:MOST_ROWS]
    laws = []
    for statement, expected in findings(features, values, coin, exceptions):
        if _restates(statement, features):
            continue
        text = law_text(statement, features)
        applies, broken = _counts(parse_rule(text, named), features, values)
        bound = float(rate(broken, applies))
        if bound <= LARGEST_RATE:
            sentence = law_sentence(statement, features)
            laws.append(Law(text, sentence, applies, broken, expected, bound))
    return tuple(sorted(laws, key=lambda law: (-(law.expected or 0.0), law.text)))


def with_evidence(laws: Sequence[Law], features: Sequence[Feature], values: np.ndarray) -> tuple[Law, ...]:
    """The laws; those that were read or written get the evidence of these rows, and a sentence if they are found."""
    if all(law.applies is not None for law in laws):
        return tuple(laws)
    found = {law.text: law for law in find_laws(features, values, exceptions=KEPT)}
    named = {feature.name: feature for feature in features}
    complete = []
    for law in laws:
        if law.applies is None:
            applies, broken = _counts(parse_rule(law.text, named), features, values)
            counted = replace(law, applies=applies, broken=broken, rate=float(rate(broken, applies)))
            law = found.get(law.text, counted)
        complete.append(law)
    return tuple(complete)


def _restates(statement: Statement, features: Sequence[Feature]) -> bool:
    """Whether it says what a computed column equals, which the schema's own expression does exactly."""
    if not isinstance(statement, Relation | Determines) or (isinstance(statement, Relation) and statement.sign == "<="):
        return False
    return any(features[j].computed is not None for j in (statement.a, statement.b))


def _counts(formula: Formula, features: Sequence[Feature], values: np.ndarray) -> tuple[int, int]:
    """The rows that a law says something about, and those that break it."""
    parts = (formula.condition, formula.consequence) if isinstance(formula, Implication) else ()
    verdict, *of_parts = evaluate(features, values, formula, *parts).T
    applies = (of_parts[0] == 1) & (of_parts[1] != 0) if parts else verdict != 0
    return int(np.count_nonzero(applies)), int(np.count_nonzero(verdict == -1))


def as_frame(laws: Iterable[Law]) -> pd.DataFrame:
    """One row for each law: text, sentence, applies, broken, expected and rate; see `Law`."""
    names = [field.name for field in fields(Law)]
    return pd.DataFrame([astuple(law) for law in laws], columns=names)


def law_text(statement: Statement, features: Sequence[Feature]) -> str:
    """The rule that says it."""
    if isinstance(statement, Excludes):
        condition = " or ".join(map(_condition, statement.given))
        return f"if {condition} then {' and '.join(map(_consequence, statement.excluded))}"
    if isinstance(statement, Within):
        name, condition = quoted_name(statement.feature.name), _condition(statement.given)
        if statement.high is None:
            return f"if {condition} then {name} >= {_exact(statement.low or 0.0)}"
        low = "" if statement.low is None else f"{_exact(statement.low)} <= "
        return f"if {condition} then {low}{name} <= {_exact(statement.high)}"
    first, second = features[statement.a], features[statement.b]
    a, b = quoted_name(first.name), quoted_name(second.name)
    if isinstance(statement, Relation):
        return f"{a} {statement.sign} {b}"
    entries = ", ".join(f"{_cell(first, x)}: {_cell(second, y)}" for x, y in statement.entries.items())
    return f"{b} = table({a}, {{{entries}}})"


def _exact(value: float) -> str:
    """A number that is read back as the same float."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def _cell(feature: Feature, value: float) -> str:
    return _exact(value) if feature.numeric else quoted_level(feature.levels[int(value)])


def _condition(given: StateSet) -> str:
    """A row is in one of the states: several levels, or one state."""
    feature, atoms = given.column.feature, given.atoms
    name, atom = quoted_name(feature.name), atoms[0]
    if atom is None:
        codes = [_exact(other.low) for other in given.column.atoms if other.kind == "special"]
        return _among(name, codes, "not") if codes else f"{name} is not missing"
    if atom.kind == "missing":
        return f"{name} is missing"
    if atom.kind == "gap":
        return _gap(name, atom)
    return _among(name, [_cell(feature, one.low) for one in atoms if one is not None])


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


def _consequence(excluded: StateSet) -> str:
    """A row is in none of the states, which are all of presence or all of ordinary cells."""
    column, atoms, name = excluded.column, excluded.atoms, quoted_name(excluded.column.feature.name)
    if excluded.presence:
        codes = [atom for atom in column.atoms if atom.kind == "special"]
        gone, left = ([_exact(code.low) for code in codes if (code in atoms) is out] for out in (True, False))
        if None in atoms and not left:
            return f"{name} is missing"
        parts = [_among(name, left) if None in atoms else _among(name, gone, "not")] if left or gone else []
        missing = any(atom is not None and atom.kind == "missing" for atom in atoms)
        return " and ".join([*parts, f"{name} is not missing"] if missing else parts)
    known = [atom for atom in atoms if atom is not None]
    if column.feature.numeric:
        return _numbers(column, known)
    remaining = [_cell(column.feature, k) for k in column.remaining(excluded.states)]
    return _among(name, remaining) if remaining else _among(name, [_cell(column.feature, a.low) for a in known], "not")


def _numbers(column: LawColumn, gone: Sequence[Atom]) -> str:
    """Numbers outside some atoms; special codes do not break it, so they are not compared for equality."""
    name, codes = quoted_name(column.feature.name), any(atom.kind == "special" for atom in column.atoms)
    ordinary = [atom for atom in column.atoms if atom.ordinary]
    left = [k for k, atom in enumerate(ordinary) if atom not in gone]
    if not left or left != list(range(left[0], left[-1] + 1)):
        return " and ".join(_outside(name, atom, codes) for atom in gone)
    first, last = ordinary[left[0]], ordinary[left[-1]]
    if first is last and first.kind == "point" and not codes:
        return f"{name} = {_exact(first.low)}"
    lowest, highest = ("<=" if atom.kind == "point" else "<" for atom in (first, last))
    if left[-1] == len(ordinary) - 1:
        return f"{name} {lowest.replace('<', '>')} {_exact(first.low)}"
    below = f"{_exact(first.low)} {lowest} " if left[0] > 0 else ""
    return f"{below}{name} {highest} {_exact(last.high)}"


def _outside(name: str, atom: Atom, codes: bool) -> str:
    if atom.kind == "gap":
        return f"not ({_gap(name, atom)})"
    value = _exact(atom.low)
    return f"({name} < {value} or {name} > {value})" if codes else f"{name} ≠ {value}"


def law_sentence(statement: Statement, features: Sequence[Feature]) -> str:
    """“Whoever has relationship Husband has sex Male.”"""
    if isinstance(statement, Excludes):
        return _excludes(statement)
    if isinstance(statement, Within):
        feature = statement.feature
        low, high = (None if end is None else _amount(feature, end) for end in (statement.low, statement.high))
        limits = f"of at least {low}" if high is None else f"of at most {high}"
        limits = limits if low is None or high is None else f"between {low} and {high}"
        return f"Whoever has {_phrase(statement.given)} has {feature.title} {limits}."
    a, b = features[statement.a].title, features[statement.b].title
    if isinstance(statement, Determines):
        return f"{b} follows from {a}."
    return f"{a} {'equals' if statement.sign == '=' else 'is never larger than'} {b}."


def _excludes(statement: Excludes) -> str:
    given = joined(map(_phrase, statement.given), " or ")
    left = list(map(_remaining, statement.excluded))
    if all(left):
        return f"Whoever has {given} has {joined(left)}."
    column = statement.excluded[0].column
    phrases = [_phrase(StateSet(column, (state,))) for state in statement.excluded[0].states]
    shared = f"{column.feature.title} "
    return f"Nobody with {given} has {joined([phrases[0], *(p.removeprefix(shared) for p in phrases[1:])], ' or ')}."


def _phrase(given: StateSet) -> str:
    """“relationship Husband or Wife”, “capital-gain above 0”, “no value of income”."""
    feature, atoms = given.column.feature, given.atoms
    if atoms[0] is None or atoms[0].kind == "missing":
        return f"{'a' if atoms[0] is None else 'no'} value of {feature.title}"
    return f"{feature.title} {joined([_shown(feature, atom) for atom in atoms if atom is not None], ' or ')}"


def _remaining(excluded: StateSet) -> str:
    """What is left of a column, in words; empty where only the exclusion has a short sentence."""
    column, feature, atoms = excluded.column, excluded.column.feature, excluded.atoms
    if excluded.presence:
        left = [atom for atom in column.atoms if not atom.ordinary and atom not in atoms] if None in atoms else []
        codes = [_shown(feature, atom) for atom in left if atom.kind == "special"]
        phrases = [f"{feature.title} {joined(codes, ' or ')}"] if codes else []
        return joined([*phrases, f"no value of {feature.title}"] if len(codes) < len(left) else phrases, " or ")
    if not feature.numeric:
        levels = [str(feature.levels[k]) for k in column.remaining(excluded.states)]
        return f"{feature.title} {joined(levels, ' or ')}" if levels else ""
    ordinary = [atom for atom in column.atoms if atom.ordinary and atom not in atoms]
    return f"{feature.title} {_shown(feature, ordinary[0])}" if len(ordinary) == 1 else ""


def _shown(feature: Feature, atom: Atom) -> str:
    if atom.kind == "gap":
        low, high = _amount(feature, atom.low), _amount(feature, atom.high)
        if np.isinf(atom.low):
            return f"below {high}"
        return f"above {low}" if np.isinf(atom.high) else f"between {low} and {high}"
    if atom.kind == "special":
        meaning = feature.special.get(atom.low, "")
        return number(atom.low) + (f" ({meaning})" if meaning else "")
    return _amount(feature, atom.low) if feature.numeric else str(feature.levels[int(atom.low)])


def _amount(feature: Feature, value: float) -> str:
    return number(value) + (f" {feature.unit}" if feature.unit else "")
