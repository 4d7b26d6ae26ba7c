"""Densities of columns, one small file each; add your own with `register`."""

from attain.density.likelihoods.base import (
    Array,
    Family,
    Likelihood,
    Parameters,
    Standardised,
    Support,
    likelihood_of,
    namespace,
    register,
    registered,
)
from attain.density.likelihoods.binned import Binned
from attain.density.likelihoods.categorical import Categorical
from attain.density.likelihoods.gaussian import Gaussian
from attain.density.likelihoods.lognormal import LogNormal
from attain.density.likelihoods.ordinal import Ordinal
from attain.density.likelihoods.poisson import Poisson
from attain.density.likelihoods.truncated_normal import TruncatedNormal

__all__ = [
    "Array", "Binned", "Categorical", "Family", "Gaussian", "Likelihood", "LogNormal", "Ordinal", "Parameters",
    "Poisson", "Standardised", "Support", "TruncatedNormal", "likelihood_of", "namespace", "register", "registered",
]  # fmt: skip
