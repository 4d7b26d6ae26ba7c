"""Numbers of any shape: the smoothed histogram of the column, whose bins a network weighs.

With p̂ the histogram of the training values and φ a few functions of the bin b of x,

    p(x | w) = p̂(x) · exp(w · φ(b)) / Σ_b' p̂(b') exp(w · φ(b')).

So w = 0 is the column's marginal, and atoms, steps, special codes and tails are those of the data for every w.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import ndtri

from attain.core.arrays import FloatArray, IndexArray
from attain.core.errors import FileError, listed
from attain.density.histograms.grouping import grouped, marginal
from attain.density.histograms.states import MISSING, States
from attain.density.likelihoods.base import Array, Likelihood, Support, namespace, register
from attain.density.likelihoods.categorical import IMPOSSIBLE, Logits
from attain.density.likelihoods.tree import static
from attain.schema import Feature

BINS = 32
"""How many bins of ordinary values a network weighs at most; within a bin, the histogram is finer."""
HATS = 10
"""How many hat functions φ has."""
_ATOMS, _INTERVALS = 128, 64
_STATES = 2 * _ATOMS + _INTERVALS + 4
"""More states than a column can have besides its special codes."""
_SMALLEST = 1e-30
_BELOW_ONE = float(np.nextafter(np.float32(1.0), np.float32(0.0)))


@register
class Binned(Likelihood):
    """The column's smoothed histogram, reweighed bin by bin. The typical value is the median.

    The fine histogram is that of `attain.densities`: one state for each value that many rows share, intervals of about
    equally many rows between them, exponential tails. Neighbouring states with about equally many rows make up to 32
    bins, and each special code is a bin. φ has the normal score of the bin, its square, hat functions of the bin's rank
    and an indicator of each special code; the encoder gets φ(b). Where a special code is more probable than all
    ordinary values, it is the typical value.
    """

    name: ClassVar[str] = "binned"
    kinds: ClassVar[tuple[str, ...]] = ("real", "positive", "count", "interval")
    models_codes: ClassVar[bool] = True

    log_share: np.ndarray
    """log p̂(b), (columns, bins); special codes come first."""
    phi: np.ndarray
    """φ(b), (columns, bins, functions)."""
    code: np.ndarray
    """The special code of each bin, (columns, bins); 0 where there is none."""
    usual: np.ndarray
    """Whether a bin is one of ordinary values, (columns, bins)."""
    edges: np.ndarray
    """The share of the ordinary values below each bin, (columns, bins + 1)."""
    levels: np.ndarray
    quantiles: np.ndarray
    """Quantiles of the ordinary values at the `levels`, both (columns, states + 1)."""
    bin: np.ndarray
    """The bin of each state (columns, states); padded."""
    log_inside: np.ndarray
    """log p̂(state | bin), (columns, states)."""
    step: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray
    tails: np.ndarray
    """The states, as in `attain.density.histograms.states.States`; padded."""
    features: tuple[Feature, ...] = static()

    @classmethod
    def fit(cls, features: Sequence[Feature], values: np.ndarray) -> Self:
        codes = max(len(feature.special) for feature in features)
        fitted = [_column(feature, cells, codes) for feature, cells in zip(features, values.T, strict=True)]
        arrays = {name: np.stack([column[name] for column in fitted]) for name in fitted[0]}
        return cls(**arrays, features=tuple(features))

    @classmethod
    def group(cls, feature: Feature) -> Hashable:
        return feature.kind == "count", 1 << len(feature.special).bit_length()

    @property
    def outputs(self) -> int:
        return self.columns * self.phi.shape[2]

    @property
    def inputs(self) -> int:
        return self.outputs

    @cached_property
    def states(self) -> tuple[States, ...]:
        """The states of each column."""
        return tuple(
            States(feature, float(self.step[c]), self.starts[c, :m], self.sizes[c, :m], self.tails[c])
            for c, (feature, m) in enumerate(zip(self.features, (self.starts < np.inf).sum(axis=1), strict=True))
        )

    def check(self) -> None:
        known = (self.starts < np.inf).sum(axis=1)
        names = ("log_share", "phi", "edges", "levels", "quantiles", "log_inside", "sizes", "tails", "step")
        sound = all(not np.isnan(getattr(self, name)).any() for name in names)
        sound &= bool(((self.bin >= 0) & (self.bin < self.phi.shape[1])).all() and (known > 0).all())
        starts = [self.starts[c, :count] for c, count in enumerate(known)]
        if not sound or any((np.diff(column) <= 0).any() for column in starts):
            raise FileError(f"the file does not hold the histograms of {listed([f.name for f in self.features])}")

    def normalise(self, x: np.ndarray) -> np.ndarray:
        return self._by_column(x, lambda c, cells, states: self.bin[c, states - 1])

    def log_base(self, x: np.ndarray) -> np.ndarray:
        return self._by_column(
            x, lambda c, cells, states: self.log_inside[c, states - 1] + self.states[c].log_within(cells, states)
        )

    def _by_column(self, x: np.ndarray, function: Callable[[int, FloatArray, IndexArray], FloatArray]) -> np.ndarray:
        """A function of column, cells and their states, where cells are not missing."""
        result = np.full(x.shape, np.nan)
        for c, states in enumerate(self.states):
            present = ~np.isnan(x[:, c])
            cells = x[present, c]
            result[present, c] = function(c, cells, states.encode(cells))
        return result

    def encode(self, t: Array) -> Array:
        xp = namespace(t)
        chosen = (t[..., None] == xp.arange(self.phi.shape[1], dtype=t.dtype)).astype(t.dtype)
        return xp.einsum("...cb,cbj->...cj", chosen, self.phi).reshape(*t.shape[:-1], self.inputs)

    def parameters(self, raw: jax.Array) -> Logits:
        weights = raw.reshape(*raw.shape[:-1], self.columns, self.phi.shape[2])
        return Logits(jnp.einsum("...cj,cbj->...cb", weights, self.phi) + self.log_share)

    def log_density(self, parameters: Logits, t: jax.Array) -> jax.Array:
        logits = parameters.logits
        chosen = t[..., None] == jnp.arange(logits.shape[-1], dtype=t.dtype)
        return jnp.where(chosen, logits, 0.0).sum(axis=-1) - jax.nn.logsumexp(logits, axis=-1)

    def typical(self, raw: Array) -> Array:
        xp = namespace(raw)
        share = self._shares(raw)
        usual = self.usual > 0
        total = xp.maximum(xp.where(usual, share, 0.0).sum(axis=-1), _SMALLEST)
        reached = xp.cumsum(xp.where(usual, share, 0.0), axis=-1) / total[..., None]
        # the bin with the median, and the share of its mass that is below the median
        at = xp.minimum((reached < 0.5).sum(axis=-1), share.shape[-1] - 1)[..., None]
        end, mass = (xp.take_along_axis(part, at, axis=-1)[..., 0] for part in (reached, share / total[..., None]))
        low, high = (_at(xp, part, at[..., 0]) for part in (self.edges[:, :-1], self.edges[:, 1:]))
        level = low + (high - low) * (1 - (end - 0.5) / mass)
        median = _interpolated(level, self.levels, self.quantiles)
        codes = xp.where(usual, 0.0, share)
        special = _at(xp, self.code, codes.argmax(axis=-1))
        return xp.where(codes.max(axis=-1) > total, special, median)

    def _shares(self, raw: Array) -> Array:
        """The probabilities of the bins (..., columns, bins); one product after the other, so that rows stay apart."""
        xp = namespace(raw)
        raw = raw.reshape(*raw.shape[:-1], self.columns, self.phi.shape[2], 1)
        logits = self.log_share + sum(raw[..., j, :] * self.phi[:, :, j] for j in range(self.phi.shape[2]))
        largest = logits.max(axis=-1, keepdims=True)
        if xp is not np:
            # shares do not depend on it; its own slope is NaN where a compiler rounds the logits twice
            largest = jax.lax.stop_gradient(largest)
        weights = xp.exp(logits - largest)
        return weights / weights.sum(axis=-1, keepdims=True)

    def sample(self, key: jax.Array, parameters: Logits) -> jax.Array:
        """The bin of each draw, plus the share of the bin's mass below it: see `in_units`."""
        bin_key, inside_key = jax.random.split(key)
        drawn = jax.random.categorical(bin_key, parameters.logits, axis=-1)
        return drawn + jax.random.uniform(inside_key, drawn.shape, maxval=_BELOW_ONE)

    def in_units(self, draws: np.ndarray) -> np.ndarray:
        result = np.empty(draws.shape)
        for c, states in enumerate(self.states):
            inside = np.exp(self.log_inside[c, : states.count - 1])
            ends = np.cumsum(inside) - inside  # the states of a bin follow each other
            bins = self.bin[c, : states.count - 1]
            first = np.searchsorted(bins, bins)
            ladder = bins + ends - ends[first]
            at = np.clip(np.searchsorted(ladder, draws[:, c], side="right") - 1, 0, None)
            part = np.clip((draws[:, c] - ladder[at]) / inside[at], 0.0, _BELOW_ONE)
            result[:, c] = states.draw(at + 1, part)
        return result

    def support(self) -> Support:
        low, high = (np.array([_side(feature, side) for feature in self.features]) for side in (0, 1))
        atoms = tuple(
            np.concatenate([states.starts[states.sizes == 0], list(states.feature.special)]) for states in self.states
        )
        return Support(low, high, self.features[0].kind == "count", atoms)


