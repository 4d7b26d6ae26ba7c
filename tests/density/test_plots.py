"""Plots of density models: the numbers drawn are those of the model and of the data."""

from collections.abc import Iterator
from functools import cache

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.text import Text
from scipy.stats import ks_2samp

from attain import Feature, Schema
from attain.core.drawing import detached
from attain.core.errors import DataError
from attain.density import CHVAE
from attain.density.plots import _distance

NAME = "$x_1$"
SCHEMA = Schema(
    (
        Feature("age", "count", immutable=True),
        Feature(NAME, "real", unit="€"),
        Feature("late", "count", special={-8: "never"}),
        Feature("housing", "categorical", levels=("rents", "owns")),
    )
)


def rows(n: int = 80) -> pd.DataFrame:
    random = np.random.default_rng(0)
    late = np.where(random.random(n) < 0.3, -8, random.poisson(3, n))
    columns = {"age": random.integers(20, 60, n), NAME: random.normal(size=n), "late": late}
    return pd.DataFrame({**columns, "housing": random.choice(["rents", "owns"], n)})


@cache
def model() -> CHVAE:
    return CHVAE(SCHEMA, hidden=0, latent_dim=2, epochs=4, verbose=False).fit(rows())


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    pyplot.close("all")


def test_history_is_the_bound_by_epoch() -> None:
    ax, history = model().plot.history(), model().history
    training, validation, best = ax.lines
    expected = np.array(history["reconstruction"]) - history["kl_latent"] - history["kl_component"]
    np.testing.assert_allclose(training.get_ydata(), expected)
    np.testing.assert_allclose(validation.get_ydata(), history["validation"])
    assert best.get_ydata()[0] == max(history["validation"])
    assert best.get_xdata()[0] == 1 + int(np.argmax(history["validation"]))


def test_distances_are_those_of_kolmogorov_and_smirnov() -> None:
    random = np.random.default_rng(1)
    one, other = random.normal(size=50), random.normal(0.3, size=70)
    assert _distance(SCHEMA[NAME], one, other) == pytest.approx(ks_2samp(one, other).statistic)
    assert _distance(SCHEMA["housing"], np.array([0.0, 0, 0, 1]), np.array([0.0, 1])) == pytest.approx(0.25)
    # a special code is a state of its own: 3 of 4 against 1 of 4
    codes = np.array([-8.0, -8, -8, 2]), np.array([-8.0, 2, 2, 2])
    assert _distance(SCHEMA["late"], *codes) == pytest.approx(0.5)
    assert _distance(SCHEMA["late"], np.array([np.nan, 1.0]), np.array([1.0, 1.0])) == pytest.approx(0.5)


def test_every_free_feature_has_a_distance_to_reconstructions_and_samples() -> None:
    data = rows()
    ax = model().plot.distances(data)
    drawn = {line.get_label(): line.get_xdata() for line in ax.lines if not line.get_label().startswith("_")}
    assert set(drawn) == {"reconstructions", "samples"}
    assert {label.get_text() for label in ax.get_yticklabels()} == {NAME, "late", "housing"}
    place = [label.get_text() for label in ax.get_yticklabels()].index(NAME)
    made = model().decode_rows(model().encode(data), data)[:, 1]
    assert drawn["reconstructions"][place] == pytest.approx(ks_2samp(data[NAME], made).statistic)
    assert not any(text.get_parse_math() for text in ax.findobj(Text))


def test_distributions_are_shares_of_rows() -> None:
    data = rows()
    ax = detached(5, 3)
    assert model().plot.distribution(data, NAME, ax=ax) is ax
    for patch in ax.patches:
        assert patch.get_data().values.sum() == pytest.approx(100)
    bars = model().plot.distribution(data, "housing").containers
    shares = 100 * data["housing"].value_counts(normalize=True)[["rents", "owns"]]
    np.testing.assert_allclose([bar.get_width() for bar in bars[0]], shares)
    # special codes are left out of the histogram
    steps = model().plot.distribution(data, "late").patches[0].get_data().values
    assert steps.sum() == pytest.approx(100 * (data["late"] != -8).mean())


def test_only_modelled_features_have_a_distribution() -> None:
    with pytest.raises(DataError, match="'age' is not modelled"):
        model().plot.distribution(rows(), "age")
    with pytest.raises(DataError, match="feature is 'height'; the columns are 'age'"):
        model().plot.distribution(rows(), "height")
    with pytest.raises(DataError, match="X has no rows"):
        model().plot.distances(rows().head(0))
