"""The densities: conformance, known answers, conditioning on any columns, files."""

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from attain import densities
from attain.core.errors import AttainError, DataError, FileError
from attain.density.densities.growing import Limits, grow
from attain.density.uniforms import draw_keys, row_keys, uniforms
from attain.schema import Feature, Schema
from attain.tables import Table
from attain.testing import check_density
from attain.testing.tables import SCHEMA, example
from tests.both_paths import same_bytes

PAIR = Schema((Feature("x", "categorical", levels=("a", "b")), Feature("y", "categorical", levels=("a", "b"))))


@pytest.mark.parametrize("parameters", [{}, {"trees": 3}, {"max_depth": 0}], ids=str)
def test_tree_density_conforms(parameters: dict[str, Any]) -> None:
    check_density(lambda schema: densities.TreeDensity(schema, **parameters))


def test_gaussian_copula_conforms() -> None:
    check_density(densities.GaussianCopula)


@pytest.mark.slow
def test_an_autoencoder_conforms() -> None:
    from attain.density import CHVAE

    check_density(
        lambda schema: densities.AutoencoderDensity(
            schema, autoencoder=CHVAE(schema, hidden=0, epochs=2, latent_dim=1, verbose=False), samples=5
        )
    )


def test_trees_and_copulas_need_no_jax() -> None:
    code = "import sys; from attain.density.densities import *; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="has no attribute 'Tree'"):
        _ = densities.Tree
    assert "TreeDensity" in dir(densities)


def test_without_splits_the_marginals_are_those_of_krichevsky_and_trofimov() -> None:
    values = np.array([[0.0, 0.0]] * 6 + [[1.0, 0.0]] * 3)
    model = densities.TreeDensity(PAIR, max_depth=0).fit(values)
    expected = np.log([6.5 / 10 * 9.5 / 10, 3.5 / 10 * 0.5 / 10])
    assert model.log_density(np.array([[0.0, 0.0], [1.0, 1.0]])) == pytest.approx(expected, rel=1e-6)


def test_a_split_backs_off_to_the_root() -> None:
    values = np.array([[0.0, 0.0]] * 40 + [[0.0, 1.0]] * 2 + [[1.0, 1.0]] * 50)
    schema = PAIR.change("x", immutable=True)
    model = densities.TreeDensity(schema, leaf=10, smoothing=8.0).fit(values)
    assert model.order_ == ["x", "y"]
    root = 52.5 / 93  # of y = b
    expected = np.log([(2 + 8 * root) / (42 + 8), (50 + 8 * root) / (50 + 8)])
    assert model.log_density(np.array([[0.0, 1.0], [1.0, 1.0]])) == pytest.approx(expected, rel=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 8))
def test_the_first_split_is_the_best_of_all(seed: int, smallest: int) -> None:
    generator = np.random.default_rng(seed)
    groups = generator.integers(0, 4, (60, 3)).astype(np.int16)
    classes = ((groups[:, seed % 3] > 1) ^ (generator.random(60) < 0.3)).astype(np.int16)
    unordered = np.array([False, True, False])
    tree = grow(groups, [4, 4, 4], unordered, [0, 1, 2], classes, Limits(smallest, 1)).tree

    def gain(column: int, group: int) -> float:
        left = groups[:, column] == group if unordered[column] else groups[:, column] <= group
        if min(left.sum(), (~left).sum()) < smallest:
            return 0.0
        parts = [(classes[side], side.sum()) for side in (left, ~left)]
        within = sum(size * stats.entropy(np.bincount(part, minlength=2)) for part, size in parts)
        return float(60 * stats.entropy(np.bincount(classes, minlength=2)) - within)

    best = max(gain(column, group) for column in range(3) for group in range(4))
    if best > 1e-9:
        assert gain(int(tree.column[0]), int(tree.group[0])) == pytest.approx(best)
        assert np.bincount(tree.leaf(groups, unordered)).min() >= smallest


