"""GMSC, HELOC, Adult and COMPAS: found, read, checked; on the real files where they are, else on small ones."""

import gzip
import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from attain.core.errors import AttainError, DataError, MissingDataSetError
from attain.datasets import Dataset, gmsc, load_adult, load_compas, load_gmsc, load_heloc
from attain.datasets.dataset import fingerprint
from attain.datasets.gmsc import gmsc_schema
from attain.datasets.heloc import heloc_schema
from attain.datasets.source import schema_of
from experiments.paper.directions import GMSC_DIRECTIONS, HELOC_DIRECTIONS

LOADERS: list[Callable[..., Dataset]] = [load_gmsc, load_heloc, load_adult, load_compas]


@pytest.fixture(autouse=True)
def no_network_and_no_files_but_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(**arguments: object) -> None:
        raise OSError("there is no network in tests")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", refuse)
    monkeypatch.delenv("ATTAIN_DATA", raising=False)
    monkeypatch.setenv("ATTAIN_CACHE", str(tmp_path / "cache"))


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


def offer(monkeypatch: pytest.MonkeyPatch, frame: pd.DataFrame) -> dict[str, object]:
    """Makes OpenML return this frame; the arguments of the request come back."""
    asked: dict[str, object] = {}

    def fetch_openml(**arguments: object) -> SimpleNamespace:
        asked.update(arguments)
        return SimpleNamespace(frame=frame)

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    return asked


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
    assert list(schema.free) == roles.index[roles == "free"].tolist()  # type: ignore[attr-defined]
    assert list(schema.immutable) == roles.index[roles == "conditional"].tolist()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("file", "sha256"),
    [
        ("gmsc/cs-training.csv.gz", "1bd46da486a5708c58c7b01a034fae2a13b327f6f7b62ea7ba4fe3b5824b24ac"),
        ("heloc/heloc.csv", "f66d77f4e4e27c11205ba6258008f5e071f1f09724f4893e9ff2840a4e99f259"),
        ("adult/adult.csv.gz", "d99d5b2c07ff6c7e09b6e0cefe115f6835d5c7b6efebdb9276238f1243c6369b"),
        ("compas/compas.csv", "26b2ce559b2fda0db9c8d05a0ef432effda71ab7f8dd67c7e60d3cc4cf53def9"),
    ],
)
def test_the_fingerprints_were_taken_from_the_published_bytes(file: str, sha256: str, data_folder: Path) -> None:
    content = (data_folder / file).read_bytes()
    plain = gzip.decompress(content) if file.endswith(".gz") else content
    assert hashlib.sha256(plain).hexdigest() == sha256


