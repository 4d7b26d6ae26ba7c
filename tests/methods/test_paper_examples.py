"""The paper's second synthetic example, discretised moons, as a soft test of what its text says."""

import numpy as np
import pytest

from attain import CCHVAE, GrowingSpheres
from attain.datasets import make_moons
from attain.density import CHVAE


def accept(frame):
    return np.where(frame["x1"] > 0, 1, 0)


@pytest.fixture(scope="module")
def moons():
    data = make_moons(4000, seed=0)
    return data, data.X[accept(data.X) == 0].iloc[:100]


def supported(answers, data):
    """Which answers have real people of the same category near them."""
    near = []
    for x1, category in zip(answers["x1"], answers["x2"], strict=True):
        same = data.X.loc[data.X["x2"] == category, "x1"]
        near.append(bool((np.abs(same - x1) < 0.1).any()))
    return np.array(near)


@pytest.mark.slow
def test_cchvae_puts_moons_where_people_are_and_growing_spheres_does_not(moons):
    data, refused = moons
    autoencoder = CHVAE(
        data.schema, likelihoods="paper", latent_dim=2, components=2, hidden=(64,), epochs=150, random_state=0
    )
    latent = CCHVAE(data.schema, autoencoder=autoencoder).fit(data.X, data.y).explain(accept, refused, target=1)
    spheres = GrowingSpheres(data.schema).fit(data.X, data.y).explain(accept, refused, target=1)
    assert latent.found.mean() > 0.95
    faithful = supported(latent.frame[latent.found], data).mean()
    nearest = supported(spheres.frame[spheres.found], data).mean()
    assert faithful > 0.9
    assert faithful > nearest
    assert len(set(latent.frame.loc[latent.found, "x2"])) >= 3
