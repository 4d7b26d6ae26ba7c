"""Density models with a latent space: the paper's CHVAE, and CVAE and VAE as its special cases."""

from attain.autoencoders.base import Autoencoder, Codes
from attain.autoencoders.chvae import CHVAE, CVAE, VAE
from attain.autoencoders.compiled import decode_matrix
from attain.autoencoders.tiles import TILE

__all__ = ["CHVAE", "CVAE", "TILE", "VAE", "Autoencoder", "Codes", "decode_matrix"]