def _at(xp: Any, table: Array, index: Array) -> Array:
    """table[c, index[..., c]] for each column c."""
    return table[xp.arange(len(table)), index]


def _interpolated(x: Array, points: Array, values: Array) -> Array:
    """For each column c, x[..., c] interpolated between points[c] and values[c]."""
    if namespace(x) is np:
        return np.stack([np.interp(x[..., c], points[c], values[c]) for c in range(len(points))], axis=-1)
    return jax.vmap(jnp.interp, in_axes=(-1, 0, 0), out_axes=-1)(x, points, values)


def _side(feature: Feature, side: int) -> float:
    bound, reach = feature.bounds[side], (-np.inf, np.inf)[side]
    return reach if bound is None else bound + (feature.step or 0.0) * (0.0 if feature.kind == "count" else side - 0.5)


def _column(feature: Feature, cells: FloatArray, codes: int) -> dict[str, np.ndarray]:
    """The arrays of one column, padded to `codes` special codes."""
    states = States.fit(feature, cells, atoms=_ATOMS, intervals=_INTERVALS)
    own, first = len(feature.special), states.first - 1
    counts = np.bincount(states.encode(cells[~np.isnan(cells)]), minlength=states.count)
    share = marginal(counts, np.arange(states.count) != MISSING)[1:]
    bins = grouped(states, counts, BINS)[1:] - 1
    mass = np.bincount(bins, weights=share, minlength=codes + BINS)
    usual = np.where(np.arange(len(mass)) >= own, mass, 0.0) / mass[own:].sum()
    levels = np.cumsum(share[first:]) / share[first:].sum()
    lefts, rights = _ends(states)
    size = _STATES + codes
    return {
        "log_share": np.log(mass, where=mass > 0, out=np.full(len(mass), IMPOSSIBLE)),
        "phi": _functions(usual, own, codes),
        "code": _padded(np.array(list(feature.special)), len(mass), 0.0),
        "usual": usual > 0,
        "edges": np.concatenate([[0.0], np.cumsum(usual)]),
        "levels": _padded(np.concatenate([[0.0], levels]), size, 1.0),
        "quantiles": _padded(np.append(lefts, rights[-1:]), size, rights[-1]),
        "bin": _padded(bins.astype(np.float64), size, 0.0).astype(np.intp),
        "log_inside": _padded(np.log(share / mass[bins]), size, 0.0),
        "step": np.array(states.step),
        "starts": _padded(states.starts, size, np.inf),
        "sizes": _padded(states.sizes, size, 0.0),
        "tails": states.tails,
    }


