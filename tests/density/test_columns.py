"""The compact matrix: states, missing cells, conditions, and what decoding puts together again."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attain.core.errors import DataError
from attain.density.columns import Columns
from attain.density.mixture import in_single_precision
from attain.schema import Feature, Schema

MONTHS, HOME = Feature("months", "count", special=(-9, -7)), ("rents", "owns", "other")
FIRST = (MONTHS, Feature("age", "count", immutable=True), Feature("home", "categorical", levels=HOME))
REGION = Feature("region", "categorical", levels=("n", "s"), immutable=True)
SCHEMA = Schema((*FIRST, Feature("income", "positive"), REGION, Feature("rate", "real", derived="income / 12")))


def rows() -> np.ndarray:
    generator = np.random.default_rng(0)
    n = 200
    months, age, home = generator.poisson(10, n), generator.integers(20, 70, n), generator.integers(0, 3, n)
    income, region = generator.lognormal(8, 1, n), generator.integers(0, 2, n)
    values = np.column_stack([months, age, home, income, region, np.zeros(n)]).astype(float)
    values[:70, 0] = np.repeat([-9, -7, np.nan], [40, 20, 10])
    values[70:90, 3] = np.nan
    return values


fit = partial(Columns.fit, likelihoods="paper")


def test_compact_rows_hold_values_states_and_conditions() -> None:
    columns = fit(SCHEMA, rows())
    compact = columns.prepare(rows())
    assert columns.names == ("months", "home", "income", "months")
    assert compact.shape == (200, columns.width + 2)
    assert np.isnan(compact[:70, 0]).all()
    np.testing.assert_array_equal(compact[[0, 45, 65, 100], 3], [1, 2, np.nan, 0])
    assert columns.flagged == (2, 3), "income and the state of months had missing cells; a special code is none"


def test_a_masked_cell_is_neutral_in_the_encoder_and_left_out_of_the_likelihood() -> None:
    columns = fit(SCHEMA, rows())
    compact = columns.prepare(rows()).astype(np.float32)
    raw = jnp.asarray(columns.initial(), jnp.float32)
    density = np.asarray(columns.log_density(raw, jnp.asarray(compact)))
    assert np.isfinite(density).all()
    assert (density[:70, 0] == 0).all()
    assert (density[70:90, 2] == 0).all()
    inputs = np.asarray(columns.encode(jnp.asarray(compact)))
    assert inputs.shape == (200, columns.inputs)
    assert np.isfinite(inputs).all()
    assert not inputs[:70, 0].any()
    assert not inputs[90:, -2:].any()
    assert (np.append(inputs[70:90, -2], inputs[60:70, -1]) == 1).all()
    other = compact.copy()
    other[75, 2] = 1e3
    assert np.array_equal(np.asarray(columns.log_density(raw, jnp.asarray(other)))[75, :2], density[75, :2])


def test_log_base_is_the_sum_of_what_counts() -> None:
    columns = fit(SCHEMA, rows())
    by_hand = np.zeros(200)
    for block in columns.free:
        cells = block.cells(rows())
        by_hand += np.where(np.isnan(cells), 0, block.likelihood.log_base(cells)).sum(axis=1)
    assert np.allclose(columns.log_base(rows()), by_hand)


def test_decoding_gives_special_codes_as_their_number() -> None:
    columns = fit(SCHEMA, rows())
    raw = np.repeat(columns.initial()[None], 3, axis=0)
    states = slice(columns.outputs - 3, columns.outputs)
    raw[:, states] = [[9.0, 0.0, 0.0], [0.0, 9.0, 0.0], [-9.0, -9.0, -9.0]]
    decoded = columns.typical(raw[:, columns.typical_outputs])
    assert decoded.shape == (3, 3)
    assert decoded[:, 0] == pytest.approx([-9, -7, np.mean(rows()[70:, 0])], rel=1e-5)


def test_a_histogram_has_special_codes_among_its_bins() -> None:
    columns = Columns.fit(SCHEMA, rows())
    assert sorted(columns.names) == ["home", "income", "months"], "no column of states"
    compact = columns.prepare(rows())
    months = compact[:, columns.names.index("months")]
    np.testing.assert_array_equal(months[:70], np.repeat([0, 1, np.nan], [40, 20, 10]))
    assert (months[70:] >= 2).all()


def test_a_column_never_present_and_a_level_outside_training_do_no_harm() -> None:
    values = rows()
    values[:, 2:4] = [0, np.nan]
    columns = fit(SCHEMA, values)
    raw, compact = jnp.asarray(columns.initial(), jnp.float32), jnp.asarray(columns.prepare(rows()))
    assert np.isfinite(np.asarray(columns.log_density(raw, compact))).all()
    assert np.isfinite(np.asarray(columns.encode(compact))).all()


def test_no_conditions_is_a_normal_case() -> None:
    columns = fit(SCHEMA, rows(), given=())
    assert columns.condition_inputs == 0
    assert columns.encode_conditions(jnp.asarray(columns.prepare(rows()))).shape == (200, 0)


def test_infinite_cells_are_refused_by_name() -> None:
    with pytest.raises(DataError, match="'income' has infinite values"):
        fit(SCHEMA, np.where(np.arange(6) == 3, np.inf, rows()))


def test_twice_the_columns_are_the_same_number_of_blocks() -> None:
    def schema(count: int) -> Schema:
        return Schema(tuple(Feature(f"x{i}", "real") for i in range(count)))

    generator = np.random.default_rng(0)
    steps = []
    for count in (8, 16):
        columns = in_single_precision(Columns.fit(schema(count), generator.normal(size=(50, count))))
        compact = jnp.asarray(generator.normal(size=(4, count)), jnp.float32)
        raw = jnp.zeros((4, columns.outputs), jnp.float32)
        steps.append(len(jax.make_jaxpr(columns.log_density)(raw, compact).eqns))
    assert steps[0] == steps[1], "the compiled graph must not grow with the number of columns"
