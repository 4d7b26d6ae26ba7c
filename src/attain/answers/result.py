"""What a result says about answers: figures, notes, and what the answers follow from."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import numpy as np

from attain.answers.importance import find_contributions, find_importances
from attain.answers.ranges import find_ranges
from attain.core.errors import AttainError
from attain.core.files import as_json, versions
from attain.models import Goal
from attain.population.faithfulness import faithfulness
from attain.population.measuring import changed, mean_pairwise_distance
from attain.population.relation_fitting import RATE
from attain.results.counterfactuals import Counterfactuals
from attain.results.details import Attributions, Related
from attain.results.status import Status
from attain.schema import Constraints, Schema
from attain.schema.laws import Law
from attain.search.problem import Answers, Problem
from attain.search.statuses import rounded_score
from attain.tables import Region

if TYPE_CHECKING:
    from attain.answers.session import Call, People, Session

Found = TypeVar("Found")

_ASKED: Final = ("n", "ranges", "importance", "contributions", "timeout", "allow_unreviewed")
"""The arguments of a call that settings have as they are."""


def difficulty(rows: np.ndarray, factuals: np.ndarray, shifts: np.ndarray, schema: Schema) -> dict[str, np.ndarray]:
    """How much each answer asks of its person; `shifts` (n, d) are in percentiles."""
    free = shifts[:, schema.free_columns]
    return {
        "features_changed": changed(rows, factuals, schema),
        "total_shift": free.sum(axis=1),
        "max_shift": free.max(axis=1, initial=0.0),
    }


class Figures(NamedTuple):
    """Figures of answers.

    Attributes
    ----------
    percentiles
        Of people's own cells, and of those of the answers; and the shifts between them, (m, d) each.
    options
        By name, one for each answer.
    diversity
        The mean distance between the options of each person, in the measuring space; NaN for fewer than two.
    related
        What the columns of the answers say of each other, where there are relations.
    """

    percentiles: tuple[np.ndarray, np.ndarray, np.ndarray]
    options: dict[str, np.ndarray]
    diversity: np.ndarray
    related: Related | None

    @classmethod
    def of(cls, session: Session, problem: Problem, answers: Answers) -> Figures:
        explainer, region, rows, owners = session.explainer, problem.region, answers.rows, answers.owners
        population = explainer.population_
        factuals, percentiles, relations = region.factuals[owners], population.percentiles, population.relations
        shifts, related = percentiles.shift(factuals, rows), None
        options = {**difficulty(rows, factuals, shifts, region.schema), **answers.figures}
        if region.book.timing is not None:
            options["months"] = region.months(rows, owners)
        if explainer.figures and population.has_rows:
            options |= faithfulness(rows, session.decided.reference) | explainer._more_figures(rows, session.decided)
            if len(relations):
                options["relations_p"] = np.round(relations.p_value(rows, factuals), 6)
                follows, said = relations.follows(rows, factuals, RATE), relations.contradictions(rows, factuals, RATE)
                related = Related(follows, tuple(said))
        spread = mean_pairwise_distance(rows, owners, len(problem), population.space)
        return cls((percentiles.of(factuals), percentiles.of(rows), shifts), options, spread, related)


def result_of(
    session: Session,
    people: People,
    call: Call,
    problem: Problem,
    outcome: list[Status | None],
    answers: Answers,
    failures: Mapping[int, str],
) -> Counterfactuals:
    """All that a result says about answers that have passed the last check."""
    explainer, table, goal, before, _, learned = session.explainer, *people
    rows, owners = answers.rows, answers.owners
    lost: list[str] = []

    def found(asked: bool, what: str, find: Callable[[], Found]) -> Found | None:
        """What was asked for; where finding it ends with an unexpected error, a note instead."""
        try:
            return find() if asked else None
        except AttainError:
            raise
        except Exception as error:
            if session.errors == "raise":
                raise
            lost.append(f"No {what} were found: this ended with {type(error).__name__}: {error}")
            return None

    population = explainer.population_
    ranges = found(call.ranges, "ranges", lambda: find_ranges(problem, rows, owners, population.percentiles))
    searched = problem.rows_searched
    typicality = partial(explainer._typicality, problem.inspected)
    importances = found(call.importance, "importances", lambda: find_importances(problem, rows, owners, typicality))
    scored = ~np.isnan(before.score)
    attributions = found(call.contributions, "contributions", lambda: find_contributions(session, problem, scored))
    figures = Figures.of(session, problem, answers)
    own = session.decided.goal
    failed = own.reader.failed + goal.reader.failed - len(before.unreadable.keys() - table.refused.keys())
    asked = own.rows_asked - learned + goal.rows_asked
    asked += sum(other.rows_asked for other in (*call.others, *problem.others))
    return Counterfactuals(
        table=table,
        method=type(explainer).__name__,
        target=goal.target,
        target_name=goal.model.class_names.get(goal.target),
        probability=goal.probability,
        statuses=tuple(status or Status.INTERRUPTED for status in outcome),
        rows=rows,
        owners=owners,
        percentiles=figures.percentiles,
        person_figures={
            "score_before": rounded_score(before.score),
            "rows_scored": problem.ledger.spent,
            "diversity": figures.diversity,
        },
        option_figures={"score_after": answers.figures["score_after"], **figures.options},
        notes=(
            *notes_on(session, problem, answers, attributions, failed_rows=failed, failed_searches=len(failures)),
            *lost,
        ),
        laws=population.laws,
        rows_asked=asked,
        rows_uncharged=asked - searched,
        unreadable=before.unreadable,
        failures=failures,
        intervals=ranges,
        importances=importances,
        attributions=attributions,
        related=figures.related,
        settings=call_settings(session, goal, call),
    )


def notes_on(
    session: Session,
    problem: Problem,
    answers: Answers,
    attributions: Attributions | None,
    *,
    failed_rows: int,
    failed_searches: int,
) -> tuple[str, ...]:
    """What a reader of these answers must know; the model failed on so many rows besides unreadable people."""
    explainer, region = session.explainer, problem.region
    notes = (*explainer.population_.notes, *explainer._notes(problem.inspected))
    if explainer.figures and not explainer.population_.has_rows:
        notes += ("This explainer was saved without its training rows: outlier and connectedness are missing.",)
    elif explainer.figures and not session.decided.reference.labelled:
        notes += ("No labels were given: real rows of the desired class are those the model decides for.",)
    if explainer.schema is None:
        notes += ("No schema was given, so one was inferred in which everything may change.",)
    notes += own_breaks(region, explainer.population_.laws)
    offered = np.bincount(answers.owners, minlength=len(problem))
    fewer = int(((offered > 0) & (offered < problem.options)).sum())
    if fewer:
        have = f"{fewer} people have" if fewer > 1 else "1 person has"
        notes += (f"{have} fewer than the {problem.options} options asked for: no others were found.",)
    if failed_searches:
        notes += (f"The search ended with an error for {failed_searches} people; `result.problems` says which.",)
    if failed_rows:
        notes += (f"The model failed on {failed_rows} rows that it was asked about; they count as not flipping it.",)
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


def call_settings(session: Session, goal: Goal, call: Call) -> dict[str, Any]:
    """What answers follow from, as JSON: the field `settings` of a result. Nothing in it depends on time or place."""
    facts = deepcopy(session.decided.cached("facts", lambda: _session_facts(session)))
    model, training = facts.pop("model"), facts.pop("training")
    return {
        **facts,
        "probability": goal.probability,
        **as_json({name: getattr(call, name) for name in _ASKED}),
        "errors": session.errors,
        "robust": [_model_facts(other) for other in call.others],
        "constraints": {} if call.constraints is None else _constraint_facts(Constraints.of(call.constraints)),
        "model": model,
        "training": training,
    }


def _session_facts(session: Session) -> dict[str, Any]:
    """What the answers of all calls of a session follow from."""
    goal = session.decided.goal
    return {
        "versions": {"python": platform.python_version(), **versions()},
        **session.explainer._described(),
        "target": as_json(goal.target),
        "model": _model_facts(goal),
    }


def _model_facts(goal: Goal) -> dict[str, Any]:
    model, names = goal.model.model, goal.model.class_names
    named = model if hasattr(model, "__qualname__") else type(model)
    of_file = isinstance(model, str | bytes | os.PathLike)
    module = "onnxruntime" if of_file else getattr(named, "__module__", None) or "unknown"
    library = module.partition(".")[0]
    return {
        "library": library,
        "library_version": getattr(sys.modules.get(library), "__version__", None),
        "class": "ONNX file" if of_file else f"{module}.{named.__qualname__}",
        "classes": [as_json(label) for label in goal.classes],
        "class_names": [names.get(label) for label in goal.classes] if names else None,
        "answers_digest": goal.answers_digest,
        "file_digest": goal.model.file_digest,
    }


def _constraint_facts(given: Constraints) -> dict[str, Any]:
    """The constraints that were given; those of single people are a list, because keys of JSON are strings."""
    facts = {item.name: as_json(getattr(given, item.name)) for item in fields(given)}
    facts["people"] = [
        {"person": as_json(label), **_constraint_facts(Constraints.of(own))} for label, own in given.people.items()
    ]
    return {name: value for name, value in facts.items() if value not in (None, [], {})}