def _functions(usual: FloatArray, own: int, codes: int) -> FloatArray:
    """φ(b), (bins, functions), from the shares of the bins among ordinary values; 0 for padding."""
    rank = np.cumsum(usual) - usual / 2
    score = ndtri(np.clip(rank, 1e-6, 1 - 1e-6))
    hats = np.maximum(1 - np.abs(rank[:, None] * (HATS - 1) - np.arange(HATS)), 0.0)
    ordinary = (usual > 0)[:, None]
    found = np.where(ordinary, np.column_stack([score, score**2 - 1, hats]), 0.0)
    indicators = np.zeros((len(usual), codes))
    indicators[np.arange(own), np.arange(own)] = 1.0
    return np.concatenate([found, indicators], axis=1)


def _ends(states: States) -> tuple[FloatArray, FloatArray]:
    """Where each ordinary state begins and ends; a tail counts up to its scale."""
    step = states.step or 1.0
    below, above = (bool(scale > 0) for scale in states.tails)
    inner = slice(1 if below else 0, -1 if above else None)
    lefts, rights = states.starts.copy(), states.starts.copy()
    rights[inner] += states.sizes[inner] * step
    if below:
        rights[0] = lefts[1]
        lefts[0] = rights[0] - min(states.sizes[0] * step, states.tails[0])
    if above:
        rights[-1] = lefts[-1] + min(states.sizes[-1] * step, states.tails[1])
    return lefts, rights


def _padded(array: FloatArray, size: int, value: float) -> FloatArray:
    return np.concatenate([array, np.full(size - len(array), value)])
