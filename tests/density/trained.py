"""Autoencoders that a run trains once, whichever test or worker asks first, and loads from then on."""

import hashlib
import json
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd
from sklearn.base import clone

import attain
from attain.core.files import locked
from attain.datasets import make_blobs
from attain.density import CHVAE
from attain.density.estimator import MixtureEstimator
from attain.methods.latent import LatentExplainer
from attain.tables import Table
from attain.testing import people

Trained = TypeVar("Trained", bound=MixtureEstimator)
FOLDER = "ATTAIN_TRAINED"
"""The environment variable with the folder of this run, which its workers inherit."""


def trained(autoencoder: Trained, X: pd.DataFrame) -> Trained:
    """The autoencoder fitted on X: taken from the folder of this run, or put there."""
    values = Table.read(X, autoencoder.schema).values
    key = hashlib.sha256(values.tobytes())
    key.update(repr((type(autoencoder).__name__, sorted(autoencoder.get_params().items()))).encode())
    folder = Path(os.environ.setdefault(FOLDER, tempfile.mkdtemp()))
    path = folder / f"{key.hexdigest()[:32]}.npz"
    with locked(path):
        if not path.exists():
            facts, arrays = clone(autoencoder).set_params(verbose=False).fit(values).state()
            np.savez(path, facts=np.array(json.dumps(facts)), **arrays)
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    return clone(autoencoder).restore(json.loads(str(arrays.pop("facts"))), arrays)


@cache
def tiny() -> CHVAE:
    """A small network of the made-up people: every kind of column, special codes and missing cells."""
    return trained(CHVAE(people.schema(), likelihoods="paper", hidden=8, components=2, epochs=12), people.frame())


@cache
def of_people() -> CHVAE:
    """The default network of C-CHVAE and REVISE, for the made-up people."""
    return trained(CHVAE(people.schema(), likelihoods="paper", hidden=0, random_state=0), people.frame())


@cache
def of_blobs() -> CHVAE:
    """A network that knows the three clusters of the paper's first example."""
    data = make_blobs(3000, seed=1)
    sizes = {"latent_dim": 2, "components": 3, "hidden": (32,), "epochs": 60}
    return trained(CHVAE(data.schema, likelihoods="paper", **sizes), data.X)


def searching(name: str) -> LatentExplainer:
    """A method that searches the tiny network."""
    X = people.frame()
    method: type[LatentExplainer] = getattr(attain.methods, name)
    return method(people.schema(), laws=None, autoencoder=tiny(), budget=4000).fit(X, people.labels(X))
