"""Numbers of any shape: the smoothed histogram of the column, whose bins a network weighs.

With p̂ the histogram of the training values and φ a few functions of the bin b of x,

    p(x | w) = p̂(x) · exp(w · φ(b)) / Σ_b' p̂(b') exp(w · φ(b')).

So w = 0 is the column's marginal, and atoms, steps, special codes and tails are those of the data for every w.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import ndtri

from attain.core.arrays import FloatArray, IndexArray
from attain.core.errors import FileError, listed
from attain.density.likelihoods.base import Array, Likelihood, log_softmax, logsumexp, namespace, register, static
from attain.density.likelihoods.levels import IMPOSSIBLE, Logits
from attain.density.likelihoods.states import INTERVALS, MOST_ATOMS, States
from attain.schema import Feature

BINS = 32
"""How many bins of ordinary values a network weighs at most; within a bin, the histogram is finer."""
HATS = 10
"""How many hat functions φ has."""
_STATES = 2 * MOST_ATOMS + INTERVALS + 4
"""More states than a column can have, special codes aside."""
_SMALLEST = 1e-30
_BELOW_ONE = float(np.nextafter(1.0, 0.0))


@register
class Binned(Likelihood):
    """The column's smoothed histogram, reweighed bin by bin. The typical value is the median.

    The fine histogram has one state for each value that many rows share, intervals of about equally many rows between
    them, and exponential tails. Neighbouring states with about equally many rows make up to 32
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
    """The states, as in `States`; padded."""
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
        return self._by_column(x, lambda c, cells, states: self.bin[c, states])

    def log_base(self, x: np.ndarray) -> np.ndarray:
        return self._by_column(
            x, lambda c, cells, states: self.log_inside[c, states] + self.states[c].log_within(cells, states)
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

    def parameters(self, raw: Array) -> Logits:
        xp = namespace(raw)
        weights = raw.reshape(*raw.shape[:-1], self.columns, self.phi.shape[2])
        if xp is np:  # one product after the other, so that rows stay apart
            products = (weights[..., j, None] * self.phi[:, :, j] for j in range(self.phi.shape[2]))
            return Logits(self.log_share + sum(products))
        return Logits(xp.einsum("...cj,cbj->...cb", weights, self.phi) + self.log_share)

    def log_density(self, parameters: Logits, t: Array) -> Array:
        xp, logits = namespace(t), parameters.logits
        chosen = t[..., None] == xp.arange(logits.shape[-1], dtype=t.dtype)
        return xp.where(chosen, logits, 0.0).sum(axis=-1) - logsumexp(logits)

    def typical(self, raw: np.ndarray) -> np.ndarray:
        share = self._shares(raw)
        codes, found = np.where(self._usual, 0.0, share), self._median(share)
        median = np.stack(list(map(np.interp, found.level.T, self.levels, self.quantiles)), axis=-1)
        special = self.code[np.arange(self.columns), codes.argmax(axis=-1)]
        return np.where(codes.max(axis=-1) > found.total, special, median)

    def typical_vjp(self, raw: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        share = self._shares(raw)
        found = self._median(share)
        slope = np.stack(list(map(_slope, found.level.T, self.levels, self.quantiles)), axis=-1)
        # level = low + width (1 − f) with f = (end − ½) / mass, and end and mass sums of shares q among ordinary values
        q = np.where(self._usual, share, 0.0) / found.total[..., None]
        bins = np.arange(q.shape[-1])
        own, f = bins == found.at[..., None], ((found.end - 0.5) / found.mass)[..., None]
        rise = q * ((bins <= found.at[..., None]) - found.end[..., None]) / found.mass[..., None] - f * (own - q)
        typical = np.where(self._usual, 0.0, share).max(axis=-1) <= found.total
        weight = np.where(typical, -gradient * slope * found.width, 0.0)
        pulled = [(rise * self.phi[:, :, j]).sum(axis=-1) * weight for j in range(self.phi.shape[2])]
        return np.stack(pulled, axis=-1).reshape(raw.shape)

    @property
    def _usual(self) -> np.ndarray:
        return self.usual > 0

    def _shares(self, raw: np.ndarray) -> np.ndarray:
        """The probabilities of the bins (n, columns, bins)."""
        logits = self.parameters(raw.reshape(-1, raw.shape[-1])).logits
        weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=-1, keepdims=True))

    def _median(self, share: np.ndarray) -> _Median:
        """The bin with the median of the ordinary values, and the level of the histogram that the median is at."""
        usual = np.where(self._usual, share, 0.0)
        total = np.maximum(usual.sum(axis=-1), _SMALLEST)
        reached = np.cumsum(usual, axis=-1) / total[..., None]
        at = np.minimum((reached < 0.5).sum(axis=-1), share.shape[-1] - 1)
        end, mass = _taken(at, reached, share)
        mass, columns = mass / total, np.arange(self.columns)
        low = self.edges[columns, at]
        width = self.edges[columns, at + 1] - low
        return _Median(total, at, end, mass, width, low + width * (1 - (end - 0.5) / mass))

    def quantile(self, parameters: Logits, u: np.ndarray) -> np.ndarray:
        share = np.exp(log_softmax(parameters.logits))
        reached = np.cumsum(share, axis=-1)
        drawn = np.minimum((reached <= u[..., None]).sum(axis=-1), share.shape[-1] - 1)
        end, mass = _taken(drawn, reached, share)
        inside = np.clip(1 - (end - u) / np.maximum(mass, _SMALLEST), 0.0, _BELOW_ONE)
        return np.column_stack([self._cells(c, drawn[:, c], inside[:, c]) for c in range(self.columns)])

    def _cells(self, column: int, bins: np.ndarray, inside: np.ndarray) -> np.ndarray:
        """The cell (n,) of a bin with the share `inside` of the bin's mass below it."""
        states = self.states[column]
        mass, own = np.exp(self.log_inside[column, : states.count]), self.bin[column, : states.count]
        ends = np.cumsum(mass) - mass  # the states of a bin follow each other
        ladder = own + ends - ends[np.searchsorted(own, own)]
        at = np.clip(np.searchsorted(ladder, bins + inside, side="right") - 1, 0, None)
        return states.draw(at, np.clip((bins + inside - ladder[at]) / mass[at], 0.0, _BELOW_ONE))


