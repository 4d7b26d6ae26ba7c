"""GMSC, HELOC, Adult and COMPAS: found, read, checked; on the real files where they are, else on small ones."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from attain.core.errors import DataError
from attain.datasets import Dataset
from experiments.data import (
    MissingDataSetError,
    fingerprint,
    gmsc_schema,
    heloc_schema,
    load_adult,
    load_compas,
    load_gmsc,
    load_heloc,
    schema_of,
)
from experiments.paper.directions import GMSC_DIRECTIONS, HELOC_DIRECTIONS
from tests.datasets.test_consistency import check

LOADERS: list[Callable[..., Dataset]] = [load_gmsc, load_heloc, load_adult, load_compas]


def small_gmsc() -> pd.DataFrame:
    rows = [
        [1, 0.5, 45, 2, 0.8, 9120.0, 13, 0, 6, 0, 2.0],
        [0, 0.0, 40, 98, 0.0, 0.0, 4, 98, 0, 98, 1.0],
        [0, 0.2, 38, 0, 5000.0, np.nan, 2, 1, 0, 0, 0.0],
    ]
    return pd.DataFrame(rows, columns=["SeriousDlqin2yrs", *gmsc_schema().names])


def small_heloc() -> pd.DataFrame:
    names = heloc_schema().names
    plain = dict.fromkeys(names, 5)
    coded = dict.fromkeys(names, -9)
    no_inquiry = {**plain, "MSinceMostRecentInqexcl7days": -7}
    return pd.DataFrame([plain, coded, no_inquiry]).assign(RiskPerformance=["Good", "Bad", "Bad"])


# ---------------------------------------------------------------------------------------------------- the real files


@pytest.mark.parametrize(
    ("load", "shape", "label", "count"),
    [
        (load_gmsc, (150_000, 10), 1, 10_026),
        (lambda **a: load_gmsc(version="paper", **a), (120_269, 10), 1, 8_357),
        (load_heloc, (10_459, 23), "Bad", 5_459),
        (lambda **a: load_heloc(version="paper", **a), (8_291, 20), "Bad", 4_251),
        (load_adult, (48_842, 12), ">50K", 11_687),
        (load_compas, (6_172, 9), 1, 2_809),
    ],
)
def test_shape_and_class_counts(
    load: Callable[..., Dataset], shape: tuple[int, int], label: object, count: int, data_folder: Path
) -> None:
    data = load(path=data_folder)
    check(data)
    assert data.X.shape == shape
    assert (data.y == label).sum() == count
    assert data.y.nunique() == 2


def test_gmsc_missing_values_and_codes(data_folder: Path) -> None:
    X = load_gmsc(path=data_folder).X
    missing = X.isna().sum()
    assert missing[missing > 0].to_dict() == {"MonthlyIncome": 29_731, "NumberOfDependents": 3_924}
    late = [name for name in X.columns if gmsc_schema()[name].special]
    assert len(late) == 3
    assert X[late].isin([96, 98]).all(axis=1).sum() == X[late].isin([96, 98]).any(axis=1).sum() == 269


def test_heloc_codes(data_folder: Path) -> None:
    X = load_heloc(path=data_folder).X
    assert (X == -9).all(axis=1).sum() == 588
    assert (X == -7).sum()[lambda count: count > 0].to_dict() == {
        "MSinceMostRecentDelq": 4_664,
        "MSinceMostRecentInqexcl7days": 1_855,
    }
    assert (X["NetFractionInstallBurden"] == -8).sum() == 3_419


def test_adult_missing_values_and_extras(data_folder: Path) -> None:
    adult = load_adult(path=data_folder)
    missing = adult.X.isna().sum()
    assert missing[missing > 0].to_dict() == {"workclass": 2_799, "occupation": 2_809, "native-country": 857}
    assert adult.X.isna().any(axis=1).sum() == 3_620
    assert adult.extras["split"].value_counts().to_dict() == {"train": 32_561, "test": 16_281}
    train = adult.y[adult.extras["split"] == "train"]
    assert (train == ">50K").mean() == pytest.approx(0.2408, abs=5e-5)
    assert (adult.X["capital-gain"] == 99_999).sum() == 244


def test_adult_education_has_the_order_of_education_num(data_folder: Path) -> None:
    file = data_folder / "adult" / "adult.csv.gz"
    raw = pd.read_csv(file, keep_default_na=False)
    levels = load_adult(path=file).schema["education"].levels
    assert (
        raw["education"].map({level: k + 1 for k, level in enumerate(levels)}).tolist() == raw["education-num"].tolist()
    )


@pytest.mark.parametrize(
    ("folder", "processed", "raw", "load"),
    [
        ("gmsc", "gmsc_cchvae.csv.gz", "cs-training.csv.gz", lambda p: load_gmsc(version="paper", path=p)),
        ("heloc", "heloc_cchvae.csv", "heloc.csv", lambda p: load_heloc(version="paper", path=p)),
        ("compas", "compas.csv", "compas_two_years.csv", lambda p: load_compas(path=p)),
    ],
)
def test_the_recipe_gives_the_processed_file(
    folder: str, processed: str, raw: str, load: Callable[[Path], Dataset], data_folder: Path
) -> None:
    stored, computed = load(data_folder / folder / processed), load(data_folder / folder / raw)
    pd.testing.assert_frame_equal(stored.X, computed.X)
    pd.testing.assert_series_equal(stored.y, computed.y)
    assert stored.schema == computed.schema


def test_the_paper_versions_are_the_authors_stored_values(data_folder: Path) -> None:
    heloc = load_heloc(path=data_folder, version="paper")
    stored = pd.read_csv(data_folder / "heloc" / "heloc_cchvae.csv")
    pd.testing.assert_frame_equal(heloc.X + 1, stored.drop(columns="RiskPerformance"))
    assert ((heloc.y == "Bad") == (stored["RiskPerformance"] == 1)).all()
    gmsc = load_gmsc(path=data_folder, version="paper")
    stored = pd.read_csv(data_folder / "gmsc" / "gmsc_cchvae.csv.gz")
    pd.testing.assert_frame_equal(gmsc.X, stored.drop(columns="SeriousDlqin2yrs"))


@pytest.mark.parametrize(("folder", "schema"), [("gmsc", gmsc_schema("paper")), ("heloc", heloc_schema("paper"))])
def test_free_and_immutable_are_the_authors_roles(folder: str, schema: object, data_folder: Path) -> None:
    roles = pd.read_csv(data_folder / folder / f"{folder}_cchvae_types.csv").set_index("column")["role"]
    assert list(schema.free) == roles.index[roles == "free"].tolist()
    assert list(schema.immutable) == roles.index[roles == "conditional"].tolist()


def test_one_changed_cell_is_noticed(data_folder: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(data_folder / "heloc" / "heloc.csv")
    frame.loc[17, "NumTotalTrades"] += 1
    frame.to_csv(tmp_path / "heloc.csv", index=False)
    with pytest.raises(DataError, match="the 10459 records of 'heloc' are not the 10459 published ones"):
        load_heloc(path=tmp_path)
    assert len(load_heloc(path=tmp_path, check=False).X) == 10_459


# --------------------------------------------------------------------------------------------- small files, no files


def test_gmsc_paper_recipe_on_a_small_file(tmp_path: Path) -> None:
    small_gmsc().to_csv(tmp_path / "cs-training.csv")
    data = load_gmsc(path=tmp_path, version="paper", check=False)
    assert data.y.tolist() == [1, 0]
    assert data.X["RevolvingUtilizationOfUnsecuredLines"].tolist() == [0.5, 1e-4]
    assert data.X["MonthlyIncome"].tolist() == [9120.0, 1e-4]
    assert data.X["NumberOfDependents"].dtype == np.int64
    assert data.X.columns[-2:].tolist() == ["age", "NumberOfDependents"]


def test_gmsc_complete_keeps_missing_values_and_codes(tmp_path: Path) -> None:
    small_gmsc().to_csv(tmp_path / "cs-training.csv.gz", na_rep="NA")
    data = load_gmsc(path=tmp_path, check=False)
    assert data.X["MonthlyIncome"].isna().tolist() == [False, False, True]
    assert data.X["NumberOfTimes90DaysLate"].tolist() == [0, 98, 1]
    assert data.desired == 0


def test_heloc_paper_recipe_on_a_small_file(tmp_path: Path) -> None:
    """A code in one of the three dropped features does not cost the row."""
    small_heloc().to_csv(tmp_path / "heloc_dataset_v1.csv", index=False)
    data = load_heloc(path=tmp_path, version="paper", check=False)
    assert data.y.tolist() == ["Good", "Bad"]
    assert (data.X == 5).all().all()


def test_compas_filter_on_a_small_file(tmp_path: Path) -> None:
    row = dict.fromkeys(schema_of("compas").names, 1) | {
        "sex": "Male",
        "race": "Other",
        "age": 30,
        "c_charge_degree": "F",
        "decile_score": 3,
        "score_text": "Low",
        "two_year_recid": 0,
        "is_recid": 0,
        "days_b_screening_arrest": -1.0,
        "c_jail_in": "2013-01-26 03:45:27",
        "c_jail_out": "2013-02-05 05:36:53",
    }
    del row["length_of_stay"]
    rows = [
        row,
        row | {"days_b_screening_arrest": 31.0},
        row | {"days_b_screening_arrest": None},
        row | {"is_recid": -1},
        row | {"c_charge_degree": "O"},
        row | {"score_text": "N/A"},
        row | {"two_year_recid": 1, "c_jail_out": "2013-01-26 03:00:00"},
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "compas-scores-two-years.csv", index=False)
    data = load_compas(path=tmp_path, check=False)
    assert data.X["length_of_stay"].tolist() == [10, -1]
    assert data.extras["score_text"].tolist() == ["Low", "Low"]


def test_a_path_comes_before_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, first in (("data", 2), ("named", 3)):
        (tmp_path / place / "heloc").mkdir(parents=True)
        small_heloc().assign(NumTotalTrades=first).to_csv(tmp_path / place / "heloc" / "heloc.csv", index=False)

    def found(**arguments: object) -> int:
        return int(load_heloc(check=False, **arguments).X["NumTotalTrades"].iloc[0])

    monkeypatch.setenv("ATTAIN_DATA", str(tmp_path / "data"))
    assert found() == 2
    assert found(path=tmp_path / "named") == 3
    assert found(path=tmp_path / "named" / "heloc" / "heloc.csv") == 3


@pytest.mark.parametrize("load", LOADERS)
def test_the_message_about_a_missing_file_says_where_it_comes_from(
    load: Callable[..., Dataset], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ATTAIN_DATA", raising=False)
    for path in (None, tmp_path, tmp_path / "nowhere"):
        with pytest.raises(MissingDataSetError, match=r"ATTAIN_DATA names, or pass path=. It comes from: .*https://"):
            load(path=path)


def test_a_shorter_file_is_refused(tmp_path: Path) -> None:
    small_heloc().to_csv(tmp_path / "heloc.csv", index=False)
    with pytest.raises(DataError, match=r"the 3 records of 'heloc' are not the 10459 published ones; .* check=False"):
        load_heloc(path=tmp_path)


def test_directions_of_the_paper_name_free_features() -> None:
    assert set(GMSC_DIRECTIONS) == set(gmsc_schema().free) - {"NumberOfTimes90DaysLate"}
    unnamed = {
        "NumTrades90Ever2DerogPubRec",
        "MSinceMostRecentTradeOpen",
        "MSinceMostRecentDelq",
        "NetFractionInstallBurden",
    }
    assert set(HELOC_DIRECTIONS) == set(heloc_schema().free) - unnamed
    for name, direction in HELOC_DIRECTIONS.items():
        heloc_schema().change(name, direction=direction)


def test_the_fingerprint_sees_content_and_nothing_else() -> None:
    X = pd.DataFrame({"a": [1.0, 2.0, np.nan], "b": ["x", None, "y"]})
    y = pd.Series([0, 1, 1], name="label")
    print_ = fingerprint(X, y)
    assert fingerprint(X.iloc[::-1], y.iloc[::-1]) == print_
    assert fingerprint(X.astype({"a": "Int64", "b": "category"}), y.astype(float)) == print_
    assert fingerprint(X.assign(a=[1.0, 2.0, 3.0]), y) != print_
    assert fingerprint(X, y.iloc[::-1].reset_index(drop=True)) != print_
    assert fingerprint(X.rename(columns={"a": "c"}), y) != print_
