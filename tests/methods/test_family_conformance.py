"""Every autoencoder of the family passes the explainers' suite, searched by C-CHVAE and REVISE and beside the guard."""

from typing import Any, ClassVar

import pytest

from attain import CCHVAE, Guarded, density
from attain.methods import REVISE
from attain.testing import ExplainerSuite, people

FAST = "CVAE"
"""The member of which some tests are run every time: those that `conftest` names."""
MEMBERS = ("AAE", "BetaVAE", "CHVAE", "CVAE", "HIVAE", "VAE", "VAEAC", "WAE")


def small(name: str) -> Any:
    """A member that is trained for a few epochs; the paper's linear network is the one whose gradient costs least."""
    sizes: dict[str, Any] = {"likelihoods": "paper", "latent_dim": 6, "hidden": 0, "epochs": 12, "batch_size": 64}
    sizes |= {"components": 2} if name in ("CHVAE", "HIVAE") else {}
    # with its default of 4 the codes of so few rows say nothing, and nothing is found among them
    sizes |= {"beta": 0.5} if name == "BetaVAE" else {}
    return getattr(density, name)(people.schema(), **sizes, verbose=False)


class FamilySuite(ExplainerSuite):
    """The suite once for each member."""

    parameter: ClassVar[str] = "autoencoder"

    @pytest.fixture(
        autouse=True,
        params=[pytest.param(small(name), id=name, marks=() if name == FAST else pytest.mark.slow) for name in MEMBERS],
    )
    def _member(self, request: pytest.FixtureRequest) -> None:
        self.options = {self.parameter: request.param}  # type: ignore[misc]


class TestFamilyInCCHVAE(FamilySuite):
    explainer = CCHVAE


class TestFamilyInREVISE(FamilySuite):
    explainer = REVISE


class TestFamilyInGuarded(FamilySuite):
    explainer = Guarded
    parameter = "density"
