"""Searches in several spans of time: what is asked, what wins, and what is told, with searches made up for it."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from attain import Constraints, Feature, Schema, Status
from attain.models import Goal, Model
from attain.search.horizons import over_horizons
from attain.search.problem import Answers, Ledger, Problem
from attain.tables import Region, Table

SINCE = Feature("since", "count", clock=True, bounds=(0, 100))
SCHEMA = Schema((SINCE, Feature("debt", "count", pace=1), Feature("cards", "count")))
Search = Callable[[Problem], Answers]


def problem(accepts: Callable[[np.ndarray], np.ndarray], schema: Schema = SCHEMA, n: int = 1, **own: Any) -> Problem:
    frame = pd.DataFrame([{"since": 3, "debt": 20, "cards": 2, **own}])
    table = Table.read(frame, schema)

    def model(X: pd.DataFrame) -> np.ndarray:
        return accepts(X.to_numpy(float)).astype(int)

    region, classifier = Region.of(table, Constraints()), Model(model, classes=[0, 1])
    return Problem(Goal(classifier, table.layout, target=1, probe=table.values), region, Ledger(1, 1000), n, seed=0)


def writes(column: int, cell: float, months: list[float]) -> Search:
    """A search that writes one cell, and notes the months in which it ran."""

    def search(problem: Problem) -> Answers:
        months.append(float(problem.region.max_months[0]))
        row = problem.region.start.copy()
        row[:, column] = cell
        tried = problem.ask(row, np.array([0]))
        met = np.flatnonzero(tried.met)
        return Answers(tried.rows[tried.hits], met * 0, np.zeros(len(met)), problem.statuses(met * 0))

    return search


def finds_nothing(seen: list[Problem]) -> Search:
    """A search that proves that there is nothing, and notes its problems."""

    def search(problem: Problem) -> Answers:
        seen.append(problem)
        return Answers(np.empty((0, 3)), np.empty(0, dtype=np.intp), np.empty(0), [Status.NO_RECOURSE])

    return search


def cost(problem: Problem, answers: Answers) -> np.ndarray:
    moved = np.abs(answers.rows - problem.region.factuals[answers.owners])
    return np.asarray(moved @ [0.01, 1.0, 1.0])


def found(problem: Problem, search: Search) -> tuple[list[list[float]], list[Status]]:
    answers = over_horizons(problem, search, cost, lambda _, own: {})
    return answers.rows.tolist(), answers.status


def test_without_clocks_a_search_runs_once_on_the_problem_itself() -> None:
    schema = replace(SCHEMA, features=(replace(SINCE, clock=None), *SCHEMA.features[1:]))
    given, seen = problem(lambda rows: rows[:, 0] < 0, schema), list[Problem]()
    assert over_horizons(given, finds_nothing(seen), cost, lambda _, own: {}).status == [Status.NO_RECOURSE]
    assert len(seen) == 1
    assert seen[0] is given


def test_the_sooner_of_equal_changes_wins_in_as_few_months_as_they_need() -> None:
    months: list[float] = []
    assert found(problem(lambda rows: rows[:, 1] <= 16), writes(1, 16, months))[0] == [[7, 16, 2]]
    assert months == [97, 24, 12, 6, 0]


def test_the_least_months_between_two_horizons_are_found_for_the_changes_of_an_answer() -> None:
    rows, status = found(problem(lambda rows: (rows[:, 0] >= 12) & (rows[:, 2] == 0)), writes(2, 0, []))
    assert (rows, status) == ([[12, 20, 0]], [Status.FOUND])


def test_whoever_needs_no_change_waits_and_nothing_is_searched_for_in_as_much_time() -> None:
    months: list[float] = []
    assert found(problem(lambda rows: rows[:, 0] >= 13), writes(2, 0, months))[0] == [[13, 20, 2]]
    assert months == [6, 0]
    both = problem(lambda rows: (rows[:, 0] >= 13) | (rows[:, 2] == 0), n=3)
    assert found(both, writes(2, 0, []))[0] == [[13, 20, 2], [3, 20, 0]]


def test_nobody_waits_for_an_immutable_clock() -> None:
    schema = SCHEMA.change("since", immutable=True)
    assert found(problem(lambda rows: rows[:, 0] >= 13, schema), writes(2, 2, [])) == ([], [Status.OUT_OF_REACH])


def test_clocks_that_stand_still_need_one_search_and_nothing_is_certain() -> None:
    years, seen = replace(SINCE, clock=1 / 12, bounds=(0, 4)), list[Problem]()
    given = problem(lambda rows: rows[:, 1] < 0, replace(SCHEMA, features=(years, *SCHEMA.features[1:])))
    assert found(given, finds_nothing(seen)) == ([], [Status.OUT_OF_REACH])
    # four years after 12 to 23 months, three until then
    assert [float(one.region.max_months[0]) for one in seen] == [23, 6]


def test_whoever_has_no_clock_that_runs_and_no_limit_is_searched_for_once() -> None:
    schema, months = replace(SCHEMA, features=(replace(SINCE, special={-9: "never"}), *SCHEMA.features[1:])), []
    given = problem(lambda rows: rows[:, 1] <= 16, schema, since=-9)
    assert found(given, writes(1, 16, months))[0] == [[-9, 16, 2]]
    assert months == [math.inf]


def test_paces_alone_are_a_reason_for_several_searches_where_their_months_cost() -> None:
    months: list[float] = []
    given = problem(lambda rows: rows[:, 1] <= 16, SCHEMA.change("since", clock=None, immutable=True))
    answers = over_horizons(given, writes(1, 16, months), cost, lambda _, own: {}, months_cost=True)
    assert answers.rows.tolist() == [[3, 16, 2]]
    assert months == [math.inf, 24, 12, 6, 0]


def test_rules_hold_after_the_wait() -> None:
    schema = replace(SCHEMA, rules=("since <= 8",))
    assert found(problem(lambda rows: rows[:, 0] >= 10, schema), writes(2, 2, []))[0] == []
