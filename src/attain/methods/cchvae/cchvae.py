"""C-CHVAE (Pawelczyk, Broelemann, Kasneci 2020): records that look real and flip the decision, by latent search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from attain.methods.base import choice, integer, number
from attain.methods.cchvae.shells import Shells, Stop
from attain.methods.latent import AutoencoderChoice, Component, LatentExplainer
from attain.methods.search.draws import Radius, check_norm
from attain.methods.search.options import diverse
from attain.methods.search.problem import Answers, Problem
from attain.methods.session import Session
from attain.models import probe_rows
from attain.tables import without_unseen

_OWNERS_AT_ONCE: Final = 50_000
ROWS_AT_ONCE: Final = 50_000
"""The most candidates held in memory at a time."""
_SPARE_OPTIONS: Final = 4
_RANKED, _RANK_SAMPLES = 1_000, 20
"""Among how many real rows an answer's density is ranked, and with how many draws each density is bounded."""


@dataclass(kw_only=True, eq=False, repr=False)
class CCHVAE(LatentExplainer):
    """Counterfactuals that look like real records: the paper's method, Algorithm 1.

    An autoencoder learns the density of the free features given the immutable ones. Each row is encoded; samples at
    growing distances from its code are decoded, with the row's own immutable features, and put to the classifier until
    one flips the decision. What the paper leaves open is decided in `attain.methods.cchvae.shells`.

    Takes any classifier. Keeps by construction: immutable cells, bounds, steps, directions, ranges, transitions,
    missing cells, derived columns, `max_changes`. Rules between features: by repair where that is easy, else by
    rejection.

    Parameters
    ----------
    schema
        What the columns are; inferred from the training data where it is None.
    laws
        The laws of the data that answers keep like rules: `"found"` takes those of the schema or, if it has none, finds
        those of the training rows; None keeps none; a list of rules is kept as it is.
    autoencoder
        Any autoencoder that passes `attain.testing.check_autoencoder`, fitted or not; `"chvae"` is a `CHVAE` with
        default parameters. It is cloned and fitted with the schema, unless it is fitted already.
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
    component
        The mixture component that a code z̃ is decoded with. `frozen`: the row's own. `argmax`: the most probable one at
        z̃. `sampled`: one drawn from p(c | z̃). `all`: each of them. For autoencoders without components, no difference.
    stop
        When a search without a hit ends: once the `first`, `half`, or `all` of the samples have left the box, the range
        of the training rows' codes.
    budget
        The most rows the model is asked about for each row explained.
    margin
        How far an answer's score must lie beyond the boundary.
    figures
        Whether answers are compared with real rows of the desired class.
    random_state
        The seed of training and search; None draws one in `fit`. Each row has random numbers of its own.

    References
    ----------
    M. Pawelczyk, K. Broelemann, G. Kasneci: Learning Model-Agnostic Counterfactual Explanations for Tabular Data, The
    Web Conference 2020.
    """

    citation = "pawelczyk2020learning"
    own_figures = ("latent_distance", "reconstruction_flip", "code_outside_box", "shells")

    autoencoder: AutoencoderChoice = "chvae"
    samples: int = integer(100, least=1)
    step: float = number(0.1, above=0)
    norm: float = 2
    radius: Radius = choice("uniform", Radius)
    max_shells: int = integer(1000, least=1)
    component: Component = choice("argmax", Component)
    stop: Stop = choice("all", Stop)
    budget: int = integer(50_000, least=2)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_norm(self.norm)

    def _batch_size(self, n: int, inspected: Any) -> int:
        return _OWNERS_AT_ONCE

    def _search(self, problem: Problem) -> Answers:
        n = problem.options
        latent = self._latent(problem.region, self.component)
        search = Shells(self.samples, self.step, self.norm, self.radius, self.max_shells, ROWS_AT_ONCE, self.stop)
        wanted, keep = (1, 1) if n == 1 else (2 * n, _SPARE_OPTIONS * n)
        pool, status, grown = search.search(problem, latent, wanted, keep)
        rows, owners, distance = diverse(pool.rows, pool.owners, pool.distances, problem.region, n)
        figures = {
            "latent_distance": np.round(distance, 6),
            "reconstruction_flip": (distance == 0).astype(np.float64),
            "code_outside_box": latent.outside[owners].astype(np.float64),
            "shells": grown[owners].astype(np.float64),
        }
        return Answers(rows, owners, distance, status, figures)

    def _more_figures(self, rows: np.ndarray, session: Session) -> dict[str, np.ndarray]:
        """The share of real rows of the desired class with a lower log-density than each answer (n,)."""
        values = session.reference.values
        if not len(rows) or not len(values):
            return {"density_rank": np.full(len(rows), np.nan)}
        real = session.kept("densities", lambda: np.sort(self._log_density(probe_rows(values, _RANKED))))
        return {"density_rank": np.round(np.searchsorted(real, self._log_density(rows)) / len(real), 3)}

    def _log_density(self, rows: np.ndarray) -> np.ndarray:
        """The log-density (n,) of the rows' free features given their immutable ones."""
        return np.asarray(self.autoencoder_.log_density(without_unseen(self.schema_, rows), _RANK_SAMPLES))
