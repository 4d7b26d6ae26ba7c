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

SCHEMA = Schema(
    (
        Feature("months", "count", special={-9: "no record", -7: "never"}),
        Feature("age", "count", immutable=True),
        Feature("home", "categorical", levels=("rents", "owns", "other")),
        Feature("income", "positive"),
        Feature("region", "categorical", levels=("n", "s"), immutable=True),
        Feature("rate", "real", derived="income / 12"),
    )
)


def rows() -> np.ndarray:
    generator = np.random.default_rng(0)
    n = 200
    values = np.column_stack(
        [
            generator.poisson(10, n),
            generator.integers(20, 70, n),
            generator.integers(0, 3, n),
            generator.lognormal(8, 1, n),
            generator.integers(0, 2, n),
            np.zeros(n),
        ]
    ).astype(float)
    values[:40, 0] = -9
    values[40:60, 0] = -7
    values[60:70, 0] = np.nan
    values[70:90, 3] = np.nan
    return values


fit = partial(Columns.fit, likelihoods="paper")


def test_compact_rows_hold_values_states_and_conditions() -> None:
    columns = fit(SCHEMA, rows())
    compact = columns.prepare(rows())
    assert columns.names == ("months", "home", "income", "months")
    assert compact.shape == (200, columns.width + 2)
    assert np.isnan(compact[:70, 0]).all()
    assert compact[0, 3] == 1
    assert compact[45, 3] == 2
    assert np.isnan(compact[65, 3])
    assert compact[100, 3] == 0
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
    assert (inputs[:70, 0] == 0).all()
    assert (inputs[70:90, -2] == 1).all()
    assert (inputs[90:, -2:] == 0).all()
    assert (inputs[60:70, -1] == 1).all()
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
    assert decoded[0, 0] == -9
    assert decoded[1, 0] == -7
    assert decoded[2, 0] == pytest.approx(np.mean(rows()[70:, 0]), rel=1e-5)


def test_a_histogram_has_special_codes_among_its_bins() -> None:
    columns = Columns.fit(SCHEMA, rows())
    assert sorted(columns.names) == ["home", "income", "months"], "no column of states"
    compact = columns.prepare(rows())
    place = columns.names.index("months")
    assert (compact[:40, place] == 0).all()
    assert (compact[40:60, place] == 1).all()
    assert np.isnan(compact[60:70, place]).all()
    assert (compact[70:, place] >= 2).all()


def test_a_column_never_present_and_a_level_outside_training_do_no_harm() -> None:
    values = rows()
    values[:, 3] = np.nan
    values[:, 2] = 0
    columns = fit(SCHEMA, values)
    query = rows()
    raw = jnp.asarray(columns.initial(), jnp.float32)
    compact = jnp.asarray(columns.prepare(query))
    assert np.isfinite(np.asarray(columns.log_density(raw, compact))).all()
    assert np.isfinite(np.asarray(columns.encode(compact))).all()


def test_no_conditions_is_a_normal_case() -> None:
    columns = fit(SCHEMA, rows(), given=())
    assert columns.condition_inputs == 0
    assert columns.encode_conditions(jnp.asarray(columns.prepare(rows()))).shape == (200, 0)


def test_infinite_cells_are_refused_by_name() -> None:
    values = rows()
    values[3, 3] = np.inf
    with pytest.raises(DataError, match="'income' has infinite values"):
        fit(SCHEMA, values)


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
