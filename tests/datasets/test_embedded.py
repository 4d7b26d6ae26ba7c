"""German credit, blobs and moons: what needs no file."""

import hashlib
from importlib import resources

import numpy as np
import pandas as pd
import pytest

from attain.core.errors import AttainError
from attain.datasets import load_german, make_blobs, make_moons
from attain.datasets.dataset import BLOB_CENTRES


def test_german_has_the_published_size_and_class_shares() -> None:
    german = load_german()
    assert german.X.shape == (1000, 20)
    assert german.y.value_counts().to_dict() == {"good": 700, "bad": 300}
    assert german.desired == "good"
    assert not german.X.isna().any().any()
    assert german.licence == "CC BY 4.0"
    assert "Hofmann" in german.source


def test_german_has_the_published_marginals() -> None:
    """Counts of UCI's german.data, taken from a copy with the original codes."""
    X = load_german().X
    assert X["checking_account"].value_counts().to_dict() == {
        "no account": 394,
        "below 0 DM": 274,
        "0 to 200 DM": 269,
        "200 DM or more": 63,
    }
    assert X["personal_status_sex"].value_counts()["female divorced, separated or married"] == 310
    assert (X["foreign_worker"] == "yes").sum() == 963
    assert (X["duration"].min(), X["duration"].max()) == (4, 72)
    assert (X["credit_amount"].min(), X["credit_amount"].max()) == (250, 18424)
    assert X["credit_amount"].sum() == 3_271_258
    assert (X["age"].min(), X["age"].max()) == (19, 75)


def test_the_embedded_german_file_is_unchanged() -> None:
    content = resources.files("attain.datasets").joinpath("german.csv").read_bytes()
    assert hashlib.sha256(content).hexdigest() == "fc8825f6e1902389eba918ed53b15e7d0ee589795f0e694a67feec97bd12f256"


def test_german_advises_nobody_to_forget_a_fact_to_lose_money_or_to_take_on_debt() -> None:
    schema = load_german().schema
    for name in ("checking_account", "savings", "property", "employment_since", "job"):
        assert (schema[name].kind, schema[name].direction) == ("ordinal", "increase")
    for name in ("checking_account", "savings", "property"):
        assert schema[name].levels[0] in schema[name].avoid
    for name in ("credit_amount", "existing_credits"):
        assert schema[name].direction == "decrease"
    assert schema["instalment_rate"].direction == "increase"  # 4 is the smallest share of income
    assert schema["checking_account"].avoid == ("no account", "below 0 DM")
    assert schema["housing"].avoid == ("lives for free",)
    for name, level in (
        ("other_plans", "no other plan"),
        ("purpose", "education"),
        ("housing", "owns"),
        ("job", "unemployed or unskilled, not resident"),
    ):
        assert schema[name].transitions[level] == ()
    assert schema.unreviewed == ()
    fixed = {"age", "residence_since", "personal_status_sex", "foreign_worker", "dependants", "credit_history"}
    assert set(schema.immutable) == fixed


def test_changes_of_german_credit_take_as_long_as_they_do() -> None:
    schema = load_german().schema
    months = {feature.name: round(1 / feature.pace) for feature in schema if feature.pace is not None}
    money = dict.fromkeys(("checking_account", "savings"), 6)
    years = dict.fromkeys(("employment_since", "job", "property", "housing", "existing_credits"), 24)
    assert months == money | years
    assert schema.max_months == 24


@pytest.mark.parametrize("geometry", ["diagonal", "triangle"])
def test_blobs_are_three_unit_gaussians_with_the_label_of_the_paper(geometry: str) -> None:
    blobs = make_blobs(30_000, seed=3, geometry=geometry)
    assert (blobs.y == (blobs.X["x2"] > 6)).all()
    cluster = blobs.extras["cluster"]
    assert cluster.value_counts().to_dict() == {0: 10_000, 1: 10_000, 2: 10_000}
    for number, centre in enumerate(BLOB_CENTRES[geometry]):
        points = blobs.X[cluster == number].to_numpy()
        # Five standard errors of a mean and of a variance of 10000 draws.
        np.testing.assert_allclose(points.mean(axis=0), centre, atol=0.05)
        np.testing.assert_allclose(np.cov(points.T), np.eye(2), atol=0.08)


@pytest.mark.parametrize("geometry", ["diagonal", "triangle"])
def test_blobs_leave_the_upper_right_corner_empty(geometry: str) -> None:
    X = make_blobs(seed=1, geometry=geometry).X
    assert not ((X["x1"] > 5) & (X["x2"] > 6)).any()


def test_moons_have_the_nineteen_categories_of_the_paper() -> None:
    moons = make_moons(seed=2)
    levels = moons.schema["x2"].levels
    assert len(levels) == 19
    assert set(moons.X["x2"]) == set(levels)
    assert (levels[0], levels[8], levels[18]) == (-0.8, 0.0, 1.0)
    assert moons.extras["moon"].value_counts().to_dict() == {"lower": 5000, "upper": 5000}
    assert (moons.y == (moons.X["x1"] > 0)).all()


@pytest.mark.parametrize(("reading", "shift"), [("interleaved", 0.2), ("printed", None)])
def test_moons_lie_on_their_half_circles(reading: str, shift: float | None) -> None:
    moons = make_moons(4000, seed=5, reading=reading)
    x1, x2 = moons.X["x1"].to_numpy(), moons.X["x2"].to_numpy()
    upper = (moons.extras["moon"] == "upper").to_numpy()
    height_up = np.sqrt(np.clip(1 - x1[upper] ** 2, 0, None))
    height_down = np.sqrt(np.clip(1 - (1 - x1[~upper]) ** 2, 0, None))
    assert np.abs(x2[upper] - height_up).max() <= 0.05 + 1e-6
    if shift is not None:
        assert np.abs(x2[~upper] - (shift - height_down)).max() <= 0.05 + 1e-6
    else:
        assert set(moons.schema["x2"].levels) == {tenth / 10 for tenth in range(11)}
        # A height above one half rounds to 1, and 1 − 1 is 0.
        np.testing.assert_array_equal(x2[~upper], np.where(height_down > 0.5, 0.0, 1.0))


@pytest.mark.parametrize("make", [make_blobs, make_moons])
def test_a_seed_gives_the_same_rows_and_another_seed_others(make: object) -> None:
    assert callable(make)
    first, again, other = make(60, seed=7), make(60, seed=7), make(60, seed=8)
    pd.testing.assert_frame_equal(first.X, again.X)
    assert not first.X.equals(other.X)


def test_unknown_parameters_are_refused() -> None:
    with pytest.raises(AttainError, match="n must be an integer ≥ 6, got 2"):
        make_blobs(2)
    with pytest.raises(AttainError, match="geometry must be one of 'diagonal', 'triangle', got 'ring'"):
        make_blobs(geometry="ring")  # type: ignore[arg-type]
    with pytest.raises(AttainError, match="reading must be one of 'interleaved', 'printed', got 'mine'"):
        make_moons(reading="mine")  # type: ignore[arg-type]
