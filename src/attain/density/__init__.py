"""Autoencoders, the paper's CHVAE among them, and a contract for others.

They are imported when they are first used. Training needs JAX, the extra `autoencoders`; trained ones are NumPy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from attain.density.autoencoder import Autoencoder, Codes

if TYPE_CHECKING:
    from attain.density.chvae import CHVAE
    from attain.density.family import AAE, CVAE, HIVAE, VAE, WAE, BetaVAE
    from attain.density.network import row_product
    from attain.density.vaeac import VAEAC

_HOMES = {"CHVAE": "chvae", "VAEAC": "vaeac", "row_product": "network"}
"""Where a name is; all others are in `family`."""

__all__ = [
    "AAE", "CHVAE", "CVAE", "HIVAE", "VAE", "VAEAC", "WAE", "Autoencoder", "BetaVAE", "Codes", "row_product",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'attain.density' has no attribute {name!r}")
    value = getattr(import_module(f"attain.density.{_HOMES.get(name, 'family')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
