"""C-CHVAE (Pawelczyk, Broelemann, Kasneci 2020): the nearest record in latent space, among records that look real."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from attain.autoencoders import CHVAE, CVAE, VAE, Autoencoder, state
from attain.errors import AttainError
from attain.explainers.base import Explainer
from attain.explainers.options import diverse
from attain.explainers.problem import Answers, Problem
from attain.region import Region
from attain.schema import Schema
from attain.search.shells import Latent, Shells
from attain.search.sphere import Radius, check_norm

_PEOPLE_AT_ONCE = 50_000
_ROWS_AT_ONCE = 200_000
_SPARE_OPTIONS = 4


class CCHVAE(Explainer):
    """Counterfactuals that look like real records: the paper's method.

    An autoencoder learns the density of the free features given the immutable ones. Each person is encoded; samples in
    growing shells round their code are decoded, with their own immutable features, and put to the classifier until one
    turns the decision (Algorithm 1). What the paper leaves open is decided in `attain.search.shells`.

    Takes any classifier. Keeps by construction: immutable cells, bounds, steps, directions, ranges, transitions, missing
    cells, derived columns, `max_changes`. Rules between features: by mending where that is easy, else by rejection.

    Parameters
    ----------
    schema
        What the columns are; inferred from the training data where it is None.
    autoencoder
        Any autoencoder that passes `attain.testing.AutoencoderSuite`, fitted or not; by default a `CHVAE`. It is cloned
        and fitted with the schema, unless it is fitted already.
    samples
        Samples in each shell.
    step
        The width Δr of a shell, in latent units: standard deviations of the prior.
    norm
        The p of the latent norm: 1, 2 or infinity.
    radius
        `uniform`: radii uniform in length, as the paper writes. `volume`: samples uniform in the shell, as it says.
    max_shells
        The largest number of shells.
    refine
        None is the paper's Algorithm 1.
    budget
        The most rows the model is asked about per person.
    margin
        How far an answer's score must lie beyond the boundary.
    figures
        Whether answers are compared with real people of the desired class.
    random_state
        The seed of training and search. Each person has random numbers of their own.

    References
    ----------
    M. Pawelczyk, K. Broelemann, G. Kasneci: Learning Model-Agnostic Counterfactual Explanations for Tabular Data, The Web
    Conference 2020.
    """

    citation = """@inproceedings{pawelczyk2020learning,
  title = {Learning Model-Agnostic Counterfactual Explanations for Tabular Data},
  author = {Pawelczyk, Martin and Broelemann, Klaus and Kasneci, Gjergji},
  booktitle = {Proceedings of The Web Conference 2020},
  year = {2020},
  doi = {10.1145/3366423.3380087}
}"""

    def __init__(
        self,
        schema: Schema | None = None,
        *,
        autoencoder: Autoencoder | None = None,
        samples: int = 100,
        step: float = 0.1,
        norm: float = 2,
        radius: Radius = "uniform",
        max_shells: int = 1000,
        refine: None = None,
        budget: int = 50_000,
        margin: float = 1e-6,
        figures: bool = True,
        random_state: int = 0,
    ) -> None:
        self.schema = schema
        self.autoencoder = autoencoder
        self.samples = samples
        self.step = step
        self.norm = norm
        self.radius = radius
        self.max_shells = max_shells
        self.refine = refine
        self.budget = budget
        self.margin = margin
        self.figures = figures
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_whole("samples", self.samples, 1)
        self._check_whole("max_shells", self.max_shells, 1)
        self._check_positive("step", self.step)
        check_norm(self.norm, self.radius)
        if self.refine is not None:
            raise AttainError(f"refine is {self.refine!r}; it takes None, the paper's Algorithm 1")

    def _prepare(self) -> None:
        given = self.autoencoder
        if given is None:
            self.autoencoder_ = CHVAE(self.schema_, random_state=self.random_state).fit(self.table_.values)
        elif hasattr(given, "model_"):
            self.autoencoder_ = given
        else:
            self.autoencoder_ = clone(given).set_params(schema=self.schema_).fit(self.table_.values)
        codes = self.autoencoder_.encode(self.table_.values).z.astype(np.float64)
        self.box_ = (codes.min(axis=0), codes.max(axis=0))

    def _learned(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        facts, arrays = state.to_arrays(self.autoencoder_)
        kind = type(self.autoencoder_).__name__
        return {"autoencoder": kind, "state": facts}, {**arrays, "box.low": self.box_[0], "box.high": self.box_[1]}

    def _restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        kinds = {kind.__name__: kind for kind in (CHVAE, CVAE, VAE)}
        given = self.autoencoder
        fresh = (
            kinds[facts["autoencoder"]](self.schema_) if given is None else clone(given).set_params(schema=self.schema_)
        )
        state.from_arrays(fresh, self.schema_, self.table_.values, facts["state"], arrays)
        self.autoencoder_, self.box_ = fresh, (arrays["box.low"], arrays["box.high"])

    def _batch_size(self, options: int) -> int:
        return _PEOPLE_AT_ONCE

    def _search(self, problem: Problem) -> Answers:
        latent = self._latent(problem.region)
        n = problem.options
        shells = Shells(self.samples, self.step, self.norm, self.radius, self.max_shells, _ROWS_AT_ONCE)
        wanted, keep = (1, 1) if n == 1 else (2 * n, _SPARE_OPTIONS * n)
        pool, status, grown = shells.search(problem, latent, wanted, keep)
        rows, owners, distance = diverse(pool.rows, pool.owners, pool.distances, problem.region, n)
        figures = {
            "latent_distance": np.round(distance, 6),
            "reconstruction_flip": (distance == 0).astype(np.float64),
            "code_outside_box": latent.outside[owners].astype(np.float64),
            "shells": grown[owners].astype(np.float64),
        }
        return Answers(rows, owners, distance, status, figures)

    def _latent(self, region: Region) -> Latent:
        autoencoder, factuals = self.autoencoder_, region.factuals
        codes = autoencoder.encode(factuals)
        conditions = autoencoder.encode_conditions(factuals)
        free = self.schema_.free_columns

        def decode(z: np.ndarray, owners: np.ndarray) -> np.ndarray:
            rows = factuals[owners]
            if len(rows):
                rows[:, free] = autoencoder.decode_free(z, conditions[owners], codes.component[owners])
            return rows

        units = np.asarray(autoencoder.active_units, dtype=bool)
        active = units if units.any() else np.ones_like(units)
        return Latent(codes.z.astype(np.float64), *self.box_, active, decode)
