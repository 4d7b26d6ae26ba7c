"""Questions about columns: each with its evidence, its choices, and what a choice does."""

import numpy as np
import pandas as pd
import pytest

from attain.core.errors import SchemaError
from attain.schema import Feature, Schema
from attain.schema.questions import Question

RANDOM = np.random.default_rng(0)


def asked(frame: pd.DataFrame, y: object = None, **kinds: str) -> dict[str, Question]:
    """The questions about the inferred schema of a frame, by their ids."""
    schema = Schema.infer(frame, laws=False, kinds=kinds)
    return {question.id: question for question in schema.questions(frame, y)}


def test_what_may_happen_is_asked_of_every_column_until_somebody_decides() -> None:
    frame = pd.DataFrame({"income": RANDOM.integers(0, 900, 300), "job": ["cook", "clerk", "nurse"] * 100})
    schema = Schema.infer(frame)
    income, job = schema.questions(frame)
    assert (income.id, job.id) == ("change: income", "change: job")
    schema = income.apply(schema, income["u"], "Ada, 2026-11-19")
    assert (schema["income"].direction, schema["income"].reviewed) == ("increase", "Ada, 2026-11-19")
    assert [question.id for question in schema.questions(frame)] == ["change: job"]
    schema = job.apply(schema, job["m"].after(6), "Ada, 2026-11-19")
    assert schema["job"].pace == pytest.approx(1 / 6)
    assert schema.questions(frame) == ()
    assert Schema.from_toml(schema.to_toml()) == schema
    with pytest.raises(SchemaError, match="has no choice 'u'; it has c, p, n"):
        job["u"]
    with pytest.raises(SchemaError, match="needs the months"):
        job.apply(schema, job["m"], "Ada")


def test_a_column_that_must_leave_leaves_the_schema_with_its_rules_and_laws() -> None:
    features = (Feature("a", "count"), Feature("b", "count"), Feature("c", "count"))
    schema = Schema(features, ("a <= b", "b <= c"), ("a <= c",))
    frame = pd.DataFrame({name: RANDOM.integers(0, 9, 50) for name in "abc"})
    question = schema.questions(frame)[0]
    left = question.apply(schema, question["o"], "Ada")
    assert left == Schema(features[1:], ("b <= c",), ())


def test_a_family_of_one_stem_is_asked_once() -> None:
    first = RANDOM.integers(0, 9, 400)
    frame = pd.DataFrame({f"PAY_{i}": first + RANDOM.integers(0, 3, 400) for i in (2, 3, 4)})
    frame["PAY_9"] = RANDOM.integers(0, 9, 400)  # the same stem, and nothing to do with the others
    frame[["x0", "x1"]] = RANDOM.integers(0, 9, (400, 2))
    schema = Schema.infer(frame, laws=False)
    family, *others = schema.questions(frame)
    assert family.columns == ("PAY_2", "PAY_3", "PAY_4")
    assert [question.columns for question in others] == [("PAY_9",), ("x0",), ("x1",)]
    past = family.apply(schema, family["p"], "Ada")
    assert past.immutable == family.columns
    assert past.unreviewed == ("PAY_9", "x0", "x1")
    assert family["e"].asks == "parts"
    assert family.apply(schema, family["e"], "Ada") == schema
    assert [part.columns for part in family.parts] == [("PAY_2",), ("PAY_3",), ("PAY_4",)]
