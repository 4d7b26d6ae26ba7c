"""The paper's two synthetic examples: blobs and discretised moons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from attain import metrics
from attain.datasets import Dataset, make_blobs, make_moons
from attain.methods import ActionableRecourse, GrowingSpheres
from attain.population.population import Reference
from attain.tables import Table
from experiments.paper.answers import Answers, kept
from experiments.paper.classifiers import above, linear_above
from experiments.paper.settings import AR, CCHVAE, GS, GS_DENSE, Example
from experiments.store import Artifact, Store


@dataclass(frozen=True)
class Kind:
    """Which data, and the rule I(column > boundary) that is explained."""

    name: str
    make: Callable[[int, int], Dataset]
    column: str
    boundary: float


BLOBS: Final = Kind("blobs", make_blobs, "x2", 6.0)
MOONS: Final = Kind("moons", make_moons, "x1", 0.0)


@dataclass(frozen=True, eq=False)
class Synthetic:
    """One example: the people, what the autoencoder makes of them, and the answers of AR, GS and C-CHVAE.

    Attributes
    ----------
    train, people
        Rows of the matrix: the training people, and those held-out ones of class 0 who are explained.
    train_rows, people_rows
        Their positions in the data.
    codes, reconstruction
        The training people's latent codes (n, k), and what these are decoded to.
    own_codes, answer_codes
        The explained people's codes ẑ, and the codes z̃* of C-CHVAE's answers; NaN where there is none.
    answers
        By method.
    """

    kind: Kind
    data: Dataset
    train: np.ndarray
    train_rows: np.ndarray
    people: np.ndarray
    people_rows: np.ndarray
    codes: np.ndarray
    reconstruction: np.ndarray
    own_codes: np.ndarray
    answer_codes: np.ndarray
    answers: Mapping[str, Answers]

    @cached_property
    def reference(self) -> Reference:
        """The training rows of class 1, which the rule accepts."""
        accepted = self.data.y.to_numpy()[self.train_rows] == self.data.desired
        return Reference.build(self.data.schema, self.train, desired_labels=accepted, met=accepted)

    def outliers(self, method: str, k: int = 20) -> np.ndarray:
        """1 for each answer that is a local outlier among them, else 0; NaN without an answer."""
        given = self.answers[method]
        return metrics.outlier(given.rows, self.reference, k, given.found)

    def connected(self, method: str, quantile: float = 0.95) -> np.ndarray:
        """1 for each answer that has one of them as near as this share of them has another."""
        given = self.answers[method]
        return metrics.connected(given.rows, self.reference, self.reference.epsilon[quantile], found=given.found)

    @cached_property
    def held_out(self) -> np.ndarray:
        """The held-out rows of class 1."""
        test = np.setdiff1d(np.arange(len(self.data.X)), self.train_rows)
        values = Table.read(self.data.X.iloc[test], self.data.schema).values
        return np.asarray(values[self.data.y.to_numpy()[test] == self.data.desired])

    def extra(self, name: str, rows: np.ndarray) -> np.ndarray:
        """What the data say beside the features: of which cluster or moon these rows are."""
        return self.data.extras[name].to_numpy()[rows]


def run(kind: Kind, example: Example, store: Store, seed: int) -> Synthetic:
    """The example, from the parts that are there and those that are computed now."""
    data = kind.make(example.rows, seed)
    train_rows, test_rows = train_test_split(np.arange(example.rows), test_size=0.2, random_state=seed)
    decide = above(kind.column, kind.boundary)
    refused = test_rows[decide(data.X.iloc[test_rows]) != data.desired]
    chosen = np.sort(np.random.default_rng(seed).permutation(refused)[: example.people])
    train, y_train, people = data.X.iloc[train_rows], data.y.iloc[train_rows], data.X.iloc[chosen]
    straight = linear_above(train, kind.column, kind.boundary)
    common: dict[str, Any] = {"laws": None, "figures": False, "random_state": seed}
    spheres: dict[str, Any] = {"step": 0.1, "growth": 0.0, **common}
    methods: dict[str, tuple[Any, Any]] = {
        AR: (ActionableRecourse(data.schema, grid=100, cost="max", **common), straight),
        GS: (GrowingSpheres(data.schema, **spheres), decide),
        GS_DENSE: (GrowingSpheres(data.schema, sparsity=False, **spheres), decide),
    }
    answers = {}
    for name, (method, model) in methods.items():
        part = store.get(
            f"{kind.name} {seed} {name}",
            lambda method=method, model=model: kept(  # type: ignore[misc]
                method.fit(train, y_train).explain(model, people, target=data.desired), chosen
            ),
        )
        answers[name] = Answers.of(part)
    learned = store.get(
        f"{kind.name} {seed} {CCHVAE} {list(example.hidden)}",
        lambda: _learned(kind, example, data, train, y_train, people, chosen, seed),
    )
    answers[CCHVAE] = Answers.of(learned)
    return Synthetic(
        kind,
        data,
        Table.read(train, data.schema).values,
        train_rows,
        Table.read(people, data.schema).values,
        chosen,
        answers=answers,
        **{name: learned.arrays[name] for name in ("codes", "reconstruction", "own_codes", "answer_codes")},
    )


def _learned(
    kind: Kind,
    example: Example,
    data: Dataset,
    train: pd.DataFrame,
    y_train: pd.Series,
    people: pd.DataFrame,
    chosen: np.ndarray,
    seed: int,
) -> Artifact:
    """The autoencoder's view of the training people, and C-CHVAE's answers with their codes."""
    from attain.density import CHVAE
    from experiments.paper.traced import TracedCCHVAE

    autoencoder = CHVAE(
        data.schema,
        likelihoods="paper",
        latent_dim=example.latent_dim,
        components=example.components,
        hidden=example.hidden,
        epochs=example.epochs,
        random_state=seed,
        verbose=False,
    ).fit(train)
    search = TracedCCHVAE(data.schema, laws=None, autoencoder=autoencoder, figures=False, random_state=seed)
    result = search.fit(train, y_train).explain(above(kind.column, kind.boundary), people, target=data.desired)
    own, best = search.codes(result)
    codes = autoencoder.encode(train)
    return kept(
        result,
        chosen,
        codes=codes.z.astype(np.float64),
        reconstruction=autoencoder.decode_rows(codes, train),
        own_codes=own,
        answer_codes=best,
    )
