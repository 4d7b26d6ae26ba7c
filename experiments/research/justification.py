"""Whether answers are justified: in the same part of the model's decision region as a real row.

Laugel et al. (2019): an answer is justified by a real row of the desired class if a path of records that meet the goal
leads from one to the other. Otherwise it lies on an island, an artefact of the classifier. The path is looked for among
random records around the answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from attain.core.arrays import BoolArray, FloatArray
from attain.methods.search.moves import directions, streams, volume_uniform_radii
from attain.population.connectedness import LINKS, components
from attain.population.measuring import measured
from attain.population.reference import Reference
from attain.population.space import Neighbours
from attain.tables import RuleBook, ordinary

if TYPE_CHECKING:
    from attain.models import Goal

SAMPLES = 15_000
"""The number of records that Laugel et al. draw around an answer."""


def justified(
    answers: ArrayLike,
    reference: Reference,
    goal: Goal,
    *,
    samples: int = SAMPLES,
    random_state: int = 0,
    found: ArrayLike | None = None,
) -> FloatArray:
    """1 for each answer that is linked to the nearest reference row by records that meet the goal, else 0.

    Records are drawn uniformly from the ball around the answer whose surface the reference row lies on, and those that
    meet the goal are kept. Answer, reference row and records are linked in steps of at most ε, the largest distance of
    a kept record from its nearest other point; the answer is justified if it and the reference row are in one
    component. The two themselves do not count for ε, or an answer alone on an island would always be linked. An answer
    is not justified if it fails the goal itself, or if no record is kept. NaN if the reference is empty.

    The ball is one of the measuring space, and its records are made as follows.

    - Numbers and ordinal codes are scaled back and clipped to the feature's bounds; the model is asked about them
      without rounding, except ordinal codes, which must be levels. Immutable columns vary like others: the question
      is about the classifier, not about what can change.
    - Levels without an order, special codes and missing cells have nothing in between. Half of the records have the
      answer's, half the reference row's, and a path may switch from one to the other: steps are measured along numbers
      and ordinal codes only. If both have the same, so do all records.
    - Derived columns are computed from the others; a record for which that fails (a division by 0) is dropped.

    An answer's records depend on its row and `random_state` only. The model is asked about `samples` records for each
    answer, one answer at a time. With few records an existing link may be missed; in many dimensions a ball is mostly
    empty, so that steps become long and verdicts lenient.

    Parameters
    ----------
    samples
        The number of records drawn around each answer.
    random_state
        The seed, an integer ≥ 0.
    """

    def measure(rows: FloatArray, _: BoolArray) -> FloatArray:
        if not len(reference):
            return np.full(len(rows), np.nan)
        distances, nearest = reference.nearest(rows)
        real_rows = reference.values[nearest[:, 0]]
        verdicts = [
            _linked(answer, real, float(radius), reference, goal, samples, generator)
            for answer, real, radius, generator in zip(
                rows, real_rows, distances[:, 0], streams(rows, random_state), strict=True
            )
        ]
        return np.array(verdicts, dtype=np.float64)

    return measured(answers, found, len(reference.schema), measure)


def _linked(
    answer: FloatArray,
    real: FloatArray,
    radius: float,
    reference: Reference,
    goal: Goal,
    samples: int,
    generator: np.random.Generator,
) -> bool:
    drawn = _ball(answer, real, radius, reference, samples, generator)
    asked = _asked(drawn, answer, reference)
    existing = _computable(asked, reference)
    drawn = drawn[existing]
    met = np.asarray(goal.decide(np.vstack((answer, asked[existing]))).met, dtype=np.bool_)
    if not met[0] or radius == 0:
        return bool(met[0])
    kept = _steps(drawn[met[1:]], reference)
    if not len(kept) or not kept.shape[1]:
        return len(kept) > 0  # without ordered columns every record is one step away
    points = np.vstack((_steps(np.vstack((answer, real)), reference), kept))
    index = Neighbours(points)
    distances, indices = index.query(points, min(LINKS + 1, len(points)))
    epsilon = float(distances[2:, 1].max())
    labels = components(index, distances, indices, epsilon, np.ones(len(points), dtype=np.bool_))
    return bool(labels[0] == labels[1])


def _ball(
    answer: FloatArray,
    real: FloatArray,
    radius: float,
    reference: Reference,
    samples: int,
    generator: np.random.Generator,
) -> FloatArray:
    """Records of the ball around the answer, numbers and ordinal codes without rounding."""
    space, schema = reference.space, reference.schema
    apart = (space.transform(answer[None]) - space.transform(real[None]))[0, len(space.scaled) :]
    between = float((apart**2).sum())
    halves = [(answer, samples, radius)]
    if between > 0:
        rest = np.sqrt(max(radius**2 - between, 0.0))
        halves = [(answer, samples - samples // 2, radius), (real, samples // 2, rest)]
    parts = []
    for states, number, reach in halves:
        records = np.tile(states, (number, 1))
        places = [
            place
            for place, column in enumerate(space.scaled)
            if schema.features[column].derived is None and ordinary(schema.features[column], states[[column]])[0]
        ]
        columns = space.scaled[places]
        ways = directions(generator.standard_normal((number, len(columns))))
        lengths = volume_uniform_radii(generator.random(number), np.array(0.0), np.array(reach), np.array(len(columns)))
        centre = space.transform(answer[None])[0, places]
        cells = space.mean[places] + space.scale[places] * (centre + lengths[:, None] * ways)
        low, high = _limits(columns, answer, real, reference)
        records[:, columns] = np.clip(cells, low, high)
        parts.append(records)
    return np.concatenate(parts)


def _limits(
    columns: np.ndarray, answer: FloatArray, real: FloatArray, reference: Reference
) -> tuple[FloatArray, FloatArray]:
    """The range of each cell: the feature's bounds, widened if the answer or the reference row is outside them."""
    low, high = np.empty(len(columns)), np.empty(len(columns))
    for place, column in enumerate(columns):
        feature = reference.schema.features[column]
        bounds = feature.bounds if feature.numeric else (0.0, len(feature.levels) - 1.0)
        own = np.array([answer[column], real[column]])
        own = own[ordinary(feature, own)]
        low[place] = -np.inf if bounds[0] is None else min(bounds[0], *own)
        high[place] = np.inf if bounds[1] is None else max(bounds[1], *own)
    return low, high


def _asked(records: FloatArray, answer: FloatArray, reference: Reference) -> FloatArray:
    """The records as the model is asked about them: ordinal codes are levels, derived columns computed."""
    schema = reference.schema
    asked = records.copy()
    levels = [j for j, feature in enumerate(schema) if feature.ordered and not feature.numeric]
    asked[:, levels] = np.rint(asked[:, levels])
    return RuleBook(schema).derive(asked, np.tile(answer, (len(asked), 1)))


def _computable(records: FloatArray, reference: Reference) -> BoolArray:
    """Which records have a number in every derived column whose inputs are not missing."""
    result = np.ones(len(records), dtype=np.bool_)
    for column, expression in reference.schema.derivations:
        inputs = records[:, [reference.schema.position(name) for name in expression.names]]
        result &= np.isfinite(records[:, column]) | np.isnan(inputs).any(axis=1)
    return result


def _steps(records: FloatArray, reference: Reference) -> FloatArray:
    """The coordinates along which steps are measured: numbers and ordinal codes, derived ones left out."""
    space = reference.space
    derived = np.array([reference.schema.features[column].derived is not None for column in space.scaled], dtype=bool)
    return space.transform(records)[:, : len(space.scaled)][:, ~derived]
