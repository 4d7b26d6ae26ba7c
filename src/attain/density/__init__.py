"""Density models: autoencoders, the paper's CHVAE among them, trees and a copula, and contracts for others.

Models are imported when they are first used: only autoencoders need JAX, the extra `autoencoders`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from attain.core.errors import MissingExtraError
from attain.density.autoencoder import Autoencoder, Codes

if TYPE_CHECKING:
    from attain.density.aae import AAE
    from attain.density.beta_vae import BetaVAE
    from attain.density.chvae import CHVAE
    from attain.density.cvae import CVAE
    from attain.density.hivae import HIVAE
    from attain.density.tiles import TILE, in_tiles
    from attain.density.vae import VAE
    from attain.density.vaeac import VAEAC
    from attain.density.wae import WAE

_HOMES = {
    "AAE": "aae",
    "BetaVAE": "beta_vae",
    "CHVAE": "chvae",
    "CVAE": "cvae",
    "HIVAE": "hivae",
    "TILE": "tiles",
    "VAE": "vae",
    "VAEAC": "vaeac",
    "WAE": "wae",
    "in_tiles": "tiles",
}

_EXTRA = {"jax", "jaxlib", "equinox", "optax"}

__all__ = [
    "AAE", "CHVAE", "CVAE", "HIVAE", "TILE", "VAE", "VAEAC", "WAE", "Autoencoder", "BetaVAE", "Codes", "in_tiles",
]  # fmt: skip


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
