"""The training loop: seeds, early stopping, best weights, divergence, and a likelihood from outside."""

from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from attain.core.errors import DataError
from attain.density import CHVAE, training
from attain.density.columns import Columns
from attain.density.estimator import _split
from attain.density.likelihoods import Array, Standardised, namespace, register
from attain.density.mixture import Bound, Mixture
from attain.density.network import Sizes
from attain.density.training import Plan
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
    model = Mixture.initial(columns, jax.random.key(0), Sizes(2, 2, ()), Bound(), complete=True)
    return model, columns.prepare(data())


def flat(weights: Any) -> np.ndarray:
    return np.concatenate([np.asarray(leaf).ravel() for leaf in jax.tree.leaves(weights)])


def train(model: Mixture, *rest: Any, **more: Any) -> training.Trained:
    return training.train(model.weights, model.loss, model.validate, *rest, **more)


def test_training_raises_the_bound_and_leaves_the_given_model_alone(start: tuple[Mixture, np.ndarray]) -> None:
    model, rows = start
    before = flat(model.weights)
    trained = train(model, rows, rows, replace(PLAN, epochs=10))
    assert np.array_equal(flat(model.weights), before)
    assert trained.history["validation"][-1] > trained.history["validation"][0]


def test_same_seed_same_weights(start: tuple[Mixture, np.ndarray]) -> None:
    model, rows = start
    first, again, other = (train(model, rows, rows, replace(PLAN, seed=seed)).weights for seed in (0, 0, 1))
    assert flat(first).tobytes() == flat(again).tobytes()
    assert flat(first).tobytes() != flat(other).tobytes()


def test_a_second_fit_of_the_same_shape_compiles_nothing(start: tuple[Mixture, np.ndarray]) -> None:
    model, rows = start
    train(model, rows, rows, PLAN)
    with jax.log_compiles(False):
        counted = _compilations(lambda: train(model, rows, rows, replace(PLAN, epochs=3, learning_rate=1e-3, seed=5)))
    assert counted == 0


def _compilations(function) -> int:  # type: ignore[no-untyped-def]
    from jax import monitoring

    seen: list[str] = []
    monitoring.register_event_duration_secs_listener(lambda event, duration, **more: seen.append(event))
    try:
        function()
    finally:
        monitoring.clear_event_listeners()
    return sum("backend_compile" in event for event in seen)


def test_an_epoch_visits_every_row() -> None:
    for rows in (1000, 1001, 31):
        places = np.asarray(training._batches(np.random.default_rng(0), rows, 32))
        assert set(places.ravel()) == set(range(rows))
        assert places.size < rows + 32


def test_early_stopping_keeps_the_best_weights(start: tuple[Mixture, np.ndarray]) -> None:
    model, rows = start
    validation = rows[:3]
    trained = train(model, rows, validation, Plan(epochs=200, batch_size=32, patience=5, warm_up=0.01))
    assert len(trained.history["validation"]) < 200
    assert trained.best_epoch == int(np.argmax(trained.history["validation"]))
    key, _ = jax.random.split(jax.random.key(0))
    again, _ = model.validate(trained.weights, jnp.asarray(validation), key)
    assert float(again) == pytest.approx(max(trained.history["validation"]), abs=1e-5)


def test_the_relaxation_really_anneals() -> None:
    plan = Plan(epochs=50)
    temperatures = [float(training._schedule(plan, epoch).temperature) for epoch in range(50)]
    assert temperatures[0] == 1.0
    assert temperatures[-1] == pytest.approx(0.1)
    assert (np.diff(temperatures) <= 1e-9).all()


def test_the_library_sets_no_global_option() -> None:
    before = jax.config.values.copy()
    CHVAE(SCHEMA, hidden=0, epochs=1, latent_dim=2, components=2, verbose=False).fit(data(50))
    assert jax.config.values == before


class Laplacian(NamedTuple):
    location: Array
    scale: Array


