"""Densities of tables, under one contract: trees, a Gaussian copula, and any autoencoder behind an adapter.

Models are imported when they are first used: only the adapter's default autoencoder needs JAX.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from attain.density.densities.contract import Density

if TYPE_CHECKING:
    from attain.density.densities.autoencoder import AutoencoderDensity
    from attain.density.densities.copula import GaussianCopula
    from attain.density.densities.tree import TreeDensity

_HOMES = {"AutoencoderDensity": "autoencoder", "GaussianCopula": "copula", "TreeDensity": "tree"}

__all__ = ["AutoencoderDensity", "Density", "GaussianCopula", "TreeDensity"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'attain.densities' has no attribute {name!r}")
    value = getattr(import_module(f"attain.density.densities.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
