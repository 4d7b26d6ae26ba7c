"""Densities of columns; add your own with `register`."""

from attain.density.likelihoods.base import (
    Array,
    Family,
    Likelihood,
    Parameters,
    Standardised,
    likelihood_of,
    namespace,
    register,
    registered,
)
from attain.density.likelihoods.binned import Binned
from attain.density.likelihoods.levels import Categorical, Ordinal
from attain.density.likelihoods.numbers import Gaussian, LogNormal, Poisson, TruncatedNormal

__all__ = [
    "Array", "Binned", "Categorical", "Family", "Gaussian", "Likelihood", "LogNormal", "Ordinal", "Parameters",
    "Poisson", "Standardised", "TruncatedNormal", "likelihood_of", "namespace", "register", "registered",
]  # fmt: skip
