"""Density models with a latent space: the paper's CHVAE, its special cases CVAE and VAE, and a contract for others."""

from attain.density.autoencoder import Autoencoder, Codes
from attain.density.chvae import CHVAE, CVAE, VAE
from attain.density.tiles import TILE, in_tiles

__all__ = ["CHVAE", "CVAE", "TILE", "VAE", "Autoencoder", "Codes", "in_tiles"]
