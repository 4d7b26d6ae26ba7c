"""The measures of answers, row by row, and their averages with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from attain.core.intervals import mean_intervals
from attain.metrics import AnswerMatrix, Background, Measure
from attain.metrics.measures import inlier
from attain.population.reference import QUANTILES
from attain.tables import Table
from experiments.paper.answers import Answers
from experiments.paper.settings import NEIGHBOURS
from experiments.store import Artifact

PER_PERSON = ("outlier", "nearest", "total_shift", "max_shift", "changed")


@dataclass(frozen=True, eq=False)
class Line:
    """The measures of one method's answers, one number per row; NaN without an answer.

    Attributes
    ----------
    people, found
        The position of each row in the held-out data, and which have an answer.
    outlier
        (n_rows, k of `NEIGHBOURS`): 1 if the answer is a local outlier.
    nearest
        The distance to the nearest real row of the desired class.
    total_shift, max_shift, changed
        TS, MS and the number of features that change.
    epsilon
        ε at the quantiles of held-out real rows' nearest distance, for the classifier in question.
    """

    method: str
    people: np.ndarray
    found: np.ndarray
    outlier: np.ndarray
    nearest: np.ndarray
    total_shift: np.ndarray
    max_shift: np.ndarray
    changed: np.ndarray
    epsilon: Mapping[float, float]

    def among(self, people: np.ndarray) -> Line:
        """The same, for these rows only."""
        kept = np.isin(self.people, people)
        arrays = {name: getattr(self, name)[kept] for name in ("people", "found", *PER_PERSON)}
        return Line(self.method, epsilon=self.epsilon, **arrays)

    def outliers(self, k: int | None = None) -> np.ndarray:
        """Whether each answer is an outlier: at every k, or at one."""
        answered = self.outlier[self.found]
        return answered if k is None else answered[:, [NEIGHBOURS.index(k)]]

    def connected(self, epsilons: np.ndarray | tuple[float, ...]) -> np.ndarray:
        """Whether a real row is within each ε of each answer."""
        return np.asarray(self.nearest[self.found][:, None] <= np.asarray(epsilons), dtype=np.float64)

    def connected_relative(self) -> np.ndarray:
        """Whether a real row is within ε.5, ε.75, ε.9 and ε.95 of each answer."""
        return self.connected(tuple(self.epsilon[quantile] for quantile in QUANTILES))


@dataclass(frozen=True)
class Share:
    """Means over rows, with 95 % bootstrap intervals."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def averaged(values: np.ndarray, draws: int, seed: int) -> Share:
    """The mean of each column over the rows, and its interval; NaN without rows."""
    intervals = mean_intervals(values, resamples=draws, random_state=seed)
    mean = values.mean(axis=0) if len(values) else np.full(values.shape[1], np.nan)
    return Share(mean, np.array([interval.low for interval in intervals]), np.array([i.high for i in intervals]))


_MEASURES: Final[tuple[str | Measure, ...]] = (
    *(inlier(k) for k in NEIGHBOURS),
    *("nearest_distance", "total_shift", "max_shift", "changed"),
)


def measured(background: Background, test: pd.DataFrame, answers: Mapping[str, Answers]) -> Artifact:
    """Every measure of every method's answers for rows of the held-out data."""
    goal, reference = background.goal, background.reference
    arrays: dict[str, np.ndarray] = {}
    for method, given in answers.items():
        table = Table.read(test.iloc[given.people], reference.schema)
        asked = AnswerMatrix(table, given.rows, given.found, goal.target, goal.probability)
        frame = background.evaluate(asked, measures=_MEASURES, resamples=1).frame
        arrays |= {
            f"{method}/people": given.people,
            f"{method}/found": given.found,
            f"{method}/outlier": 1.0 - frame[[f"inlier_{k}" for k in NEIGHBOURS]].to_numpy(),
            f"{method}/nearest": frame["nearest_distance"].to_numpy(),
            **{f"{method}/{name}": frame[name].to_numpy() for name in ("total_shift", "max_shift", "changed")},
        }
    epsilon = {str(quantile): reference.epsilon[quantile] for quantile in QUANTILES}
    return Artifact({"methods": list(answers), "epsilon": epsilon, "reference": len(reference)}, arrays)


def lines(artifact: Artifact) -> dict[str, Line]:
    """The lines in an artifact, by method."""
    epsilon = {float(quantile): value for quantile, value in artifact.facts["epsilon"].items()}
    return {
        method: Line(
            method,
            epsilon=epsilon,
            **{name: artifact.arrays[f"{method}/{name}"] for name in ("people", "found", *PER_PERSON)},
        )
        for method in artifact.facts["methods"]
    }
