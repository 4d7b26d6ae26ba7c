"""Density models: autoencoders, the paper's CHVAE among them, trees and a copula, and contracts for others.

Models are imported when they are first used: the contract alone does not need JAX.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from attain.density.autoencoder import Autoencoder, Codes

if TYPE_CHECKING:
    from attain.density.chvae import CHVAE, CVAE, VAE
    from attain.density.tiles import TILE, in_tiles

_HOMES = {"CHVAE": "chvae", "CVAE": "chvae", "TILE": "tiles", "VAE": "chvae", "in_tiles": "tiles"}

__all__ = ["CHVAE", "CVAE", "TILE", "VAE", "Autoencoder", "Codes", "in_tiles"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'attain.density' has no attribute {name!r}")
    value = getattr(import_module(f"attain.density.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
