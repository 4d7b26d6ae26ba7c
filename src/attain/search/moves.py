"""How a cell may change, how far that is and what it costs; random changes, from streams that depend on the row."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

import numpy as np

from attain.core.arrays import rank_within
from attain.core.errors import AttainError, check_choice
from attain.population.population import Scale
from attain.schema import Direction, Schema
from attain.tables import Region, ordinary


def row_hashes(rows: np.ndarray, seed: int) -> list[int]:
    """128 bits from each row (n, d) and the seed: the same in every batch and process."""
    content = np.where(np.isnan(rows), np.nan, rows + 0.0).astype("<f8").tobytes()  # one NaN, and no negative zero
    width, key = 8 * rows.shape[1], seed.to_bytes(8, "little")
    return [
        int.from_bytes(
            hashlib.blake2b(content[i * width : (i + 1) * width], digest_size=16, key=key).digest(), "little"
        )
        for i in range(len(rows))
    ]


def streams(rows: np.ndarray, seed: int) -> list[np.random.Generator]:
    """One generator per row."""
    return [np.random.Generator(np.random.Philox(key=key)) for key in row_hashes(rows, seed)]


def normal_draws(generators: Sequence[np.random.Generator], shape: tuple[int, ...]) -> np.ndarray:
    """Standard normal draws, (n, *shape), one stream per row."""
    return np.array([generator.standard_normal(shape) for generator in generators]).reshape(len(generators), *shape)


def uniform_draws(generators: Sequence[np.random.Generator], shape: tuple[int, ...]) -> np.ndarray:
    """Uniform draws from [0, 1), (n, *shape), one stream per row."""
    return np.array([generator.random(shape) for generator in generators]).reshape(len(generators), *shape)


Radius: TypeAlias = Literal["uniform", "volume"]


def check_norm(norm: object) -> None:
    """Refuses an unknown norm."""
    if norm not in (1, 2, math.inf) or isinstance(norm, bool):
        raise AttainError(f"norm must be 1, 2 or infinity, got {norm!r}")


def sphere(generators: Sequence[np.random.Generator], samples: int, dimensions: int, norm: float) -> np.ndarray:
    """Points uniform on the surface of the unit sphere, (n, samples, dimensions), one stream per row."""
    out = np.empty((len(generators), samples, dimensions))
    for i, generator in enumerate(generators):
        draw_on_sphere(generator, out[i], norm)
    return on_sphere(out, norm)


def draw_on_sphere(generator: np.random.Generator, out: np.ndarray, norm: float) -> None:
    """Fills `out` (samples, dimensions) with vectors that `on_sphere` makes uniform on the surface of the sphere.

    A Gaussian scaled to length 1 is uniform for l₂ only. l₁: exponential magnitudes scaled to sum 1, with random signs.
    l∞: a random face of the cube, uniform on it.
    """
    if norm == 2:
        generator.standard_normal(out=out)
    elif norm == 1:
        magnitudes = generator.standard_exponential(out.shape)
        out[:] = np.where(generator.random(out.shape) < 0.5, -magnitudes, magnitudes)
    else:
        out[:] = 2 * generator.random(out.shape) - 1
        face = generator.integers(out.shape[1], size=len(out))
        out[np.arange(len(out)), face] = np.where(generator.random(len(out)) < 0.5, -1.0, 1.0)


def on_sphere(vectors: np.ndarray, norm: float) -> np.ndarray:
    """Vectors (last axis) scaled to length 1; those of length 0 stay as they are."""
    length = norm_of(vectors, norm)[..., None]
    return np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)


def radii(
    uniform: np.ndarray, inner: np.ndarray, outer: np.ndarray, dimensions: int | np.ndarray, radius: Radius
) -> np.ndarray:
    """Radii between `inner` and `outer` from uniform numbers.

    `uniform`: uniform in length, as the paper writes. `volume`: such that points are uniform in the shell's volume, as
    the paper says; with more than one dimension the two are not the same.
    """
    if radius == "uniform":
        return inner + uniform * (outer - inner)
    return volume_uniform_radii(uniform, inner, outer, np.asarray(dimensions))


def volume_uniform_radii(
    uniform: np.ndarray, inner: np.ndarray, outer: np.ndarray, dimensions: np.ndarray
) -> np.ndarray:
    """Radii of points uniform in the volume of the shell, by the inverse distribution function.

    ρ = (r₁ᵏ + u (r₂ᵏ − r₁ᵏ))^{1/k}, written with the ratio r₁/r₂ so that no power overflows in many dimensions.
    """
    k = np.maximum(dimensions, 1)
    hollow = np.where(outer > 0, inner / np.where(outer > 0, outer, 1.0), 0.0) ** k
    return outer * (hollow + uniform * (1.0 - hollow)) ** (1.0 / k)


def norm_of(vectors: np.ndarray, norm: float) -> np.ndarray:
    """The length of each vector (last axis)."""
    if norm == 2:
        return np.sqrt(np.einsum("...k,...k->...", vectors, vectors))
    magnitudes = np.abs(vectors)
    return magnitudes.sum(axis=-1) if norm == 1 else magnitudes.max(axis=-1, initial=0.0)


_MOST_SWITCHES: Final = 3_000
"""About how many switches of a row are listed at most."""


def units(schema: Schema, observed: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The range of each column in the training data, which counts as 1; positions of levels run from first to last."""
    span = np.nan_to_num(observed[1] - observed[0])
    levels = np.array([max(len(feature.levels) - 1, 1) if feature.levels else 0 for feature in schema])
    return np.where(levels > 0, levels, np.where(span > 0, span, 1.0))


