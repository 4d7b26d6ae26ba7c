"""An autoencoder written outside the package, on NumPy alone: probabilistic PCA of standardised and one-hot columns."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from attain.density import Codes, row_product
from attain.schema import Schema
from attain.tables import Table


class ProbabilisticPCA(BaseEstimator):
    """x = W z + μ + ε with z ~ N(0, I), ε ~ N(0, σ²): the posterior mean encodes, and the density has a closed form."""

    def __init__(self, schema: Schema, units: int = 2) -> None:
        self.schema = schema
        self.units = units

    def fit(self, X: Any, y: Any = None) -> Self:
        values = X if isinstance(X, np.ndarray) else Table.read(X, self.schema).values
        free = values[:, self.schema.free_columns]
        self.mean_ = np.nan_to_num(np.nanmean(free, axis=0))
        self.scale_ = np.maximum(np.nan_to_num(np.nanstd(free, axis=0)), 1e-6)
        points = self._points(values)
        self.centre_ = points.mean(axis=0)
        variances, directions = np.linalg.eigh(np.cov(points - self.centre_, rowvar=False))
        k = min(self.units, len(variances) - 1)
        self.noise_ = np.array([max(variances[:-k].mean(), 1e-6)])
        self.weights_ = directions[:, -k:] * np.sqrt(np.maximum(variances[-k:] - self.noise_, 0))
        self.schema_ = self.schema
        return self

    @property
    def active_units(self) -> np.ndarray:
        return np.asarray((self.weights_**2).sum(axis=0) > 1e-9)

    def encode(self, X: np.ndarray) -> Codes:
        inverse = np.linalg.inv(self.weights_.T @ self.weights_ + self.noise_ * np.eye(self.weights_.shape[1]))
        z = row_product(self._points(X) - self.centre_, self.weights_ @ inverse)
        return Codes(z, np.zeros((len(X), 0)))

    def decode(self, codes: Codes) -> np.ndarray:
        points = row_product(codes.z, self.weights_.T, self.centre_)
        cells, start = [], 0
        for column, feature in enumerate(self._free()):
            width = len(feature.levels) or 1
            block = points[:, start : start + width]
            number = self.mean_[column] + self.scale_[column] * block[:, 0]
            cells.append(block.argmax(axis=1) if feature.levels else number)
            start += width
        return np.column_stack(cells).astype(np.float64)

    def log_density(self, X: np.ndarray, samples: int = 100) -> np.ndarray:
        covariance = self.weights_ @ self.weights_.T + self.noise_ * np.eye(len(self.centre_))
        root = np.linalg.inv(np.linalg.cholesky(covariance))
        z = row_product(self._points(X) - self.centre_, root.T)
        constant = np.log(np.diag(root)).sum() - 0.5 * len(root) * np.log(2 * np.pi)
        return np.asarray(constant - 0.5 * (z**2).sum(axis=1))

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return {}, {name: array for name, array in vars(self).items() if isinstance(array, np.ndarray)}

    def restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        vars(self).update(arrays, schema_=self.schema)
        return self

    def _free(self) -> list[Any]:
        return [self.schema.features[j] for j in self.schema.free_columns]

    def _points(self, values: np.ndarray) -> np.ndarray:
        """Standardised numbers and one-hot levels (n, p); a missing cell is 0."""
        parts = []
        for column, (j, feature) in enumerate(zip(self.schema.free_columns, self._free(), strict=True)):
            cells = values[:, [j]]
            number = np.nan_to_num((cells - self.mean_[column]) / self.scale_[column])
            parts.append(cells == np.arange(len(feature.levels)) if feature.levels else number)
        return np.concatenate(parts, axis=1, dtype=np.float64)


class SamplingPCA(ProbabilisticPCA):
    """With draws."""

    def sample(self, X: np.ndarray, n: int = 1, *, random_state: Any = None) -> np.ndarray:
        draws = np.repeat(X, n, axis=0)
        z = np.tile(np.random.default_rng(random_state).normal(size=(n, self.weights_.shape[1])), (len(X), 1))
        draws[:, self.schema_.free_columns] = self.decode(Codes(z, np.zeros((len(z), 0))))
        return draws


class DifferentiablePCA(ProbabilisticPCA):
    """With the gradient of the decoder, which REVISE can follow."""

    def decode_vjp(self, codes: Codes, gradient: np.ndarray) -> np.ndarray:
        rows, start = [], 0
        for column, feature in enumerate(self._free()):
            slope = self.scale_[column] * self.weights_[start]
            rows.append(0 * slope if feature.levels else slope)
            start += len(feature.levels) or 1
        return row_product(gradient, np.array(rows))
