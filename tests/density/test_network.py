"""The encoder and decoder in NumPy, beside the model's own functions in JAX, and beside their kernels."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attain.core import compiled
from attain.density.columns import Columns
from attain.density.mixture import Mixture
from attain.density.network import Network
from attain.schema import Feature, Schema

SCHEMA = Schema((
    Feature("age", "count", immutable=True),
    Feature("sex", "categorical", levels=("f", "m"), immutable=True),
    Feature("a", "real"),
    Feature("b", "positive", special=(-9.0,)),
    Feature("c", "count"),
    Feature("d", "interval", bounds=(0, 10), likelihood="beta"),
    Feature("e", "interval", bounds=(0, 1)),
    Feature("f", "ordinal", levels=("low", "mid", "high")),
    Feature("g", "categorical", levels=("u", "v", "w", "x", "y")),
    Feature("h", "count", likelihood="negative_binomial"),
))  # fmt: skip


def rows(n: int, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    values = np.column_stack([
        random.poisson(40, n), random.integers(2, size=n), random.normal(3, 2, n), random.lognormal(0, 1, n),
        random.poisson(2, n), random.uniform(0, 10, n), random.beta(1, 3, n), random.integers(3, size=n),
        random.integers(5, size=n), random.poisson(4, n),
    ])  # fmt: skip
    values = values.astype(np.float64)
    values[::7, 3] = -9
    values[::11, 2] = np.nan
    return values


def model(components: int, hidden: tuple[int, ...], values: np.ndarray) -> tuple[Mixture, Network]:
    columns = Columns.fit(SCHEMA, values)
    mixture = Mixture.initial(
        columns, jax.random.key(1), latent_dim=3, components=components, hidden=hidden, complete=False
    )
    return mixture, Network.of(mixture, columns)


@pytest.mark.parametrize(("components", "hidden"), [(1, ()), (3, ()), (2, (8, 5))])
def test_encoding_and_decoding_agree_with_the_model(components: int, hidden: tuple[int, ...]) -> None:
    values = rows(60)
    mixture, network = model(components, hidden, values)
    compact = network.columns.prepare(values)
    z, component = network.encode(compact)
    posterior = mixture.posterior(jnp.asarray(compact))
    assert np.array_equal(component, np.asarray(posterior.log_share).argmax(axis=1))
    assert np.allclose(z, np.asarray(posterior.mean)[np.arange(60), component], atol=1e-5)
    share = np.exp(np.asarray(posterior.log_share))[..., None]
    moved = (share * np.asarray(posterior.mean - mixture.prior_mean)).sum(axis=1)
    assert np.allclose(network.displacement(compact), moved, atol=1e-5)

    conditions = network.conditions(compact)
    assert np.allclose(conditions, mixture.columns.encode_conditions(jnp.asarray(compact)), atol=1e-5)
    codes = np.random.default_rng(2).normal(0, 2, z.shape)
    weights = jax.nn.one_hot(component, components)
    raw = mixture.decode(jnp.asarray(codes, jnp.float32), weights, jnp.asarray(conditions, jnp.float32))
    expected = np.asarray(mixture.columns.typical(raw[:, network.columns.typical_outputs]))
    found = network.decode(codes, conditions, component)
    levels = [5, 6]
    assert (found[:, levels] == expected[:, levels]).mean() > 0.98  # a tie may fall either way in float32
    numbers = np.setdiff1d(np.arange(8), levels)
    assert np.allclose(found[:, numbers], expected[:, numbers], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("components", "hidden"), [(3, ()), (2, (8, 5))])
def test_slopes_without_levels_are_those_of_the_whole_decoder(components: int, hidden: tuple[int, ...]) -> None:
    values = rows(40)
    mixture, network = model(components, hidden, values)
    conditions = jnp.asarray(network.conditions(network.columns.prepare(values)), jnp.float32)
    random = np.random.default_rng(3)
    codes = jnp.asarray(random.normal(size=(40, 3)), jnp.float32)
    weights = jax.nn.one_hot(random.integers(components, size=40), components)
    reduced = mixture.with_outputs(*mixture.columns.with_slope())
    numbers = np.isin(mixture.columns.modelled, reduced.columns.modelled)
    assert (~numbers).nonzero()[0].tolist() == [5, 6]
    gradient = random.normal(size=(40, 8)) / (1 + np.abs(np.nan_to_num(values[:, 2:])).max(axis=0))

    def whole(z: jax.Array) -> jax.Array:
        return mixture.columns.typical(mixture.decode(z, weights, conditions)[:, network.columns.typical_outputs])

    def part(z: jax.Array) -> jax.Array:
        return reduced.columns.typical(reduced.decode(z, weights, conditions))

    expected = jax.vjp(whole, codes)[1](jnp.asarray(gradient, jnp.float32))[0]
    found = jax.vjp(part, codes)[1](jnp.asarray(gradient[:, numbers], jnp.float32))[0]
    assert np.isfinite(expected).all()
    assert np.allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_rows_do_not_depend_on_the_rows_beside_them() -> None:
    values = rows(2500)
    _, network = model(2, (6,), values)
    compact = network.columns.prepare(values)
    z, component = network.encode(compact)
    whole = network.decode(z, network.conditions(compact), component)
    for some in (slice(0, 1), slice(1100, 1117)):
        part = compact[some]
        codes, own = network.encode(part)
        assert codes.tobytes() == z[some].tobytes()
        assert network.decode(codes, network.conditions(part), own).tobytes() == whole[some].tobytes()


def test_components_are_as_probable_as_their_distance_says() -> None:
    _, network = model(3, (), rows(30))
    z = np.random.default_rng(0).normal(size=(20, 3))
    log = network.log_components(z)
    by_hand = np.exp(-0.5 * ((z[:, None, :] - network.prior) ** 2).sum(axis=2))
    share = np.exp(log) / np.exp(log).sum(axis=1, keepdims=True)
    assert np.allclose(share, by_hand / by_hand.sum(axis=1, keepdims=True))


_BYTES = """
import numpy as np
from attain.core import compiled
from attain.density.network import _sum
if {load}: compiled.load()
random = np.random.default_rng(0)
x, matrix = random.normal(size=(1500, 7)), random.normal(size=(7, 9)) * 10.0 ** random.integers(-3, 3, (7, 9))
y, other = random.normal(size=(1500, 3)), random.normal(size=(3, 9))
start = random.normal(size=9)
wide = random.normal(size=(7, 2500))
import hashlib; print(hashlib.sha256(_sum(start, (x, matrix), (y, other)).tobytes()).hexdigest())
print(hashlib.sha256(_sum(wide[0], (x[:40], wide)).tobytes()).hexdigest())
"""


@pytest.mark.skipif(not compiled.available(), reason="without Numba")
def test_the_kernel_gives_the_same_bytes() -> None:
    outputs = {subprocess.check_output([sys.executable, "-c", _BYTES.format(load=load)]) for load in (True, False)}
    assert len(outputs) == 1
