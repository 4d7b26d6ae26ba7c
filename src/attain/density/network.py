"""A trained autoencoder in NumPy: encoder, decoder and its slope, the bound of the log-density, and draws.

Sums run over one input after the other, so that the bits of a row never depend on the other rows.

Draws depend on a row and its number, not on the place of the row in a batch: number i of a key is the finaliser of
SplitMix64 of key + i · 0x9E3779B97F4A7C15. That needs no generator object per row, so a million rows cost what one
array costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from scipy.special import ndtri

from attain.core.arrays import GOLDEN, MIXER, FloatArray, Keys, mixed
from attain.core.errors import FileError
from attain.density.columns import Columns
from attain.density.likelihoods.base import Array, filled, leaves, log_softmax, logsumexp, namespace

LOG_SCALES = -7.0, 2.0
"""The smallest and the largest logarithm of a posterior scale."""
_CELLS = 1 << 18
"""Raw outputs that are worked on at a time, so that they stay in the processor's cache."""
_INPUTS = 1 << 22
"""Inputs of the encoder that are held in memory at a time: a column of levels has one for each."""

Weights: TypeAlias = Mapping[str, Array]
"""The arrays of `Sizes.shapes`, by name: of JAX while the model is trained, of NumPy afterwards."""


class Sizes(NamedTuple):
    """Latent dimensions, mixture components, and the widths of the hidden layers of the encoder."""

    latent_dim: int
    components: int
    hidden: tuple[int, ...]

    @classmethod
    def read(cls, facts: Mapping[str, Any], stored: int) -> Self:
        """The sizes that a file names; refuses those for which it has too few numbers, before room is made for them."""
        hidden = facts["hidden"]
        sizes = [facts["latent_dim"], facts["components"], *hidden]
        if not all(type(size) is int and size >= 1 for size in sizes):
            raise FileError(f"sizes must be integers ≥ 1, got {sizes[:8]}")
        needed = sum(2 * size for size in hidden) + sum(before * after for before, after in pairwise(hidden))
        if needed + facts["latent_dim"] + facts["components"] > stored:
            raise FileError("the file names sizes of a network that is larger than the file")
        return cls(facts["latent_dim"], facts["components"], tuple(hidden))

    def shapes(self, columns: Columns) -> dict[str, tuple[int, ...]]:
        """The arrays of a network over these columns, by name."""
        k, components, conditions = self.latent_dim, self.components, columns.condition_inputs
        encoder = (columns.inputs + conditions, *self.hidden)
        decoder = (*reversed(self.hidden), columns.outputs)
        found: dict[str, tuple[int, ...]] = {}

        def layer(name: str, before: int, after: int) -> None:
            found.update({f"{name}.matrix": (before, after), f"{name}.bias": (after,)})

        for i, (before, after) in enumerate(pairwise(encoder)):
            layer(f"encoder.{i}", before, after)
        layer("shared", encoder[-1], 2 * k)
        if components > 1:
            layer("separate", encoder[-1], components * (1 + 2 * k))
            found["prior"] = components, k
        found |= {"from_latent": (k, decoder[0]), "from_component": (components, decoder[0])}
        found |= {"from_conditions": (conditions, decoder[0])} if conditions else {}
        for i, (before, after) in enumerate(pairwise(decoder)):
            layer(f"decoder.{i}", before, after)
        return found


class Posterior(NamedTuple):
    """q(c|x) as log-probabilities (n, L), and mean and scale (n, L, k) of q(z|x, c) for every component."""

    log_share: Array
    mean: Array
    scale: Array


def posterior(sizes: Sizes, weights: Weights, x: Array) -> Posterior:
    """q(c|x) and q(z|x, c) for the inputs (n, inputs) of the encoder.

    `shared` gives the mean and log-scale that all components share, `separate` the logits of q(c|x) and what each
    component adds.
    """
    xp, (k, components, _) = namespace(x), sizes
    for matrix, bias in _layers(weights, "encoder"):
        x = xp.tanh(affine(x, matrix, bias))
    shared = affine(x, weights["shared.matrix"], weights["shared.bias"])[:, None, :]
    logits, (mean, log_scale) = xp.zeros((len(x), 1), x.dtype), xp.split(shared, 2, axis=-1)
    if components > 1:
        own = affine(x, weights["separate.matrix"], weights["separate.bias"])
        logits, *added = xp.split(own, [components, components * (1 + k)], axis=-1)
        mean, log_scale = (
            part + more.reshape(-1, components, k) for part, more in zip((mean, log_scale), added, strict=True)
        )
    return Posterior(log_softmax(logits), mean, xp.exp(xp.clip(log_scale, *LOG_SCALES)))


