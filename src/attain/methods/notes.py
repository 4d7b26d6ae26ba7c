"""What to know when reading answers: doubtful rules, records that break laws, columns that nobody can change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attain.methods.search.problem import Answers
from attain.schema.advice import columns_to_decide
from attain.schema.laws import Law
from attain.tables import Region, RuleBook

SWAPPED = (
    "This explainer was saved with stand-ins for its training rows: typicality, outlier and connectedness compare with "
    "records that resemble real ones, and are nobody's."
)
_BROKEN_RULE = 0.01
"""A rule that a larger share of the training rows breaks is named in a note: it is perhaps not what was meant."""


def doubtful_rules(book: RuleBook, values: np.ndarray) -> tuple[str, ...]:
    """A note for each rule or law that many of the training rows break."""
    broken = 1 - book.kept(values).mean(axis=0)
    return tuple(
        f"The rule {rule.text!r} is broken by {'all' if share == 1 else f'{share:.0%} of'} training rows; check that "
        "it says what you mean."
        for rule, share in zip(book.rules, broken.tolist(), strict=True)
        if share > _BROKEN_RULE
    )


def own_breaks(region: Region, laws: Sequence[Law]) -> tuple[str, ...]:
    """A note on records that break a law themselves: that may be an error, and their answers may go on breaking it."""
    broken = ~region.book.kept(region.factuals)[:, region.book.is_law]
    number = int(broken.any(axis=1).sum())
    if not number:
        return ()
    law = laws[int(broken.sum(axis=0).argmax())]
    records = "1 record breaks" if number == 1 else f"{number} records break"
    return (f"{records} a law, most often: {law.sentence or f'{law.text}.'} Check whether that is an error.",)


def undecided(region: Region, answers: Answers, inferred: bool) -> tuple[str, ...]:
    """A note on answers that change what nobody can, by the names of the columns; and on a schema nobody has seen."""
    notes: tuple[str, ...] = ()
    if inferred:
        notes += ("No schema was given, so one was inferred in which everything may change.",)
    changed = region.changed(answers.rows, answers.owners)
    counts = {name: int(changed[:, region.schema.position(name)].sum()) for name in columns_to_decide(region.schema)}
    shown = [f"{count} change {name}" for name, count in sorted(counts.items(), key=lambda pair: -pair[1]) if count]
    if shown:
        notes += (
            f"Of {len(answers.rows)} answers {', '.join(shown)}: people may not be able to. `schema.advise(train)` "
            "says why, and how to exclude it.",
        )
    return notes
