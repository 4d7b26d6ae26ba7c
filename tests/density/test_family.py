"""The autoencoder family: objectives beside brute force, columns given at any time, and the contracts."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from attain import density
from attain.core.errors import DataError
from attain.datasets import load_german
from attain.density import mixture
from attain.density.columns import Columns
from attain.density.mixture import AnyGiven, Bound, Discrepancy, Mixture, mean_discrepancy
from attain.density.network import Sizes
from attain.density.training import Schedule
from attain.methods import CCHVAE
from attain.schema import Feature, Schema
from attain.testing import check_autoencoder

MEMBERS = ("AAE", "BetaVAE", "CHVAE", "CVAE", "HIVAE", "VAE", "VAEAC", "WAE")
SCHEMA = Schema((Feature("x", "real"), Feature("y", "real"), Feature("group", "categorical", levels=("a", "b"))))


def rows(n: int = 2000) -> np.ndarray:
    """x is standard normal, y is x plus noise of 0.3, and the group says nothing."""
    random = np.random.default_rng(0)
    x = random.normal(size=n)
    return np.column_stack([x, x + random.normal(0, 0.3, n), random.integers(2, size=n)])


def frame_of(values: np.ndarray) -> pd.DataFrame:
    frame = pd.DataFrame(values, columns=["x", "y", "group"])
    return frame.assign(group=np.array(["a", "b"])[values[:, 2].astype(int)])


def model(objective: Any) -> tuple[Mixture, jax.Array]:
    columns = Columns.fit(SCHEMA, rows(60), likelihoods="paper")
    made = Mixture.initial(columns, jax.random.key(0), Sizes(2, 1, (4,)), objective)
    return made, jnp.asarray(columns.prepare(rows(60)))


SCHEDULE = Schedule(*(jnp.asarray(value, jnp.float32) for value in (0.01, 1.0, 1.0)))


def test_the_mean_discrepancy_is_that_of_all_pairs() -> None:
    random = np.random.default_rng(1)
    x, y = random.normal(size=(7, 3)), random.normal(1.0, 1.0, (7, 3))

    def kernel(a: np.ndarray, b: np.ndarray) -> float:
        return float(6 / (6 + ((a - b) ** 2).sum()))

    pairs = [(i, j) for i in range(7) for j in range(7)]
    apart = sum(kernel(x[i], x[j]) + kernel(y[i], y[j]) for i, j in pairs if i != j) / (7 * 6)
    between = sum(kernel(x[i], y[j]) for i, j in pairs) / 49
    assert float(mean_discrepancy(jnp.asarray(x), jnp.asarray(y))) == pytest.approx(apart - 2 * between, abs=1e-5)


def test_a_weighted_bound_is_the_bound_with_more_of_the_divergence() -> None:
    one, batch = model(Bound())
    weighted, _ = model(Bound(weight=4.0))
    key = jax.random.key(3)
    loss, terms = eqx.filter_jit(one.loss)(one.weights, batch, key, SCHEDULE)
    heavier, _ = eqx.filter_jit(weighted.loss)(one.weights, batch, key, SCHEDULE)
    assert float(heavier - loss) == pytest.approx(3 * float(terms["kl_latent"].sum()), rel=1e-4)


def test_the_scale_of_a_deterministic_encoder_is_all_that_its_bound_trains() -> None:
    made, batch = model(Discrepancy(1.0))

    def bound(weights: Any) -> jax.Array:
        noise = jax.random.normal(jax.random.key(0), (60, 2))
        return mixture._with_scale(made.with_weights(weights), batch, noise).bound.mean()

    gradient = jax.jit(jax.grad(bound))(made.weights)
    mean, scale = np.split(np.asarray(gradient["shared.matrix"]), 2, axis=1)
    assert np.abs(scale).max() > 0
    assert np.abs(mean).max() == 0
    rest = [array for name, array in gradient.items() if not name.startswith("shared") and array is not None]
    assert all(np.abs(np.asarray(array)).max() == 0 for array in rest)


@pytest.mark.slow
def test_the_kept_epoch_is_the_best_by_an_objective_without_noise() -> None:
    made, batch = model(Discrepancy(7.0))
    key = jax.random.key(5)
    found, _ = made.validate(made.weights, batch, key)
    # the weight is that of all epochs, 100, whatever the objective's own
    codes = made.posterior(batch).mean[:, 0]
    reconstruction = made.log_likelihood(batch, codes[:, None, :], jnp.ones((1, 1)))[:, 0].sum(axis=1).mean()
    apart = mean_discrepancy(codes, jax.random.normal(key, codes.shape))
    assert float(found) == pytest.approx(float(reconstruction - 100 * apart), rel=1e-4)


def test_the_steepness_of_a_critic_is_that_of_finite_differences() -> None:
    critic = mixture.Adversary(1.0).initial(jax.random.key(0), 3)
    z = jax.random.normal(jax.random.key(2), (20, 3))
    steps = 1e-2 * jnp.eye(3)
    sides = [[mixture._score(critic, z + sign * step) for sign in (1, -1)] for step in steps]
    squares = sum(((up - down) / 2e-2) ** 2 for up, down in sides)
    assert float(mixture._steepness(critic, z)) == pytest.approx(float(jnp.mean(squares)), rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["AAE", "WAE"])
def test_the_codes_of_real_rows_are_distributed_like_the_prior(name: str) -> None:
    data = load_german()
    made = getattr(density, name)(data.schema, hidden=0, epochs=60, patience=60, verbose=False)
    z = made.fit(data.X).encode(data.X).z
    assert np.abs(z.mean(axis=0)).max() < 0.4
    assert ((z.std(axis=0) > 0.6) & (z.std(axis=0) < 1.4)).all()


def test_rows_are_trained_with_columns_given_at_random_and_half_with_the_immutable_ones() -> None:
    class Seen:
        columns: Any = None

        def terms(self, batch: jax.Array, key: jax.Array, temperature: jax.Array) -> Any:
            Seen.columns = np.asarray(batch)
            raise StopIteration

    batch = jnp.ones((4000, 6))
    with pytest.raises(StopIteration):
        AnyGiven(positions=(0, 1, 2), immutable=(2,)).loss(Seen(), batch, jax.random.key(0), SCHEDULE)  # type: ignore[arg-type]
    given, left = ~np.isnan(Seen.columns[:, 3:]), ~np.isnan(Seen.columns[:, :3])
    assert (given != left).all(), "a column is either given or modelled"
    usual = (given == [False, False, True]).all(axis=1).mean()
    # of the other half, given s each set of one column has the probability E[s (1 − s)²] = 1 / 12
    assert usual == pytest.approx(0.5 + 0.5 / 12, abs=0.03)
    assert given[:, 0].mean() == pytest.approx(0.25, abs=0.03)


@pytest.fixture(scope="module")
def any_given() -> Any:
    sizes = {"latent_dim": 2, "hidden": 32, "epochs": 60, "batch_size": 128, "learning_rate": 0.02}
    return density.VAEAC(SCHEMA, **sizes, verbose=False).fit(rows())


def test_one_fit_knows_each_column_given_the_others(any_given: Any) -> None:
    fresh = rows(3000)[2000:]
    entropy = 0.5 * np.log(2 * np.pi * np.e)
    # p(y | x) is N(x, 0.3²), p(x | y) is N(y / 1.09, 0.09 / 1.09), p(x) is N(0, 1), and the group has a probability ½
    spread = float(np.sqrt(0.09 / 1.09))
    known = {("x", "group"): -entropy - np.log(0.3), ("y", "group"): -entropy - np.log(spread)}
    for given, expected in (known | {("group",): -2 * entropy - np.log(0.3), ("x", "y"): np.log(0.5)}).items():
        found = any_given.log_density(fresh, 30, given=given).mean()
        assert found == pytest.approx(expected, abs=0.25), given
    draws = any_given.sample(fresh[:200], given=("x",), random_state=1)
    assert draws[:, 0].tobytes() == fresh[:200, 0].tobytes()
    assert np.corrcoef(draws[:, 0], draws[:, 1])[0, 1] == pytest.approx(np.sqrt(1 / 1.09), abs=0.07)


def test_one_fit_explains_with_any_columns_immutable(any_given: Any) -> None:
    train = rows()
    total = train[:, 0] + train[:, 1]
    refused = train[(total < 0) & (total > -0.25)][:8]
    frame = frame_of(refused)
    for immutable in ((), ("x",), ("y", "group")):
        schema = SCHEMA.change(immutable, immutable=True)
        explainer = CCHVAE(schema, autoencoder=any_given, figures=False, laws=None).fit(frame_of(train))
        assert explainer.autoencoder_.network_ is any_given.network_, "nothing is trained again"
        result = explainer.explain(lambda X: (X["x"] + X["y"] > 0).to_numpy().astype(int), frame, target=1)
        found = result.frame[result.found]
        assert len(found) >= 6, immutable
        for name in immutable:
            assert (found[name].to_numpy() == frame[result.found][name].to_numpy()).all()


def test_a_schema_that_differs_otherwise_is_refused(any_given: Any) -> None:
    with pytest.raises(DataError, match="column 'x' differs in more than what is immutable; fit the model again"):
        any_given.for_schema(SCHEMA.change("x", bounds=(0, 1)))


def _small(name: str) -> Callable[[Schema], Any]:
    return lambda schema: getattr(density, name)(schema, latent_dim=2, hidden=8, epochs=3, batch_size=64, verbose=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", MEMBERS)
def test_a_member_keeps_the_contract_of_autoencoders(name: str) -> None:
    check_autoencoder(_small(name))