def decoder_layers(weights: Weights, z: Array, component: Array, conditions: Array) -> list[Array]:
    """What every layer of the decoder gives for codes (…, k), before tanh; the last are the raw outputs.

    `component` is what the mixture component of each code adds to the first layer.
    """
    first = affine(z, weights["from_latent"], component)
    if "from_conditions" in weights:
        first = affine(conditions, weights["from_conditions"], first)
    found = [first]
    for matrix, bias in _layers(weights, "decoder"):
        found.append(affine(namespace(z).tanh(found[-1]), matrix, bias))
    return found


def affine(x: Array, matrix: Array, start: Array) -> Array:
    """`start` plus x times a matrix; in NumPy, the bits of a row do not depend on the other rows."""
    return row_product(x, matrix, start) if isinstance(x, np.ndarray) else x @ matrix + start


def _layers(weights: Weights, name: str) -> Iterator[tuple[Array, Array]]:
    for i in range(sum(key.startswith(name) and key.endswith("bias") for key in weights)):
        yield weights[f"{name}.{i}.matrix"], weights[f"{name}.{i}.bias"]


@dataclass(frozen=True)
class Network:
    """The networks of an autoencoder over its columns, as trained."""

    columns: Columns
    sizes: Sizes
    weights: Mapping[str, np.ndarray]

    @classmethod
    def restored(cls, form: Columns, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """The network from what `facts` and `arrays` gave.

        Of `form`, columns of the same schema, only the structure is used: every constant comes from the arrays.
        """
        sizes = Sizes.read(facts, sum(array.size for array in arrays.values()))
        flagged = Columns(form.free, form.conditions, _flagged(facts["flagged"], form), form.names)
        stored = [arrays[name] for name in sorted(arrays) if name.startswith("columns.")]
        expected = leaves(flagged)
        if len(stored) != len(expected):
            raise FileError(
                f"the file has {len(stored)} arrays for the columns, where the schema needs {len(expected)}"
            )
        for i, (old, new) in enumerate(zip(expected, stored, strict=True)):
            _check_shape(f"columns.{i:04d}", new, old.shape, old.dtype)
        columns: Columns = filled(flagged, iter(stored))
        for block in (*columns.free, *columns.conditions):
            block.likelihood.check()
        shapes = sizes.shapes(columns)
        weights = {name: arrays.get(f"network.{name}", np.zeros(0)) for name in shapes}
        for name, shape in shapes.items():
            _check_shape(f"network.{name}", weights[name], shape, np.dtype(np.float32))
        return cls(columns, sizes, weights)

    def facts(self) -> dict[str, Any]:
        """Sizes, for JSON."""
        return {**self.sizes._asdict(), "hidden": list(self.sizes.hidden), "flagged": list(self.columns.flagged)}

    def arrays(self) -> dict[str, np.ndarray]:
        """Weights by name, and the constants of the columns in the fixed order of their tree."""
        found = {f"columns.{i:04d}": np.asarray(array) for i, array in enumerate(leaves(self.columns))}
        return found | {f"network.{name}": np.asarray(array) for name, array in self.weights.items()}

    @cached_property
    def prior(self) -> FloatArray:
        """μ(c) of each component, (L, k); 0 where there is one."""
        return np.asarray(self._exact.get("prior", np.zeros((1, self.sizes.latent_dim))))

    def conditions(self, rows: FloatArray) -> FloatArray:
        """The immutable features of compact rows as network inputs."""
        return np.asarray(self.columns.encode_conditions(_array(rows)))

    def posterior(self, rows: FloatArray) -> Posterior:
        """q(c|x) and q(z|x, c) of compact rows."""
        tiles = self._tiles(len(rows), self.columns.inputs + self.columns.condition_inputs, _INPUTS)
        parts = [posterior(self.sizes, self._exact, self._inputs(rows[at])) for at in tiles]
        return Posterior(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def _inputs(self, rows: FloatArray) -> FloatArray:
        return np.concatenate([self.columns.encode(_array(rows)), self.conditions(rows)], axis=-1)

    def encode(self, rows: FloatArray) -> tuple[FloatArray, np.ndarray]:
        """The posterior mean (n, k) of compact rows under their most probable component, and its number (n,)."""
        log_share, mean, _ = self.posterior(rows)
        component = log_share.argmax(axis=1)
        return mean[np.arange(len(rows)), component], component

    def displacement(self, rows: FloatArray) -> FloatArray:
        """The posterior mean relative to the prior mean, averaged over components, (n, k)."""
        log_share, mean, _ = self.posterior(rows)
        share = np.exp(log_share)[:, :, None]
        return np.asarray((share * (mean - self.prior)).sum(axis=1))

    def decode(self, z: FloatArray, conditions: FloatArray, component: np.ndarray) -> FloatArray:
        """Typical free cells (n, f) in original units, for encoded conditions and component numbers (n,)."""
        tiles = self._tiles(len(z), self.columns.outputs)
        typical = [self._decoder(self._typical, z[at], conditions[at], component[at])[-1] for at in tiles]
        return np.concatenate([self.columns.typical(raw) for raw in typical])

    def decode_vjp(
        self, z: FloatArray, conditions: FloatArray, component: np.ndarray, gradient: FloatArray
    ) -> FloatArray:
        """gradient · ∂decode/∂z, (n, f) to (n, k)."""
        hidden = self._decoder(self._typical, z, conditions, component)
        found = self.columns.typical_vjp(hidden[-1], gradient)
        for x, (matrix, _) in zip(hidden[-2::-1], [*_layers(self._typical, "decoder")][::-1], strict=True):
            found = row_product(found, matrix.T) * (1 - np.tanh(x) ** 2)
        return row_product(found, self._typical["from_latent"].T)

    def raw(self, z: FloatArray, conditions: FloatArray, component: np.ndarray) -> FloatArray:
        """The raw outputs (n, outputs) of the decoder."""
        return np.asarray(self._decoder(self._exact, z, conditions, component)[-1])

    def draw(self, z: FloatArray, conditions: FloatArray, component: np.ndarray, u: FloatArray) -> FloatArray:
        """Free cells (n, f) in original units with the share u (n, width) of their densities below them."""
        return self.columns.quantile(self.raw(z, conditions, component), u)

    def sample(self, rows: FloatArray, keys: Keys) -> FloatArray:
        """One draw of the free cells (n, f) for each compact row, from its key, (n,)."""
        k, components, _ = self.sizes
        numbers = (np.maximum(uniforms(keys, i), 2.0**-54) for i in range(1 + k + self.columns.width))
        component = (next(numbers) * components).astype(np.intp)
        z = self.prior[component] + np.column_stack([ndtri(next(numbers)) for _ in range(k)])
        return self.draw(z, self.conditions(rows), component, np.column_stack(list(numbers)))

    def log_components(self, z: FloatArray) -> FloatArray:
        """log p(c | z) but for a constant of each row, (n, L): −‖z − μ(c)‖² / 2, as p(c) is uniform."""
        return np.stack([-0.5 * np.add.accumulate((z - mean).T ** 2)[-1] for mean in self.prior], axis=1)

    def bound(self, rows: FloatArray, noise: FloatArray) -> FloatArray:
        """The importance-weighted bound of each compact row (n,), without `log_base`.

        `noise` (samples, L, k) is shared by all rows, so that the bound of a row does not depend on the other rows.
        """
        tiles = self._tiles(len(rows), len(noise) * self.sizes.components * self.columns.outputs)
        with np.errstate(all="ignore"):  # both sides of a choice are computed
            return np.concatenate([log_mean(self._log_weights(rows[at], noise)) for at in tiles])

    def _log_weights(self, rows: FloatArray, noise: FloatArray) -> FloatArray:
        samples, components, _ = noise.shape
        each = np.repeat(np.tile(np.arange(len(rows)), samples), components)
        conditions = self.conditions(rows)[each]
        component = np.tile(np.arange(components), samples * len(rows))

        def log_likelihood(codes: FloatArray) -> FloatArray:
            raw = self.raw(codes.reshape(len(each), -1), conditions, component)
            return self.columns.log_density(raw, _array(rows)[each]).sum(axis=-1).reshape(codes.shape[:-1])

        return log_importance_weights(self.posterior(rows), self.prior, log_likelihood, noise[:, None])

    def _tiles(self, rows: int, width: int, cells: int = _CELLS) -> list[slice]:
        size = max(1, cells // max(width, 1))
        return [slice(start, start + size) for start in range(0, max(rows, 1), size)]

    def _decoder(
        self, weights: Weights, z: FloatArray, conditions: FloatArray, component: np.ndarray
    ) -> list[FloatArray]:
        return decoder_layers(weights, z, weights["from_component"][component], conditions)

    @cached_property
    def _exact(self) -> dict[str, FloatArray]:
        return {name: _array(array) for name, array in self.weights.items()}

    @cached_property
    def _typical(self) -> dict[str, FloatArray]:
        """The weights without the raw outputs that typical values do not depend on."""
        depth = len(self.sizes.hidden)
        last = f"decoder.{depth - 1}." if depth else "from_"
        outputs = self.columns.typical_outputs
        return {name: array[..., outputs] if name.startswith(last) else array for name, array in self._exact.items()}


def log_importance_weights(
    posterior: Posterior, prior_mean: FloatArray, log_likelihood: Callable[[FloatArray], FloatArray], noise: FloatArray
) -> FloatArray:
    """log of Σ_c p(x, z_c, c) / q(z_c|x, c) for one draw of z per component; `noise` is (…, L, k) over rows (n).

    `log_likelihood` takes codes (…, n, L, k). The logarithm of the average of these weights over draws is a lower bound
    of log p(x) in expectation: at one draw at least the evidence lower bound, rising with the number of draws.
    """
    codes = posterior.mean + posterior.scale * noise
    log_prior = -0.5 * (codes - prior_mean) ** 2
    log_posterior = -0.5 * noise**2 - np.log(posterior.scale)
    weights = log_likelihood(codes) + (log_prior - log_posterior).sum(axis=-1) - np.log(len(prior_mean))
    return np.asarray(logsumexp(weights))


def log_mean(log_weights: FloatArray) -> FloatArray:
    """The logarithm of the mean of weights over the first axis."""
    largest = log_weights.max(axis=0)
    total = np.add.accumulate(np.exp(log_weights - largest))[-1]
    return np.asarray(largest + np.log(total / len(log_weights)))


def row_product(x: FloatArray, matrix: FloatArray, start: FloatArray | float = 0.0) -> FloatArray:
    """`start` plus x (n, inputs) times a matrix (inputs, m): the bits of a row do not depend on the other rows.

    A product of whole matrices may sum in another order where there are more rows.
    """
    out = np.array(np.broadcast_to(start, (len(x), matrix.shape[1])), dtype=np.float64)
    for j in range(matrix.shape[0]):
        out += x[:, j, None] * matrix[j]
    return out


def _array(array: np.ndarray) -> FloatArray:
    return np.asarray(array, dtype=np.float64)


def _flagged(places: Any, columns: Columns) -> tuple[int, ...]:
    """The columns that had missing cells in training."""
    count = sum(len(block.positions) for block in (*columns.free, *columns.conditions))
    if not isinstance(places, list) or not all(type(place) is int and 0 <= place < count for place in places):
        raise FileError(f"the file flags the columns {places!r}, where there are {count}")
    return tuple(places)


def _check_shape(name: str, found: np.ndarray, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if found.shape != shape or found.dtype != dtype:
        raise FileError(f"the array {name!r} of the file has the shape {found.shape}, where {shape} is needed")


def row_keys(rows: FloatArray, seed: int) -> Keys:
    """64 bits for each row (n,) from its cells and the seed; all NaN are one, and there is no negative zero."""
    bits = np.where(np.isnan(rows), np.nan, rows + 0.0).view(np.uint64)
    keys = np.full(len(rows), mixed(np.array([seed], dtype=np.uint64))[0])
    for column in range(rows.shape[1]):
        keys = mixed(keys + GOLDEN ^ bits[:, column])
    return keys


def draw_keys(keys: Keys, n: int) -> Keys:
    """`n` keys for each key, one after the other."""
    return mixed(np.repeat(keys, n) + np.tile(np.arange(1, n + 1, dtype=np.uint64), len(keys)) * MIXER)


def uniforms(keys: Keys, number: int) -> FloatArray:
    """Number `number` ≥ 0 of each key, in [0, 1)."""
    with np.errstate(over="ignore"):
        counter = np.uint64(number + 1) * GOLDEN
    return (mixed(keys + counter) >> np.uint64(11)).astype(np.float64) * 2.0**-53
