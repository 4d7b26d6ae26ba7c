"""FACE (Poyiadzi et al. 2020): a feasible path over real rows to one of the desired class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra
from scipy.special import logsumexp

from attain.core.arrays import rank_within
from attain.core.errors import AttainError
from attain.core.frames import Frame
from attain.methods.base import Explainer, integer, number
from attain.population.measuring import REAL_VALUES, Copies
from attain.population.population import DecidedPopulation, Population, distinct
from attain.population.space import MeasuringSpace, Neighbours
from attain.results.counterfactuals import Counterfactuals
from attain.schema import Constraints, Schema
from attain.search.pool import diverse_order
from attain.search.problem import Answers, Problem, ranked_hits, ranks_between
from attain.tables import Region, ordinary

_STEPS_AT_ONCE = 10_000_000
_BLOCK = 25
"""End points tried first, the nearest by path; more follow where none of them flips the decision."""
_MOST_FLAT = 2_000
"""The most rows for which a space with more coordinates is flattened: that takes time in the cube of their number."""
_MOST_CELLS = 20_000_000
"""The most coordinates of all rows in the graph; where there are more, they are flattened, and rows are fewer."""
_CENTRES = 1_000
"""The most rows a kernel density is made of."""
_TILE = 256
_SPARE = 8
_RANK = 1e-12
"""Smaller eigenvalues, relative to the largest, are 0 but for rounding."""
_SHORTEST = 1e-9
"""No step has length 0, which in a sparse graph means no step."""
_DECIMALS = 9


@dataclass(kw_only=True, eq=False, repr=False)
class FACE(Explainer):
    """The nearest real row of the desired class along a path of real rows, through regions of high density.

    Takes any classifier. Training rows are joined to their nearest neighbours in the measuring space; a step weighs its
    length times −log of a Gaussian kernel density at its midpoint. The path is the shortest to a row for which the
    model decides as requested and where the density is not too low. The answer is its end with the cells that may not
    change put back, if that still flips the decision; else the next end is tried.

    **Its answers and paths contain real people's values.** The figure `copies_a_person` is 1 where an answer's free
    cells are exactly those of a training row; `endpoint` is the training row, by position, that the path leads to;
    `path_length` its weight. `paths(result)` gives the steps.

    Keeps on every step of the path: immutable levels and special codes (the same), immutable numbers (within
    `tolerance`), directions of the schema (no step back), bounds, ranges, transitions and the constraints of the call
    (relative to the row explained). Keeps in the answer, by construction: all of them exactly, and steps, missing
    cells, derived columns. Rules between features: by repair where that is easy, else by rejection. `max_changes`: by
    rejection.

    Departures from the publication: the density is scaled so that its largest value at a row is 1, and no step weighs
    less than its length, so that weights are never negative; t_d is a quantile, and t_p the `probability` of the call;
    numbers that cannot change are held within a tolerance along the path, as no other row has exactly the same, and
    exactly in the answer.

    Parameters
    ----------
    schema
        What the columns are; None infers it from the training data.
    laws
        The laws of the data that answers keep like rules: `"found"` takes those of the schema or, if it has none, finds
        those of the training rows; None keeps none; a list of rules is kept as it is.
    neighbours
        How many of its nearest rows each row is joined to.
    bandwidth
        Of the kernel, in the measuring space; None applies Scott's rule.
    least_density
        t_d: the end of a path is denser than this share of the training rows.
    tolerance
        How far a number that cannot change may lie from the row's own along the path, in standard deviations.
    max_rows
        The most training rows in the graph; where there are more, a random sample of them. With thousands of levels at
        most 2,000, so that memory stays bounded.
    budget
        The most rows the model is asked about for each row explained.
    margin
        How far an answer's score must lie beyond the boundary.
    figures
        Whether answers are compared with real rows of the desired class.
    random_state
        The seed of the samples, where there are more rows than the graph or the kernel density takes.

    References
    ----------
    R. Poyiadzi, K. Sokol, R. Santos-Rodriguez, T. De Bie, P. Flach: FACE: Feasible and Actionable Counterfactual
    Explanations, AIES 2020.
    """

    needs_rows = True
    citation = "poyiadzi2020face"
    own_figures = ("path_length", "endpoint", "copies_a_person")

    neighbours: int = integer(20, least=1)
    bandwidth: float | None = number(None, above=0)
    least_density: float = number(0.05, least=0, below=1)
    tolerance: float = number(1.0, least=0)
    max_rows: int = integer(10_000, least=2)

    def prepare(self, population: Population) -> None:
        values = population.values
        random = np.random.default_rng(self._seed)
        dimension = population.space.dimension
        large = dimension * min(len(values), self.max_rows) > _MOST_CELLS
        wide = large or (dimension > 2 * len(values) and len(values) <= _MOST_FLAT)
        most = min(self.max_rows, _MOST_FLAT) if large else self.max_rows
        points, first = distinct(values if wide else population.space.transform(values))
        if len(points) > most:
            chosen = np.sort(random.choice(len(points), most, replace=False))
            points, first = points[chosen], first[chosen]
        self.points_of_: MeasuringSpace | FlatSpace = population.space
        if wide:
            self.points_of_ = FlatSpace(population.space, points)
            points = self.points_of_.points
        centres = points[random.choice(len(points), min(_CENTRES, len(points)), replace=False)]
        density = GaussianDensity(centres, self.bandwidth)
        self.rows_ = first
        self.graph_ = RowGraph(population.schema, values[first], points, self.neighbours, density)
        self.spread_ = population.scale.spread
        self._copies = Copies(values[:, population.schema.free_columns])

    def inspect(self, decided: DecidedPopulation) -> np.ndarray:
        """Which vertices may stand at the end of a path."""
        height = self.graph_.height
        dense: np.ndarray = height >= np.quantile(height, self.least_density)
        return dense & decided.judged(self.rows_)[0]

    def _notes(self, inspected: Any) -> tuple[str, ...]:
        return (REAL_VALUES,)

    def _batch_size(self, n: int, inspected: Any) -> int:
        return max(_STEPS_AT_ONCE // max(len(self.graph_.starts), 1), 1)

    def _routes(self, region: Region) -> tuple[np.ndarray, np.ndarray]:
        admissible = admissible_rows(region, self.graph_.values, self.spread_, self.tolerance)
        return self.graph_.routes(region, self.points_of_.transform(region.start), admissible)

    def search(self, problem: Problem) -> Answers:
        region = problem.region
        lengths, _ = self._routes(region)
        lengths[:, ~problem.inspected] = np.inf
        order = np.argsort(lengths, axis=1, kind="stable")
        available = np.isfinite(lengths).sum(axis=1)

        def ends(active: np.ndarray, start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            owners, ranks = ranks_between(active, start, stop, available)
            return self.graph_.values[order[owners, ranks]], owners, ranks

        rows, owners, ranks, _, status = ranked_hits(
            problem, ends, available, block=_BLOCK, wanted=problem.options, reserve=problem.options
        )
        vertex = order[owners, ranks]
        cost = lengths[owners, vertex]
        kept = diverse_order(rows, owners, cost, region, problem.options)
        figures = {
            "path_length": np.round(cost[kept], 6),
            "endpoint": self.rows_[vertex[kept]].astype(np.float64),
            "copies_a_person": self._copies.of(rows[kept][:, region.schema.free_columns]),
        }
        return Answers(rows[kept], owners[kept], cost[kept], status, figures)

    def paths(self, result: Counterfactuals, constraints: Constraints | Mapping[str, Any] | None = None) -> Frame:
        """The path of every option: one row per step, with the columns person, option, step and the features.

        Step 0 is the row explained, then come real rows as they are, and last the answer. Pass the
        constraints with which `result` was made, if there were any; the result may have come back from JSON.
        """
        self._check_fitted()
        missing = {"endpoint", "path_length"} - set(result.option_figures)
        if missing:
            raise AttainError(f"result was made by {result.method}, which has no paths; pass a result of FACE")
        region = Region.of(result.table, Constraints.of(constraints), self.population_.observed)
        places = np.searchsorted(self.rows_, result.option_figures["endpoint"], sorter=np.argsort(self.rows_))
        vertices = np.argsort(self.rows_)[np.minimum(places, len(self.rows_) - 1)]
        rank = rank_within(result.owners) + 1
        steps: list[tuple[int, int, int]] = []
        records: list[np.ndarray] = []
        owners = np.unique(result.owners)
        size = self._batch_size(1, None)
        for start in range(0, len(owners), size):
            batch = owners[start : start + size]
            lengths, before = self._routes(region.subset(batch))
            for option in np.flatnonzero(np.isin(result.owners, batch)):
                owner = int(result.owners[option])
                place = int(np.searchsorted(batch, owner))
                if not abs(lengths[place, vertices[option]] - result.option_figures["path_length"][option]) < 1e-5:
                    raise AttainError(
                        "the path of result was not found again: it was made by another explainer or with other "
                        "constraints; pass the same constraints"
                    )
                way = [result.rows[option], *self._way_back(before[place], int(vertices[option]))]
                way = [result.table.values[owner], *way[::-1]]
                steps += [(owner, int(rank[option]), step) for step in range(len(way))]
                records += way
        table = result.table
        whose, options, numbers = (list(part) for part in zip(*steps, strict=True)) if steps else ([], [], [])
        leading = {"person": [table.labels[owner] for owner in whose], "option": options, "step": numbers}
        rows = np.array(records).reshape(len(steps), len(table.schema))
        return table.layout.library.with_leading(table.take(np.array(whose, dtype=np.intp), rows), leading)

    def _way_back(self, before: np.ndarray, vertex: int) -> Iterator[np.ndarray]:
        """The records from the vertex before this one to the first after the row explained."""
        while (vertex := int(before[vertex])) >= 0:
            yield self.graph_.values[vertex]


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
            tile = points[start : start + _TILE]
            padded = np.concatenate((tile, np.zeros((_TILE - len(tile), tile.shape[1]))))
            squares = np.maximum((padded**2).sum(axis=1)[:, None] + size - 2 * padded @ self._centres.T, 0.0)
            result[start : start + _TILE] = logsumexp(squares / (-2 * self.bandwidth**2), axis=1)[: len(tile)]
        # products round differently in another batch; nothing may depend on their last bits
        return np.round(result, _DECIMALS)


class RowGraph:
    """Each row joined to its nearest others, both ways, with weights that are large where the density is low.

    A step from a to b weighs ‖a − b‖ (1 + max(u − log p, 0)): the density p at its midpoint, and u the largest log p
    at a row, so that no weight is negative.

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
        self, schema: Schema, values: np.ndarray, points: np.ndarray, neighbours: int, density: GaussianDensity
    ) -> None:
        self.values, self.points = values, points
        self._density = density
        self._schema = schema
        self._neighbours = min(neighbours, len(points) - 1)
        _, indices = Neighbours(points).query(points, self._neighbours + 1)
        starts = np.repeat(np.arange(len(points)), indices.shape[1])
        pairs = np.sort(np.column_stack((starts, indices.ravel())), axis=1)
        pairs = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
        self.height = density.log(points)
        size = _TILE * max(_MOST_CELLS // (4 * _TILE * points.shape[1]), 1)
        blocks = (pairs[start : start + size] for start in range(0, len(pairs), size))
        weights = np.concatenate(
            [np.empty(0), *(self._weights(points[one], points[other]) for one, other in map(np.transpose, blocks))]
        )
        self.starts, self.ends = np.concatenate((pairs[:, 0], pairs[:, 1])), np.concatenate((pairs[:, 1], pairs[:, 0]))
        self.weights = np.tile(weights, 2)
        kept = self._along(values[self.starts], values[self.ends])
        self.starts, self.ends, self.weights = self.starts[kept], self.ends[kept], self.weights[kept]

    def __len__(self) -> int:
        return len(self.points)

    def _weights(self, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
        lengths = np.maximum(_lengths(starts, ends), _SHORTEST)
        return lengths * (1.0 + np.maximum(self.height.max() - self._density.log((starts + ends) / 2), 0.0))

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
        linked = self._weights(factuals[owner], self.points[vertex])
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
        good = admissible[owner, vertex] & self._along(region.start[owner], self.values[vertex])
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
        own, cells = region.start[:, j, None], values[:, j]
        if feature.computed is not None:
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
