"""Density models with a latent space: the paper's CHVAE, and CVAE and VAE as its special cases."""

from attain.density.base import Autoencoder, Codes
from attain.density.chvae import CHVAE, CVAE, VAE
from attain.density.compiled import decode_matrix
from attain.density.tiles import TILE

__all__ = ["CHVAE", "CVAE", "TILE", "VAE", "Autoencoder", "Codes", "decode_matrix"]