def test_dependence_is_learned() -> None:
    generator = np.random.default_rng(0)
    schema = Schema((Feature("x", "real"), Feature("y", "real")))
    x = generator.normal(size=4000)
    values = np.column_stack([x, 0.9 * x + np.sqrt(1 - 0.81) * generator.normal(size=4000)])
    fresh = generator.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], 2000)
    truth = stats.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]]).logpdf(fresh).mean()
    apart = densities.TreeDensity(schema, max_depth=0).fit(values).log_density(fresh).mean()
    tree = densities.TreeDensity(schema).fit(values)
    copula = densities.GaussianCopula(schema).fit(values)
    assert truth - apart == pytest.approx(-0.5 * np.log(1 - 0.81), abs=0.1)
    assert tree.log_density(fresh).mean() > truth - 0.2
    assert copula.log_density(fresh).mean() > truth - 0.06
    for model in (tree, copula):
        draws = model.sample(values[:1], 4000, given=())
        assert np.corrcoef(draws.T)[0, 1] == pytest.approx(0.9, abs=0.03 if model is copula else 0.06)
        held = model.sample(np.array([[1.5, 0.0]]), 2000, given=["x"])[:, 1]
        assert held.mean() == pytest.approx(1.35, abs=0.1)
        held = model.sample(np.array([[0.0, 1.5]]), 2000, given=["y"])[:, 0]
        assert held.mean() == pytest.approx(1.35, abs=0.1), "columns that come first in the order are drawn as well"


def test_boxes_of_the_copula_have_the_probability_of_a_normal() -> None:
    generator = np.random.default_rng(0)
    schema = Schema(tuple(Feature(name, "ordinal", levels=("0", "1", "2")) for name in "xy"))
    scores = generator.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], 3000)
    values = np.digitize(scores, [-0.5, 0.8]).astype(np.float64)
    model = densities.GaussianCopula(schema, draws=512).fit(values)
    cells = np.array([[i, j] for i in range(3) for j in range(3)], dtype=np.float64)
    normal = stats.multivariate_normal([0, 0], model._correlation)
    cuts = [np.r_[-9, stats.norm.ppf(np.cumsum(model._shares[j][1:])[:-1]), 9] for j in range(2)]
    expected = [
        normal.cdf([cuts[0][i + 1], cuts[1][j + 1]], lower_limit=[cuts[0][i], cuts[1][j]]) for i, j in cells.astype(int)
    ]
    assert np.exp(model.log_density(cells)) == pytest.approx(np.array(expected), abs=2e-3)


def test_particles_estimate_what_enumeration_gives() -> None:
    generator = np.random.default_rng(0)
    features = [Feature(name, "categorical", levels=("a", "b", "c")) for name in "xyz"]
    schema = Schema(tuple(features))
    x = generator.integers(0, 3, 500)
    y = (x + (generator.random(500) < 0.3)) % 3
    values = np.column_stack([x, y, (x + y) % 3]).astype(np.float64)
    model = densities.TreeDensity(schema, particles=20_000).fit(values)
    last = model.order_[-1]
    every = np.array([[i, j, k] for i in range(3) for j in range(3) for k in range(3)], dtype=np.float64)
    joint = np.exp(model.log_density(every, given=()))
    column = every[:, schema.position(last)]
    exact = joint / np.array([joint[column == own].sum() for own in column])
    assert np.exp(model.log_density(every, given=[last])) == pytest.approx(exact, rel=0.03)


def test_derived_columns_are_computed_and_cannot_be_given() -> None:
    schema = Schema(
        (
            Feature("debt", "count"),
            Feature("income", "count", bounds=(1, None)),
            Feature("ratio", "real", derived="debt / income"),
        )
    )
    generator = np.random.default_rng(0)
    debt, income = generator.poisson(5, 200), 1 + generator.poisson(9, 200)
    frame = pd.DataFrame({"debt": debt, "income": income, "ratio": debt / income})
    for model in (densities.TreeDensity(schema).fit(frame), densities.GaussianCopula(schema).fit(frame)):
        draws = model.sample(frame.head(3), 5)
        assert np.array_equal(draws[:, 2], draws[:, 0] / draws[:, 1])
        with pytest.raises(DataError, match="derived columns: 'ratio'"):
            model.sample(frame, given=["ratio"])