class _Median(NamedTuple):
    """The share of ordinary values, the bin of their median, the share up to its end, its own, its width, the level."""

    total: np.ndarray
    at: np.ndarray
    end: np.ndarray
    mass: np.ndarray
    width: np.ndarray
    level: np.ndarray


def _taken(at: IndexArray, *parts: np.ndarray) -> list[np.ndarray]:
    return [np.take_along_axis(part, at[..., None], axis=-1)[..., 0] for part in parts]


def _slope(x: np.ndarray, points: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The slope at x (n,) of the line through the points; 0 beyond them, and where it jumps."""
    at = np.clip(np.searchsorted(points, x, side="right") - 1, 0, len(points) - 2)
    width, rise = points[at + 1] - points[at], values[at + 1] - values[at]
    return np.divide(rise, width, out=np.zeros(len(x)), where=(width > 0) & (x >= points[0]) & (x < points[-1]))


def _column(feature: Feature, cells: FloatArray, codes: int) -> dict[str, np.ndarray]:
    """The arrays of one column, padded to `codes` special codes."""
    states = States.fit(feature, cells)
    own = states.first
    counts = np.bincount(states.encode(cells[~np.isnan(cells)]), minlength=states.count)
    share = (counts + 0.5) / (counts + 0.5).sum()  # half a row is added to each state (Krichevsky–Trofimov)
    bins = np.concatenate([np.arange(own), own + _grouped(counts[own:])])
    mass = np.bincount(bins, weights=share, minlength=codes + BINS)
    usual = np.where(np.arange(len(mass)) >= own, mass, 0.0) / mass[own:].sum()
    levels = np.cumsum(share[own:]) / share[own:].sum()
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


def _grouped(counts: IndexArray) -> IndexArray:
    """The bin of each state: neighbours share one, so that bins have about equally many of the counted rows."""
    if len(counts) <= BINS:
        return np.arange(len(counts))
    middle = (np.cumsum(counts) - counts / 2) / max(float(counts.sum()), 1.0)
    return np.unique(np.minimum(middle * BINS, BINS - 1).astype(np.intp), return_inverse=True)[1]


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
