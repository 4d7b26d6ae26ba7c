"""The measures of answers, row by row, and their averages over seeds and people, with intervals."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from attain import metrics
from attain.core.intervals import resampled, times_drawn
from attain.population.measuring import Percentiles
from attain.population.population import QUANTILES, Reference
from experiments.paper.answers import Answers
from experiments.paper.settings import NEIGHBOURS
from experiments.research import likeness
from experiments.store import Artifact

REAL: Final = "real people"
"""Held-out real people of the desired class, measured beside the methods."""
PER_PERSON: Final = ("outlier", "nearest", "total_shift", "max_shift", "changed")
DRAWS: Final = 1000
"""Bootstrap samples behind each interval."""
_SPACES: Final = {False: "", True: " raw"}
"""How the measures that depend on distances are called, z-scored and raw."""


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
    likeness
        The spread of all answers relative to real rows, and their correlation with the factuals.
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
    likeness: tuple[float, float] = (np.nan, np.nan)

    def among(self, people: np.ndarray) -> Line:
        """The same, for these rows only."""
        kept = np.isin(self.people, people)
        return replace(self, **{name: getattr(self, name)[kept] for name in ("people", "found", *PER_PERSON)})

    def outliers(self, k: int | None = None) -> np.ndarray:
        """Whether each answer is an outlier: at every k, or at one."""
        answered = self.outlier[self.found]
        return answered if k is None else answered[:, [NEIGHBOURS.index(k)]]

    def connected(self, epsilons: np.ndarray | Sequence[float]) -> np.ndarray:
        """Whether a real row is within each ε of each answer."""
        return np.asarray(self.nearest[self.found][:, None] <= np.asarray(epsilons), dtype=np.float64)

    def connected_relative(self, quantiles: Sequence[float] = QUANTILES) -> np.ndarray:
        """Whether a real row is within ε.5, ε.75, ε.9 and ε.95 of each answer."""
        return self.connected([self.epsilon[quantile] for quantile in quantiles])

    def shifts(self, name: str) -> np.ndarray:
        """TS, MS or the number of changes of each answer, (n, 1)."""
        return np.asarray(getattr(self, name)[self.found][:, None])


@dataclass(frozen=True)
class Share:
    """Means over seeds and people, with 95 % bootstrap intervals."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def mean(values: np.ndarray) -> np.ndarray:
    """The mean of each column; NaN, which is neither more nor less than anything, where nobody has an answer."""
    return np.asarray(values.mean(axis=0)) if len(values) else np.full(values.shape[1], np.nan)


def averaged(seeds: Sequence[np.ndarray], draws: int = DRAWS) -> Share:
    """The mean over seeds of the means over people, and its interval.

    Parameters
    ----------
    seeds
        For each seed (n_people, n_columns). Seeds without people are left out.
    draws
        Bootstrap samples: seeds are drawn with replacement, and people within each. One seed leaves the people only.
    """
    known = [values for values in seeds if len(values)]
    columns = seeds[0].shape[1]
    nothing = np.full(columns, np.nan)
    if not known:
        return Share(nothing, nothing, nothing)
    middle = np.asarray(np.mean([mean(values) for values in known], axis=0))
    if max(map(len, known)) < 2:
        return Share(middle, nothing, nothing)
    number = len(known)
    people = np.stack([_resampled_means(values, draws, seed) for seed, values in enumerate(known)])
    chosen = np.random.default_rng(number).integers(0, number, (draws, number))
    # a seed that is drawn twice has other people the second time
    turn = (np.arange(draws)[:, None] + (draws // number) * np.arange(number)) % draws
    replicates = people[chosen, turn].mean(axis=1)
    low, high = np.quantile(replicates, (0.025, 0.975), axis=0)
    return Share(middle, low, high)


def _resampled_means(values: np.ndarray, draws: int, seed: int) -> np.ndarray:
    blocks = [times_drawn(drawn) @ values / len(values) for drawn in resampled(len(values), draws, seed)]
    return np.concatenate(blocks)


def measured(
    reference: Reference, ecdf: Percentiles, test_values: np.ndarray, answers: Mapping[str, Answers]
) -> Artifact:
    """Every measure of every method's answers for rows of the held-out data, by z-scored and by raw distances."""
    arrays: dict[str, np.ndarray] = {}
    epsilon = {}
    for raw, ending in _SPACES.items():
        judge = unscaled(reference, answers, test_values) if raw else reference
        epsilon[ending.strip() or "z-scored"] = {str(quantile): judge.epsilon[quantile] for quantile in QUANTILES}
        for method, given in answers.items():
            known = judge.searched(given.rows[given.found], max(NEIGHBOURS))
            everybody = np.ones(int(given.found.sum()), dtype=np.bool_)
            outlier = np.full((len(given.people), len(NEIGHBOURS)), np.nan)
            nearest = np.full(len(given.people), np.nan)
            rows = given.rows[given.found]
            for place, k in enumerate(NEIGHBOURS):
                outlier[given.found, place] = metrics.outlier(rows, known, k, everybody)
            nearest[given.found] = metrics.nearest_distance(rows, known, everybody)
            arrays |= {f"{method}/outlier{ending}": outlier, f"{method}/nearest{ending}": nearest}
    for method, given in answers.items():
        own = test_values[given.people]
        arrays |= {
            f"{method}/people": given.people,
            f"{method}/found": given.found,
            f"{method}/total_shift": metrics.total_shift(given.rows, own, ecdf, given.found),
            f"{method}/max_shift": metrics.max_shift(given.rows, own, ecdf, given.found),
            f"{method}/changed": metrics.changed(given.rows, own, reference.schema, given.found),
            f"{method}/likeness": np.array(_likeness(given, own, reference)),
        }
    return Artifact({"methods": list(answers), "epsilon": epsilon, "reference": len(reference)}, arrays)


def unscaled(reference: Reference, answers: Mapping[str, Answers], test_values: np.ndarray) -> Reference:
    """The same rows in original units: a euro counts as much as a year."""
    space = reference.space
    raw = replace(space, mean=np.zeros_like(space.mean), scale=np.ones_like(space.scale))
    everybody = np.ones(len(reference), dtype=np.bool_)
    same = Reference.build(reference.schema, reference.values, desired_labels=everybody, met=everybody, space=raw)
    return same.with_held_out(test_values[answers[REAL].people])


def _likeness(given: Answers, own: np.ndarray, reference: Reference) -> tuple[float, float]:
    """Spread and correlation, each over the features that have one; NaN if none has."""
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
        spread = likeness.spread(given.rows, reference, given.found)
        correlation = likeness.correlation(given.rows, own, reference.schema, given.found)
        return float(np.nanmedian(spread)), float(np.nanmean(correlation))


def lines(artifact: Artifact, raw: bool = False) -> dict[str, Line]:
    """The lines in an artifact, by method."""
    ending, arrays = _SPACES[raw], artifact.arrays
    epsilon = artifact.facts["epsilon"][ending.strip() or "z-scored"]
    return {
        method: Line(
            method,
            **{name: arrays[f"{method}/{name}"] for name in ("people", "found", "total_shift", "max_shift", "changed")},
            **{name: arrays[f"{method}/{name}{ending}"] for name in ("outlier", "nearest")},
            epsilon={float(quantile): value for quantile, value in epsilon.items()},
            likeness=(float(arrays[f"{method}/likeness"][0]), float(arrays[f"{method}/likeness"][1])),
        )
        for method in artifact.facts["methods"]
    }
