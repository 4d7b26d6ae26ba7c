"""Saved explainers: the same answers after loading, and nothing but what `save` wrote is ever read."""

import contextlib
import copy
import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import attain
from attain import methods
from attain.core import container
from attain.core.errors import AttainError, FileError
from attain.density import CHVAE
from attain.methods import persistence
from attain.methods.latent import LatentExplainer
from attain.population.population import Population
from attain.testing import people
from attain.testing.explainer import digest
from tests.attack.mutations import forged, members, resealed
from tests.density.trained import tiny, trained
from tests.misuse import under_headings

METHODS = [name for name in methods.__all__ if name != "Explainer"]
TREES = {"FeatureTweaking"}


def small_autoencoder(schema: attain.Schema) -> CHVAE:
    return CHVAE(schema, epochs=2, hidden=8, latent_dim=2, components=2, verbose=False)


@cache
def fitted(name: str) -> Any:
    X, method = people.frame(), getattr(methods, name)
    options: dict[str, Any] = {"autoencoder": tiny()} if issubclass(method, LatentExplainer) else {}
    return method(people.schema(), budget=400, random_state=3, **options).fit(X, people.labels(X))


@pytest.fixture
def explainer(name: str) -> Any:
    """A fitted method; whichever test of a process is the first pays for training, which is no part of it."""
    return fitted(name)


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    X = people.frame(120)
    y = people.labels(X)
    return {"linear": people.linear_model(X, y), "tree": people.tree_model(X, y)}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small explainer's file."""
    path = tmp_path_factory.mktemp("saved") / "small.attain"
    fitted("GrowingSpheres").save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def saved_network(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of an explainer that has learned arrays."""
    path = tmp_path_factory.mktemp("saved") / "network.attain"
    small_network().save(path)
    return path.read_bytes()


@cache
def small_network() -> attain.CCHVAE:
    """Fitted on two columns."""
    random = np.random.default_rng(0)
    schema = attain.Schema((attain.Feature("a", "real"), attain.Feature("b", "real")))
    X = pd.DataFrame(random.normal(size=(60, 2)), columns=["a", "b"])
    return attain.CCHVAE(schema, autoencoder=trained(small_autoencoder(schema), X)).fit(X)


def clone_without_figures(explainer: Any) -> Any:
    """The same fitted explainer, but for the figures; fitting is slow."""
    again = copy.copy(explainer)
    return again.set_params(figures=False)


def answers(explainer: Any, model: Any) -> str:
    others = people.frame(60, seed=7)
    refused = others[model.predict(others) == people.REFUSED].iloc[:4]
    return digest(explainer.explain(model, refused, target=people.DESIRED, n=2))


@pytest.mark.parametrize("name", METHODS)
def test_every_method_without_rows_answers_the_same_or_refuses_to_be_saved(
    name: str, explainer: Any, tmp_path: Path, models: dict[str, Any]
) -> None:
    explainer, model = clone_without_figures(explainer), models["tree" if name in TREES else "linear"]
    path = tmp_path / "e.attain"
    if explainer.needs_rows:
        with pytest.raises(AttainError, match="reference='rows'"):
            explainer.save(path, reference="none")
        assert not path.exists()
        return
    explainer.save(path, reference="none")
    loaded = attain.load(path)
    others = people.frame(60, seed=7)
    refused = others[model.predict(others) == people.REFUSED].iloc[:4]
    expected = explainer.explain(model, refused, target=people.DESIRED)
    found = loaded.explain(model, refused, target=people.DESIRED)
    assert found.statuses == expected.statuses
    np.testing.assert_allclose(found.answers, expected.answers, rtol=1e-5)


def test_a_figure_that_needs_rows_is_missing_with_a_sentence(tmp_path: Path, models: dict[str, Any]) -> None:
    explainer = fitted("GrowingSpheres")
    explainer.save(tmp_path / "e.attain", reference="none")
    loaded = attain.load(tmp_path / "e.attain")
    refused = people.frame(30, seed=7)
    result = loaded.explain(models["linear"], refused, target=people.DESIRED)
    assert "outlier" not in result.option_figures
    assert "saved without its training rows" in str(result)
    session = loaded.session(models["linear"], target=people.DESIRED)
    with pytest.raises(AttainError, match="saved without its training rows"):
        _ = session.decided.reference


def test_without_rows_the_file_holds_no_persons_record_and_no_label(tmp_path: Path) -> None:
    explainer = fitted("GrowingSpheres")
    explainer.save(tmp_path / "e.attain", reference="none")
    kept = container.read(tmp_path / "e.attain", {"explainer.json", "schema.toml"})
    rows = {row.tobytes() for row in explainer.population_.values}
    assert not any(row.tobytes() in rows for row in kept.arrays["table"])
    assert json.loads(kept.texts["explainer.json"])["labels"] is None
    again = tmp_path / "again.attain"
    attain.load(tmp_path / "e.attain").save(again, reference="rows")
    assert persistence.inspect(again)["training_rows"] == persistence.HOLDS["none"]


def test_marginals_keep_each_columns_distribution_and_every_rare_state() -> None:
    schema = people.schema()
    table = fitted("GrowingSpheres").population_.table
    values = np.tile(table.values, (30, 1))
    late, savings, housing = (schema.position(name) for name in ("months_late", "savings", "housing"))
    values[:, late] = 3.0
    values[0, late], values[1, late] = -8, -9
    values[:, savings] = 100.0
    values[2, savings] = np.nan
    values[:, housing] = 0.0
    values[3, housing] = 2.0
    kept = persistence.marginals(Population(replace(table, values=values)))
    assert len(kept) == 1000
    assert set(kept[:, late]) == {3.0, -8.0, -9.0}
    assert np.isnan(kept[:, savings]).sum() == 1
    assert set(kept[:, housing]) == {0.0, 2.0}
    income = schema.position("income")
    assert kept[:, income].min() == values[:, income].min()
    assert kept[:, income].max() == values[:, income].max()
    quantiles = np.linspace(0.1, 0.9, 9)
    apart = np.quantile(kept[:, income], quantiles) - np.quantile(values[:, income], quantiles)
    assert np.abs(apart).max() < 0.02 * np.ptp(values[:, income])


@pytest.mark.slow
def test_missing_cells_that_only_validation_rows_had_do_not_spoil_loading(tmp_path: Path) -> None:
    X = people.frame(120)
    X["savings"] = X["savings"].fillna(50.0)
    X.iloc[40, X.columns.get_loc("savings")] = np.nan
    explainer = attain.CCHVAE(people.schema(), autoencoder=small_autoencoder(people.schema())).fit(X)
    assert explainer.autoencoder_.network_.columns.flagged == ()  # the split of this seed holds row 40 back
    for reference in ("rows", "none"):
        explainer.save(tmp_path / "e.attain", reference=reference)
        loaded = attain.load(tmp_path / "e.attain")
        codes = loaded.autoencoder_.encode(explainer.population_.values).z
        assert codes.tobytes() == explainer.autoencoder_.encode(explainer.population_.values).z.tobytes()


def test_equal_explainers_are_equal_bytes(tmp_path: Path, saved: bytes) -> None:
    fitted("GrowingSpheres").save(tmp_path / "again.attain")
    assert (tmp_path / "again.attain").read_bytes() == saved


@pytest.mark.usefixtures("saved_network")  # which trains it
def test_parameters_come_back_as_they_were(tmp_path: Path) -> None:
    copy.copy(small_network()).set_params(norm=np.inf, samples=7).save(tmp_path / "e.attain")
    loaded = attain.load(tmp_path / "e.attain")
    assert loaded.norm == np.inf
    assert loaded.samples == 7
    assert loaded.autoencoder.epochs == 2
    assert isinstance(loaded.autoencoder, CHVAE)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_an_explainer_fitted_on_another_library_comes_back(library: str, tmp_path: Path) -> None:
    native = pytest.importorskip(library)
    X = people.frame(80)
    X["housing"] = X["housing"].astype("category")
    frame = native.from_pandas(X) if library == "polars" else native.Table.from_pandas(X, preserve_index=False)
    explainer = attain.GrowingSpheres(people.schema(), budget=300).fit(frame)
    explainer.save(tmp_path / "e.attain")
    loaded = attain.load(tmp_path / "e.attain")
    assert loaded.population_.table.layout.library.name == library
    assert loaded.population_.table.layout.dtypes == explainer.population_.table.layout.dtypes


class Mine(methods.GrowingSpheres):
    """An explainer from outside the package."""


class Other(methods.GrowingSpheres):
    """Another one."""


def test_an_explainer_from_outside_is_loaded_where_it_is_trusted(tmp_path: Path, models: dict[str, Any]) -> None:
    X = people.frame(60)
    explainer = Mine(people.schema(), budget=300).fit(X, people.labels(X))
    explainer.save(tmp_path / "e.attain")
    for trusted in ([], [Other], [attain.GrowingSpheres]):
        with pytest.raises(FileError, match=r"Mine', not part of attain.*trusted="):
            attain.load(tmp_path / "e.attain", trusted=trusted)
    loaded = attain.load(tmp_path / "e.attain", trusted=[Other, Mine])
    assert type(loaded) is Mine
    assert answers(loaded, models["linear"]) == answers(explainer, models["linear"])
    assert persistence.inspect(tmp_path / "e.attain")["explainer"].endswith(".Mine")
    for wrong in (Mine, ["Mine"]):
        with pytest.raises(AttainError, match="trusted must be a list of classes"):
            attain.load(tmp_path / "e.attain", trusted=wrong)  # type: ignore[arg-type]


def test_what_cannot_be_saved_is_refused_with_the_reason(tmp_path: Path) -> None:
    X = people.frame(30)
    with pytest.raises(AttainError, match="reference must be 'rows' or 'none', got 'all'"):
        fitted("GrowingSpheres").save(tmp_path / "e.attain", reference="all")
    with pytest.raises(AttainError, match="cannot be saved"):
        attain.GrowingSpheres(people.schema()).fit(X, [pd.Timestamp(0)] * 30).save(tmp_path / "e.attain")
    with pytest.raises(AttainError, match="budget is a"):
        copy.copy(fitted("GrowingSpheres")).set_params(budget={1, 2}).save(tmp_path / "e.attain")
    assert list(tmp_path.iterdir()) == []


# nothing but what was written


def refusal(content: bytes, path: Path) -> str:
    """The sentence with which these bytes are refused, by `load` and by `inspect`."""
    path.write_bytes(content)
    with pytest.raises(FileError) as loading:
        attain.load(path)
    # `inspect` builds nothing, so it may miss what only building shows; it must not raise anything else
    with contextlib.suppress(FileError):
        persistence.inspect(path)
    assert str(path) in str(loading.value)
    return str(loading.value)


def test_a_file_cut_short_anywhere_is_refused(tmp_path: Path, saved: bytes) -> None:
    for length in np.linspace(0, len(saved) - 1, 40).astype(int):
        assert "refused" in refusal(saved[:length], tmp_path / "cut.attain")


def test_a_file_with_any_byte_changed_is_refused(tmp_path: Path, saved: bytes) -> None:
    random = np.random.default_rng(0)
    places = {*random.integers(0, len(saved), 150).tolist(), *range(40), *range(len(saved) - 340, len(saved))}
    for place in sorted(places):
        altered = bytearray(saved)
        altered[place] ^= 1 << int(random.integers(8))
        assert "refused" in refusal(bytes(altered), tmp_path / "altered.attain")


def test_bytes_before_or_after_are_refused(tmp_path: Path, saved: bytes) -> None:
    for content in (saved + b"\0", b"\0" + saved, b"#!/bin/sh\n" + saved, saved + saved):
        assert "refused" in refusal(content, tmp_path / "more.attain")


@pytest.mark.parametrize(
    "content",
    [b"", b"PK", b"\x93NUMPY", b"{}", pickle.dumps({"a": 1}), b"PK\x05\x06" + bytes(18), os.urandom(5000)],
    ids=["empty", "two bytes", "npy", "json", "pickle", "empty zip", "random"],
)
def test_a_foreign_file_is_refused(content: bytes, tmp_path: Path) -> None:
    assert "not written by `save`" in refusal(content, tmp_path / "foreign.attain")


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="there is no file"):
        attain.load(tmp_path / "none.attain")
    with pytest.raises(FileError, match="is not a regular file"):
        attain.load(tmp_path)


def zipped(parts: list[tuple[str, bytes]], compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in parts:
            archive.writestr(zipfile.ZipInfo(name), data, compress_type=compression)
        archive.comment = bytes(container._SEAL_LENGTH)
    return resealed(buffer.getvalue())


def test_a_forger_who_changes_nothing_is_let_through(tmp_path: Path, saved: bytes) -> None:
    (tmp_path / "same.attain").write_bytes(forged(saved, lambda parts: None))
    assert isinstance(attain.load(tmp_path / "same.attain"), attain.GrowingSpheres)


def test_compressed_members_are_refused(tmp_path: Path, saved: bytes) -> None:
    content = zipped(list(members(saved).items()), zipfile.ZIP_DEFLATED)
    assert "compressed" in refusal(content, tmp_path / "bomb.attain")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_stands_twice_is_refused(tmp_path: Path, saved: bytes) -> None:
    parts = list(members(saved).items())
    assert "two members" in refusal(zipped([*parts, parts[1]]), tmp_path / "twice.attain")


@pytest.mark.parametrize(
    "name", ["../../evil.py", "/etc/passwd", "C:\\evil.exe", "evil.pkl", "explainer.json/", "a\0b"]
)
def test_members_of_other_names_are_refused_and_never_written(name: str, tmp_path: Path, saved: bytes) -> None:
    content = forged(saved, lambda parts: parts.update({name: b"evil"}))
    assert "refused" in refusal(content, tmp_path / "evil.attain")
    assert [path.name for path in tmp_path.iterdir()] == ["evil.attain"]


def test_a_member_that_claims_to_be_huge_is_refused_before_memory_is_allocated(tmp_path: Path, saved: bytes) -> None:
    huge = (2**32 - 2).to_bytes(4, "little")
    parts = members(saved)
    content = bytearray(container.sealed(parts))
    at = content.rindex(b"PK\x01\x02")  # the last entry of the directory: compressed size at 20, size at 24
    content[at + 20 : at + 24] = huge
    content[at + 24 : at + 28] = huge
    assert "larger than the file" in refusal(resealed(bytes(content)), tmp_path / "huge.attain")


def test_an_array_that_claims_to_be_huge_is_refused(tmp_path: Path, saved: bytes) -> None:
    def claim(parts: dict[str, bytes]) -> None:
        header = json.dumps(
            {"table": {"dtype": "F64", "shape": [2**40, 13], "data_offsets": [0, 8 * 13 * 2**40]}}
        ).encode()
        parts[container.ARRAYS] = len(header).to_bytes(8, "little") + header

    assert "cannot be read" in refusal(forged(saved, claim), tmp_path / "claim.attain")


class Bomb:
    """What a pickle would run."""

    def __reduce__(self) -> Any:
        return os.system, ("touch bombed",)


@pytest.mark.parametrize("member", ["explainer.json", "schema.toml", container.ARRAYS, container.MANIFEST])
def test_a_pickle_in_disguise_is_refused_and_not_run(
    member: str, tmp_path: Path, saved: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    content = forged(saved, lambda parts: parts.update({member: pickle.dumps(Bomb())}))
    assert "refused" in refusal(content, tmp_path / "bomb.attain")
    assert "refused" in refusal(pickle.dumps(Bomb()), tmp_path / "plain.attain")
    assert not (tmp_path / "bombed").exists()


def in_json(member: str, change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, bytes]], None]:
    def apply(parts: dict[str, bytes]) -> None:
        content = json.loads(parts[member])
        change(content)
        parts[member] = json.dumps(content).encode()

    return apply


def in_arrays(change: Callable[[dict[str, np.ndarray]], object]) -> Callable[[dict[str, bytes]], None]:
    def apply(parts: dict[str, bytes]) -> None:
        from safetensors.numpy import load, save

        arrays = load(parts[container.ARRAYS])
        change(arrays)
        parts[container.ARRAYS] = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})

    return apply


@pytest.fixture(scope="module")
def saved_guarded(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of an explainer that has calibration rows."""
    path = tmp_path_factory.mktemp("saved") / "guarded.attain"
    calibrated([True, False] * 30).save(path)
    return path.read_bytes()


def calibrated(labels: list[Any]) -> attain.Guarded:
    """Fitted with calibration rows, half of each label."""
    explainer = small_network()
    X = explainer.population_.table.layout.frame(explainer.population_.values)
    guarded = attain.Guarded(explainer.population_.schema)
    return guarded.fit(X, labels, calibration=(X.iloc[:40], labels[:40]))


@pytest.mark.parametrize(
    "labels", [(True, False), (0, 1), (0.5, 1.5), ("ä\n", '"'), (np.int64(3), np.int64(4)), (None, "x")]
)
def test_labels_of_every_kind_and_calibration_rows_come_back(labels: tuple[Any, Any], tmp_path: Path) -> None:
    explainer = calibrated(list(labels) * 30)
    explainer.save(tmp_path / "guarded.attain")
    loaded = attain.load(tmp_path / "guarded.attain")
    assert isinstance(loaded, attain.Guarded)
    assert loaded.calibration_ is not None
    assert explainer.calibration_ is not None
    assert loaded.calibration_.values.tobytes() == explainer.calibration_.values.tobytes()
    assert loaded.calibration_.labels is not None
    assert loaded.calibration_.labels.tolist() == list(labels) * 20
    kinds = [type(label) for label in explainer.population_.labels]
    assert [type(label) for label in loaded.calibration_.labels] == kinds[:40]
    assert loaded.population_.labels.tolist() == list(labels) * 30
    assert [type(label) for label in loaded.population_.labels] == kinds
    given = np.array(labels).tolist() * 30
    assert [type(label) for label in loaded.population_.labels.tolist()] == [type(label) for label in given]


FORGERS = {container.ARRAYS: in_arrays, "parts": lambda change: change}
"""What a change is of: the arrays, all members as bytes, or else a JSON text."""
FORGERIES = {
    (file, name): FORGERS.get(member, partial(in_json, member))(eval(change))
    for heading, name, change in under_headings(Path(__file__).with_name("forgeries.txt"))
    for file, member in [heading.split(": ")]
}


@pytest.mark.parametrize(("file", "name"), FORGERIES)
def test_a_file_that_save_cannot_have_written_is_refused(
    file: str, name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    content = forged(request.getfixturevalue(file), FORGERIES[file, name])
    assert "refused" in refusal(content, tmp_path / "forged.attain")
