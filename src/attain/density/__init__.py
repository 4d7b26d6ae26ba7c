"""Autoencoders, the paper's CHVAE among them, and a contract for others.

They are imported when they are first used. Training needs JAX, the extra `autoencoders`; trained ones are NumPy.
"""

from typing import TYPE_CHECKING

from attain.core import lazy

if TYPE_CHECKING:
    from attain.density.estimator import Autoencoder, Codes
    from attain.density.family import AAE, CHVAE, CVAE, HIVAE, VAE, VAEAC, WAE, BetaVAE
    from attain.density.network import row_product

__all__ = [
    "AAE", "CHVAE", "CVAE", "HIVAE", "VAE", "VAEAC", "WAE", "Autoencoder", "BetaVAE", "Codes", "row_product",
]  # fmt: skip

_HOMES = {
    **dict.fromkeys(__all__, "family"),
    "Autoencoder": "estimator",
    "Codes": "estimator",
    "row_product": "network",
}
__getattr__, __dir__ = lazy(__name__, __all__, _HOMES)