def check_directions(directions: Mapping[str, Direction] | None, schema: Schema | None = None) -> None:
    """Refuses an unknown direction and, with a schema, one of a feature without an order."""
    for name, direction in (directions or {}).items():
        check_choice(f"directions[{name!r}]", direction, ("increase", "decrease"))
        if schema is not None and not schema[name].ordered:
            raise AttainError(f"directions names {name!r}, whose levels have no order")


def sliding(region: Region) -> np.ndarray:
    """Cells that move along a scale, (n, d): ordered, free, and holding an ordinary value."""
    slides = ~region.frozen
    for j, feature in enumerate(region.schema):
        slides[:, j] &= ordinary(feature, region.factuals[:, j]) if feature.ordered else False
    return slides


def other_states(region: Region, j: int) -> np.ndarray:
    """The other states of each cell of column j, (n, K): levels, or special codes and then an ordinary value."""
    feature, own = region.schema.features[j], region.factuals[:, j]
    if not feature.numeric:
        states = region.levels(j)
        return states & (np.isnan(own)[:, None] if feature.ordered else np.arange(states.shape[1]) != own[:, None])
    if not feature.special:
        return np.isnan(own)[:, None]
    others = np.column_stack((own[:, None] != np.array(list(feature.special)), ~ordinary(feature, own)))
    return np.asarray(region.states[j] & others)


