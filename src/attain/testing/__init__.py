"""Conformance suites for explainers, autoencoders and likelihoods, yours included."""

from typing import TYPE_CHECKING

from attain.core import lazy

if TYPE_CHECKING:
    from attain.testing.autoencoder import check_autoencoder
    from attain.testing.explainer import ExplainerSuite, check_explainer
    from attain.testing.likelihood import check_likelihood

__all__ = ["ExplainerSuite", "check_autoencoder", "check_explainer", "check_likelihood"]

_HOMES = {name: name.removeprefix("check_") for name in __all__} | {"ExplainerSuite": "explainer"}
__getattr__, __dir__ = lazy(__name__, __all__, _HOMES)
