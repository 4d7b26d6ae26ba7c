"""Every data set: its frame fits its schema, cell by cell, and passes through a table unchanged."""

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from attain.core.errors import DataError
from attain.datasets import Dataset, load_german, make_blobs, make_moons
from attain.schema import Schema
from attain.tables import Table

EMBEDDED: dict[str, Callable[[], Dataset]] = {
    "german": load_german,
    "blobs": make_blobs,
    "blobs, triangle": lambda: make_blobs(geometry="triangle"),
    "moons": make_moons,
    "moons, printed": lambda: make_moons(reading="printed"),
}


def check(data: Dataset) -> None:
    """Written against the schema's own words, not by way of the table that is tested below."""
    assert tuple(data.X.columns) == data.schema.names
    assert isinstance(data.X.index, pd.RangeIndex)
    assert data.X.index.equals(data.y.index)
    assert data.desired in set(data.y)
    assert not data.y.isna().any()
    for feature in data.schema:
        column = data.X[feature.name]
        present = column.dropna()
        if not feature.numeric:
            unknown = set(present) - set(feature.levels)
            assert not unknown, f"{feature.name}: {unknown} are not levels"
            continue
        ordinary = present[~present.isin(list(feature.special))]
        low, high = feature.bounds
        assert low is None or ordinary.min() >= low, feature.name
        assert high is None or ordinary.max() <= high, feature.name
        if feature.integral and column.notna().all() and feature.name != "MonthlyIncome":
            assert column.dtype == np.int64, feature.name
    check_rules(data)
    table = Table.read(data.X, data.schema)
    pd.testing.assert_frame_equal(table.layout.frame(table.values), data.X)
    np.testing.assert_array_equal(np.isnan(table.values), data.X.isna().to_numpy())
    assert Schema.from_toml(data.schema.to_toml()) == data.schema


def check_rules(data: Dataset) -> None:
    """Each rule is a comparison of two columns of numbers."""
    for text in data.schema.rules:
        left, right = text.split(" <= ")
        ordinary = pd.Series(True, index=data.X.index)
        for name in (left, right):
            ordinary &= data.X[name].notna() & ~data.X[name].isin(list(data.schema[name].special))
        assert (data.X.loc[ordinary, left] <= data.X.loc[ordinary, right]).all(), text


@pytest.mark.parametrize("name", EMBEDDED)
def test_an_embedded_data_set_fits_its_schema(name: str) -> None:
    check(EMBEDDED[name]())


def test_a_data_set_whose_parts_do_not_fit_is_refused() -> None:
    data = make_blobs(12)
    parts = {"schema": data.schema, "description": "", "source": "", "licence": ""}
    with pytest.raises(
        DataError, match=r"X must have the columns of the schema of 'mine', .*: 'x1', 'x2', got 'x2', 'x1'"
    ):
        Dataset("mine", data.X[["x2", "x1"]], data.y, desired=1, **parts)
    with pytest.raises(DataError, match="'y' of 'mine' must have the index of X"):
        Dataset("mine", data.X, data.y.iloc[:5], desired=1, **parts)
    with pytest.raises(DataError, match="desired must be a label of 'mine', got 'yes'"):
        Dataset("mine", data.X, data.y, desired="yes", **parts)


def test_a_data_set_prints_as_one_line() -> None:
    assert repr(load_german()) == "Dataset('german', 1000 rows × 20 features, labels: 'good' 70.0%, 'bad' 30.0%)"


def test_importing_the_data_sets_reads_no_schema() -> None:
    code = "import sys, attain.datasets; print({'tomlkit', 'sklearn', 'jax'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