def test_what_cannot_be_asked_is_refused_in_a_sentence() -> None:
    frame = example()
    model = densities.TreeDensity(SCHEMA)
    with pytest.raises(AttainError, match="leaf must be an integer ≥ 1, got 0"):
        densities.TreeDensity(SCHEMA, leaf=0).fit(frame)
    with pytest.raises(AttainError, match="smoothing must be a number > 0, got 0"):
        densities.TreeDensity(SCHEMA, smoothing=0).fit(frame)
    with pytest.raises(DataError, match=r"schema must be an attain\.Schema"):
        densities.TreeDensity("heloc").fit(frame)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="X has 1 rows"):
        model.fit(frame.head(1))
    model.fit(frame)
    with pytest.raises(DataError, match="got the string 'age'"):
        model.log_density(frame, given="age")
    with pytest.raises(DataError, match="does not have: 'ages'"):
        model.log_density(frame, given=["ages"])
    with pytest.raises(AttainError, match="n must be an integer ≥ 1"):
        model.sample(frame, 0)
    unknown = Schema((*SCHEMA.features[:1], Feature("b", "count")))
    facts, arrays = model.state()
    with pytest.raises(FileError, match=r"TreeDensity of this schema|states of column"):
        densities.TreeDensity(unknown).restore(facts, arrays)


@pytest.mark.parametrize("damage", ["order", "nodes", "mass", "groups"])
def test_files_that_do_not_fit_are_refused(damage: str) -> None:
    facts, arrays = densities.TreeDensity(SCHEMA).fit(example()).state()
    if damage == "order":
        facts = {"order": [0, 0]}
    for name in [name for name in arrays if damage in name]:
        changed = arrays[name].copy()
        changed.flat[:] = 10_000
        arrays[name] = changed[:-1] if damage == "mass" else changed
    with pytest.raises(FileError):
        densities.TreeDensity(SCHEMA).restore(facts, arrays)


def test_autoencoders_are_given_the_immutable_columns_only() -> None:
    model = densities.AutoencoderDensity(SCHEMA)
    model.schema_ = SCHEMA
    with pytest.raises(DataError, match=r"given the immutable columns \('age'\) and no others"):
        model.sample(example(), given=["home"])


def test_uniform_numbers_are_uniform_and_depend_on_the_row_alone() -> None:
    rows = np.random.default_rng(0).normal(size=(5000, 3))
    rows[0, 0], rows[1] = 0.0, rows[0]
    rows[1, 0] = -0.0
    keys = row_keys(rows, 7)
    assert keys[0] == keys[1]
    assert np.array_equal(row_keys(rows[17:18], 7), keys[17:18])
    assert not np.array_equal(row_keys(rows, 8), keys)
    own = draw_keys(keys, 3)
    assert len(np.unique(own)) == len(np.unique(keys)) * 3
    first, second = uniforms(own, 0), uniforms(own, 1)
    assert stats.kstest(first, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.03
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 0.03
    assert 0 <= first.min() <= first.max() < 1


@pytest.mark.parametrize("parameters", [{}, {"trees": 3}, {"max_depth": 0}], ids=str)
def test_the_kernel_gives_the_bytes_of_numpy(parameters: dict[str, Any]) -> None:
    model = densities.TreeDensity(SCHEMA, leaf=5, **parameters).fit(example(rows=300))
    odd = Table.read(example(rows=120, seed=1), SCHEMA).values
    odd[::7, SCHEMA.position("age")] = np.nan  # a cell that is never missing in the training rows
    every: tuple[str, ...] = SCHEMA.names
    for names in (None, (), ("age", "home"), every):
        same_bytes(lambda names=names: model.log_density(odd, given=names))
    for rows in (odd[:1], odd[:0]):
        same_bytes(lambda rows=rows: model.log_density(rows))
