"""What is measured of the answers, per person, and averaged with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from attain import metrics
from attain.metrics.intervals import mean_intervals
from attain.population.percentiles import Percentiles
from attain.population.reference import QUANTILES, Reference
from experiments.paper.answers import Answers
from experiments.paper.settings import NEIGHBOURS
from experiments.store import Part

PER_PERSON = ("outlier", "nearest", "total_shift", "max_shift", "changed")


@dataclass(frozen=True, eq=False)
class Line:
    """The measures of one method's answers, one row a person; NaN for a person without an answer.

    Attributes
    ----------
    people, found
        The position of each among the held-out people, and who has an answer.
    outlier
        (people, k of `NEIGHBOURS`): 1 where the answer is a local outlier.
    nearest
        The distance to the nearest real person of the desired class.
    total_shift, max_shift, changed
        TS, MS and the number of features that change.
    epsilon
        The ε at the quantiles of held-out real people's nearest distance, for the classifier that judges.
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
        """The same for those who are among these people."""
        kept = np.isin(self.people, people)
        arrays = {name: getattr(self, name)[kept] for name in ("people", "found", *PER_PERSON)}
        return Line(self.method, epsilon=self.epsilon, **arrays)

    def outliers(self, k: int | None = None) -> np.ndarray:
        """For the people answered, whether the answer is an outlier: at every k in turn, or at one."""
        answered = self.outlier[self.found]
        return answered if k is None else answered[:, [NEIGHBOURS.index(k)]]

    def connected(self, epsilons: np.ndarray | tuple[float, ...]) -> np.ndarray:
        """For the people answered, whether a real person is within each ε."""
        return np.asarray(self.nearest[self.found][:, None] <= np.asarray(epsilons), dtype=np.float64)

    def connected_relative(self) -> np.ndarray:
        """For the people answered, whether a real person is within ε.5, ε.75, ε.9 and ε.95."""
        return self.connected(tuple(self.epsilon[quantile] for quantile in QUANTILES))


@dataclass(frozen=True)
class Share:
    """Means over people, with 95 % bootstrap intervals."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def averaged(values: np.ndarray, draws: int, seed: int) -> Share:
    """The mean of each column over the people, and its interval from resampled people; NaN without people."""
    intervals = mean_intervals(values, resamples=draws, random_state=seed)
    mean = values.mean(axis=0) if len(values) else np.full(values.shape[1], np.nan)
    return Share(mean, np.array([interval.low for interval in intervals]), np.array([i.high for i in intervals]))


def measured(answers: Mapping[str, Answers], factuals: np.ndarray, reference: Reference, ecdf: Percentiles) -> Part:
    """Every measure of every method's answers; `factuals` are the held-out people that positions point to."""
    arrays: dict[str, np.ndarray] = {}
    for method, given in answers.items():
        own, found = factuals[given.people], given.found
        columns = [metrics.outlier(given.rows, reference, k, found) for k in NEIGHBOURS]
        arrays |= {
            f"{method}/people": given.people,
            f"{method}/found": found,
            f"{method}/outlier": np.stack(columns, axis=1),
            f"{method}/nearest": metrics.nearest_distance(given.rows, reference, found),
            f"{method}/total_shift": metrics.total_shift(given.rows, own, ecdf, found),
            f"{method}/max_shift": metrics.max_shift(given.rows, own, ecdf, found),
            f"{method}/changed": metrics.changed(given.rows, own, reference.schema, found),
        }
    epsilon = {str(quantile): reference.epsilon[quantile] for quantile in QUANTILES}
    return Part({"methods": list(answers), "epsilon": epsilon, "reference": len(reference)}, arrays)


def lines(part: Part) -> dict[str, Line]:
    """The lines that a part holds, by method."""
    epsilon = {float(quantile): value for quantile, value in part.facts["epsilon"].items()}
    return {
        method: Line(
            method,
            epsilon=epsilon,
            **{name: part.arrays[f"{method}/{name}"] for name in ("people", "found", *PER_PERSON)},
        )
        for method in part.facts["methods"]
    }
