"""Random numbers that depend on a row, not on its place in a batch; points uniform on spheres and in shells."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from attain.core.errors import AttainError


def row_keys(rows: np.ndarray, seed: int) -> list[int]:
    """128 bits from each row (n, d) and the seed: the same in every batch and process."""
    content = np.where(np.isnan(rows), np.nan, rows + 0.0).astype("<f8").tobytes()  # one NaN, and no negative zero
    width, key = 8 * rows.shape[1], seed.to_bytes(8, "little")
    return [
        int.from_bytes(
            hashlib.blake2b(content[i * width : (i + 1) * width], digest_size=16, key=key).digest(), "little"
        )
        for i in range(len(rows))
    ]


def streams(rows: np.ndarray, seed: int) -> list[np.random.Generator]:
    """One generator per row."""
    return [np.random.Generator(np.random.Philox(key=key)) for key in row_keys(rows, seed)]


def normals(generators: Sequence[np.random.Generator], shape: tuple[int, ...]) -> np.ndarray:
    """Standard normal draws, (n, *shape), one stream per row."""
    out = np.empty((len(generators), *shape))
    for i, generator in enumerate(generators):
        generator.standard_normal(out=out[i])
    return out


def uniforms(generators: Sequence[np.random.Generator], shape: tuple[int, ...]) -> np.ndarray:
    """Uniform draws from [0, 1), (n, *shape), one stream per row."""
    out = np.empty((len(generators), *shape))
    for i, generator in enumerate(generators):
        generator.random(out=out[i])
    return out


Radius: TypeAlias = Literal["uniform", "volume"]


def check_norm(norm: object) -> None:
    """Refuses an unknown norm."""
    if norm not in (1, 2, math.inf) or isinstance(norm, bool):
        raise AttainError(f"norm must be 1, 2 or infinity, got {norm!r}")


def directions(normal: np.ndarray) -> np.ndarray:
    """Standard normal vectors (last axis) scaled to length 1: uniform on the unit sphere of the l₂ norm."""
    return on_sphere(normal, 2)


def sphere(generators: Sequence[np.random.Generator], samples: int, dimensions: int, norm: float) -> np.ndarray:
    """Points uniform on the surface of the unit sphere, (n, samples, dimensions), one stream per row."""
    out = np.empty((len(generators), samples, dimensions))
    for i, generator in enumerate(generators):
        draw_on_sphere(generator, out[i], norm)
    return on_sphere(out, norm)


def draw_on_sphere(generator: np.random.Generator, out: np.ndarray, norm: float) -> None:
    """Fills `out` (samples, dimensions) with vectors that `on_sphere` makes uniform on the surface of the sphere.

    A Gaussian scaled to length 1 is uniform for l₂ only. l₁: exponential magnitudes scaled to sum 1, with random signs.
    l∞: a random face of the cube, uniform on it.
    """
    if norm == 2:
        generator.standard_normal(out=out)
    elif norm == 1:
        magnitudes = generator.standard_exponential(out.shape)
        out[:] = np.where(generator.random(out.shape) < 0.5, -magnitudes, magnitudes)
    else:
        out[:] = 2 * generator.random(out.shape) - 1
        face = generator.integers(out.shape[1], size=len(out))
        out[np.arange(len(out)), face] = np.where(generator.random(len(out)) < 0.5, -1.0, 1.0)


def on_sphere(vectors: np.ndarray, norm: float) -> np.ndarray:
    """Vectors (last axis) scaled to length 1; those of length 0 stay as they are."""
    length = norm_of(vectors, norm)[..., None]
    return np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)


def radii(
    uniform: np.ndarray, inner: np.ndarray, outer: np.ndarray, dimensions: int | np.ndarray, radius: Radius
) -> np.ndarray:
    """Radii between `inner` and `outer` from uniform numbers.

    `uniform`: uniform in length, as the paper writes. `volume`: such that points are uniform in the shell's volume, as
    the paper says; with more than one dimension the two are not the same.
    """
    if radius == "uniform":
        return inner + uniform * (outer - inner)
    return volume_uniform_radii(uniform, inner, outer, np.asarray(dimensions))


def volume_uniform_radii(
    uniform: np.ndarray, inner: np.ndarray, outer: np.ndarray, dimensions: np.ndarray
) -> np.ndarray:
    """Radii of points uniform in the volume of the shell, by the inverse distribution function.

    ρ = (r₁ᵏ + u (r₂ᵏ − r₁ᵏ))^{1/k}, written with the ratio r₁/r₂ so that no power overflows in many dimensions.
    """
    k = np.maximum(dimensions, 1)
    hollow = np.where(outer > 0, inner / np.where(outer > 0, outer, 1.0), 0.0) ** k
    return outer * (hollow + uniform * (1.0 - hollow)) ** (1.0 / k)


def norm_of(vectors: np.ndarray, norm: float) -> np.ndarray:
    """The length of each vector (last axis)."""
    if norm == 2:
        return np.sqrt(np.einsum("...k,...k->...", vectors, vectors))
    magnitudes = np.abs(vectors)
    return magnitudes.sum(axis=-1) if norm == 1 else magnitudes.max(axis=-1, initial=0.0)
