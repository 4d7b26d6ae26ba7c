"""The awkward columns: constant, on their bounds, with unseen levels; and what is stored about them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attain.core.errors import DataError, SchemaError
from attain.density import likelihoods
from attain.density.likelihoods import Binned, Categorical, Gaussian, LogNormal, Ordinal, Poisson, TruncatedNormal
from attain.density.likelihoods.levels import SMALLEST_GAP
from attain.schema import Feature


def marginal(likelihood, rows: int):  # type: ignore[no-untyped-def]
    raw = jnp.broadcast_to(jnp.asarray(likelihood.initial(), jnp.float32), (rows, likelihood.outputs))
    return likelihood.parameters(raw)


POSITIVE = Feature("x", "positive")
CONSTANT = [
    *((Gaussian, Feature("x", "real"), 7.25), (LogNormal, POSITIVE, 0.0), (LogNormal, POSITIVE, 12.0)),
    (Poisson, Feature("x", "count"), 0.0),
    (TruncatedNormal, Feature("x", "interval", bounds=(0, 100)), 100.0),
    (TruncatedNormal, Feature("x", "interval", bounds=(3, 3)), 3.0),
    (Categorical, Feature("x", "categorical", levels=("only",)), 0.0),
    (Ordinal, Feature("x", "ordinal", levels=("only",)), 0.0),
    (Ordinal, Feature("x", "ordinal", levels=("a", "b", "c")), 1.0),
]


@pytest.mark.parametrize(("likelihood", "feature", "value"), CONSTANT)
def test_a_constant_column_has_a_finite_density_and_its_value_is_typical(likelihood, feature, value) -> None:  # type: ignore[no-untyped-def]
    fitted = likelihood.fit([feature], np.full((50, 1), value))
    parameters = marginal(fitted, 50)
    assert np.isfinite(fitted.log_prob(parameters, np.full((50, 1), value))).all()
    assert np.allclose(fitted.typical(fitted.initial()[: fitted.typical_outputs]), value, atol=0.02)


def test_bounds_hit_exactly_have_a_finite_density_and_gradient() -> None:
    values = np.array([[0.0], [100.0], [100.0], [40.0]])
    fitted = TruncatedNormal.fit([Feature("x", "interval", bounds=(0, 100), step=1)], values)
    t = jnp.asarray(fitted.normalise(values), jnp.float32)
    for extreme in (-30.0, 0.0, 30.0):
        raw = jnp.full((4, 2), extreme, jnp.float32)
        gradient = jax.grad(lambda raw: fitted.log_density(fitted.parameters(raw), t).sum())(raw)
        assert np.isfinite(fitted.log_prob(fitted.parameters(raw), values)).all()
        assert np.isfinite(gradient).all()


@pytest.mark.parametrize("likelihood", [Categorical, Ordinal])
def test_a_level_never_seen_is_neutral_unlikely_and_never_typical(likelihood) -> None:  # type: ignore[no-untyped-def]
    kind = "categorical" if likelihood is Categorical else "ordinal"
    feature = Feature("x", kind, levels=("a", "b", "c"))
    fitted = likelihood.fit([feature], np.array([[0.0]] * 30 + [[2.0]] * 30))
    assert not np.asarray(fitted.encode(jnp.ones((1, 1), jnp.float32))).any()
    assert np.asarray(fitted.log_prob(marginal(fitted, 1), np.ones((1, 1))))[0, 0] < np.log(0.02)
    raw = np.random.default_rng(0).normal(0, 3, (200, fitted.outputs))
    assert set(fitted.typical(raw).ravel()) == {0.0, 2.0}


def test_the_typical_level_is_the_seen_one_nearest_to_the_median_and_of_two_the_lower() -> None:
    random = np.random.default_rng(0)
    seen = random.random((40, 16)) < 0.2
    seen[np.arange(40), random.integers(16, size=40)] = True
    fitted = Ordinal(np.zeros((40, 16)), seen, np.ones((40, 16), dtype=bool), 16)
    raw = random.normal(0, 1, (30, 40, 15))
    raw[..., 0] -= 8.0
    thresholds = np.cumsum(np.append(raw[..., :1], SMALLEST_GAP + np.logaddexp(0, raw[..., 1:]), axis=2), axis=2)
    median = (thresholds < 0).sum(axis=2)
    near = [[min(np.flatnonzero(seen[j]), key=lambda k, m=m: abs(k - m)) for j, m in enumerate(row)] for row in median]
    np.testing.assert_array_equal(fitted.typical(raw.reshape(30, -1)), near)


def test_columns_with_different_numbers_of_levels_share_a_padded_block() -> None:
    features = [Feature("x", "categorical", levels=("a", "b", "c")), Feature("y", "categorical", levels=tuple("pqrs"))]
    assert len({Categorical.group(feature) for feature in features}) == 1
    assert Categorical.group(Feature("z", "categorical", levels=tuple("abcdefgh"))) != Categorical.group(features[0])
    values = np.column_stack([np.arange(40) % 3, np.arange(40) % 4]).astype(float)
    fitted = Categorical.fit(features, values)
    random = np.random.default_rng(0)
    parameters = fitted.parameters(random.normal(0, 2, (4000, fitted.outputs)))
    assert fitted.quantile(parameters, random.random((4000, 2))).max(axis=0).tolist() == [2, 3]


def test_the_scale_never_falls_below_the_stored_floor() -> None:
    values, raw = np.random.default_rng(0).normal(0, 10, (500, 1)), jnp.full((1, 2), -1e4, jnp.float32)
    plain = Gaussian.fit([Feature("x", "real")], values)
    stepped = Gaussian.fit([Feature("x", "real", step=4)], np.round(values / 4) * 4)
    assert float(plain.parameters(raw).scale[0, 0]) == pytest.approx(0.01)
    assert float(stepped.parameters(raw).scale[0, 0] * stepped.deviation[0]) == pytest.approx(2.0, rel=1e-5)


def test_the_scale_of_a_stepped_positive_column_keeps_half_a_step_at_its_median() -> None:
    fitted = LogNormal.fit([Feature("x", "positive", step=1)], np.array([[1.0], [2.0], [50.0]]))
    parameters = fitted.parameters(jnp.asarray([[1.0, -1e4]], jnp.float32))
    median = float(fitted.typical(np.array([[1.0]]))[0, 0])
    assert float(parameters.scale[0, 0]) * fitted.deviation[0] == pytest.approx(np.log1p(0.5 / median), rel=1e-4)


def test_the_shift_is_zero_or_half_the_smallest_positive_value() -> None:
    fitted = LogNormal.fit([POSITIVE, Feature("y", "positive")], np.array([[0.0, 3.0], [0.5, 4.0], [9.0, 5.0]]))
    assert fitted.shift.tolist() == [0.25, 0.0]


def test_a_zero_in_a_query_where_training_had_none_is_finite() -> None:
    fitted = LogNormal.fit([Feature("x", "positive")], np.array([[1.0], [2.0]]))
    assert np.isfinite(fitted.normalise(np.zeros((1, 1)))).all()
    assert np.isfinite(fitted.log_prob(marginal(fitted, 1), np.zeros((1, 1)))).all()


WRONG = [
    (LogNormal, POSITIVE, -1.0, r"'x' holds -1.*≥ 0"),
    (Poisson, Feature("x", "count"), 0.5, r"'x' holds 0\.5.*integers"),
    (TruncatedNormal, Feature("x", "interval", bounds=(0, 1)), 0.5, "within the bounds"),
]


@pytest.mark.parametrize(("likelihood", "feature", "value", "sentence"), WRONG)
def test_wrong_values_are_refused_with_the_column_and_the_value(likelihood, feature, value, sentence) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(DataError, match=sentence):
        likelihood.fit([feature], np.array([[value], [2.0]]))


def test_the_registry_names_what_it_has() -> None:
    assert likelihoods.likelihood_of(Feature("x", "count")) is Binned
    assert likelihoods.likelihood_of(Feature("x", "count"), "paper") is Poisson
    assert likelihoods.likelihood_of(Feature("x", "count", likelihood="lognormal")) is LogNormal
    with pytest.raises(SchemaError, match=r"'x' has the unknown likelihood 'nope'.*'poisson'.*register"):
        likelihoods.likelihood_of(Feature("x", "count", likelihood="nope"))
    with pytest.raises(SchemaError, match="'x' is count, but the likelihood 'truncated_normal' models interval"):
        likelihoods.likelihood_of(Feature("x", "count", likelihood="truncated_normal"))

    class Other(Gaussian):
        name = "gaussian"

    with pytest.raises(SchemaError, match="already registered"):
        likelihoods.register(Other)
