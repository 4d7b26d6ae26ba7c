"""A trained autoencoder in NumPy: encoder, decoder and its slope, the bound of the log-density, and draws.

Sums run over one input after the other, so that the bits of a row never depend on the rows beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from scipy.special import ndtri

from attain.core.arrays import FloatArray
from attain.core.errors import FileError
from attain.density.columns import Columns
from attain.density.likelihoods.base import filled, leaves
from attain.density.likelihoods.numerics import log_softmax, logsumexp
from attain.density.uniforms import Keys, uniforms

LOG_SCALES = -7.0, 2.0
"""The smallest and the largest logarithm of a posterior scale."""
_CELLS = 1 << 18
"""Raw outputs that are worked on at a time, so that they stay in the processor's cache."""

Affine: TypeAlias = tuple[FloatArray, FloatArray]
"""A matrix (inputs, outputs) and a bias (outputs,)."""


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
        for name, widths in (("encoder", encoder), ("decoder", decoder)):
            for i, (before, after) in enumerate(pairwise(widths)):
                found |= {f"{name}.{i}.matrix": (before, after), f"{name}.{i}.bias": (after,)}
        found |= {"shared.matrix": (encoder[-1], 2 * k), "shared.bias": (2 * k,)}
        found |= {"from_latent": (k, decoder[0]), "from_component": (components, decoder[0])}
        if components > 1:
            own = components * (1 + 2 * k)
            found |= {"separate.matrix": (encoder[-1], own), "separate.bias": (own,), "prior": (components, k)}
        return found | ({"from_conditions": (conditions, decoder[0])} if conditions else {})


class Posterior(NamedTuple):
    """The logits of q(c|x), (n, L), and mean and scale (n, L, k) of q(z|x, c) for every component."""

    logits: FloatArray
    mean: FloatArray
    scale: FloatArray


