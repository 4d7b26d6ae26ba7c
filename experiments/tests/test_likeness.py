"""Spread and correlation of answers: known moments, and the loop they were first written as."""

import numpy as np

from attain.population.population import Reference
from attain.schema import Feature, Schema
from attain.tables import ordinary
from experiments.research.likeness import correlation, spread

NAN = float("nan")
SCHEMA = Schema(
    (
        Feature("a", "real"),
        Feature("b", "real", special={-9: "no record"}),
        Feature("home", "categorical", levels=("rents", "owns")),
        Feature("age", "real", immutable=True),
        Feature("c", "real"),
        Feature("flat", "real"),
    )
)


def people(number: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(number, 6)) * [1, 2, 1, 1, 3, 0]
    rows[:, 2] = rng.integers(2, size=number)
    rows[rng.random(number) < 0.2, 1] = -9
    return rows


def reference(values: np.ndarray) -> Reference:
    return Reference.build(SCHEMA, values, met=np.ones(len(values), dtype=bool))


def test_answers_half_as_wide_as_people_have_half_their_spread() -> None:
    real = people(60, 0)
    real[:, 1] = np.abs(real[:, 1])
    answers = real / 2 + 5
    answers[:, 2] = real[:, 2]
    result = spread(answers, reference(real))
    np.testing.assert_allclose(result, [0.5, 0.5, NAN, NAN, 0.5, NAN], rtol=1e-12)
    np.testing.assert_allclose(correlation(answers, real, SCHEMA), [1, 1, NAN, NAN, 1, NAN], rtol=1e-12)
    flipped = correlation(-answers, real, SCHEMA)
    np.testing.assert_allclose(flipped[[0, 4]], [-1, -1])


def test_figures_are_those_of_a_plain_loop() -> None:
    real, factuals, answers = reference(people(80, 1)), people(50, 2), people(50, 3)
    answers[:, 0] += factuals[:, 0]
    answers[:, 1] = np.where(factuals[:, 1] == -9, -9, np.abs(answers[:, 1]) + factuals[:, 1])
    answers[7] = NAN
    found = np.arange(50) % 5 > 0
    found[7] = False
    rows, own = answers[found], factuals[found]
    spreads, correlations = [], []
    for j in (0, 1, 4):
        feature = SCHEMA.features[j]
        plain = ordinary(feature, rows[:, j]) & ordinary(feature, own[:, j])
        crowd = real.values[ordinary(feature, real.values[:, j]), j]
        spreads.append(rows[plain, j].std() / crowd.std())
        correlations.append(np.corrcoef(rows[plain, j], own[plain, j])[0, 1])
    np.testing.assert_allclose(spread(answers, real, found)[[0, 1, 4]], spreads, rtol=1e-12)
    np.testing.assert_allclose(correlation(answers, factuals, SCHEMA, found)[[0, 1, 4]], correlations, rtol=1e-12)


def test_too_few_or_too_equal_answers_have_no_figure() -> None:
    real = reference(people(30, 0))
    two = people(2, 1)
    assert np.isnan(spread(two, real)).all()
    assert np.isnan(correlation(two, two, SCHEMA)).all()
    alike = np.tile(people(1, 2) * 0 + 0.1, (5, 1))
    np.testing.assert_allclose(spread(alike, real)[[0, 4]], [0, 0], atol=1e-12)
    assert np.isnan(correlation(alike, people(5, 3), SCHEMA)).all()
