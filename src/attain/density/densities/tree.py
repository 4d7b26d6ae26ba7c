"""A density of a table as one tree, or a small forest, per column, each given the columns before it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attain.core.arrays import BoolArray, FloatArray, IndexArray
from attain.core.checks import check_integer, check_number
from attain.core.compiled import kernels
from attain.core.errors import FileError
from attain.density.autoencoder import State
from attain.density.densities.base import BLOCK, StateDensity, seed_of, under
from attain.density.densities.growing import LEAF, Limits, Tree, grow
from attain.density.densities.leaves import Leaves, smoothed
from attain.density.histograms.grouping import grouped, learned_order, marginal, nested_groups
from attain.density.histograms.states import MISSING, Coded
from attain.density.uniforms import Keys, draw_keys, row_keys, uniforms
from attain.schema import Schema

GROUPS, CLASSES = 32, 24
"""Into how many groups the states of a column are put where trees split on it, and where they tell them apart."""
LARGEST_LEAVES = 2000
"""With more rows than this times `leaf`, leaves are larger."""
NEVER = np.iinfo(np.int16).max
"""A group that none is above: nobody moves on from a leaf."""
_SEED = 0
"""A constant: every call of `log_density` uses the same particles, so that a row's figure never changes."""


@dataclass(eq=False, repr=False)
class TreeDensity(StateDensity):
    """The density of each column given the columns before it, by a tree whose leaves hold smoothed histograms.

    log p(row) = Σ_j log p(x_j | columns before j), exactly: a leaf has a probability for each state of its column (see
    `States`), smoothed towards the nodes above it. Immutable columns come first, then the others, those that say most
    about the rest before those that say less. So log-densities given the immutable columns, or any first columns in
    `order_`, are exact, and samples are drawn directly. For other `given` columns, both come from `particles` that are
    drawn column by column and resampled by how probable they make each given cell: the log-density is then an
    estimate, the same in every call, and draws are approximate.

    Parameters
    ----------
    schema
        What the columns are. Derived columns are left out.
    leaf
        The least number of training rows in a leaf, more where there are more than 2,000 times as many rows.
    max_depth
        The largest depth of a tree; 0 are independent smoothed marginals.
    smoothing
        How many rows the parent's histogram counts for in a node at the coarsest resolution; twice, three times as many
        at the finer ones.
    trees
        Trees per column. More than one are averaged, each of whose nodes looks at a random half of the columns.
    particles
        Draws per row where given columns come after others in `order_`.
    random_state
        The seed of samples and of forests.
    """

    leaf: int = 20
    max_depth: int = 12
    smoothing: float = 20.0
    trees: int = 1
    particles: int = 128

    def _check(self) -> None:
        for name, least in (("leaf", 1), ("max_depth", 0), ("trees", 1), ("particles", 1)):
            check_integer(name, getattr(self, name), least)
        check_number("smoothing", self.smoothing, above=0)

    @property
    def order_(self) -> list[str]:
        """The columns in the order in which they are modelled."""
        self._check_fitted()
        return [self.schema_.names[j] for j in self._order]

    def _learn(self, schema: Schema, values: FloatArray, states: Coded) -> None:
        counts = {j: np.bincount(states[:, j], minlength=column.count) for j, column in self._columns.items()}
        self._groups = {j: grouped(column, counts[j], GROUPS) for j, column in self._columns.items()}
        classes = np.zeros_like(states)
        for j, column in self._columns.items():
            classes[:, j] = grouped(column, counts[j], CLASSES)[states[:, j]]
        immutable = [j for j in self._columns if schema.features[j].immutable]
        free = [j for j in self._columns if j not in immutable]
        self._order = learned_order(classes, immutable) + learned_order(classes, free)
        groups = self._grouped(states)
        sizes = [int(self._groups[j].max()) + 1 if j in self._groups else 0 for j in range(len(schema))]
        limits = Limits(max(self.leaf, len(states) // LARGEST_LEAVES), self.max_depth)
        generator = None if self.trees == 1 else np.random.default_rng(seed_of(self.random_state))
        self._forests: dict[int, list[Leaves]] = {}
        self._arrays: dict[tuple[int, ...], Any] = {}
        for place, j in enumerate(self._order):
            possible = np.ones(self._columns[j].count, dtype=bool)
            possible[MISSING] = counts[j][MISSING] > 0
            root, nested = marginal(counts[j], possible), nested_groups(self._columns[j], counts[j])
            self._forests[j] = []
            for _ in range(self.trees):
                grown = grow(groups, sizes, self._unordered, self._order[:place], classes[:, j], limits, generator)
                self._forests[j].append(smoothed(grown, states[:, j], root, nested, self.smoothing))

    @property
    def _unordered(self) -> BoolArray:
        width = max(self._columns) + 1
        return np.array([j in self._columns and self._columns[j].unordered for j in range(width)])

    def _grouped(self, states: Coded) -> Coded:
        """The groups of the states of rows."""
        groups = np.zeros_like(states)
        for j, group in self._groups.items():
            groups[:, j] = group[states[:, j]]
        return groups

    def _log_mass(self, values: FloatArray, states: Coded, held: frozenset[int]) -> FloatArray:
        if held == frozenset(self._order[: len(held)]):
            return self._log_joint(states, self._order[len(held) :])
        joint = self._log_joint(states, self._order)
        step = max(1, BLOCK // self.particles)
        for start in range(0, len(states), step):
            part = slice(start, start + step)
            keys = row_keys(values[part][:, sorted(held)], _SEED)
            joint[part] -= self._particles(states[part], held, keys, self.particles)[1]
        return joint

    def _log_joint(self, states: Coded, columns: list[int]) -> FloatArray:
        """Σ log p(x_j | columns before j) over some columns."""
        groups = self._grouped(states)
        kernel = kernels("attain.density.densities.tree_kernels")
        if kernel is None or not columns:
            found: Iterable[FloatArray] = (self._probability(j, groups, states[:, j]) for j in columns)
        else:
            found = kernel.probabilities(groups.T, states.T, *self._packed(columns))
        total = np.zeros(len(states))
        for probability in found:
            total += np.log(probability)
        return total

    def _packed(self, columns: list[int]) -> tuple[Any, ...]:
        """The depth and the arrays of some columns' trees, for the kernel; kept for as long as the trees are."""
        if tuple(columns) not in self._arrays:
            forests = [self._forests[j] for j in columns]
            every = [leaves for forest in forests for leaves in forest]
            numbers = [len(forest) for forest in forests]
            sizes = [(len(one.tree.column), *one.mass.shape, one.mass.size) for one in every]
            of_nodes, of_leaves, states, of_masses = zip(*sizes, strict=True)
            column, group, child = (
                np.concatenate([getattr(one.tree, name) for one in every]) for name in ("column", "group", "child")
            )
            inner, place = column != LEAF, np.arange(len(column))
            child_at = np.where(inner, child + np.repeat(_starts(of_nodes), of_nodes), place)
            nodes = [
                np.where(inner, column, 0),
                np.where(inner, group, NEVER),
                child_at,
                inner & self._unordered[column],
            ]
            self._arrays[tuple(columns)] = (
                _depth(_starts(of_nodes), inner, child_at),
                np.column_stack([columns, _starts(numbers), numbers]).astype(np.int64),
                np.column_stack([*map(_starts, (of_nodes, of_leaves, of_masses)), states]).astype(np.int64),
                np.column_stack(nodes).astype(np.int32),
                np.where(inner, 0, child).astype(np.int32),
                np.concatenate([one.mass.ravel() for one in every]),
                np.concatenate([one.sums for one in every]),
            )
        return self._arrays[tuple(columns)]

    def _probability(self, j: int, groups: Coded, states: Coded) -> FloatArray:
        """p(x_j | columns before j) of each row; 1 for a missing cell in a column that has none."""
        found = np.zeros(len(states))
        for leaves in self._forests[j]:
            found += leaves.probability[leaves.tree.leaf(groups, self._unordered), states]
        impossible = (states == MISSING) & (found == 0)
        return np.where(impossible, 1.0, found / len(self._forests[j]))

    def _next(self, j: int, groups: Coded, keys: Keys, number: int) -> IndexArray:
        """A state of column j for each row, drawn given the columns before it."""
        u = uniforms(keys, number)
        forest = self._forests[j]
        # one uniform number chooses the tree and, stretched, the state
        chosen, u = np.floor(u * len(forest)).astype(np.intp), u * len(forest) % 1.0
        found = np.zeros(len(keys), dtype=np.intp)
        for tree, leaves in enumerate(forest):
            rows = np.flatnonzero(chosen == tree)
            leaf = leaves.tree.leaf(groups[rows], self._unordered)
            found[rows] = leaves.draw(leaf, u[rows])
        return found

    def _draw(self, rows: FloatArray, values: FloatArray, held: frozenset[int], keys: Keys, n: int) -> None:
        states = self._encode(values)
        if held == frozenset(self._order[: len(held)]):
            keys = draw_keys(keys, n)
            states = np.asfortranarray(np.repeat(states, n, axis=0))
            groups = self._grouped(states)
            for place, j in enumerate(self._order[len(held) :]):
                states[:, j] = self._next(j, groups, keys, 2 * place)
                groups[:, j] = self._groups[j][states[:, j]]
                rows[:, j] = self._columns[j].draw(states[:, j], uniforms(keys, 2 * place + 1))
            return
        number = max(self.particles, 4 * n)
        step = max(1, BLOCK // number)
        for start in range(0, len(values), step):
            part = slice(start, start + step)
            cloud, _ = self._particles(states[part], held, keys[part], number)
            own = draw_keys(keys[part], n)
            spread = np.arange(len(own)) // n * number + (np.arange(len(own)) % n * number) // n
            drawn = rows[start * n : (start + step) * n]
            for place, j in enumerate(self._order):
                if j not in held:
                    drawn[:, j] = self._columns[j].draw(cloud[spread, j], uniforms(own, place))

    def _particles(self, states: Coded, held: frozenset[int], keys: Keys, number: int) -> tuple[Coded, FloatArray]:
        """Rows drawn given the held cells (n · number, d), and the logarithm of the estimated p(held cells) (n,).

        The other columns are drawn in order; at each held column particles are weighted by the probability of its cell
        and resampled, systematically.
        """
        cloud = np.asfortranarray(np.repeat(states, number, axis=0))
        groups, keys = self._grouped(cloud), draw_keys(keys, number)
        estimate, spread = np.zeros(len(states)), False
        for place, j in enumerate(self._order):
            if j not in held:
                cloud[:, j] = self._next(j, groups, keys, 2 * place)
                groups[:, j] = self._groups[j][cloud[:, j]]
                spread = True
                continue
            weights = self._probability(j, groups, cloud[:, j]).reshape(-1, number)
            # a sum along rows of a fixed length: it does not depend on the number of rows
            estimate += np.log(weights.mean(axis=1))
            if spread:
                chosen = _resampled(weights, uniforms(keys[::number], 2 * place + 1))
                cloud, groups = (np.asfortranarray(array[chosen]) for array in (cloud, groups))
        return cloud, estimate

    def _given_up(self) -> State:
        facts: dict[str, Any] = {"order": list(self._order)}
        arrays: dict[str, np.ndarray] = {}
        for j, forest in self._forests.items():
            arrays[f"groups.{j:04d}"] = self._groups[j].astype(np.int32)
            for number, leaves in enumerate(forest):
                tree, name = leaves.tree, f"tree.{j:04d}.{number:04d}"
                nodes = np.column_stack([tree.column, tree.group, tree.child]).astype(np.int32)
                arrays |= {f"{name}.nodes": nodes, f"{name}.mass": leaves.mass}
        return facts, arrays

    def _take(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        order = facts["order"]
        if not isinstance(order, list) or sorted(order) != sorted(self._columns):
            raise FileError(f"the file orders the columns {order!r}, where the schema has {sorted(self._columns)}")
        self._order = [int(j) for j in order]
        self._groups, self._forests, self._arrays = {}, {}, {}
        for place, j in enumerate(self._order):
            count = self._columns[j].count
            group = np.asarray(arrays[f"groups.{j:04d}"])
            if group.shape != (count,) or group.dtype != np.int32 or group.min() < 0 or group.max() >= count:
                raise FileError(f"the file does not hold the groups of column {self.schema.names[j]!r}")
            self._groups[j] = group.astype(np.intp)
            found = under(f"tree.{j:04d}", arrays)
            self._forests[j] = [
                _restored(found[f"{t:04d}.nodes"], found[f"{t:04d}.mass"], count, self._order[:place])
                for t in range(self.trees)
            ]


def _starts(lengths: Sequence[int]) -> IndexArray:
    """Where parts of these lengths start, one after the other."""
    return np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.intp)


def _depth(roots: IndexArray, inner: BoolArray, child: IndexArray) -> int:
    """The depth of the deepest of some trees."""
    depth, level = 0, roots[inner[roots]]
    while len(level):
        below = np.concatenate([child[level], child[level] + 1])
        depth, level = depth + 1, below[inner[below]]
    return depth


def _resampled(weights: FloatArray, u: FloatArray) -> IndexArray:
    """Positions in the flattened particles (n · number,), drawn systematically by weights (n, number)."""
    rows, number = weights.shape
    ladder = np.cumsum(weights, axis=1)
    ladder = ladder / ladder[:, -1:] + np.arange(rows)[:, None]
    asked = (np.arange(number) + u[:, None]) / number + np.arange(rows)[:, None]
    found = np.searchsorted(ladder.ravel(), asked.ravel(), side="right")
    return np.clip(
        found, np.repeat(np.arange(rows) * number, number), np.repeat(np.arange(1, rows + 1) * number - 1, number)
    )


def _restored(nodes: np.ndarray, mass: np.ndarray, count: int, before: list[int]) -> Leaves:
    """A tree from its arrays; children follow their parents, so that every walk ends."""
    if nodes.ndim != 2 or nodes.shape[1] != 3 or nodes.dtype != np.int32 or not len(nodes):
        raise FileError("the file does not hold the nodes of a tree")
    column, group, child = (nodes[:, part].astype(np.intp) for part in range(3))
    tree = Tree(column, group, child)
    inner = column >= 0
    places = np.arange(len(nodes))
    sound = bool(np.isin(column[inner], before).all() and (child[inner] > places[inner]).all())
    sound = sound and bool((child[inner] + 1 < len(nodes)).all()) and set(child[~inner]) == set(range(tree.leaves))
    if not sound or mass.shape != (tree.leaves, count) or mass.dtype != np.float32:
        raise FileError("the file holds a tree whose nodes do not fit its leaves")
    if not np.isfinite(mass).all() or (mass < 0).any() or (mass.sum(axis=1) <= 0).any():
        raise FileError("the file holds leaves without probabilities")
    return Leaves(tree, mass)