def test_one_changed_cell_is_noticed(data_folder: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(data_folder / "heloc" / "heloc.csv")
    frame.loc[17, "NumTotalTrades"] += 1
    frame.to_csv(tmp_path / "heloc.csv", index=False)
    with pytest.raises(DataError, match="is not FICO's HELOC file as published: it has 10459 rows as expected, but"):
        load_heloc(path=tmp_path)
    assert len(load_heloc(path=tmp_path, check=False).X) == 10_459


def test_adult_from_openml_is_the_same_set_of_rows(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenML's spelling: other row order, categories, NaN for "?", the label called `class`."""
    raw = pd.read_csv(data_folder / "adult" / "adult.csv.gz", na_values=["?"]).drop(columns="split")
    raw = raw.sample(frac=1.0, random_state=0).rename(columns={"income": "class"})
    texts = raw.columns[[not pd.api.types.is_numeric_dtype(raw[c]) for c in raw.columns]]
    asked = offer(monkeypatch, raw.astype(dict.fromkeys(texts, "category")))
    fetched, local = load_adult(), load_adult(path=data_folder)
    assert asked["data_id"] == 1590
    assert fetched.X.dtypes.equals(local.X.dtypes)
    assert fingerprint(fetched.X, fetched.y) == fingerprint(local.X, local.y)
    assert "split" not in fetched.extras


@pytest.mark.parametrize(
    ("file", "load", "asked_name"),
    [
        ("gmsc/cs-training.csv.gz", load_gmsc, "GiveMeSomeCredit"),
        ("gmsc/cs-training.csv.gz", lambda **a: load_gmsc(version="paper", **a), "GiveMeSomeCredit"),
        ("compas/compas.csv", load_compas, "compas-two-years"),
        ("compas/compas_two_years.csv", load_compas, "compas-two-years"),
    ],
)
def test_what_openml_has_is_taken_where_its_hash_is_that_of_the_file(
    file: str, load: Callable[..., Dataset], asked_name: str, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = pd.read_csv(data_folder / file).sample(frac=1.0, random_state=0)
    raw.columns = raw.columns.str.replace("-", "_").str.replace("_", ".")
    asked = offer(monkeypatch, raw)
    fetched, local = load(), load(path=data_folder)
    assert asked["name"] == asked_name
    assert fetched.X.dtypes.equals(local.X.dtypes)
    assert fingerprint(fetched.X, fetched.y) == fingerprint(local.X, local.y)
    offer(monkeypatch, raw.iloc[: len(raw) // 2])
    with pytest.raises(MissingDataSetError, match=r"as published \(it has \d+ rows, the published one"):
        load()


def test_compas_as_benchmarks_process_it_is_refused(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two races only, and indicators for levels: not the published records."""
    raw = pd.read_csv(data_folder / "compas" / "compas.csv")
    two = raw[raw["race"].isin(["African-American", "Caucasian"])]
    offer(monkeypatch, pd.get_dummies(two.drop(columns="length_of_stay"), columns=["race", "c_charge_degree"]))
    with pytest.raises(
        MissingDataSetError, match=r"as published \(it lacks the columns 'race', .*github\.com/propublica"
    ):
        load_compas()


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


def test_places_are_searched_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = small_heloc()
    for place, first in (("cache", 1), ("data", 2), ("named", 3)):
        (tmp_path / place / "heloc").mkdir(parents=True)
        frame.assign(NumTotalTrades=first).to_csv(tmp_path / place / "heloc" / "heloc.csv", index=False)

    def found(**arguments: object) -> int:
        return int(load_heloc(check=False, **arguments).X["NumTotalTrades"].iloc[0])  # type: ignore[arg-type]

    assert found() == 1
    monkeypatch.setenv("ATTAIN_DATA", str(tmp_path / "data"))
    assert found() == 2
    assert found(path=tmp_path / "named") == 3
    assert found(path=tmp_path / "cache" / "heloc" / "heloc.csv") == 1


@pytest.mark.parametrize("load", LOADERS)
def test_the_message_about_a_missing_file_says_where_to_get_it(load: Callable[..., Dataset], tmp_path: Path) -> None:
    with pytest.raises(MissingDataSetError, match=r"https://.*ATTAIN_DATA to its folder, or pass path="):
        load()
    with pytest.raises(MissingDataSetError, match=r"there is no file or folder '.*nowhere' \(path\)\. .*https://"):
        load(path=tmp_path / "nowhere")


def test_heloc_is_never_downloaded_and_the_message_says_where_to_ask() -> None:
    with pytest.raises(MissingDataSetError, match=r"accept its terms, so it is never downloaded: ask at https://comm"):
        load_heloc()


DOWNLOADED: list[tuple[str, Callable[..., Dataset]]] = [
    ("adult", load_adult),
    ("gmsc", load_gmsc),
    ("compas", load_compas),
]


@pytest.mark.parametrize(("name", "load"), DOWNLOADED)
def test_nothing_is_downloaded_when_that_is_forbidden_or_a_path_is_named(
    name: str, load: Callable[..., Dataset], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **arguments: pytest.fail("it went to the network"))
    with pytest.raises(MissingDataSetError, match=f"the data set '{name}' was not found"):
        load(download=False)
    with pytest.raises(MissingDataSetError, match=f"the data set '{name}' was not found"):
        load(path=tmp_path)


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize(("name", "load"), DOWNLOADED)
def test_another_table_on_openml_is_refused(
    name: str, load: Callable[..., Dataset], check: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch, pd.DataFrame({"age": [30], "class": ["<=50K"]}))
    words = rf"'{name}' was not found on disk, and OpenML's data set .* as published \(it lacks .*https://.*ATTAIN_DATA"
    with pytest.raises(MissingDataSetError, match=words):
        load(check=check)


@pytest.mark.parametrize("version", ["complete", "paper"])
def test_other_records_on_openml_are_refused(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, small_gmsc())
    with pytest.raises(MissingDataSetError, match=r"it has \d rows, the published one 1\d0"):
        load_gmsc(version=version, check=False)  # type: ignore[arg-type]
    offer(monkeypatch, small_gmsc().assign(MonthlyIncome="much", NumberOfDependents="few"))
    with pytest.raises(MissingDataSetError, match=r"OpenML's data set 'GiveMeSomeCredit' is not cs-training\.csv as"):
        load_gmsc(version=version)  # type: ignore[arg-type]


def test_records_on_openml_with_the_published_hash_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In another order and spelling, and numbers as categories."""
    small_gmsc().to_csv(tmp_path / "cs-training.csv")
    local = load_gmsc(path=tmp_path, check=False)
    ours = replace(gmsc._COMPLETE, title="ours", rows=3, content=fingerprint(local.X, local.y))
    monkeypatch.setitem(gmsc._SOURCES, "complete", ours)
    other = small_gmsc().iloc[::-1].rename(columns=lambda name: name.replace("-", ".").upper())
    other = other.astype({"SERIOUSDLQIN2YRS": "str"}).astype({"SERIOUSDLQIN2YRS": "category"})
    asked = offer(monkeypatch, other)
    fetched = load_gmsc()
    assert (asked["name"], asked["version"], asked["as_frame"]) == ("GiveMeSomeCredit", 1, True)
    pd.testing.assert_frame_equal(fetched.X.iloc[::-1].reset_index(drop=True), local.X)
    assert fetched.y.tolist() == local.y.tolist()[::-1]
    other.iloc[0, 1] += 1
    with pytest.raises(MissingDataSetError, match=r"is not ours as published \(it has 3 rows as expected, but"):
        load_gmsc()


def test_a_file_that_is_another_table_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "some.csv"
    file.write_text("a,b\n1,2\n")
    for load in LOADERS:
        with pytest.raises(DataError, match=r"some\.csv' lacks the columns .*Is it the right file\?"):
            load(path=file)
    file.write_bytes(b"\x00\xff\xfe\x80")
    for load in LOADERS:
        with pytest.raises(AttainError, match=r"some\.csv'"):
            load(path=file)


def test_a_shorter_file_and_a_fraction_are_refused(tmp_path: Path) -> None:
    small_heloc().to_csv(tmp_path / "heloc.csv", index=False)
    with pytest.raises(DataError, match=r"it has 3 rows, the published one 10459\. .* check=False"):
        load_heloc(path=tmp_path)
    small_heloc().assign(NumTotalTrades=2.5).to_csv(tmp_path / "heloc.csv", index=False)
    with pytest.raises(DataError, match=r"'NumTotalTrades' of .* must hold integers only"):
        load_heloc(path=tmp_path, check=False)


@pytest.mark.parametrize("load", [load_gmsc, load_heloc])
def test_an_unknown_version_is_refused(load: Callable[..., Dataset]) -> None:
    with pytest.raises(AttainError, match="version must be one of 'complete', 'paper', got 'raw'"):
        load(version="raw")


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