class Laplace(Standardised):
    """A likelihood from outside: four methods, one line to register."""

    name: ClassVar[str] = "laplace"
    kinds: ClassVar[tuple[str, ...]] = ("real",)

    def parameters(self, raw: Array) -> Laplacian:
        xp = namespace(raw)
        location, scale = xp.split(raw, 2, axis=-1)
        return Laplacian(location, 0.01 + xp.logaddexp(scale, 0.0))

    def log_density(self, parameters: Laplacian, t: Array) -> Array:
        xp = namespace(t)
        return -xp.abs(t - parameters.location) / parameters.scale - xp.log(2 * parameters.scale)

    def typical(self, raw: Any) -> Any:
        return self.original(raw[..., : self.columns])

    def quantile(self, parameters: Laplacian, u: np.ndarray) -> np.ndarray:
        side = np.where(u < 0.5, np.log(2 * u), -np.log(2 - 2 * u))
        return self.original(parameters.location + parameters.scale * side)


def test_a_likelihood_from_outside_passes_the_suite_and_trains() -> None:
    register(Laplace)
    check_likelihood(Laplace)
    values = np.random.default_rng(0).laplace(5, 2, (2000, 1))
    schema = Schema((Feature("x", "real", likelihood="laplace"),))
    model = CHVAE(schema, hidden=0, latent_dim=1, components=1, epochs=30, verbose=False)
    model.fit(pd.DataFrame(values, columns=["x"]))
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
        CHVAE(schema, hidden=0, epochs=2, latent_dim=2, components=2, verbose=False).fit(values)


class Blind(Laplace):
    """NaN for validation rows that lie far out."""

    name: ClassVar[str] = "blind"

    def log_density(self, parameters: Laplacian, t: jax.Array) -> jax.Array:
        return super().log_density(parameters, t) + jnp.where(t > 50, jnp.nan, 0.0)


def test_a_bound_that_is_never_finite_is_an_error_and_not_an_untrained_model() -> None:
    register(Blind)
    schema = Schema((Feature("fine", "real"), Feature("odd", "real", likelihood="blind")))
    values = np.random.default_rng(0).normal(size=(200, 2))
    training_rows, held = _split(200, 0.1, int(np.random.RandomState(0).randint(2**31 - 1)))
    values[held[3], 1] = 1e4
    model = CHVAE(schema, hidden=0, epochs=3, latent_dim=2, verbose=False)
    with pytest.raises(DataError, match=r"validation rows was not finite in any epoch: .*'odd'"):
        model.fit(values)
    assert not hasattr(model, "schema_")
    values[held[3], 1] = values[training_rows[3], 1]
    model.fit(values)


def test_epochs_without_a_finite_bound_are_not_chosen(start: tuple[Mixture, np.ndarray]) -> None:
    model, rows = start
    bounds = iter([np.nan, -3.0, np.nan, -2.0, -4.0])

    def validate(weights: Any, held: jax.Array, key: jax.Array) -> tuple[jax.Array, dict[str, jax.Array]]:
        return jnp.asarray(next(bounds)), {}

    trained = training.train(model.weights, model.loss, validate, rows, rows, replace(PLAN, epochs=5))
    assert trained.best_epoch == 3


def test_any_loss_can_be_trained() -> None:
    """Least squares, whose minimum is known."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=(256, 3)).astype(np.float32)
    truth = np.array([1.0, -2.0, 0.5], np.float32)
    rows = np.column_stack([x, x @ truth]).astype(np.float32)

    def loss(weights: jax.Array, batch: jax.Array, key: jax.Array, schedule: Any) -> Any:
        error = ((batch[:, :3] @ weights - batch[:, 3]) ** 2).mean()
        return error, {"squared_error": error}

    def validate(weights: jax.Array, held: jax.Array, key: jax.Array) -> Any:
        return -loss(weights, held, key, None)[0], {}

    plan = Plan(epochs=100, batch_size=32, learning_rate=0.05)
    trained = training.train(jnp.zeros(3), loss, validate, rows, rows, plan)
    assert np.allclose(trained.weights, truth, atol=1e-3)
    assert set(trained.history) == {"squared_error", "validation"}
