"""Points in shells of the l2 norm."""

from __future__ import annotations

import numpy as np


def directions(normal: np.ndarray) -> np.ndarray:
    """Standard normal vectors (last axis) scaled to length 1: uniform on the unit sphere of the l2 norm."""
    length = np.linalg.norm(normal, axis=-1, keepdims=True)
    return np.divide(normal, length, out=np.zeros_like(normal), where=length > 0)


def volume_uniform_radii(
    uniform: np.ndarray, inner: np.ndarray, outer: np.ndarray, dimensions: np.ndarray
) -> np.ndarray:
    """Radii of points uniform in the volume of the shell, by the inverse distribution function.

    ρ = (r₁ᵏ + u (r₂ᵏ − r₁ᵏ))^{1/k}, written with the ratio r₁/r₂ so that no power overflows in many dimensions.
    """
    k = np.maximum(dimensions, 1)
    hollow = np.where(outer > 0, inner / np.where(outer > 0, outer, 1.0), 0.0) ** k
    return outer * (hollow + uniform * (1.0 - hollow)) ** (1.0 / k)
