"""Autoencoders, the paper's CHVAE among them, and a contract for others.

They are imported when they are first used. Training needs JAX, the extra `autoencoders`; trained ones are NumPy.
"""

from typing import TYPE_CHECKING

from attain.core import lazy

if TYPE_CHECKING:
    from attain.density.autoencoder import Autoencoder, Codes
    from attain.density.chvae import CHVAE
    from attain.density.family import AAE, CVAE, HIVAE, VAE, WAE, BetaVAE
    from attain.density.network import row_product
    from attain.density.vaeac import VAEAC

__all__ = [
    "AAE", "CHVAE", "CVAE", "HIVAE", "VAE", "VAEAC", "WAE", "Autoencoder", "BetaVAE", "Codes", "row_product",
]  # fmt: skip

_HOMES = {
    **dict.fromkeys(__all__, "family"),
    "Autoencoder": "autoencoder",
    "CHVAE": "chvae",
    "Codes": "autoencoder",
    "VAEAC": "vaeac",
    "row_product": "network",
}
__getattr__, __dir__ = lazy(__name__, __all__, _HOMES)
