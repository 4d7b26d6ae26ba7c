"""Explainers saved with stand-ins for their training rows: nobody's record is in the file, and answers still hold."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import NearestNeighbors

import attain
from attain import AttainError, methods
from attain.core import container
from attain.density.densities import TreeDensity
from attain.methods import persistence
from attain.population.space import MeasuringSpace
from attain.population.swapping import NEIGHBOURS, stand_ins
from attain.tables import Table
from attain.testing import people


@pytest.fixture(scope="module")
def training():
    X = people.frame()
    return X, people.labels(X)


def free_cells(rows, schema):
    """The free cells of rows as text, which is the same for equal numbers whatever their bits."""
    return {tuple(map(repr, row)) for row in (np.asarray(rows)[:, schema.free_columns] + 0.0).tolist()}


@pytest.mark.parametrize("name", ["Guarded", "NearestUnlike", "FACE"])
def test_no_array_of_the_file_has_the_free_cells_of_a_training_row(name, training, tmp_path):
    X, y = training
    given = {"calibration": (X.iloc[200:], y.iloc[200:])} if name == "Guarded" else {}
    explainer = getattr(methods, name)(people.schema(), laws=people.LAWS, budget=400)
    explainer.fit(X.iloc[:200] if given else X, y.iloc[:200] if given else y, **given)
    path = tmp_path / "e.attain"
    explainer.save(path, reference="swapped")
    kept = container.read(path, {"explainer.json", "schema.toml"})
    secret = free_cells(Table.read(X, people.schema()).values, people.schema())
    tables = [array for array in kept.arrays.values() if array.ndim == 2 and array.shape[1] == len(people.schema())]
    assert len(tables) == 1
    assert all(len(array) >= 40 and not free_cells(array, people.schema()) & secret for array in tables)
    assert persistence.inspect(path)["training_rows"] == persistence.HOLDS["swapped"]

    loaded, model = attain.load(path), people.linear_model(X, y)
    others = people.frame(60, seed=7)
    refused = others[model.predict(others) == people.REFUSED].iloc[:6]
    result = loaded.explain(model, refused, target=people.DESIRED)
    assert result.found.any()
    assert (model.predict(result.frame[result.found]) == people.DESIRED).all()
    assert any("stand-ins" in note for note in result.notes)
    assert {"outlier", "connected"} <= set(result.option_figures)
    assert result.settings["training"]["digest"] is None
    loaded.save(tmp_path / "again.attain")
    assert (tmp_path / "again.attain").read_bytes() == path.read_bytes()


def test_each_cell_is_that_of_one_of_the_nearest_other_rows_of_the_label(training):
    X, y = training
    schema = people.schema()
    values = Table.read(X, schema).values
    space, groups = MeasuringSpace.fit(schema, values), (y == people.DESIRED).to_numpy().astype(int)
    rows, made_from = stand_ins(values, groups, space, lambda rows, _: (rows, np.ones(len(rows), bool)), values, 0)
    assert len(rows) > 0.9 * len(values)
    points = space.transform(values)
    for group in (0, 1):
        members = np.flatnonzero(groups == group)
        near = NearestNeighbors(n_neighbors=NEIGHBOURS + 1).fit(points[members])
        for row, origin in zip(rows, made_from, strict=True):
            if groups[origin] == group:
                chosen = members[near.kneighbors(points[[origin]], return_distance=False)[0]]
                others = values[chosen[chosen != origin]]
                assert all(repr(cell) in map(repr, others[:, j]) for j, cell in enumerate(row))


def test_columns_with_too_few_values_to_hide_anybody_are_refused(tmp_path):
    schema = attain.Schema((attain.Feature("a", "count"), attain.Feature("b", "count")))
    X = pd.DataFrame(np.random.default_rng(0).integers(0, 3, (300, 2)), columns=["a", "b"])
    explainer = methods.NearestUnlike(schema, laws=None).fit(X)
    with pytest.raises(AttainError, match="the columns have too few different values"):
        explainer.save(tmp_path / "e.attain", reference="swapped")
    assert not (tmp_path / "e.attain").exists()


def test_a_density_that_was_fitted_on_real_rows_is_refused(training, tmp_path):
    X, y = training
    density = TreeDensity(people.schema()).fit(Table.read(X, people.schema()).values)
    explainer = attain.Guarded(people.schema(), laws=None, density=density).fit(X, y)
    with pytest.raises(AttainError, match="pass one that is not fitted"):
        explainer.save(tmp_path / "e.attain", reference="swapped")


def test_another_reference_is_refused(training, tmp_path):
    explainer = methods.NearestUnlike(people.schema(), laws=None).fit(training[0])
    with pytest.raises(AttainError, match="must be 'rows', 'swapped' or 'none', got 'thinned'"):
        explainer.save(tmp_path / "e.attain", reference="thinned")


def test_the_command_line_fits_and_saves_without_rows(tmp_path, capsys):
    from attain.cli import main

    path: Path = tmp_path / "people.csv"
    people.frame().to_csv(path, index=False)
    people.schema().to_toml(tmp_path / "schema.toml")
    out = tmp_path / "e.attain"
    arguments = ["fit", str(path), "--schema", str(tmp_path / "schema.toml"), "--out", str(out)]
    assert not main([*arguments, "--reference", "swapped"])
    assert "holds no training rows: each cell" in " ".join(capsys.readouterr().out.split())
    assert attain.load(out).kept_rows_ == "swapped"
