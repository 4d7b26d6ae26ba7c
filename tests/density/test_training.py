"""The training loop: seeds, streaming, early stopping, best weights, divergence, and a likelihood from outside."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from attain.core.errors import DataError
from attain.density import CHVAE, training
from attain.density.columns import Columns
from attain.density.likelihoods import Likelihood, Support, register
from attain.density.mixture import Mixture
from attain.density.training import Plan, train
from attain.schema import Feature, Schema
from attain.testing.likelihood import check_likelihood

SCHEMA = Schema((Feature("x", "real"), Feature("n", "count")))
PLAN = Plan(epochs=4, batch_size=32)


def data(rows: int = 200, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    x = generator.normal(size=rows)
    return np.column_stack([x, generator.poisson(np.exp(0.5 * x))]).astype(float)


@pytest.fixture(scope="module")
def start() -> tuple[Mixture, np.ndarray]:
    columns = Columns.fit(SCHEMA, data())
    model = Mixture.initial(columns, jax.random.key(0), latent_dim=2, components=2, hidden=(), complete=True)
    return model, columns.prepare(data())


def flat(model: Mixture) -> np.ndarray:
    return np.concatenate([np.asarray(leaf).ravel() for leaf in jax.tree.leaves(model.weights)])


def test_training_raises_the_bound_and_leaves_the_given_model_alone(start: tuple[Mixture, np.ndarray]) -> None:
    model, rows = start
    before = flat(model)
    trained = train(model, rows, rows, replace(PLAN, epochs=10), seed=0)
    assert np.array_equal(flat(model), before)
    assert trained.history.validation[-1] > trained.history.validation[0]


def test_same_seed_same_weights(start: tuple[Mixture, np.ndarray]) -> None:
    model, rows = start
    first, again, other = (train(model, rows, rows, PLAN, seed=seed).model for seed in (0, 0, 1))
    assert flat(first).tobytes() == flat(again).tobytes()
    assert flat(first).tobytes() != flat(other).tobytes()


def test_a_second_fit_of_the_same_shape_compiles_nothing(start: tuple[Mixture, np.ndarray]) -> None:
    model, rows = start
    train(model, rows, rows, PLAN, seed=0)
    with jax.log_compiles(False):
        counted = _compilations(lambda: train(model, rows, rows, replace(PLAN, epochs=3, learning_rate=1e-3), seed=5))
    assert counted == 0


def _compilations(function) -> int:  # type: ignore[no-untyped-def]
    from jax import monitoring

    seen: list[str] = []

    def listen(event: str, duration: float, **more: object) -> None:
        if "backend_compile" in event:
            seen.append(event)

    monitoring.register_event_duration_secs_listener(listen)
    try:
        function()
    finally:
        monitoring.clear_event_listeners()
    return len(seen)


def test_an_epoch_visits_every_row_and_streams_in_chunks_of_one_shape() -> None:
    generator = np.random.default_rng(0)
    for rows, on_device in ((1000, 10**6), (1000, 300), (1001, 300), (31, 300)):
        chunks = training._Chunks.of(rows, Plan(batch_size=32, rows_on_device=on_device))
        order = chunks.order(generator, rows)
        assert order.shape == (chunks.count, chunks.steps, chunks.batch_size)
        assert set(order.ravel()) == set(range(rows))
        assert chunks.steps * chunks.batch_size <= max(on_device + 32, 32)


def test_streamed_training_reaches_the_same_bound(start: tuple[Mixture, np.ndarray]) -> None:
    model, rows = start
    whole = train(model, rows, rows, replace(PLAN, epochs=15), seed=0).history.validation[-1]
    streamed = train(model, rows, rows, replace(PLAN, epochs=15, rows_on_device=64), seed=0).history.validation[-1]
    assert streamed == pytest.approx(whole, abs=0.1)


def test_early_stopping_keeps_the_best_weights(start: tuple[Mixture, np.ndarray]) -> None:
    model, rows = start
    validation = rows[:3]
    trained = train(model, rows, validation, Plan(epochs=200, batch_size=32, patience=5, warm_up=0.01), seed=0)
    assert len(trained.history.validation) < 200
    assert trained.best_epoch == int(np.argmax(trained.history.validation))
    noise_key, _ = jax.random.split(jax.random.key(0))
    noise = jax.random.normal(noise_key, (3, 2), jnp.float32)
    again = float(training._validate(trained.model, jnp.asarray(validation), noise))
    assert again == pytest.approx(max(trained.history.validation), abs=1e-5)


def test_progress_is_told_every_epoch(start: tuple[Mixture, np.ndarray]) -> None:
    model, rows = start
    told: list[tuple[int, int, float]] = []
    train(model, rows, rows, PLAN, seed=0, progress=lambda *news: told.append(news))
    assert [news[:2] for news in told] == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_the_relaxation_really_anneals() -> None:
    plan = Plan(epochs=50)
    temperatures = [float(training._knobs(plan, epoch).temperature) for epoch in range(50)]
    assert temperatures[0] == 1.0
    assert temperatures[-1] == pytest.approx(0.1)
    assert (np.diff(temperatures) <= 1e-9).all()


def test_the_library_sets_no_global_option() -> None:
    before = jax.config.values.copy()
    CHVAE(SCHEMA, epochs=1, latent_dim=2, components=2, verbose=False).fit(data(50))
    assert jax.config.values == before


class Laplacian(NamedTuple):
    location: jax.Array
    scale: jax.Array


class Laplace(Likelihood):
    """A likelihood from outside: one class, one line to register."""

    name: ClassVar[str] = "laplace"
    kinds: ClassVar[tuple[str, ...]] = ("real",)

    centre: np.ndarray
    spread: np.ndarray

    @classmethod
    def fit(cls, features: Sequence[Feature], values: np.ndarray) -> Self:
        centre = np.nanmedian(values, axis=0)
        return cls(centre, np.maximum(np.nanmean(np.abs(values - centre), axis=0), 1e-6))

    @property
    def columns(self) -> int:
        return len(self.centre)

    @property
    def outputs(self) -> int:
        return 2 * self.columns

    def initial(self) -> np.ndarray:
        return np.repeat([0.0, 0.54], self.columns)

    def normalise(self, x: np.ndarray) -> np.ndarray:
        return (x - self.centre) / self.spread

    def log_base(self, x: np.ndarray) -> np.ndarray:
        return np.where(np.isnan(x), np.nan, -np.log(2 * self.spread))

    def encode(self, t: jax.Array) -> jax.Array:
        return t

    def parameters(self, raw: jax.Array) -> Laplacian:
        return Laplacian(raw[..., : self.columns], 0.01 + jax.nn.softplus(raw[..., self.columns :]))

    def log_density(self, parameters: Laplacian, t: jax.Array) -> jax.Array:
        return -jnp.abs(t - parameters.location) / parameters.scale - jnp.log(parameters.scale)

    def typical(self, parameters: Laplacian) -> jax.Array:
        return self.centre + self.spread * parameters.location

    def sample(self, key: jax.Array, parameters: Laplacian) -> jax.Array:
        noise = jax.random.laplace(key, parameters.location.shape, parameters.location.dtype)
        return self.centre + self.spread * (parameters.location + parameters.scale * noise)

    def support(self) -> Support:
        return Support(np.full(self.columns, -np.inf), np.full(self.columns, np.inf), False)


def test_a_likelihood_from_outside_passes_the_suite_and_trains() -> None:
    register(Laplace)
    check_likelihood(Laplace)
    values = np.random.default_rng(0).laplace(5, 2, (2000, 1))
    schema = Schema((Feature("x", "real", likelihood="laplace"),))
    model = CHVAE(schema, latent_dim=1, components=1, epochs=30, verbose=False).fit(pd.DataFrame(values, columns=["x"]))
    assert model.log_density(values, 50).mean() == pytest.approx(-1 - np.log(4), abs=0.08)


class Fragile(Laplace):
    """Breaks for values above its centre."""

    name: ClassVar[str] = "fragile"

    def log_density(self, parameters: Laplacian, t: jax.Array) -> jax.Array:
        return jnp.log(-t) + parameters.location


def test_divergence_is_reported_with_the_feature_that_caused_it() -> None:
    register(Fragile)
    schema = Schema((Feature("fine", "real"), Feature("broken", "real", likelihood="fragile"), Feature("n", "count")))
    generator = np.random.default_rng(0)
    values = np.column_stack([generator.normal(size=(100, 2)), generator.poisson(3, 100)]).astype(float)
    with pytest.raises(DataError, match=r"diverged in epoch 1.*'broken'"):
        CHVAE(schema, epochs=2, latent_dim=2, components=2, verbose=False).fit(values)


def test_the_model_is_a_pytree_without_hidden_state(start: tuple[Mixture, np.ndarray]) -> None:
    model, _ = start
    leaves, structure = jax.tree.flatten(model)
    assert eqx.tree_equal(jax.tree.unflatten(structure, leaves), model)
