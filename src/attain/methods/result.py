"""What a result says about answers: figures and notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from attain.methods.search.problem import Answers, Problem
from attain.population.connectedness import connected
from attain.population.measuring import changed, mean_pairwise_distance
from attain.population.percentiles import max_shift, total_shift
from attain.population.reference import Reference
from attain.population.space import MeasuringSpace
from attain.population.typical import local_density, local_outlier_factor, nearest_distance, outlier, proximity
from attain.results.details import Attributions
from attain.schema import Schema
from attain.schema.advice import columns_to_decide
from attain.schema.laws import Law
from attain.tables import Region, RuleBook

if TYPE_CHECKING:
    from attain.methods.session import Session

NEIGHBOURS = 20
"""k of the local outlier factor shown with an answer."""
EPSILON = 0.9
"""The quantile of real people's nearest distance within which an answer counts as connected."""


def difficulty(rows: np.ndarray, factuals: np.ndarray, shifts: np.ndarray, schema: Schema) -> dict[str, np.ndarray]:
    """How much each answer asks of its person; `shifts` (n, d) are in percentiles."""
    return {
        "features_changed": changed(rows, factuals, schema),
        "total_shift": total_shift(shifts, schema.free_columns),
        "max_shift": max_shift(shifts, schema.free_columns),
    }


def faithfulness(rows: np.ndarray, reference: Reference) -> dict[str, np.ndarray]:
    """How much each answer looks like real people of the desired class."""
    local_density(reference, NEIGHBOURS)  # the widest search for neighbours first
    epsilon, reference = reference.epsilon[EPSILON], reference.searched(rows, NEIGHBOURS)
    return {
        "proximity": proximity(rows, reference),
        "local_outlier_factor": local_outlier_factor(rows, reference, k=NEIGHBOURS),
        "outlier": outlier(rows, reference, k=NEIGHBOURS),
        "nearest_distance": nearest_distance(rows, reference),
        "connected": connected(rows, reference, epsilon),
    }


def diversity(rows: np.ndarray, owners: np.ndarray, people: int, space: MeasuringSpace) -> np.ndarray:
    """The mean distance between the options of each person, in the measuring space; NaN for fewer than two."""
    return mean_pairwise_distance(rows, owners, people, space)


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


def notes_on(
    session: Session, problem: Problem, answers: Answers, failed: int, attributions: Attributions | None
) -> tuple[str, ...]:
    """What a reader of these answers must know; the model failed on so many rows besides unreadable people."""
    explainer, region = session.explainer, problem.region
    notes = (*explainer._rule_notes, *explainer._notes(problem.inspected))
    if explainer.figures and not explainer.has_rows_:
        notes += ("This explainer was saved without its training rows: outlier and connectedness are missing.",)
    elif explainer.figures and not session.reference.labelled:
        notes += ("No labels were given: real rows of the desired class are those the model decides for.",)
    notes += undecided(region, answers, explainer.schema is None)
    notes += own_breaks(region, explainer.laws_)
    offered = np.bincount(answers.owners, minlength=len(problem))
    fewer = int(((offered > 0) & (offered < problem.options)).sum())
    if fewer:
        have = f"{fewer} people have" if fewer > 1 else "1 person has"
        notes += (f"{have} fewer than the {problem.options} options asked for: no others were found.",)
    if failed:
        notes += (f"The model failed on {failed} rows that it was asked about; they count as not flipping it.",)
    if attributions is not None and not attributions.people:
        notes += ("No training row has the desired decision, so there are no contributions.",)
    return notes


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
    shown = [f"{n} of {len(answers.rows)} answers change{'s' * (n == 1)} {name}" for name, n in counts.items() if n]
    if shown:
        notes += (
            f"{' and '.join(shown)}, which people may not be able to change. `schema.advise(train)` says why, and how "
            "to prevent it.",
        )
    return notes
