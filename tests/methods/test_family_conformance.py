"""Every autoencoder of the family is searched by C-CHVAE and by REVISE under the explainers' contract."""

from typing import Any

import pytest

from attain import CCHVAE, density
from attain.methods import REVISE
from attain.methods.latent import LatentExplainer
from attain.testing import check_explainer, people

MEMBERS = ("AAE", "BetaVAE", "CHVAE", "CVAE", "HIVAE", "VAE", "VAEAC", "WAE")


def small(name: str) -> Any:
    """A member that is trained until its codes say enough about so few rows."""
    sizes: dict[str, Any] = {"likelihoods": "paper", "latent_dim": 6, "hidden": 0, "epochs": 40, "batch_size": 64}
    sizes |= {"components": 2} if name in ("CHVAE", "HIVAE") else {}
    # with its default of 4 the codes of so few rows say nothing, and nothing is found among them
    sizes |= {"beta": 0.5} if name == "BetaVAE" else {}
    return getattr(density, name)(people.schema(), **sizes, verbose=False)


@pytest.mark.slow
@pytest.mark.parametrize("method", [CCHVAE, REVISE])
@pytest.mark.parametrize("name", MEMBERS)
def test_a_member_is_searched_under_the_contract(name: str, method: type[LatentExplainer]) -> None:
    check_explainer(method, options={"autoencoder": small(name)})