@dataclass(frozen=True)
class Network:
    """The networks of an autoencoder over its columns; `weights` are the arrays of `Sizes.shapes`, as trained."""

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

    @property
    def prior(self) -> FloatArray:
        """μ(c) of each component, (L, k); 0 where there is one."""
        return self._weight("prior") if "prior" in self.weights else np.zeros((1, self.sizes.latent_dim))

    def conditions(self, rows: FloatArray) -> FloatArray:
        """The immutable features of compact rows as network inputs."""
        return np.asarray(self.columns.encode_conditions(_array(rows)))

    def posterior(self, rows: FloatArray) -> Posterior:
        """q(c|x) and q(z|x, c) of compact rows."""
        (k, components, _), n = self.sizes, len(rows)
        x = np.concatenate([self.columns.encode(_array(rows)), self.conditions(rows)], axis=-1)
        for matrix, bias in self._layers("encoder"):
            x = np.tanh(row_product(x, matrix, bias))
        shared = row_product(x, self._weight("shared.matrix"), self._weight("shared.bias"))[:, None, :]
        logits, mean, log_scale = np.zeros((n, 1)), shared[..., :k], shared[..., k:]
        if components > 1:
            own = row_product(x, self._weight("separate.matrix"), self._weight("separate.bias"))
            logits, each = own[:, :components], own[:, components:].reshape(n, 2, components, k)
            mean, log_scale = mean + each[:, 0], log_scale + each[:, 1]
        return Posterior(logits, mean, np.exp(np.clip(log_scale, *LOG_SCALES)))

    def encode(self, rows: FloatArray) -> tuple[FloatArray, np.ndarray]:
        """The posterior mean (n, k) of compact rows under their most probable component, and its number (n,)."""
        logits, mean, _ = self.posterior(rows)
        component = logits.argmax(axis=1)
        return mean[np.arange(len(rows)), component], component

    def displacement(self, rows: FloatArray) -> FloatArray:
        """The posterior mean relative to the prior mean, averaged over components, (n, k)."""
        logits, mean, _ = self.posterior(rows)
        share = np.exp(log_softmax(logits))[:, :, None]
        return np.asarray((share * (mean - self.prior)).sum(axis=1))

    def decode(self, z: FloatArray, conditions: FloatArray, component: np.ndarray) -> FloatArray:
        """Typical free cells (n, f) in original units, for encoded conditions and component numbers (n,)."""
        tiles = self._tiles(len(z), self.columns.outputs)
        typical = [self.columns.typical(self._typical.raw(z[at], conditions[at], component[at])) for at in tiles]
        return np.concatenate(typical)

    def decode_vjp(
        self, z: FloatArray, conditions: FloatArray, component: np.ndarray, gradient: FloatArray
    ) -> FloatArray:
        """gradient · ∂decode/∂z, (n, f) to (n, k)."""
        hidden = self._typical.hidden(z, conditions, component)
        found = self.columns.typical_vjp(hidden[-1], gradient)
        for x, (matrix, _) in zip(hidden[-2::-1], self._typical.layers[::-1], strict=True):
            found = row_product(found, matrix.T) * (1 - np.tanh(x) ** 2)
        return row_product(found, self._typical.from_latent.T)

    def draw(self, z: FloatArray, conditions: FloatArray, component: np.ndarray, u: FloatArray) -> FloatArray:
        """Free cells (n, f) in original units with the share u (n, width) of their densities below them."""
        return self.columns.quantile(self._whole.raw(z, conditions, component), u)

    def sample(self, rows: FloatArray, keys: Keys) -> FloatArray:
        """One draw of the free cells (n, f) for each compact row, by a key of its own, (n,)."""
        k, components, _ = self.sizes
        numbers = (np.maximum(uniforms(keys, i), 2.0**-54) for i in range(1 + k + self.columns.width))
        component = (next(numbers) * components).astype(np.intp)
        z = self.prior[component] + np.column_stack([ndtri(next(numbers)) for _ in range(k)])
        return self.draw(z, self.conditions(rows), component, np.column_stack(list(numbers)))

    def log_components(self, z: FloatArray) -> FloatArray:
        """log p(c | z) but for a constant of each row, (n, L): −‖z − μ(c)‖² / 2, as p(c) is uniform."""
        return np.stack([-0.5 * _squares(z - mean) for mean in self.prior], axis=1)

    def bound(self, rows: FloatArray, noise: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The importance-weighted bound of each compact row (n,), without `log_base`, and its standard error.

        `noise` (samples, L, k) is shared by all rows, so that the bound of a row does not depend on the other rows.
        """
        tiles = self._tiles(len(rows), len(noise) * self.sizes.components * self.columns.outputs)
        with np.errstate(all="ignore"):  # both sides of a choice are computed
            found = [average_weight(self._log_weights(rows[at], noise)) for at in tiles]
        bound, error = (np.concatenate(part) for part in zip(*found, strict=True))
        return bound, error

    def _log_weights(self, rows: FloatArray, noise: FloatArray) -> FloatArray:
        samples, components, _ = noise.shape
        each = np.repeat(np.tile(np.arange(len(rows)), samples), components)
        conditions = self.conditions(rows)[each]
        component = np.tile(np.arange(components), samples * len(rows))

        def log_likelihood(codes: FloatArray) -> FloatArray:
            raw = self._whole.raw(codes.reshape(len(each), -1), conditions, component)
            return self.columns.log_density(raw, _array(rows)[each]).sum(axis=-1).reshape(codes.shape[:-1])

        return log_importance_weights(self.posterior(rows), self.prior, log_likelihood, noise[:, None])

    def _tiles(self, rows: int, width: int) -> list[slice]:
        size = max(1, _CELLS // max(width, 1))
        return [slice(start, start + size) for start in range(0, max(rows, 1), size)]

    @cached_property
    def _whole(self) -> _Decoder:
        return _Decoder.of(self, np.arange(self.columns.outputs))

    @cached_property
    def _typical(self) -> _Decoder:
        """The decoder of the raw outputs that typical values depend on."""
        return _Decoder.of(self, self.columns.typical_outputs)

    def _layers(self, name: str) -> Iterator[Affine]:
        for i in range(sum(key.startswith(name) and key.endswith("bias") for key in self.weights)):
            yield self._weight(f"{name}.{i}.matrix"), self._weight(f"{name}.{i}.bias")

    def _weight(self, name: str) -> FloatArray:
        return _array(self.weights[name])


@dataclass(frozen=True)
class _Decoder:
    """The decoder of some of the raw outputs: its first layer, from code, component and conditions, and the others."""

    from_latent: FloatArray
    from_component: FloatArray
    from_conditions: FloatArray | None
    layers: tuple[Affine, ...]

    @classmethod
    def of(cls, network: Network, outputs: np.ndarray) -> Self:
        layers = [*network._layers("decoder")]
        kept = slice(None) if layers else outputs
        latent, component = (network._weight(name)[:, kept] for name in ("from_latent", "from_component"))
        conditions = network._weight("from_conditions")[:, kept] if "from_conditions" in network.weights else None
        layers[-1:] = [(matrix[:, outputs], bias[outputs]) for matrix, bias in layers[-1:]]
        return cls(latent, component, conditions, tuple(layers))

    def hidden(self, z: FloatArray, conditions: FloatArray, component: np.ndarray) -> list[FloatArray]:
        """What every layer gives, before tanh; the last are the raw outputs (n, outputs)."""
        one = len(self.from_component) == 1
        found = [row_product(z, self.from_latent, self.from_component[0] if one else self.from_component[component])]
        if self.from_conditions is not None:
            found[0] = row_product(conditions, self.from_conditions, found[0])
        for matrix, bias in self.layers:
            found.append(row_product(np.tanh(found[-1]), matrix, bias))
        return found

    def raw(self, z: FloatArray, conditions: FloatArray, component: np.ndarray) -> FloatArray:
        """The raw outputs (n, outputs)."""
        return self.hidden(z, conditions, component)[-1]


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
    found: FloatArray = logsumexp(weights)
    return found


def average_weight(log_weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """log of the mean over the first axis, and its standard error by the delta method."""
    samples = len(log_weights)
    largest = log_weights.max(axis=0)
    weights = np.exp(log_weights - largest)
    mean = _in_turn(weights) / samples
    spread = np.sqrt(_in_turn((weights - mean) ** 2) / max(samples - 1, 1) / samples)
    return largest + np.log(mean), spread / mean


def row_product(x: FloatArray, matrix: FloatArray, start: FloatArray | float = 0.0) -> FloatArray:
    """`start` plus x (n, inputs) times a matrix (inputs, m): the bits of a row do not depend on the rows beside it.

    A product of whole matrices may sum in another order where there are more rows.
    """
    out = np.array(np.broadcast_to(start, (len(x), matrix.shape[1])), dtype=np.float64)
    for j in range(matrix.shape[0]):
        out += x[:, j, None] * matrix[j]
    return out


def _in_turn(parts: FloatArray) -> FloatArray:
    """The sum over the first axis, one after the other."""
    total = np.zeros(parts.shape[1:])
    for part in parts:
        total += part
    return total


def _squares(vectors: FloatArray) -> FloatArray:
    return _in_turn(vectors.T**2)


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
