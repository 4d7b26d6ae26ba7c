"""A Gaussian copula over smoothed marginals: the dependence that correlations can express."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp, ndtr, ndtri

from attain.core.arrays import BoolArray, FloatArray, IndexArray
from attain.core.checks import check_integer
from attain.core.errors import FileError
from attain.density.autoencoder import State
from attain.density.densities.base import StateDensity
from attain.density.histograms.grouping import marginal
from attain.density.histograms.states import MISSING, Coded
from attain.density.uniforms import Keys, draw_keys, uniforms
from attain.schema import Schema

_SHRINKAGE = 1e-3
"""The share of the identity in the correlation matrix, which keeps it positive definite."""
_ROWS = 2048
"""Rows that are worked on at once: each is as many rows as there are draws."""
_SMALLEST = 1e-300


@dataclass(eq=False, repr=False)
class GaussianCopula(StateDensity):
    """Smoothed empirical marginals, as in `TreeDensity`, joined by a multivariate normal.

    With F_j the distribution function of column j, a value is the interval (F_j(x−), F_j(x)] of a uniform variable, and
    Φ⁻¹ of these variables are normal with correlations R, those of the training rows' normal scores. The probability of
    a box of such intervals is averaged over `draws` sequences of conditional probabilities (the estimator of Geweke,
    Hajivassiliou and Keane) with fixed uniform numbers. For any fixed numbers these sum to one over all rows, so
    log-densities are normalised exactly, and samples come from the same distribution. Continuous cells need no draws.
    Levels without an order are taken in the schema's.

    Parameters
    ----------
    schema
        What the columns are. Derived columns are left out.
    draws
        Sequences that probabilities are averaged over.
    random_state
        The seed of samples.
    """

    draws: int = 32

    def _check(self) -> None:
        check_integer("draws", self.draws, 1)

    def _learn(self, schema: Schema, values: FloatArray, states: Coded) -> None:
        self._shares: dict[int, FloatArray] = {}
        scores = []
        for j, column in self._columns.items():
            counts = np.bincount(states[:, j], minlength=column.count)
            self._shares[j] = marginal(counts, (np.arange(column.count) != MISSING) | (counts > 0))
            low, high = self._interval(j, values[:, j], states[:, j])
            scores.append(ndtri((low + high) / 2))
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.nan_to_num(np.corrcoef(np.array(scores)).reshape(len(scores), len(scores)))
        np.fill_diagonal(found, 1.0)
        self._correlation = (1 - _SHRINKAGE) * found + _SHRINKAGE * np.eye(len(scores))

    def _interval(self, j: int, cells: FloatArray, states: Coded) -> tuple[FloatArray, FloatArray]:
        """(F(x−), F(x)) of cells; equal where F is continuous, and (0, 1) for a missing cell that says nothing."""
        share = self._shares[j]
        below = np.cumsum(share) - share
        start, end = self._columns[j].position(cells, states)
        low, high = (np.minimum(below[states] + share[states] * part, 1.0) for part in (start, end))
        nothing = (states == MISSING) & (share[MISSING] == 0)
        return np.where(nothing, 0.0, low), np.where(nothing, 1.0, high)

    def _log_mass(self, values: FloatArray, states: Coded, held: frozenset[int]) -> FloatArray:
        result = np.zeros(len(values))
        for start in range(0, len(values), _ROWS):
            part = slice(start, start + _ROWS)
            joint = given = np.zeros((len(values[part]), self.draws))
            for j, weights, _ in self._sequences(values[part], states[part], self._order(held)):
                joint = joint + weights
                if j in held:
                    given = joint
                else:
                    share = self._shares[j][states[part, j]]
                    result[part] += np.log(np.where(share > 0, share, 1.0))
            result[part] += logsumexp(joint, axis=1) - logsumexp(given, axis=1)
        return result

    def _order(self, held: frozenset[int]) -> list[int]:
        return sorted(self._columns, key=lambda j: (j not in held, j))

    def _factor(self, order: list[int]) -> FloatArray:
        places = {j: place for place, j in enumerate(self._columns)}
        chosen = [places[j] for j in order]
        return np.asarray(np.linalg.cholesky(self._correlation[np.ix_(chosen, chosen)]))

    def _points(self, j: int) -> FloatArray:
        """The fixed uniform numbers of a column, one for each sequence: stratified, in random order."""
        order = np.random.default_rng((j, self.draws)).permutation(self.draws)
        return (order + 0.5) / self.draws

    def _sequences(
        self, values: FloatArray, states: Coded, order: list[int]
    ) -> Iterator[tuple[int, FloatArray, FloatArray]]:
        """For each column in order the log of p(cell | cells before) / p(cell), and its innovation, both (n, draws)."""
        factor = self._factor(order)
        past: list[FloatArray] = []
        for place, j in enumerate(order):
            low, high = (edge[:, None] for edge in self._interval(j, values[:, j], states[:, j]))
            mean = _mean(factor[place], past, (len(values), self.draws))
            scale = factor[place, place]
            with np.errstate(invalid="ignore", divide="ignore"):
                mass, inside = _box((ndtri(low) - mean) / scale, (ndtri(high) - mean) / scale, self._points(j)[None])
                point = (ndtri(low) - mean) / scale
                discrete = np.log(mass) - np.log(high - low)
                continuous = (ndtri(low) ** 2 - point**2) / 2 - np.log(scale)
            past.append(np.where(high > low, inside, point))
            yield j, np.where(high > low, discrete, continuous), past[-1]

    def _draw(self, rows: FloatArray, values: FloatArray, held: frozenset[int], keys: Keys, n: int) -> None:
        for start in range(0, len(values), _ROWS):
            part = slice(start, start + _ROWS)
            drawn = rows[start * n : (start + _ROWS) * n]
            self._draw_part(drawn, values[part], held, keys[part], n)

    def _draw_part(self, rows: FloatArray, values: FloatArray, held: frozenset[int], keys: Keys, n: int) -> None:
        order, keys = self._order(held), draw_keys(keys, n)
        owner = np.repeat(np.arange(len(values)), n)
        weights, known = np.zeros((len(values), self.draws)), []
        for _, ratio, innovation in self._sequences(values, self._encode(values), order[: len(held)]):
            weights = weights + ratio
            known.append(innovation)
        sequence = _chosen(weights, owner, uniforms(keys, 0))
        past = [innovation[owner, sequence] for innovation in known]
        factor = self._factor(order)
        for place, j in enumerate(order[len(held) :], start=len(held)):
            column, share, scale = self._columns[j], self._shares[j], factor[place, place]
            mean = _mean(factor[place], past, owner.shape)
            u = np.clip(ndtr(mean + scale * ndtri(np.maximum(uniforms(keys, place + 1), _SMALLEST))), 0.0, 1.0)
            states = np.minimum(np.searchsorted(np.cumsum(share), u, side="right"), len(share) - 1)
            inside = np.clip((u - (np.cumsum(share) - share)[states]) / share[states], 0.0, np.nextafter(1.0, 0.0))
            rows[:, j] = column.draw(states, inside)
            low, high = self._interval(j, rows[:, j], states)
            with np.errstate(invalid="ignore", divide="ignore"):
                _, within = _box((ndtri(low) - mean) / scale, (ndtri(high) - mean) / scale, self._points(j)[sequence])
                past.append(np.where(high > low, within, (ndtri(low) - mean) / scale))

    def _given_up(self) -> State:
        arrays = {f"shares.{j:04d}": share for j, share in self._shares.items()}
        return {"draws": self.draws}, arrays | {"correlation": self._correlation}

    def _take(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        if facts["draws"] != self.draws:
            raise FileError(f"the file was written with draws={facts['draws']!r}, not {self.draws}")
        self._correlation = arrays["correlation"]
        if self._correlation.shape != 2 * (len(self._columns),) or self._correlation.dtype != np.float64:
            raise FileError("the file does not hold a correlation for each pair of columns")
        self._shares = {j: arrays[f"shares.{j:04d}"] for j in self._columns}
        for j, share in self._shares.items():
            sound = share.shape == (self._columns[j].count,) and share.dtype == np.float64
            if not sound or not ((share[1:] > 0).all() and share[MISSING] >= 0 and abs(share.sum() - 1) < 1e-9):
                raise FileError(f"the file does not hold the shares of column {self.schema.names[j]!r}")


def _mean(row: FloatArray, past: list[FloatArray], shape: tuple[int, ...]) -> FloatArray:
    """Σ_k row[k] · past[k], one after the other: a matrix product may sum in another order at another shape."""
    total = np.zeros(shape)
    for weight, innovation in zip(row, past, strict=False):
        total = total + weight * innovation
    return total


def _box(low: FloatArray, high: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
    """P(low < e ≤ high) of a standard normal e, and its value at the share v of that mass.

    Boxes above 0 are mirrored, so that both tails have the same relative precision.
    """
    mirrored: BoolArray = low > 0
    below, above = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    start = ndtr(below)
    mass = np.maximum(ndtr(above) - start, _SMALLEST)
    at = ndtri(np.clip(start + np.where(mirrored, 1 - v, v) * mass, _SMALLEST, 1 - 2.0**-53))
    at = np.clip(at, below, above)
    return mass, np.where(mirrored, -at, at)


def _chosen(log_weights: FloatArray, owner: IndexArray, u: FloatArray) -> IndexArray:
    """One sequence for each draw, by the weights (n, draws) of its owner."""
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    ladder = np.cumsum(weights, axis=1)
    return np.minimum((ladder[owner] <= (u * ladder[owner, -1])[:, None]).sum(axis=1), log_weights.shape[1] - 1)
