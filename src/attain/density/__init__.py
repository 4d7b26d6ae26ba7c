"""Density models: autoencoders, the paper's CHVAE among them, trees and a copula, and contracts for others.

Models are imported when they are first used: only autoencoders need JAX, the extra `autoencoders`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from attain.core.errors import MissingExtraError
from attain.density.autoencoder import Autoencoder, Codes

if TYPE_CHECKING:
    from attain.density.chvae import CHVAE, CVAE, VAE
    from attain.density.tiles import TILE, in_tiles

_HOMES = {"CHVAE": "chvae", "CVAE": "chvae", "TILE": "tiles", "VAE": "chvae", "in_tiles": "tiles"}

_EXTRA = {"jax", "jaxlib", "equinox", "optax"}

__all__ = ["CHVAE", "CVAE", "TILE", "VAE", "Autoencoder", "Codes", "in_tiles"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'attain.density' has no attribute {name!r}")
    try:
        value = getattr(import_module(f"attain.density.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        raise MissingExtraError(
            f"{name} needs JAX, which is not installed: pip install 'attain[autoencoders]'"
        ) from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
