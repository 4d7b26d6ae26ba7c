"""A graph of real rows: which are near each other, and how high the density is between them."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra
from scipy.special import logsumexp

from attain.population.neighbours import Neighbours
from attain.population.space import MeasuringSpace
from attain.schema import Schema
from attain.tables import Region, ordinary

_TILE = 256
_SPARE = 8
_RANK = 1e-12
"""Smaller eigenvalues, relative to the largest, are 0 but for rounding."""
_SHORTEST = 1e-9
"""No step has length 0, which in a sparse graph means no step."""
_DECIMALS = 9


class FlatSpace:
    """The measuring space of n rows in at most n + 1 coordinates, with the same distances up to rounding.

    With many levels, rows have many more coordinates than there are rows. Let X (n, p) be the rows, X Xᵀ = V Λ Vᵀ. A
    row is at V √Λ, and any point q at (q Xᵀ V / √Λ, r), where r is its distance from the span of the rows.
    """

    def __init__(self, space: MeasuringSpace, rows: np.ndarray) -> None:
        self._space, self._rows = space, space.sparse(rows)
        values, vectors = np.linalg.eigh((self._rows @ self._rows.T).toarray())
        kept = values > _RANK * values.max()
        self._axes = vectors[:, kept] / np.sqrt(values[kept])
        self.points = np.column_stack((vectors[:, kept] * np.sqrt(values[kept]), np.zeros(len(values))))

    def transform(self, rows: np.ndarray) -> np.ndarray:
        """The points of rows, (m, n + 1) at most; each is computed by itself, so that it does not depend on others."""
        points = self._space.sparse(rows)
        inside = np.array([row @ self._axes for row in (points @ self._rows.T).toarray()])
        beyond = points.power(2).sum(axis=1) - (inside**2).sum(axis=1)
        return np.column_stack((inside, np.sqrt(np.maximum(beyond, 0.0))))


class GaussianDensity:
    """The logarithm of a Gaussian kernel density over points, up to a constant.

    The bandwidth is Scott's, n^(−1/(p+4)) times the root mean variance of the coordinates, unless it is given.
    """

    def __init__(self, centres: np.ndarray, bandwidth: float | None) -> None:
        spread = float(np.sqrt(centres.var(axis=0).mean())) or 1.0
        self.bandwidth = bandwidth or spread * len(centres) ** (-1.0 / (centres.shape[1] + 4))
        self._centres = centres

    def log(self, points: np.ndarray) -> np.ndarray:
        """log Σ_c exp(−‖x − c‖² / 2h²) for each point."""
        result = np.empty(len(points))
        size = (self._centres**2).sum(axis=1)
        for start in range(0, len(points), _TILE):
            some = points[start : start + _TILE]
            padded = np.concatenate((some, np.zeros((_TILE - len(some), some.shape[1]))))
            squares = np.maximum((padded**2).sum(axis=1)[:, None] + size - 2 * padded @ self._centres.T, 0.0)
            result[start : start + _TILE] = logsumexp(squares / (-2 * self.bandwidth**2), axis=1)[: len(some)]
        # products round differently in another batch; nothing may depend on their last bits
        return np.round(result, _DECIMALS)


class RowGraph:
    """Each row joined to its nearest others, both ways, with weights that are large where the density is low.

    A step from a to b weighs ‖a − b‖ (1 + max(u − log p, 0)): the density p at its midpoint, and u the largest log p
    at a row, so that no weight is negative. Without a kernel density, p is the nearest neighbour estimate from the
    length of the step itself, ∝ ‖a − b‖^(−dimensions).

    Attributes
    ----------
    values, points
        The n rows, in original units (n, d) and in the measuring space (n, p).
    height
        The logarithm of the density at each row, (n,).
    starts, ends, weights
        The steps. Steps against a direction of the schema are left out.
    """

    def __init__(
        self, schema: Schema, values: np.ndarray, points: np.ndarray, neighbours: int, density: GaussianDensity | None
    ) -> None:
        self.values, self.points = values, points
        self._density = density
        self._schema = schema
        self._neighbours = min(neighbours, len(points) - 1)
        distances, indices = Neighbours(points).query(points, self._neighbours + 1)
        starts = np.repeat(np.arange(len(points)), indices.shape[1])
        pairs = np.sort(np.column_stack((starts, indices.ravel())), axis=1)
        pairs = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
        lengths = _lengths(points[pairs[:, 0]], points[pairs[:, 1]])
        self.height = np.log(1 / np.maximum(distances[:, -1], _SHORTEST)) if density is None else density.log(points)
        self._unit = self._largest(lengths)
        weights = self._weights(points[pairs[:, 0]], points[pairs[:, 1]], lengths)
        self.starts, self.ends = np.concatenate((pairs[:, 0], pairs[:, 1])), np.concatenate((pairs[:, 1], pairs[:, 0]))
        self.weights = np.tile(weights, 2)
        kept = self._along(values[self.starts], values[self.ends])
        self.starts, self.ends, self.weights = self.starts[kept], self.ends[kept], self.weights[kept]

    def __len__(self) -> int:
        return len(self.points)

    def _largest(self, lengths: np.ndarray) -> float:
        if self._density is not None:
            return float(self.height.max())
        # the very shortest steps join near-duplicates; they do not show a high density
        return -self.points.shape[1] * float(np.log(np.quantile(lengths, 0.01))) if len(lengths) else 0.0

    def _weights(self, starts: np.ndarray, ends: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        lengths = np.maximum(lengths, _SHORTEST)
        if self._density is None:
            log_density = -self.points.shape[1] * np.log(lengths)
        else:
            log_density = self._density.log((starts + ends) / 2)
        return lengths * (1.0 + np.maximum(self._unit - log_density, 0.0))

    def _along(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Which steps agree with the directions of the schema."""
        good = np.ones(len(before), dtype=bool)
        for j, feature in enumerate(self._schema):
            if feature.direction != "any" and not feature.immutable:
                both = ordinary(feature, before[:, j]) & ordinary(feature, after[:, j])
                back = after[:, j] < before[:, j] if feature.direction == "increase" else after[:, j] > before[:, j]
                good &= ~(both & back)
        return good

    def routes(self, region: Region, factuals: np.ndarray, admissible: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The shortest paths from m rows to all n vertices: lengths, and the vertex before each, (m, n).

        `factuals` are the m points; each starts with steps to the nearest of its `admissible` vertices (m, n), and goes
        on through them alone. A vertex before of −1 is the row itself. One graph with a block for each row has them
        all, so that one call of Dijkstra's algorithm finds every path.
        """
        m, n = admissible.shape
        owner, vertex = self._links(region, factuals, admissible)
        linked = self._weights(factuals[owner], self.points[vertex], _lengths(factuals[owner], self.points[vertex]))
        block, edge = np.nonzero(admissible[:, self.starts] & admissible[:, self.ends])
        width = n + 1
        rows = np.concatenate((block * width + self.starts[edge], owner * width + n))
        columns = np.concatenate((block * width + self.ends[edge], owner * width + vertex))
        weights = np.concatenate((self.weights[edge], linked))
        graph = csr_matrix((weights, (rows, columns)), shape=(m * width, m * width))
        sources = np.arange(m) * width + n
        lengths, before, _ = dijkstra(graph, indices=sources, return_predecessors=True, min_only=True)
        before = before.reshape(m, width)[:, :n] - (np.arange(m) * width)[:, None]
        return np.round(lengths.reshape(m, width)[:, :n], _DECIMALS), np.where(before == n, -1, before)

    def _links(self, region: Region, factuals: np.ndarray, admissible: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The first steps: from each row to its nearest admissible vertices, along the schema's directions."""
        squares = (self.points**2).sum(axis=1) - 2 * factuals @ self.points.T
        squares[~admissible] = np.inf
        keep = min(self._neighbours + _SPARE, len(self))
        vertex = np.sort(np.argpartition(squares, keep - 1, axis=1)[:, :keep], axis=1).ravel()
        owner = np.repeat(np.arange(len(factuals)), keep)
        lengths = _lengths(factuals[owner], self.points[vertex])
        good = admissible[owner, vertex] & self._along(region.factuals[owner], self.values[vertex])
        order = np.lexsort((vertex, np.where(good, lengths, np.inf), owner)).reshape(len(factuals), keep)
        nearest = order[:, : self._neighbours].ravel()
        nearest = nearest[good[nearest]]
        return owner[nearest], vertex[nearest]


def _lengths(starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    return np.sqrt(((starts - ends) ** 2).sum(axis=1))


def admissible_rows(region: Region, values: np.ndarray, spread: np.ndarray, tolerance: float) -> np.ndarray:
    """Which of n rows each of m rows could become, (m, n), cell by cell.

    A level or special code that may not change is the same. A number that may not change lies within `tolerance`
    standard deviations of the row's own. What may change lies within its limits. Cells that are missing in the row, and
    derived columns, are not compared.
    """
    result = np.ones((len(region), len(values)), dtype=bool)
    for j, feature in enumerate(region.schema):
        own, cells = region.factuals[:, j, None], values[:, j]
        if feature.derived is not None:
            continue
        frozen = region.frozen[:, j, None]
        if not feature.numeric:
            allowed = region.levels(j)
            known = ~np.isnan(cells)
            free = allowed[:, np.where(known, cells, 0).astype(np.intp)] & known
            fits = np.where(frozen, own == cells, free)
        else:
            on_scale = ordinary(feature, cells)
            near = np.where(
                frozen,
                np.abs(cells - own) <= tolerance * spread[j],
                (cells >= region.low[:, j, None]) & (cells <= region.high[:, j, None]),
            )
            same_kind = ordinary(feature, own)
            if feature.special:
                states = region.states[j]
                near = near & np.where(frozen, same_kind, states[:, -1:])
                for k, code in enumerate(feature.special):
                    near = np.where(cells == code, np.where(frozen, own == code, states[:, k, None]), near)
                on_scale = ~np.isnan(cells)
            fits = near & on_scale
        result &= fits | np.isnan(own)
    return result
