"""Nadaraya–Watson regression: a feature estimated as the weighted mean of nearby rows, and its slope."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_WIDTHS = (0.05, 0.07, 0.1, 0.14, 0.2, 0.28, 0.4, 0.56, 0.8)
_CELLS = 4_000_000
_ROWS_FOR_WIDTH = 1_000


@dataclass(frozen=True, eq=False)
class KernelRegression:
    """ŷ(x) = Σ Kᵢ yᵢ / Σ Kᵢ with Kᵢ = exp(−‖x − xᵢ‖² / 2σ²).

    Attributes
    ----------
    points, targets
        The training points, (N, q), and their values, (N,).
    width
        σ, the kernel's width.
    """

    points: np.ndarray
    targets: np.ndarray
    width: float

    @classmethod
    def fit(cls, points: np.ndarray, targets: np.ndarray, width: float | None = None) -> KernelRegression:
        """The regression; without a width, the one with the least leave-one-out squared error."""
        if width is None:
            some = slice(0, _ROWS_FOR_WIDTH)
            width = min(_WIDTHS, key=lambda trial: left_out_error(points[some], targets[some], trial))
        return cls(points, targets, width)

    def estimate(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The estimate at each point, (n,), and its slope in each coordinate, (n, q).

        The slope is the covariance of value and coordinate under the kernel's weights, divided by σ².
        """
        size = max(_CELLS // max(len(self.points), 1), 1)
        estimate, slope = np.empty(len(points)), np.empty_like(points)
        for start in range(0, len(points), size):
            here = slice(start, start + size)
            weights = _weights(_distances(points[here], self.points), self.width)
            valued = weights * self.targets
            estimate[here] = valued.sum(axis=1)
            slope[here] = (valued @ self.points - estimate[here, None] * (weights @ self.points)) / self.width**2
        return estimate, slope


def left_out_error(points: np.ndarray, targets: np.ndarray, width: float) -> float:
    """The mean squared error of estimating each target from all the others."""
    distances = _distances(points, points)
    np.fill_diagonal(distances, np.inf)
    if len(points) < 2:
        return 0.0
    return float(np.mean((_weights(distances, width) @ targets - targets) ** 2))


def _distances(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Squared distances, (n, N)."""
    squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)
    return np.asarray(np.maximum(squares - 2 * left @ right.T, 0.0))


def _weights(distances: np.ndarray, width: float) -> np.ndarray:
    """Kernel weights that sum to 1; shifted by the least distance, so that they never all vanish."""
    weights = np.exp((distances.min(axis=1, keepdims=True) - distances) / (2 * width**2))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
