"""What a likelihood is: the density of a block of columns of one kind, given parameters that a network supplies.

A likelihood is independent of the network. The work is done in two places:

- in NumPy, in float64: `fit` (constants from the training data), `normalise` (original units to the internal scale),
  `log_base` (every term of the log-density that depends on the data alone, Jacobian included), `typical`, its slope
  `typical_vjp`, and `quantile`;
- in NumPy for answers, and in JAX for training: `encode`, `parameters` (raw network outputs to parameters) and
  `log_density` (the rest of the log-density), which return arrays of the library that they are given; `namespace` says
  which that is.

So training never recomputes a log-factorial or a Jacobian, and large offsets cost no float32 digits.
`log_prob = log_density(parameters, normalise(x)) + log_base(x)` is the log-density in original units.

A likelihood on the real line extends `Standardised` and gives four methods: `parameters`, `log_density`, `typical` and
`quantile`.

Below are terms of log-densities that keep their digits where the textbook form cancels them. `deviance_term` and
`count_log_base` are the two pieces of C. Loader's saddle-point form of the Poisson (2000): with them a log-probability
near its mode is a sum of small terms, no difference of large ones.
"""

from __future__ import annotations

import abc
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, Self, TypeAlias, dataclass_transform

import numpy as np
import scipy.special

from attain.core.errors import DataError, SchemaError, listed
from attain.schema import Feature

Array: TypeAlias = Any
"""An array of NumPy, or of JAX."""
Parameters: TypeAlias = Any
"""What `parameters` returns: a named tuple of arrays, each with the columns of the block on one axis."""
_STEP = 1e-5
"""Half the distance over which differences are taken."""


