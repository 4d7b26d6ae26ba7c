"""What measures and the room of real people refuse, each with the sentence that says why."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from attain import Feature, GrowingSpheres, Schema, metrics
from attain.core.errors import AttainError, ConstraintError, DataError, SchemaError
from attain.metrics import AnswerMatrix, Measure, RealPeople, compare_methods, evaluate, retrained
from attain.metrics.measures import Unavailable
from attain.models import Goal
from attain.population.percentiles import Percentiles
from attain.population.reference import Reference
from attain.population.space import MeasuringSpace
from attain.schema import Constraints
from attain.tables import Region, Table
from tests.coordinates import real_schema, reference_of
from tests.results.handmade import result_of

SCHEMA = Schema((Feature("a", "real"), Feature("b", "real")))
FRAME = pd.DataFrame({"a": np.arange(9.0), "b": np.zeros(9)})
TABLE, SPACE = Table.read(FRAME, SCHEMA), MeasuringSpace.fit(SCHEMA, FRAME.to_numpy())
VALUES, PERCENTILES, REGION = TABLE.values, Percentiles.fit(SCHEMA, TABLE.values), Region.of(TABLE, Constraints())
KNOWN = reference_of(np.array([[0], [1], [2], [3], [10], [10.1]]))


def high(frame: pd.DataFrame) -> np.ndarray:
    return np.where(frame["a"] > 4, "yes", "no")


GOAL = Goal(high, TABLE.layout, target="yes", probe=VALUES)
ANSWERS = AnswerMatrix(TABLE, VALUES, np.ones(9, dtype=bool), "yes")
RESULT = result_of(SCHEMA, FRAME.head(2), {0: [{"b": 1.0}]})
EVALUATION = evaluate(ANSWERS, high, FRAME, None)
EXPLAINER = GrowingSpheres(SCHEMA, laws=None).fit(FRAME)
FOUND = EXPLAINER.explain(high, FRAME.head(2), target="yes", constraints={"immutable": ["b"]})


def measured(*measures: Any, **given: Any) -> Any:
    return evaluate(ANSWERS, high, FRAME, None, measures=measures, **given)


def executed(rows: np.ndarray = VALUES, **given: Any) -> np.ndarray:
    return metrics.valid_after_inexact_execution(rows, REGION, GOAL, PERCENTILES, **given)


def apart(owners: list[int], number: int) -> np.ndarray:
    return metrics.mean_pairwise_distance(VALUES[:2], owners, number, SPACE)


def short(context: Any) -> np.ndarray:
    return np.zeros(2)


def compared(*methods: Any) -> Any:
    return compare_methods(methods, high, FRAME, None, FRAME, target="yes", schema=SCHEMA)


def against(schema: Schema = SCHEMA) -> RealPeople:
    return RealPeople(schema, high, FRAME, None, target="yes")


MISUSE: dict[type[AttainError], list[tuple[Any, str]]] = {
    AttainError: [
        (lambda: metrics.connected([[4]], KNOWN, 1.0, min_samples=0), "min_samples must be an integer ≥ 1, got 0"),
        (lambda: metrics.connected([[4]], KNOWN, -1.0), r"epsilon must be a distance ≥ 0, got -1\.0"),
        (lambda: metrics.local_outlier_factor([[1.0]], KNOWN, k=0), "k must be an integer ≥ 1, got 0"),
        (lambda: metrics.distance(VALUES, VALUES, SPACE, "l3"), "norm must be one of l0, l1, l2, linf, got 'l3'"),  # type: ignore[arg-type]
        (lambda: executed(points=200), "points must be a number from 0 to 100, got 200"),
        (lambda: executed(draws=0), "draws must be an integer ≥ 1, got 0"),
        (lambda: metrics.valid_after_retraining(VALUES, [], TABLE, "yes"), "models is empty"),
        (lambda: metrics.possible(RESULT.answers, ["a <= b"]), "pass a result"),
        (lambda: metrics.paired_comparison({"one": EVALUATION}), "at least two"),
        (lambda: metrics.paired_comparison({"one": EVALUATION, "other": EVALUATION}, "speed"),
         "measures names 'speed', which the evaluation of 'one' does not have"),
        (lambda: compared("oracle"), r"methods must be one of .*GrowingSpheres.*, got 'oracle'"),
        (lambda: compared(), "methods must hold at least one method"),
        (lambda: measured(y_test=["yes"] * 9), "y_test is given without X_test"),
        (lambda: measured("speed"), "measures names 'speed'; registered are found, valid"),
        (lambda: measured(3), "measures must hold names, Measure objects or functions, got 3"),
        (lambda: measured(short), r"'short' must give one number for each of the 9 rows, got an array of shape \(2,\)"),
        (lambda: measured("valid", "valid"), "measures names 'valid' twice"),
        (lambda: metrics.register(Measure("valid", short)), "a measure named 'valid' is registered already"),
    ],
    DataError: [
        (lambda: metrics.proximity([[1.0]], KNOWN, found=[True, False]), "found must hold one boolean"),
        (lambda: Reference.build(real_schema(1), np.zeros((4, 1)), met=np.ones(3, bool)), "met must hold one boolean"),
        (lambda: Reference.build(real_schema(1), np.zeros((4, 1)), met=np.ones(4)), "met must hold one boolean"),
        (lambda: Percentiles.fit(real_schema(1), [[1, 2]]), r"shape \(1, 2\).*1 features"),
        (lambda: MeasuringSpace.fit(real_schema(5), np.zeros((4, 3))), "5 features"),
        (lambda: apart([0], 1), r"0 to 0 for each of the 2 options, got int64 of shape \(1,\)"),
        (lambda: apart([0, 3], 2), r"owners must hold a position from 0 to 1 .*: 0, 3"),
        (lambda: metrics.distance(VALUES, VALUES[:2], SPACE), "factuals must have one row for each of the 9 answers"),
        (lambda: metrics.changed(VALUES, VALUES[:2], SCHEMA), "got 2 rows"),
        (lambda: metrics.type_valid(VALUES[:2], REGION, GOAL), "one row for each of the 2 answers, got 9"),
        (lambda: executed(VALUES[:2]), "region must hold one row for each of the 2 answers, got 9"),
        (lambda: next(retrained(lambda *given: given, [[1.0]], ["a"])), "X is"),
        (lambda: metrics.copies(RESULT, VALUES, SCHEMA), "got a Counterfactuals; pass its `answers`"),
        (lambda: metrics.recourse_gap({"x": np.ones(6)}, ["a", "b"]), r"each of the 6 rows, got shape \(2,\)"),
        (lambda: metrics.recourse_gap(EVALUATION, ["a"] * 9, measures=["speed"]), "measures names 'speed'"),
        (lambda: metrics.levers(EXPLAINER, high, FOUND, features=["b"]), "names 'b'; the answers change 'a'"),
        (lambda: evaluate(ANSWERS, high, FRAME, np.arange(9) % 2), "the target is 'yes', but the labels are 0, 1"),
        (lambda: evaluate(ANSWERS, high, FRAME, ["yes"] * 3), "y_train has 3 labels, but X_train has 9 rows"),
        (lambda: against().evaluate(replace(ANSWERS, target="no")), "target 'no' with probability None, these"),
        (lambda: against(SCHEMA.change("a", step=1.0)).evaluate(ANSWERS), "another schema than these people"),
    ],
    Unavailable: [(lambda: measured("held_out_inlier"), "held_out_inlier needs held-out data; pass X_test")],
    SchemaError: [(lambda: metrics.possible(VALUES, ["a <= debts"], SCHEMA), "debts")],
    ConstraintError: [
        (lambda: metrics.levers(EXPLAINER, high, FOUND, constraints={"people": {0: {}}}), "same for all")
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "call", "sentence"), [(kind, *case) for kind, cases in MISUSE.items() for case in cases]
)
def test_misuse_is_refused_with_a_sentence(kind: type[AttainError], call: Any, sentence: str) -> None:
    with pytest.raises(kind, match=sentence):
        call()
