"""Every method of the package as the benchmarks run it."""

from __future__ import annotations

from typing import Any

import numpy as np

from attain import explainers
from attain.schema import Schema


def all_methods(schema: Schema, rows: np.ndarray, seed: int) -> dict[str, Any]:
    """Every method by name, not fitted, with its default settings and without figures, which are measured afterwards.

    Methods that search in a latent space share one autoencoder, trained on `rows` of the matrix.
    """
    from attain.autoencoders import CHVAE

    autoencoder = CHVAE(schema, random_state=seed, verbose=False).fit(rows)
    methods: dict[str, Any] = {}
    for name in explainers.__all__:
        method = getattr(explainers, name)
        if method is not explainers.Explainer:
            shared = {"autoencoder": autoencoder} if "autoencoder" in method().get_params(deep=False) else {}
            methods[name] = method(schema, figures=False, random_state=seed, **shared)
    return methods
