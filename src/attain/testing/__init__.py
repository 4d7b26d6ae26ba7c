"""Conformance suites for explainers, autoencoders and likelihoods, yours included."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from attain.testing.explainer import ExplainerSuite, check_explainer

if TYPE_CHECKING:
    from attain.testing.autoencoder import check_autoencoder
    from attain.testing.likelihood import check_likelihood

__all__ = ["ExplainerSuite", "check_autoencoder", "check_explainer", "check_likelihood"]


def __getattr__(name: str) -> Any:
    """The suites of autoencoders and likelihoods, imported when they are first used."""
    if name not in __all__:
        raise AttributeError(f"module 'attain.testing' has no attribute {name!r}")
    return getattr(import_module(f"attain.testing.{name.removeprefix('check_')}"), name)
