"""C-CHVAE (Pawelczyk, Broelemann, Kasneci 2020): the nearest record in latent space, among records that look real."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from attain.autoencoders import Autoencoder
from attain.errors import AttainError
from attain.explainers.latent import LatentExplainer
from attain.explainers.options import diverse
from attain.explainers.problem import Answers, Problem
from attain.reference import Reference
from attain.schema import Schema
from attain.search.shells import Latent, Shells
from attain.search.sphere import Radius, check_norm
from attain.search.streams import streams

_PEOPLE_AT_ONCE = 50_000
_ROWS_AT_ONCE = 50_000
_SPARE_OPTIONS = 4
_RANKED_PEOPLE, _RANK_SAMPLES = 1000, 20
"""Among how many real people an answer's density is ranked, and with how many draws each density is bounded."""
_RELEASED_SAMPLES = 1000
_RELEASED_STREAM = 0x5E1EA5ED
"""Keeps the random decoding of `compat="released"` apart from the shells' random numbers."""


class CCHVAE(LatentExplainer):
    """Counterfactuals that look like real records: the paper's method.

    An autoencoder learns the density of the free features given the immutable ones. Each person is encoded; samples in
    growing shells round their code are decoded, with their own immutable features, and put to the classifier until one
    turns the decision (Algorithm 1). What the paper leaves open is decided in `attain.search.shells`.

    Takes any classifier. Keeps by construction: immutable cells, bounds, steps, directions, ranges, transitions,
    missing cells, derived columns, `max_changes`. Rules between features: by mending where that is easy, else by
    rejection.

    Parameters
    ----------
    schema
        What the columns are; inferred from the training data where it is None.
    autoencoder
        Any autoencoder that passes `attain.testing.check_autoencoder`, fitted or not; by default a `CHVAE`. It is
        cloned and fitted with the schema, unless it is fitted already.
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
    compat
        `"released"` searches as the code released with the paper does, for comparison only: each candidate is one
        random draw from the decoded likelihoods, shells of width 0.5 with 1,000 samples each grow up to 500 times
        without a box, and among what turns the decision the least l₁ distance of standardised free features wins.
        `samples`, `step`, `norm`, `radius` and `max_shells` are not used then.
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
    M. Pawelczyk, K. Broelemann, G. Kasneci: Learning Model-Agnostic Counterfactual Explanations for Tabular Data, The
    Web Conference 2020.
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
        compat: Literal["released"] | None = None,
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
        self.compat = compat
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
        if self.compat not in (None, "released"):
            raise AttainError(f"compat is {self.compat!r}; it takes None or 'released'")

    def _batch_size(self, options: int) -> int:
        return _PEOPLE_AT_ONCE

    def _search(self, problem: Problem) -> Answers:
        n = problem.options
        latent = self._latent(problem.region)
        shells = Shells(self.samples, self.step, self.norm, self.radius, self.max_shells, _ROWS_AT_ONCE)
        if self.compat == "released":
            latent = self._released(latent, problem)
            shells = Shells(_RELEASED_SAMPLES, 0.5, 2, "uniform", 500, _ROWS_AT_ONCE, reconstruction=False)
        wanted, keep = (1, 1) if n == 1 else (2 * n, _SPARE_OPTIONS * n)
        pool, status, grown = shells.search(problem, latent, wanted, keep)
        rows, owners, distance = diverse(pool.rows, pool.owners, pool.distances, problem.region, n)
        figures = {
            "latent_distance" if self.compat is None else "input_distance": np.round(distance, 6),
            "reconstruction_flip": (distance == 0).astype(np.float64),
            "code_outside_box": latent.outside[owners].astype(np.float64),
            "shells": grown[owners].astype(np.float64),
        }
        return Answers(rows, owners, distance, status, figures)

    def _further_figures(self, rows: np.ndarray, reference: Reference) -> dict[str, np.ndarray]:
        """The rank of each answer's density, given its immutable features, among real people of the desired class."""
        if not len(rows) or not len(reference):
            return {"density_rank": np.full(len(rows), np.nan)}
        some = reference.values[np.linspace(0, len(reference) - 1, min(len(reference), _RANKED_PEOPLE)).astype(np.intp)]
        real = np.sort(self.autoencoder_.log_density_bound(some, samples=_RANK_SAMPLES))
        own = self.autoencoder_.log_density_bound(rows, samples=_RANK_SAMPLES)
        return {"density_rank": np.round(np.searchsorted(real, own) / len(real), 3)}

    def _released(self, latent: Latent, problem: Problem) -> Latent:
        """The latent space as the released code searches it: without a box, with random decoding."""
        autoencoder, region = self.autoencoder_, problem.region
        component = autoencoder.encode(region.factuals).component
        conditions = autoencoder.encode_conditions(region.factuals)
        generators = streams(region.factuals, problem.seed ^ _RELEASED_STREAM)

        def decode(z: np.ndarray, owners: np.ndarray) -> np.ndarray:
            free = np.empty((len(z), len(self.schema_.free_columns)))
            for person in np.unique(owners):
                mine = np.flatnonzero(owners == person)
                padded = np.resize(z[mine], (_RELEASED_SAMPLES, z.shape[1]))
                given = np.repeat(conditions[[person]], _RELEASED_SAMPLES, axis=0)
                same = np.repeat(component[[person]], _RELEASED_SAMPLES)
                seed = int(generators[person].integers(2**31 - 1))
                free[mine] = autoencoder.draw_free(padded, given, same, seed)[: len(mine)]
            return self._rows(region, owners, free)

        def measure(rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
            moved = np.abs(rows - region.factuals[owners]) / self.scale_.spread
            return np.nansum(moved[:, self.schema_.free_columns], axis=1)

        unbounded = np.full(latent.codes.shape[1], np.inf)
        return replace(latent, low=-unbounded, high=unbounded, decode=decode, measure=measure)