class Costs:
    """The costs of the changes of n rows.

    Attributes
    ----------
    unit
        How far counts as 1 in each column, (d,): its range, for example.
    slides
        Cells that move along a scale, (n, d).
    lower, upper
        How far each sliding cell may go down and up, in units; 0 elsewhere.
    fall, rise
        What a move of one unit down or up costs, (n, d).
    """

    def __init__(self, region: Region, unit: np.ndarray, directions: Mapping[str, Direction] | None = None) -> None:
        self._region = region
        self.unit = unit
        self.slides = sliding(region)
        own = region.factuals
        with np.errstate(invalid="ignore"):
            self.lower = np.where(self.slides, np.minimum((region.low - own) / unit, 0.0), 0.0)
            self.upper = np.where(self.slides, np.maximum((region.high - own) / unit, 0.0), 0.0)
        self.rise = region.cost.copy()
        self.fall = region.cost.copy()
        for name, direction in (directions or {}).items():
            free = {"increase": self.fall, "decrease": self.rise}.get(direction)
            if free is not None:
                free[:, region.schema.position(name)] = 0.0

    def cells(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """What each cell's change costs, (m, d)."""
        result = np.zeros(rows.shape)
        at, j = np.nonzero(self._region.changed(rows, owners))  # few cells of many change
        whose, cells = owners[at], rows[at, j]
        on_scale = self.slides[whose, j]
        for column, feature in enumerate(self._region.schema):
            if feature.special:
                on_scale &= (j != column) | ordinary(feature, cells)
        move = (cells - self._region.factuals[whose, j]) / self.unit[j]
        along = np.maximum(move, 0) * self.rise[whose, j] + np.maximum(-move, 0) * self.fall[whose, j]
        result[at, j] = np.where(on_scale, along, self._region.cost[whose, j])
        return result

    def of(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """What each row costs, (m,)."""
        return np.asarray(self.cells(rows, owners).sum(axis=1))


def switches(region: Region, pools: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every way to switch one cell into another state: its owner, its column and its value, sorted in this order.

    States are levels without an order, special codes, and an ordinary value where there was none: then a quartile of
    the training data (`pools` holds the sorted ordinary cells of each column). Of columns with very many levels, some
    are listed, evenly spread.
    """
    parts: list[tuple[np.ndarray, int, np.ndarray]] = []
    most = max(_MOST_SWITCHES // max(len(region.schema.free_columns), 1), 1)
    for j in region.schema.free_columns:
        feature, states = region.schema.features[j], other_states(region, j) & ~region.frozen[:, j, None]
        if not feature.numeric:
            owners, levels = np.nonzero(states)
            number, rank = states.sum(axis=1)[owners], rank_within(owners)
            spread = (number <= most) | (rank * most // number > (rank - 1) * most // number)
            parts.append((owners[spread], j, levels[spread].astype(np.float64)))
            continue
        owners, places = np.nonzero(states[:, :-1])
        parts.append((owners, j, np.array(list(feature.special), dtype=np.float64)[places]))
        owners = np.flatnonzero(states[:, -1])
        if owners.size and len(pools[j]):
            quartiles = np.unique(np.quantile(pools[j], (0.25, 0.5, 0.75), method="nearest"))
            parts.append((np.repeat(owners, len(quartiles)), j, np.tile(quartiles, len(owners))))
    parts.append((np.empty(0, dtype=np.intp), 0, np.empty(0)))
    owners = np.concatenate([owners for owners, _, _ in parts])
    columns = np.concatenate([np.full(len(owners), j) for owners, j, _ in parts])
    values = np.concatenate([values for _, _, values in parts])
    order = np.lexsort((values, columns, owners))
    return owners[order], columns[order], values[order]


SWITCH = math.sqrt(2.0)
"""The distance of another level, special code or filled cell: one indicator falls and another rises by 1."""


def fewest_changes(rows: np.ndarray, owners: np.ndarray, region: Region, scale: Scale) -> np.ndarray:
    """The rows with only their largest changes kept, where fewer features may change."""
    if (region.max_changes >= len(region.schema)).all():
        return rows
    movable = ~region.frozen[owners] & ~(rows == region.factuals[owners])
    limited = np.flatnonzero(region.max_changes[owners] < movable.sum(axis=1))
    if limited.size:
        own = region.factuals[owners[limited]]
        size = np.where(movable[limited], np.abs(rows[limited] - own) / scale.spread, -1.0)
        rank = np.argsort(np.argsort(-np.nan_to_num(size, nan=SWITCH), axis=1, kind="stable"), axis=1, kind="stable")
        rows[limited] = np.where(rank < region.max_changes[owners[limited], None], rows[limited], own)
    return rows


class Moves:
    """Draws records in shells round n rows, and measures how far a record is from its row.

    Each searched cell is one dimension. An ordered cell moves along its scale, in standard deviations. A cell that can
    be in another state (a level, a special code, a value where there was none) switches where its coordinate is nearer
    to √2, the distance of the other states, than to 0.

    Attributes
    ----------
    dimensions
        The number of searched cells of each row, (n,).
    farthest
        The distance from each row to the farthest record it may reach, (n,).
    """

    def __init__(self, region: Region, scale: Scale, seed: int) -> None:
        self._region = region
        self._scale = scale
        self._generators = streams(region.factuals, seed)
        self._slides = sliding(region)
        self._states = {j: other_states(region, j) for j in region.schema.free_columns}
        self._switches = np.zeros(region.frozen.shape, dtype=bool)
        for j, states in self._states.items():
            self._switches[:, j] = states.any(axis=1) & ~region.frozen[:, j]
        self.dimensions: np.ndarray = (self._slides | self._switches).sum(axis=1)
        self.farthest = self._farthest()

    def _farthest(self) -> np.ndarray:
        region = self._region
        reach = np.maximum(region.high - region.factuals, region.factuals - region.low) / self._scale.spread
        reach = np.maximum(np.where(self._slides, reach, 0.0), np.where(self._switches, SWITCH, 0.0))
        return np.sqrt((reach**2).sum(axis=1)) + 1e-9

    def draw(
        self, owners: np.ndarray, inner: np.ndarray, outer: np.ndarray, samples: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Records uniform in volume in the shell of each owner, not yet in final form, and the owner of each."""
        generators = [self._generators[i] for i in owners]
        d = len(self._region.schema)
        normal = normal_draws(generators, (samples, d)) * self._active(generators, owners, samples)
        uniform = uniform_draws(generators, (samples, 1 + d))
        counts = np.minimum(self.dimensions, self._region.max_changes)[owners, None]
        radius = volume_uniform_radii(uniform[:, :, 0], inner[:, None], outer[:, None], counts)
        move = on_sphere(normal, 2) * radius[:, :, None]
        rows = np.repeat(self._region.factuals[owners, None, :], samples, axis=1)
        slides = self._slides[owners, None, :]
        rows = np.where(slides, rows + move * self._scale.spread, rows)
        for j, states in self._states.items():
            switched = (np.abs(move[:, :, j]) > SWITCH / 2) & self._switches[owners, j, None]
            if switched.any():
                self._switch(rows, j, states[owners], switched, uniform[:, :, 1 + j])
        return rows.reshape(-1, d), np.repeat(owners, samples)

    def _active(self, generators: list[np.random.Generator], owners: np.ndarray, samples: int) -> np.ndarray:
        """Which dimensions each draw moves in: all, or `max_changes` random ones."""
        movable = (self._slides | self._switches)[owners]
        most = self._region.max_changes[owners]
        limited = np.flatnonzero(most < movable.sum(axis=1))
        active = np.repeat(movable[:, None, :], samples, axis=1)
        if limited.size:
            ranks = np.where(active[limited], uniform_draws([generators[i] for i in limited], active.shape[1:]), np.inf)
            order = ranks.argsort(axis=2).argsort(axis=2)
            active[limited] &= order < most[limited, None, None]
        return active

    def _switch(self, rows: np.ndarray, j: int, states: np.ndarray, switched: np.ndarray, uniform: np.ndarray) -> None:
        """Puts a random other state into the switched cells of column j."""
        feature, pool = self._region.schema.features[j], self._scale.pools[j]
        number = states.sum(axis=1)
        choice = np.floor(uniform * number[:, None]).astype(np.intp)
        place = np.argsort(~states, axis=1, kind="stable")  # the allowed states first, in order
        state = np.take_along_axis(place, np.minimum(choice, np.maximum(number[:, None] - 1, 0)), axis=1)
        if not feature.numeric:
            cells = state.astype(np.float64)
        else:
            # the rest of the uniform number, stretched, draws the value
            rest = uniform * np.maximum(number, 1)[:, None] - choice
            drawn = pool[np.minimum((rest * len(pool)).astype(np.intp), len(pool) - 1)] if len(pool) else np.nan
            codes = np.array([*feature.special, np.nan])
            cells = np.where(state == len(feature.special), drawn, codes[np.minimum(state, len(feature.special))])
        rows[:, :, j] = np.where(switched, cells, rows[:, :, j])

    def sizes(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """How far each searched cell is from its owner's, (m, d): in standard deviations, or √2 for another state."""
        own = self._region.factuals[owners]
        slide = np.abs(rows - own) / self._scale.spread
        on_scale = self._slides[owners]
        for j, feature in enumerate(self._region.schema):
            if feature.special:
                on_scale[:, j] &= ~np.isin(rows[:, j], list(feature.special))
        return np.where(self._region.changed(rows, owners), np.where(on_scale, slide, SWITCH), 0.0)

    def distances(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """How far each record is from its owner, (m,)."""
        return np.sqrt((self.sizes(rows, owners) ** 2).sum(axis=1))
