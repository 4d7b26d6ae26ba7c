"""An autoencoder from outside the package: it keeps the contract, is searched, saved and loaded."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone

import attain
from attain.core.errors import FileError
from attain.datasets import make_blobs
from attain.methods import REVISE
from attain.schema import Schema
from attain.testing import check_autoencoder, people
from attain.testing.explainer import digest
from tests.density.outside import DifferentiablePCA, ProbabilisticPCA


@pytest.mark.parametrize("kind", [ProbabilisticPCA, DifferentiablePCA])
def test_it_keeps_the_contract(kind: Any) -> None:
    check_autoencoder(kind)


def test_its_density_is_that_of_scipy() -> None:
    data = make_blobs(500)
    model = ProbabilisticPCA(data.schema, units=1).fit(data.X)
    points = model._points(data.X.to_numpy())
    covariance = model.weights_ @ model.weights_.T + model.noise_ * np.eye(2)
    truth = multivariate_normal(model.centre_, covariance).logpdf(points)
    assert np.allclose(model.log_density(data.X.to_numpy()), truth)


class Crooked(DifferentiablePCA):
    """Breaks the contract in one place."""

    fault = ""

    def __init__(self, schema: Schema, units: int = 2, fault: str = "") -> None:
        super().__init__(schema, units)
        self.fault = fault

    def encode(self, X: np.ndarray) -> Any:
        codes = super().encode(X)
        return codes._replace(z=codes.z + len(X)) if self.fault == "company" else codes

    def decode(self, codes: Any) -> np.ndarray:
        cells = super().decode(codes)
        return cells + 0.5 if self.fault == "levels" else cells

    def decode_vjp(self, codes: Any, gradient: np.ndarray) -> np.ndarray:
        return super().decode_vjp(codes, gradient) * (2 if self.fault == "gradient" else 1)

    def restore(self, facts: Any, arrays: Any) -> Any:
        super().restore(facts, arrays)
        self.centre_ = self.centre_ + (self.fault == "restore")
        return self

    @property
    def active_units(self) -> np.ndarray:
        return super().active_units.astype(int if self.fault == "units" else bool)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("company", "depends on the rows beside it"),
        ("levels", "not the position of a level"),
        ("gradient", "decode_vjp differs"),
        ("restore", "the restored model gives other codes"),
        ("units", "active_units has the type"),
    ],
)
def test_the_suite_finds_each_fault(fault: str, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_autoencoder(lambda schema: Crooked(schema, fault=fault))


@pytest.fixture(scope="module")
def credit() -> tuple[pd.DataFrame, pd.Series, Any, pd.DataFrame]:
    X = people.frame(200)
    y = people.labels(X)
    model = people.linear_model(X, y)
    others = people.frame(60, seed=7)
    return X, y, model, others[model.predict(others) == people.REFUSED].iloc[:5]


@pytest.mark.parametrize("method", [attain.CCHVAE, REVISE])
def test_it_is_searched_saved_and_loaded(method: Any, credit: Any, tmp_path: Path) -> None:
    X, y, model, refused = credit
    explainer = method(people.schema(), budget=3000, autoencoder=ProbabilisticPCA(people.schema(), units=4)).fit(X, y)
    result = explainer.explain(model, refused, target=people.DESIRED)
    assert result.found.all()
    path = tmp_path / "e.attain"
    explainer.save(path)
    with pytest.raises(FileError, match=r"PCA.*trusted="):
        attain.load(path)
    with pytest.raises(FileError, match=r"trusted="):
        attain.load(path, trusted=[DifferentiablePCA])
    loaded: Any = attain.load(path, trusted=[ProbabilisticPCA])
    assert loaded.autoencoder.units == 4
    assert digest(loaded.explain(model, refused, target=people.DESIRED)) == digest(result)


def test_revise_follows_its_gradient(credit: Any) -> None:
    X, y, model, refused = credit
    schema = people.schema()
    exact = REVISE(schema, autoencoder=DifferentiablePCA(schema, units=4), method="gradient").fit(X, y)
    assert exact.explain(model, refused, target=people.DESIRED).found.any()


def test_a_fitted_one_is_used_as_it_is_and_another_is_cloned(credit: Any) -> None:
    X, *_ = credit
    fitted = ProbabilisticPCA(people.schema()).fit(X)
    assert attain.CCHVAE(people.schema(), autoencoder=fitted).fit(X).autoencoder_ is fitted
    unfitted = ProbabilisticPCA(people.schema())
    assert isinstance(attain.CCHVAE(people.schema(), autoencoder=unfitted).fit(X).autoencoder_, ProbabilisticPCA)
    assert not hasattr(unfitted, "schema_")
    assert clone(attain.CCHVAE(people.schema(), autoencoder=fitted)).autoencoder.units == 2