def static() -> Any:
    """A field that is no array: a compiled function is compiled for its value."""
    return field(metadata={"static": True})


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field, static))
class Tree:
    """Makes a subclass, by its annotated fields, a frozen dataclass and a tree of arrays."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        dataclass(frozen=True, eq=False)(cls)

    @classmethod
    def parts(cls) -> tuple[list[str], list[str]]:
        """The names of the fields with arrays, and of the static ones."""
        names = {one.name: bool(one.metadata.get("static")) for one in fields(cls)}  # type: ignore[arg-type]
        return [name for name in names if not names[name]], [name for name in names if names[name]]


def tree_classes(kind: type[Tree] = Tree) -> Iterator[type[Tree]]:
    """All classes of trees."""
    for one in kind.__subclasses__():
        yield one
        yield from tree_classes(one)


def leaves(tree: Any) -> list[np.ndarray]:
    """The arrays of a tree, in the fixed order of its fields."""
    if isinstance(tree, Tree):
        return [leaf for name in tree.parts()[0] for leaf in leaves(getattr(tree, name))]
    return [leaf for part in tree for leaf in leaves(part)] if isinstance(tree, tuple) else [tree]


def filled(tree: Any, arrays: Iterator[np.ndarray]) -> Any:
    """The tree with other arrays, in the order of `leaves`."""
    if isinstance(tree, Tree):
        names, meta = tree.parts()
        found = {name: filled(getattr(tree, name), arrays) for name in names}
        return type(tree)(**found, **{name: getattr(tree, name) for name in meta})
    return tuple(filled(part, arrays) for part in tree) if isinstance(tree, tuple) else next(arrays)


def namespace(array: Array) -> Any:
    """The library of an array: NumPy, or else `jax.numpy`."""
    if isinstance(array, np.ndarray):
        return np
    import jax.numpy

    return jax.numpy


class Likelihood(Tree, abc.ABC):
    """The density of a block of columns that share one kind of distribution.

    Constants are plain arrays with one entry per column on the first axis, learned by `fit` from training data alone.
    """

    name: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]]
    outputs_per_column: ClassVar[int] = 2
    models_codes: ClassVar[bool] = False
    """Whether it models special codes itself; otherwise a column of states does."""

    @classmethod
    @abc.abstractmethod
    def fit(cls, features: Sequence[Feature], values: np.ndarray) -> Self:
        """The likelihood with its constants, from training values (n, columns); NaN is a missing value."""

    @classmethod
    def group(cls, feature: Feature) -> Hashable:
        """Columns with the same group share a block; by default all columns of this likelihood do."""
        return ()

    @property
    def columns(self) -> int:
        """How many columns the block has: by default the length of the first constant."""
        return len(getattr(self, self.parts()[0][0]))

    @property
    def outputs(self) -> int:
        """How many raw numbers a network supplies for the whole block."""
        return self.outputs_per_column * self.columns

    @property
    def inputs(self) -> int:
        """How many numbers `encode` gives for the whole block."""
        return self.columns

    def initial(self) -> np.ndarray:
        """Raw outputs (outputs,) where training starts: best where the density is close to the columns' marginal."""
        return np.zeros(self.outputs)

    @abc.abstractmethod
    def normalise(self, x: np.ndarray) -> np.ndarray:
        """Values (n, columns) on the internal scale, in float64; NaN stays NaN."""

    @abc.abstractmethod
    def log_base(self, x: np.ndarray) -> np.ndarray:
        """The part of the log-density (n, columns) that depends on the data alone, Jacobian included, in float64."""

    def encode(self, t: Array) -> Array:
        """Network inputs (..., inputs) for values on the internal scale; 0 is neutral."""
        return t

    @abc.abstractmethod
    def parameters(self, raw: Array) -> Parameters:
        """The parameters of the density for raw network outputs (..., outputs)."""

    @abc.abstractmethod
    def log_density(self, parameters: Parameters, t: Array) -> Array:
        """The part of the log-density (..., columns) that depends on the parameters, on the internal scale."""

    @property
    def typical_outputs(self) -> int:
        """How many of the raw outputs, counted from the first, `typical` needs: by default all."""
        return self.outputs

    @abc.abstractmethod
    def typical(self, raw: np.ndarray) -> np.ndarray:
        """One value (..., columns) in original units that stands for the density: the deterministic decode.

        `raw` are the first `typical_outputs` of the raw network outputs, (..., typical_outputs).
        """

    def typical_vjp(self, raw: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """gradient · ∂typical/∂raw, (n, columns) to (n, typical_outputs): by default from differences."""
        found = np.empty(raw.shape)
        for j in range(raw.shape[-1]):
            step = np.where(np.arange(raw.shape[-1]) == j, _STEP, 0.0)
            found[:, j] = (gradient * (self.typical(raw + step) - self.typical(raw - step))).sum(axis=-1) / (2 * _STEP)
        return found

    @abc.abstractmethod
    def quantile(self, parameters: Parameters, u: np.ndarray) -> np.ndarray:
        """The value (n, columns), in original units, that has the share u of the density below it, 0 < u < 1."""

    def check(self) -> None:
        """Raises FileError where constants from a file cannot be those of a fitted likelihood; by default never."""

    def log_prob(self, parameters: Parameters, x: np.ndarray) -> Array:
        """The log-density (n, columns) of values in original units."""
        x = np.asarray(x, dtype=np.float64)
        xp, dtype = namespace(parameters[0]), parameters[0].dtype
        return self.log_density(parameters, xp.asarray(self.normalise(x), dtype)) + xp.asarray(self.log_base(x), dtype)


class Standardised(Likelihood):
    """A likelihood on the standardised scale t = (x − mean) / deviation; `original` leads back."""

    mean: np.ndarray
    deviation: np.ndarray

    @classmethod
    def fit(cls, features: Sequence[Feature], values: np.ndarray) -> Self:
        return cls(*column_scales(values, half_steps(features)))

    def normalise(self, x: np.ndarray) -> np.ndarray:
        return (x - self.mean) / self.deviation

    def log_base(self, x: np.ndarray) -> np.ndarray:
        return np.where(np.isnan(x), np.nan, -np.log(self.deviation))

    def original(self, t: np.ndarray) -> np.ndarray:
        """Standardised values in original units."""
        return self.mean + self.deviation * t


def half_steps(features: Sequence[Feature]) -> np.ndarray:
    """Half the step of each column; 0 where it has none."""
    return np.array([(feature.step or 0.0) / 2 for feature in features])


def column_scales(values: np.ndarray, flat: np.ndarray | float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each column; a constant column has the scale `flat`, or 1 where that is 0."""
    mean, deviation = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    constant = deviation <= 1e-12 * np.maximum(1.0, np.abs(mean))
    return mean, np.where(constant, np.where(np.asarray(flat) > 0, flat, 1.0), deviation)


def refuse_outside(features: Sequence[Feature], broken: np.ndarray, values: np.ndarray, needs: str) -> None:
    """Raises for the first column in which `broken` (n, columns) is true anywhere."""
    for column in np.flatnonzero(broken.any(axis=0)):
        found = values[broken[:, column], column][0]
        raise DataError(
            f"column {features[int(column)].name!r} holds {found:g}, but its likelihood needs {needs}; "
            f"change the feature's kind or its likelihood"
        )


_REGISTERED: dict[str, type[Likelihood]] = {}
Family: TypeAlias = Literal["binned", "paper"]
"""Which likelihoods features have that do not name one: histograms for numbers, or the paper's."""
_DEFAULTS: dict[Family, dict[str, str]] = {
    "paper": {
        "real": "gaussian",
        "positive": "lognormal",
        "count": "poisson",
        "interval": "truncated_normal",
        "ordinal": "ordinal",
        "categorical": "categorical",
    },
    "binned": {"ordinal": "ordinal", "categorical": "categorical"},
}


def register(likelihood: type[Likelihood]) -> type[Likelihood]:
    """Registers a likelihood under its `name`, for `Feature(likelihood=name)`; also a decorator."""
    known = _REGISTERED.get(likelihood.name)
    if known is not None and known.__qualname__ != likelihood.__qualname__:
        raise SchemaError(
            f"a likelihood named {likelihood.name!r} is already registered ({known.__qualname__}); choose another name"
        )
    _REGISTERED[likelihood.name] = likelihood
    return likelihood


def registered() -> dict[str, type[Likelihood]]:
    """All likelihoods by name."""
    return dict(_REGISTERED)


def likelihood_of(feature: Feature, family: Family = "binned") -> type[Likelihood]:
    """The likelihood that models a feature: its own choice, or the default of its kind."""
    name = feature.likelihood or _DEFAULTS[family].get(feature.kind, "binned")
    if name not in _REGISTERED:
        raise SchemaError(
            f"feature {feature.name!r} has the unknown likelihood {name!r}; known are {listed(sorted(_REGISTERED))}. "
            f"Register your own with attain.density.likelihoods.register"
        )
    chosen = _REGISTERED[name]
    if feature.kind not in chosen.kinds:
        raise SchemaError(
            f"feature {feature.name!r} is {feature.kind}, but the likelihood {name!r} models {', '.join(chosen.kinds)}"
        )
    return chosen


HALF_LOG_TWO_PI = 0.5 * float(np.log(2 * np.pi))
_SERIES_FROM = 15.0
_MILLS_FROM = -10.0


def special(array: Array) -> Any:
    """The special functions of the library of an array: those of SciPy, or of JAX."""
    if namespace(array) is np:
        return scipy.special
    import jax.scipy.special

    return jax.scipy.special


def softplus(x: Array) -> Array:
    """log(1 + eˣ)."""
    return namespace(x).logaddexp(x, 0.0)


def log_softmax(x: Array) -> Array:
    """x less the logarithm of the sum of its exponentials, over the last axis."""
    if namespace(x) is np:
        return x - logsumexp(x)[..., None]
    import jax

    return jax.nn.log_softmax(x, axis=-1)


def logsumexp(x: Array) -> Array:
    """The logarithm of the sum of exponentials over the last axis."""
    if namespace(x) is not np:
        return special(x).logsumexp(x, axis=-1)
    largest = x.max(axis=-1)
    return largest + np.log(np.exp(x - largest[..., None]).sum(axis=-1))


def deviance_term(ratio: Array, excess: Array) -> Array:
    """r − 1 − log r for a ratio r and r − 1, each as exact as the caller has it.

    x times it at r = mean / x is the deviance of x from the mean.
    """
    v = excess / (2 + excess)
    square = v * v
    series = 1 / 3 + square * (1 / 5 + square * (1 / 7 + square * (1 / 9 + square / 11)))
    xp = namespace(ratio)
    return xp.where(xp.abs(excess) < 0.1, excess * v - 2 * v * square * series, excess - xp.log(ratio))


def _stirling_series(a: Any) -> Any:
    square = 1 / (a * a)
    return (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))) / a


