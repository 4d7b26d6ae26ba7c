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

from attain.core.checks import check_number
from attain.core.frames import Frame
from attain.schema.computed import Proposal, computed_columns
from attain.schema.feature import Feature
from attain.schema.formulas import Formula, Implication, View
from attain.schema.language import parse_rule
from attain.schema.law_candidates import LARGEST_RATE, Relation, rate
from attain.schema.law_selection import findings
from attain.schema.law_states import shuffled
from attain.schema.law_text import Statement, Table, law_sentence, law_text
from attain.schema.reading import read_frame
from attain.schema.schema import Law, Schema

__all__ = ["Law", "Proposal", "as_frame", "find", "find_laws", "propose", "with_evidence"]

MOST_ROWS = 200_000
"""Laws are looked for in that many rows; a hash of their cells decides which."""

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
    """The columns of a frame that look computed from others, the best told first. Nothing is applied.

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
    view, laws = View(features, values), []
    for statement, expected in findings(features, values, coin, exceptions):
        if _restates(statement, features):
            continue
        text = law_text(statement, features)
        applies, broken = _counts(parse_rule(text, named), view)
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
    named, view = {feature.name: feature for feature in features}, View(features, values)
    complete = []
    for law in laws:
        if law.applies is None:
            applies, broken = _counts(parse_rule(law.text, named), view)
            counted = replace(law, applies=applies, broken=broken, rate=float(rate(broken, applies)))
            law = found.get(law.text, counted)
        complete.append(law)
    return tuple(complete)


def _restates(statement: Statement, features: Sequence[Feature]) -> bool:
    """Whether it says what a computed column equals, which the schema's own expression does exactly."""
    if not isinstance(statement, Relation | Table) or (isinstance(statement, Relation) and statement.sign == "<="):
        return False
    return any(features[j].computed is not None for j in (statement.a, statement.b))


def _counts(formula: Formula, view: View) -> tuple[int, int]:
    """The rows that a law says something about, and those that break it."""
    true, false = formula.judge(view)
    applies = true | false
    if isinstance(formula, Implication):
        true, false_there = formula.consequence.judge(view)
        applies = formula.condition.judge(view)[0] & (true | false_there)
    return int(np.count_nonzero(applies)), int(np.count_nonzero(false))


def as_frame(laws: Iterable[Law]) -> pd.DataFrame:
    """One row for each law: text, sentence, applies, broken, expected and rate; see `Law`."""
    names = [field.name for field in fields(Law)]
    return pd.DataFrame([astuple(law) for law in laws], columns=names)
