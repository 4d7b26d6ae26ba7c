"""Autoencoders, the paper's CHVAE among them, and a contract for others.

They are imported when they are first used. Training needs JAX, the extra `autoencoders`; trained ones are NumPy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from attain.density.autoencoder import Autoencoder, Codes

if TYPE_CHECKING:
    from attain.density.aae import AAE
    from attain.density.beta_vae import BetaVAE
    from attain.density.chvae import CHVAE
    from attain.density.cvae import CVAE
    from attain.density.hivae import HIVAE
    from attain.density.network import row_product
    from attain.density.vae import VAE
    from attain.density.vaeac import VAEAC
    from attain.density.wae import WAE

_HOMES = {
    "AAE": "aae",
    "BetaVAE": "beta_vae",
    "CHVAE": "chvae",
    "CVAE": "cvae",
    "HIVAE": "hivae",
    "VAE": "vae",
    "VAEAC": "vaeac",
    "WAE": "wae",
    "row_product": "network",
}

__all__ = [
    "AAE", "CHVAE", "CVAE", "HIVAE", "VAE", "VAEAC", "WAE", "Autoencoder", "BetaVAE", "Codes", "row_product",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'attain.density' has no attribute {name!r}")
    value = getattr(import_module(f"attain.density.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