def count_log_base(x: np.ndarray) -> np.ndarray:
    """x log x − x − log x!, the log-probability of x under a Poisson of mean x, in float64; 0 at 0."""
    inside = np.where(x > 0, x, 1.0)
    small = np.minimum(inside, _SERIES_FROM)
    direct = small * np.log(small) - small - scipy.special.gammaln(small + 1)
    series = -0.5 * np.log(inside) - HALF_LOG_TWO_PI - _stirling_series(np.maximum(inside, _SERIES_FROM))
    return np.where(np.isnan(x), np.nan, np.where(x > 0, np.where(inside > _SERIES_FROM, series, direct), 0.0))


def scaled_log_ndtr(u: Array) -> Array:
    """log Φ(u) + ½ min(u, 0)²: the normal tail without its Gaussian factor, for tails of any depth."""
    xp = namespace(u)
    near = xp.maximum(u, _MILLS_FROM)
    far = xp.minimum(u, _MILLS_FROM)
    inverse = 1 / (far * far)
    mills = xp.ones_like(far)
    for order in range(12, 0, -1):
        mills = 1 - (2 * order - 1) * inverse * mills
    tail = xp.log(mills) - xp.log(-far) - HALF_LOG_TWO_PI
    return xp.where(u < _MILLS_FROM, tail, special(u).log_ndtr(near) + 0.5 * xp.minimum(near, 0) ** 2)


def inverse_softplus(y: np.ndarray | float) -> np.ndarray:
    """The x with softplus(x) = y, for y > 0."""
    y = np.asarray(y, dtype=np.float64)
    return y + np.log(-np.expm1(-y))
