"""The conformance suite of autoencoders: `check_autoencoder(make)` tests one, built in or from outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from attain.schema import Feature, Schema
from attain.tables import Table

SCHEMA = Schema(
    (
        Feature("age", "count", immutable=True),
        Feature("visits", "count", special={-1: "never asked"}),
        Feature("income", "positive"),
        Feature("score", "interval", bounds=(0, 100), step=1),
        Feature("home", "categorical", levels=("rents", "owns", "other")),
        Feature("grade", "ordinal", levels=("low", "mid", "high")),
        Feature("balance", "real"),
    )
)


def example(rows: int = 200, seed: int = 0) -> pd.DataFrame:
    """A small frame with every kind of column, a special code and missing cells."""
    generator = np.random.default_rng(seed)
    age = generator.integers(18, 80, rows).astype(np.float64)
    hidden = generator.normal((age - 50) / 30, 1.0)
    frame = pd.DataFrame(
        {
            "age": age,
            "visits": generator.poisson(np.exp(0.5 + 0.4 * hidden)).astype(np.float64),
            "income": np.exp(7 + 0.6 * hidden),
            "score": np.clip(np.round(50 + 30 * hidden), 0, 100),
            "home": np.where(hidden > 0.3, "owns", generator.choice(["rents", "other"], rows)),
            "grade": np.array(["low", "mid", "high"])[np.clip(np.round(hidden + 1), 0, 2).astype(int)],
            "balance": 500 * hidden + generator.normal(0, 50, rows),
        }
    )
    frame.loc[generator.random(rows) < 0.15, "visits"] = -1.0
    frame.loc[generator.random(rows) < 0.1, "balance"] = np.nan
    return frame


def check_autoencoder(make: Callable[[Schema], Any], *, seed: int = 0) -> None:
    """Raises AssertionError, with a sentence, where an autoencoder breaks its contract.

    `make` builds one for a schema. Checked are scikit-learn's rules, shapes, that decoding is deterministic, within
    bounds and levels and copies immutable cells bit for bit, that a row's bits do not depend on its neighbours, that
    the same seed gives the same bytes, that the bound is finite, and that missing cells and tables without immutable
    features are taken.
    """
    frame = example(seed=seed)
    model = make(SCHEMA)
    name = type(model).__name__
    assert clone(model).get_params() == model.get_params(), f"{name}: clone changes parameters"
    assert model.fit(frame) is model, f"{name}: fit must return self"
    values = Table.read(frame, SCHEMA).values
    codes = model.encode(frame)
    rows = _check_codes(model, name, frame, values, codes)
    _check_alone(model, name, frame, codes, rows)
    again = clone(model).fit(frame)
    assert again.encode(frame).z.tobytes() == codes.z.tobytes(), f"{name}: the same seed gives other codes"
    bound = model.log_density_bound(frame, samples=4)
    assert bound.shape == (len(frame),), f"{name}: log_density_bound is not one number per row"
    assert np.isfinite(bound).all(), f"{name}: log_density_bound is not finite"
    draws = model.sample(frame.iloc[:5], 3)
    assert draws.shape == (15, len(SCHEMA)), f"{name}: sample(5 rows, 3) gives the shape {draws.shape}"
    _check_cells(name, "sample", draws, np.repeat(values[:5], 3, axis=0))
    assert all(len(series) for series in model.history.values()), f"{name}: history is empty"
    free = SCHEMA.change("age", immutable=False)
    assert np.isfinite(make(free).fit(frame).encode(frame).z).all(), f"{name}: fails without immutable features"


def _check_codes(model: Any, name: str, frame: pd.DataFrame, values: np.ndarray, codes: Any) -> np.ndarray:
    assert codes.z.shape[0] == len(frame), f"{name}: encode gives {codes.z.shape[0]} codes for {len(frame)} rows"
    assert np.isfinite(codes.z).all(), f"{name}: encode gives codes that are not finite"
    rows = model.decode(codes.z, frame, codes.component)
    assert rows.dtype == np.float64, f"{name}: decode gives {rows.dtype}, not float64"
    assert rows.shape == values.shape, f"{name}: decode gives the shape {rows.shape}, not {values.shape}"
    assert rows.tobytes() == model.decode(codes.z, frame, codes.component).tobytes(), (
        f"{name}: decode is not repeatable"
    )
    _check_cells(name, "decode", rows, values)
    return np.asarray(rows)


def _check_cells(name: str, what: str, rows: np.ndarray, values: np.ndarray) -> None:
    assert np.isfinite(rows[:, SCHEMA.free_columns]).all(), f"{name}: {what} leaves free cells empty"
    for position, feature in enumerate(SCHEMA):
        cells = rows[:, position]
        if feature.immutable:
            assert cells.tobytes() == values[:, position].tobytes(), f"{name}: {what} changes {feature.name}"
        elif feature.levels:
            assert np.isin(cells, np.arange(len(feature.levels))).all(), f"{name}: {what} invents levels"
        else:
            low, high = (np.inf * sign if b is None else b for b, sign in zip(feature.bounds, (-1, 1), strict=True))
            inside = ((cells >= low) & (cells <= high)) | np.isin(cells, list(feature.special))
            assert inside.all(), f"{name}: {what} leaves the bounds of {feature.name}"


def _check_alone(model: Any, name: str, frame: pd.DataFrame, codes: Any, rows: np.ndarray) -> None:
    for row in (0, 1, len(frame) - 1):
        alone = frame.iloc[[row]]
        own = model.encode(alone)
        assert own.z.tobytes() == codes.z[[row]].tobytes(), f"{name}: a row's code depends on its neighbours"
        decoded = model.decode(own.z, alone, own.component)
        assert decoded.tobytes() == rows[[row]].tobytes(), f"{name}: a decoded row depends on its neighbours"
