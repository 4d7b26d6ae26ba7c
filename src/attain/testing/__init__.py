"""Conformance suites: what every explainer, likelihood and autoencoder must hold, for ours and for anybody's."""

from attain.testing.explainer import ExplainerSuite, check

__all__ = ["ExplainerSuite", "check"]
