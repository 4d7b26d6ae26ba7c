"""A plane through real rows: codes projected onto two axes, and the decisions across it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from attain.population.space import Neighbours
from attain.results.details import Plane

MOST_SHOWN: Final = 2_000
"""How many training rows are shown; more would hide one another."""
_GRID: Final = 101
"""Points on each side of the grid."""
_NEAREST: Final = 50
"""How many real people count at a point of the grid."""
_FAR: Final = 0.99
"""A point is left open if these people are farther away than those of this share of real people are."""


def spaced(number: int, most: int) -> np.ndarray:
    """At most `most` of so many positions, evenly spaced."""
    return np.unique(np.linspace(0, max(number - 1, 0), min(number, most)).round().astype(np.intp))


def plane_of(
    codes: np.ndarray,
    factuals: int,
    accepted: np.ndarray,
    latent: bool,
    decided: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Plane:
    """The plane of the codes (n + p + m, k) of n people, so many factuals p, and m options.

    `accepted` (n,) are the decisions about the people. Codes that are `latent` have axes of their own where k is 2, and
    `decided` says whether they decode to a row with the desired decision.
    """
    n = len(accepted)
    mean, axes, variance = _axes(codes[:n], latent)
    places = (codes - mean) @ axes.T
    low, high = places.min(axis=0), places.max(axis=0)
    room = 0.05 * np.maximum(high - low, 1e-9)
    grid = np.linspace(low - room, high + room, _GRID).T
    points = np.stack(np.meshgrid(*grid), axis=-1).reshape(-1, 2)
    people, own, options = np.split(places, [n, n + factuals])
    if decided is not None and variance is None:
        share, decoded = decided(points).astype(np.float64), True
    else:
        share, decoded = _nearest(people, accepted, points), False
    return Plane(people, accepted, own, options, grid, share.reshape(_GRID, _GRID), decoded, variance, latent)


def _axes(codes: np.ndarray, latent: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """The origin (k,), two axes (2, k), and the share of variance along each; latent codes' own axes where k is 2."""
    k = codes.shape[1]
    if k == 2 and latent:
        return np.zeros(2), np.eye(2), None
    mean = codes.mean(axis=0)
    _, scales, axes = np.linalg.svd(codes - mean, full_matrices=False)
    if k == 1:
        return mean, np.array([[1.0], [0.0]]), np.array([1.0, 0.0])
    # the sign of a singular vector is arbitrary: its largest entry is made positive
    axes *= np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])[:, None]
    total = max(float((scales**2).sum()), 1e-300)
    return mean, axes[:2], (scales[:2] ** 2) / total


def _nearest(people: np.ndarray, accepted: np.ndarray, points: np.ndarray) -> np.ndarray:
    """The share of the people near each point who are accepted, (g,); NaN where they are far.

    They count by a Gaussian kernel whose bandwidth h is half the distance to the last of them:

        share(x) = Σᵢ wᵢ acceptedᵢ / Σᵢ wᵢ,  wᵢ = exp(−dᵢ² / 2h²)
    """
    index, k = Neighbours(people), min(_NEAREST, len(people))
    distances, nearest = index.query(points, k)
    widths = np.maximum(distances[:, -1:] / 2, 1e-12)
    weights = np.exp(-((distances / widths) ** 2) / 2)
    share = (weights * accepted[nearest]).sum(axis=1) / weights.sum(axis=1)
    return np.where(distances[:, -1] <= np.quantile(index.query(people, k)[0][:, -1], _FAR), share, np.nan)
