"""The columns of a table as an autoencoder sees them: blocks of likelihoods over a compact float32 matrix.

`Columns.fit` learns every constant from training rows. `prepare` turns rows (n, d) of the matrix into compact rows: one
column per modelled cell on its likelihood's internal scale, NaN where it does not count. A column with special codes
has two: its state (value, or which code) and its value, which counts in the value state only. A missing cell is left
out of the likelihood and neutral in the encoder.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from typing import Self

import numpy as np

from attain.core.errors import DataError
from attain.density.likelihoods import Array, Categorical, Family, Likelihood, likelihood_of, namespace
from attain.density.likelihoods.base import Tree, static
from attain.schema import Feature, Schema

INPUT_LIMIT = 10.0
"""Network inputs are clipped at this many standard deviations, so that one outlying cell cannot move a code far."""


class Block(Tree):
    """Columns with one likelihood: their positions in the schema, and the value used for a missing cell."""

    likelihood: Likelihood
    neutral: np.ndarray
    positions: tuple[int, ...] = static()
    codes: tuple[tuple[float, ...], ...] = static()
    """For a block of states: the special codes of each column, which are its states 1, 2, …"""
    of_states: bool = static()

    def cells(self, values: np.ndarray) -> np.ndarray:
        """The values, or states, of this block in rows of the matrix, in original units; NaN does not count."""
        chosen = values[:, self.positions]
        result = np.where(np.isnan(chosen), np.nan, 0.0) if self.of_states else chosen
        for column, codes in enumerate(self.codes):
            for state, code in enumerate(codes, start=1):
                result[chosen[:, column] == code, column] = state if self.of_states else np.nan
        return result


class Columns(Tree):
    """The free columns as blocks of densities, and the conditions as blocks of network inputs."""

    free: tuple[Block, ...]
    conditions: tuple[Block, ...]
    flagged: tuple[int, ...] = static()
    """Compact columns that had missing cells in training: the encoder gets a missingness flag for each."""
    names: tuple[str, ...] = static()
    """For each compact free column, the feature it belongs to."""

    @classmethod
    def fit(
        cls,
        schema: Schema,
        values: np.ndarray,
        *,
        free: Sequence[int] | None = None,
        given: Sequence[int] | None = None,
        likelihoods: Family = "binned",
    ) -> Self:
        """The columns of a schema with constants from training rows.

        `free` are the positions of the columns to model, by default the free ones, `given` those of the conditions, by
        default the immutable ones.
        """
        modelled = [int(j) for j in (schema.free_columns if free is None else free)]
        conditions_at = [int(j) for j in (schema.immutable_columns if given is None else given)]
        free_blocks = _blocks(schema, modelled, values, likelihoods)
        conditions = _blocks(schema, conditions_at, values, likelihoods)
        names = tuple(schema.names[j] for block in free_blocks for j in block.positions)
        unflagged = cls(free_blocks, conditions, (), names)
        missing = np.isnan(unflagged.prepare(values)).any(axis=0)
        places = [(block, column) for block in (*free_blocks, *conditions) for column in range(len(block.positions))]
        has_state = {block.positions[c] for block, c in places if block.of_states}
        flagged = tuple(
            i
            for i, (block, c) in enumerate(places)
            if missing[i] and (block.of_states or block.positions[c] not in has_state)
        )
        return cls(free_blocks, conditions, flagged, names)

    @property
    def width(self) -> int:
        """How many compact columns are modelled; those of the conditions follow them."""
        return sum(len(block.positions) for block in self.free)

    @property
    def outputs(self) -> int:
        """How many raw numbers a decoder supplies."""
        return sum(block.likelihood.outputs for block in self.free)

    @property
    def inputs(self) -> int:
        """How many numbers the free columns give an encoder."""
        return sum(block.likelihood.inputs for block in self.free) + sum(i < self.width for i in self.flagged)

    @property
    def condition_inputs(self) -> int:
        """How many numbers the conditions give encoder and decoder."""
        return sum(block.likelihood.inputs for block in self.conditions) + sum(i >= self.width for i in self.flagged)

    @property
    def modelled(self) -> np.ndarray:
        """The positions in the schema of the columns that are modelled, in order."""
        return np.unique([j for block in self.free for j in block.positions])

    def initial(self) -> np.ndarray:
        """Raw decoder outputs at which every column has its marginal."""
        return np.concatenate([block.likelihood.initial() for block in self.free])

    def prepare(self, values: np.ndarray) -> np.ndarray:
        """Rows of the matrix as compact float32 rows: free columns, then conditions."""
        blocks = (*self.free, *self.conditions)
        parts = [block.likelihood.normalise(block.cells(values)).astype(np.float32) for block in blocks]
        return np.concatenate(parts, axis=1)

    def log_base(self, values: np.ndarray) -> np.ndarray:
        """For each row the sum of all terms that depend on the data alone, Jacobians included, in float64."""
        return sum(np.nansum(block.likelihood.log_base(block.cells(values)), axis=1) for block in self.free)

    def encode(self, rows: Array) -> Array:
        """Encoder inputs for the free columns of compact rows."""
        return self._inputs(self.free, rows[..., : self.width], [i for i in self.flagged if i < self.width])

    def encode_conditions(self, rows: Array) -> Array:
        """Network inputs for the conditions of compact rows."""
        flagged = [i - self.width for i in self.flagged if i >= self.width]
        return self._inputs(self.conditions, rows[..., self.width :], flagged)

    def _inputs(self, blocks: tuple[Block, ...], rows: Array, flagged: Sequence[int]) -> Array:
        xp = namespace(rows)
        parts = [xp.zeros((*rows.shape[:-1], 0), rows.dtype)]
        for block, cells in zip(blocks, _split(rows, [len(b.positions) for b in blocks]), strict=True):
            counts = ~xp.isnan(cells)
            inputs = block.likelihood.encode(xp.where(counts, cells, block.neutral))
            share = block.likelihood.inputs // block.likelihood.columns
            inputs = xp.clip(inputs, -INPUT_LIMIT, INPUT_LIMIT)
            parts.append(xp.where(xp.repeat(counts, share, axis=-1), inputs, 0.0))
        parts.append(xp.isnan(rows[..., xp.array(flagged, int)]).astype(rows.dtype))
        return xp.concatenate(parts, axis=-1)

    def log_density(self, raw: Array, rows: Array, *, complete: bool = False) -> Array:
        """Log-densities (..., width) of compact rows, without `log_base`; 0 where a cell does not count.

        With `complete`, every cell counts, and masking is skipped.
        """
        parts, xp = [], namespace(rows)
        cells_of = _split(rows[..., : self.width], [len(block.positions) for block in self.free])
        for block, parameters, cells in zip(self.free, self._parameters(raw), cells_of, strict=True):
            if complete:
                parts.append(block.likelihood.log_density(parameters, cells))
            else:
                counts = ~xp.isnan(cells)
                density = block.likelihood.log_density(parameters, xp.where(counts, cells, block.neutral))
                parts.append(xp.where(counts, density, 0.0))
        return xp.concatenate(parts, axis=-1)

    @property
    def typical_outputs(self) -> np.ndarray:
        """The positions of the raw outputs that typical values depend on."""
        likelihoods = [block.likelihood for block in self.free]
        starts = np.cumsum([0, *(one.outputs for one in likelihoods)])
        return np.concatenate([
            start + np.arange(one.typical_outputs) for start, one in zip(starts, likelihoods, strict=False)
        ])  # fmt: skip

    def typical(self, raw: np.ndarray) -> np.ndarray:
        """Typical values (n, free columns) in original units, in the order of the schema.

        `raw` are the raw outputs at the positions `typical_outputs`.
        """
        return self._assembled([block.likelihood.typical(piece) for block, piece in self._typical_pieces(raw)])

    def typical_vjp(self, raw: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """gradient · ∂typical/∂raw: from the free columns, in the order of the schema, to the outputs of `typical`."""
        place = {position: column for column, position in enumerate(self.modelled.tolist())}
        gradient, pieces = gradient.copy(), self._typical_pieces(raw)
        for block, piece in pieces:
            if block.of_states:  # where a code is typical, its value is not
                columns = [place[position] for position in block.positions]
                gradient[:, columns] = np.where(block.likelihood.typical(piece) == 0, gradient[:, columns], 0.0)
        return np.concatenate(
            [block.likelihood.typical_vjp(piece, gradient[:, [place[j] for j in block.positions]])
             for block, piece in pieces], axis=1,
        )  # fmt: skip

    def _typical_pieces(self, raw: np.ndarray) -> list[tuple[Block, np.ndarray]]:
        pieces = _split(raw, [block.likelihood.typical_outputs for block in self.free])
        return list(zip(self.free, pieces, strict=True))

    def quantile(self, raw: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Values (n, free columns) with the share u (n, width) of their densities below them, in original units."""
        pieces = _split(u, [len(block.positions) for block in self.free])
        return self._assembled([
            block.likelihood.quantile(parameters, part)
            for block, parameters, part in zip(self.free, self._parameters(raw), pieces, strict=True)
        ])  # fmt: skip

    def _parameters(self, raw: Array) -> Iterable[object]:
        pieces = _split(raw, [block.likelihood.outputs for block in self.free])
        return [block.likelihood.parameters(piece) for block, piece in zip(self.free, pieces, strict=True)]

    def _assembled(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """The cells of each block (n, columns) as values of the free columns, in the order of the schema."""
        value: dict[int, np.ndarray] = {}
        state: dict[int, tuple[np.ndarray, tuple[float, ...]]] = {}
        for block, cells in zip(self.free, parts, strict=True):
            for column, position in enumerate(block.positions):
                if block.of_states:
                    state[position] = (cells[..., column], block.codes[column])
                else:
                    value[position] = cells[..., column]
        for position, (chosen, codes) in state.items():
            for number, code in enumerate(codes, start=1):
                value[position] = np.where(chosen == number, code, value[position])
        return np.stack([value[position] for position in sorted(value)], axis=-1)


def _blocks(schema: Schema, positions: Sequence[int], values: np.ndarray, family: Family) -> tuple[Block, ...]:
    """One block per likelihood and group, then blocks for the states of columns with special codes."""
    infinite = np.isinf(values[:, positions]).any(axis=0)
    if infinite.any():
        name = schema.names[positions[int(np.argmax(infinite))]]
        raise DataError(f"column {name!r} has infinite values; make them missing, or a special code")
    groups: dict[tuple[type[Likelihood], Hashable, bool], list[tuple[int, Feature]]] = {}
    for position in positions:
        feature = schema.features[position]
        likelihood = likelihood_of(feature, family)
        groups.setdefault((likelihood, likelihood.group(feature), False), []).append((position, feature))
    for position in positions:
        feature = schema.features[position]
        if feature.special and not likelihood_of(feature, family).models_codes:
            states = Feature(feature.name, "categorical", levels=("value", *map(str, feature.special)))
            groups.setdefault((Categorical, Categorical.group(states), True), []).append((position, states))
    return tuple(
        _block(schema, likelihood, of_states, members, values) for (likelihood, _, of_states), members in groups.items()
    )


def _block(
    schema: Schema,
    likelihood: type[Likelihood],
    of_states: bool,
    members: Sequence[tuple[int, Feature]],
    values: np.ndarray,
) -> Block:
    positions = tuple(position for position, _ in members)
    own = likelihood.models_codes
    codes = tuple(() if own else tuple(schema.features[position].special) for position in positions)
    empty = Block(likelihood=None, neutral=np.zeros(0), positions=positions, codes=codes, of_states=of_states)  # type: ignore[arg-type]
    cells = empty.cells(values)
    for column, (_, feature) in enumerate(members):
        if np.isnan(cells[:, column]).all():
            # No value in training: any valid one, so that the column has constants.
            cells[:, column] = feature.bounds[0] or 0.0
    fitted = likelihood.fit([feature for _, feature in members], cells)
    neutral = np.nanpercentile(fitted.normalise(cells), 50, axis=0, method="lower")
    return Block(fitted, neutral, positions, codes, of_states)


def _split(array: Array, widths: Sequence[int]) -> list[Array]:
    ends = [0, *np.cumsum(widths).tolist()]
    return [array[..., start:end] for start, end in pairwise(ends)]
