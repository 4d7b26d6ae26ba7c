"""Densities of columns, one small file each; `register` makes one of your own known."""

from attain.likelihoods.base import Likelihood, Parameters, Support, likelihood_of, register, registered
from attain.likelihoods.beta import Beta
from attain.likelihoods.categorical import Categorical
from attain.likelihoods.gaussian import Gaussian
from attain.likelihoods.lognormal import LogNormal, LogNormalPlusOne
from attain.likelihoods.negative_binomial import NegativeBinomial
from attain.likelihoods.ordinal import Ordinal
from attain.likelihoods.poisson import Poisson
from attain.likelihoods.truncated_normal import TruncatedNormal

__all__ = [
    "Beta",
    "Categorical",
    "Gaussian",
    "Likelihood",
    "LogNormal",
    "LogNormalPlusOne",
    "NegativeBinomial",
    "Ordinal",
    "Parameters",
    "Poisson",
    "Support",
    "TruncatedNormal",
    "likelihood_of",
    "register",
    "registered",
]
