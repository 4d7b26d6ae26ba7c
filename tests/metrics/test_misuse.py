"""What measures and the room of real people refuse, each with the sentence that says why."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from attain import Feature, GrowingSpheres, Schema, metrics
from attain.metrics import AnswerMatrix, Measure, RealPeople, compare_methods, evaluate
from attain.models import Goal
from attain.population.measuring import Percentiles
from attain.population.population import Reference
from attain.population.space import MeasuringSpace
from attain.schema import Constraints
from attain.tables import Region, Table
from tests.coordinates import real_schema, reference_of
from tests.misuse import calls, check_call
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


NAMES = {**globals(), "Measure": Measure, "Reference": Reference, "real_schema": real_schema, "replace": replace}


@pytest.mark.parametrize(("call", "message"), calls(Path(__file__).with_name("misuse.txt")))
def test_misuse_is_refused_with_a_sentence(call: str, message: str) -> None:
    check_call(call, message, NAMES)
