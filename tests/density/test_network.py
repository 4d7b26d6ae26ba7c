"""The trained model in NumPy, beside the model that JAX trains, and beside finite differences."""

import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attain.density.columns import Columns
from attain.density.mixture import Bound, Mixture
from attain.density.network import Network, Sizes, decoder_layers
from attain.schema import Feature, Schema
from tests.density.trained import searching

SCHEMA = Schema((
    Feature("age", "count", immutable=True),
    Feature("sex", "categorical", levels=("f", "m"), immutable=True),
    Feature("a", "real"),
    Feature("b", "positive", special=(-9.0,)),
    Feature("c", "count"),
    Feature("d", "interval", bounds=(0, 10), likelihood="truncated_normal"),
    Feature("e", "interval", bounds=(0, 1)),
    Feature("f", "ordinal", levels=("low", "mid", "high")),
    Feature("g", "categorical", levels=("u", "v", "w", "x", "y")),
    Feature("h", "count", likelihood="poisson"),
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


def model(
    components: int, hidden: tuple[int, ...], values: np.ndarray, likelihoods: str = "binned"
) -> tuple[Mixture, Network]:
    columns = Columns.fit(SCHEMA, values, likelihoods=likelihoods)  # type: ignore[arg-type]
    sizes = Sizes(3, components, hidden)
    mixture = Mixture.initial(columns, jax.random.key(1), sizes, Bound())
    return mixture, Network(columns, sizes, mixture.arrays(mixture.weights))


@pytest.mark.parametrize(("components", "hidden"), [(1, ()), (3, ()), (2, (8, 5))])
def test_encoding_and_decoding_agree_with_the_model(components: int, hidden: tuple[int, ...]) -> None:
    values = rows(60)
    mixture, network = model(components, hidden, values)
    compact = network.columns.prepare(values)
    z, component = network.encode(compact)
    posterior = eqx.filter_jit(mixture.posterior)(jnp.asarray(compact))
    assert np.array_equal(component, np.asarray(posterior.log_share).argmax(axis=1))
    assert np.allclose(z, np.asarray(posterior.mean)[np.arange(60), component], atol=1e-5)
    share = np.exp(np.asarray(posterior.log_share))[..., None]
    moved = (share * np.asarray(posterior.mean - mixture.prior_mean)).sum(axis=1)
    assert np.allclose(network.displacement(compact), moved, atol=1e-5)

    conditions = network.conditions(compact)
    assert np.allclose(conditions, mixture.columns.encode_conditions(jnp.asarray(compact)), atol=1e-5)
    codes = np.random.default_rng(2).normal(0, 2, z.shape)
    parts = codes, network.weights["from_component"][component], conditions
    given = (jnp.asarray(part, jnp.float32) for part in parts)
    raw = jax.jit(decoder_layers)(mixture.weights, *given)[-1]
    assert np.allclose(network.raw(codes, conditions, component), raw, atol=1e-4)
    expected = network.columns.typical(np.asarray(raw, np.float64)[:, network.columns.typical_outputs])
    found = network.decode(codes, conditions, component)
    levels = [5, 6]
    assert (found[:, levels] == expected[:, levels]).mean() > 0.98  # a tie may fall either way in float32
    numbers = np.setdiff1d(np.arange(8), levels)
    assert np.allclose(found[:, numbers], expected[:, numbers], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("likelihoods", ["binned", "paper"])
@pytest.mark.parametrize(("components", "hidden"), [(1, ()), (2, (8, 5))])
def test_the_bound_is_that_of_the_model(components: int, hidden: tuple[int, ...], likelihoods: str) -> None:
    values = rows(60)
    mixture, network = model(components, hidden, values, likelihoods)
    compact = network.columns.prepare(values)
    posterior = eqx.filter_jit(mixture.posterior)(jnp.asarray(compact))
    noise = np.random.default_rng(4).normal(size=(1, components, 3))
    codes = posterior.mean + posterior.scale * noise[0]
    one = jnp.eye(components)
    columns = eqx.filter_jit(mixture.log_likelihood)(jnp.asarray(compact), codes, one).sum(axis=-1)
    prior = jax.scipy.stats.norm.logpdf(codes, mixture.prior_mean).sum(axis=-1) - jnp.log(components)
    given = jax.scipy.stats.norm.logpdf(codes, posterior.mean, posterior.scale).sum(axis=-1)
    expected = jax.nn.logsumexp(columns + prior - given, axis=-1)
    assert np.allclose(network.bound(compact, noise), expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("likelihoods", ["binned", "paper"])
@pytest.mark.parametrize(("components", "hidden"), [(3, ()), (2, (8, 5))])
def test_slopes_are_those_of_finite_differences(components: int, hidden: tuple[int, ...], likelihoods: str) -> None:
    values = rows(200)
    _, network = model(components, hidden, values, likelihoods)
    conditions = network.conditions(network.columns.prepare(values))
    random = np.random.default_rng(3)
    codes, component = random.normal(size=(200, 3)), random.integers(components, size=200)
    gradient = random.normal(size=(200, 8)) / (1 + np.abs(np.nan_to_num(values[:, 2:])).max(axis=0))
    gradient[:, [5, 6]] = 0.0  # levels have no slope, but jump
    steps = 1e-6 * np.eye(3)
    sides = [[network.decode(codes + sign * step, conditions, component) for sign in (1, -1)] for step in steps]
    expected = np.stack([(gradient * (up - down)).sum(axis=1) / 2e-6 for up, down in sides], axis=1)
    found = network.decode_vjp(codes, conditions, component, gradient)
    close = np.isclose(found, expected, rtol=1e-4, atol=1e-6).all(axis=1)
    assert close.mean() > 0.97, "all but rows on a kink or a jump"
    assert np.abs(expected[close]).max() > 0.01


def test_draws_of_a_code_are_as_frequent_as_its_densities_say() -> None:
    values = rows(300)
    _, network = model(2, (), values, "paper")
    compact = network.columns.prepare(np.repeat(values[1:2], 5, axis=0))
    compact[:, network.columns.names.index("g")] = np.arange(5)
    code, conditions, component = np.full((1, 3), 0.4), network.conditions(compact[:1]), np.ones(1, dtype=int)
    raw = np.repeat(network.raw(code, conditions, component), 5, axis=0)
    share = np.exp(network.columns.log_density(raw, compact)[:, network.columns.names.index("g")])
    inputs = (np.repeat(part, 20_000, axis=0) for part in (code, conditions, component))
    drawn = network.draw(*inputs, np.random.default_rng(0).random((20_000, network.columns.width)))
    assert np.allclose(np.bincount(drawn[:, 6].astype(int), minlength=5) / 20_000, share, atol=0.015)
    assert (drawn[:, 1] == -9).any()


def test_draws_depend_on_the_row_and_its_key_alone() -> None:
    values = rows(50)
    _, network = model(2, (6,), values)
    compact, keys = network.columns.prepare(values), np.arange(50, dtype=np.uint64)
    drawn = network.sample(compact, keys)
    assert np.isfinite(drawn).all()
    assert network.sample(compact[[7, 3]], keys[[7, 3]]).tobytes() == drawn[[7, 3]].tobytes()


def test_rows_do_not_depend_on_the_rows_beside_them() -> None:
    values = rows(2500)
    _, network = model(2, (6,), values)
    compact = network.columns.prepare(values)
    z, component = network.encode(compact)
    conditions, noise = network.conditions(compact), np.random.default_rng(0).normal(size=(3, 2, 3))
    whole, bound = network.decode(z, conditions, component), network.bound(compact, noise)
    slope = network.decode_vjp(z, conditions, component, np.ones(whole.shape))
    for some in (slice(0, 1), slice(1100, 1117)):
        part = compact[some]
        codes, own = network.encode(part)
        assert codes.tobytes() == z[some].tobytes()
        assert network.decode(codes, conditions[some], own).tobytes() == whole[some].tobytes()
        assert network.bound(part, noise).tobytes() == bound[some].tobytes()
        pulled = network.decode_vjp(codes, conditions[some], own, np.ones((len(part), 8)))
        assert pulled.tobytes() == slope[some].tobytes()


def test_components_are_as_probable_as_their_distance_says() -> None:
    _, network = model(3, (), rows(30))
    z = np.random.default_rng(0).normal(size=(20, 3))
    log = network.log_components(z)
    by_hand = np.exp(-0.5 * ((z[:, None, :] - network.prior) ** 2).sum(axis=2))
    share = np.exp(log) / np.exp(log).sum(axis=1, keepdims=True)
    assert np.allclose(share, by_hand / by_hand.sum(axis=1, keepdims=True))


_LOADED = """
import sys
import attain
from attain.testing import people
explainer = attain.load(sys.argv[1])
X = people.frame(60)
model = people.linear_model(X, people.labels(X))
refused = people.frame(30, seed=7)
refused = refused[model.predict(refused) == people.REFUSED].iloc[:2]
result = explainer.explain(model, refused, target=people.DESIRED)
assert result.found.any(), result.statuses
assert not {"jax", "jaxlib", "equinox", "optax"} & set(sys.modules)
"""


@pytest.fixture(params=["CCHVAE", "REVISE"])
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The file of a method that searches the tiny network."""
    searching(request.param).save(tmp_path / "e.attain")
    return tmp_path / "e.attain"


def test_a_loaded_explainer_answers_without_jax(saved: Path) -> None:
    subprocess.run([sys.executable, "-c", _LOADED, str(saved)], check=True)
