"""C-CHVAE (Pawelczyk, Broelemann, Kasneci 2020): records that look real and flip the decision, by latent search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from attain.methods.base import choice, integer, number
from attain.methods.latent import AutoencoderChoice, Component, Latent, LatentExplainer
from attain.models import probe_rows
from attain.population.population import DecidedPopulation
from attain.results.status import Status
from attain.search.moves import Radius, check_norm, norm_of, radii, sphere, streams, uniform_draws
from attain.search.pool import Pool, diverse
from attain.search.problem import Answers, Problem
from attain.tables import without_unseen

Stop: TypeAlias = Literal["first", "half", "all"]
"""When a search ends without a hit: once the first, half, or all of the samples have left the box."""
_ROWS_AT_ONCE: Final = 50_000
"""The most people in one batch, and the most candidates held in memory at a time."""
_SPARE_OPTIONS: Final = 4
_RANKED, _RANK_SAMPLES = 1_000, 20
"""Among how many real rows an answer's density is ranked, and with how many draws each density is bounded."""
_DRAWS, _BOX_DRAWS = 2, 5
"""Where samples fall out of the box: how often, and how many times `samples`, points are drawn in the box instead."""
_SWEEP = 20
"""How many times `samples` points are drawn in the whole box before a search ends without an answer."""
_REASONS = np.array([Status.BUDGET_SPENT, Status.OUT_OF_REACH, Status.SHELLS_SPENT, Status.FOUND], dtype=object)


@dataclass(kw_only=True, eq=False, repr=False)
class CCHVAE(LatentExplainer):
    """Counterfactuals that look like real records: the paper's method, Algorithm 1.

    An autoencoder learns the density of the free features given the immutable ones. Each row is encoded; samples at
    growing distances from its code are decoded, with the row's own immutable features, and put to the classifier until
    one flips the decision. What the paper leaves open is decided in `attain.methods.cchvae.Algorithm1`.

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
        return _ROWS_AT_ONCE

    def search(self, problem: Problem) -> Answers:
        latent = self._latent(problem.region, self.component)
        algorithm = Algorithm1(self, problem, latent)
        status, pool = algorithm.run(), algorithm.pool
        rows, owners, distance = diverse(pool.rows, pool.owners, pool.distances, problem.region, problem.options)
        figures = {
            "latent_distance": np.round(distance, 6),
            "reconstruction_flip": (distance == 0).astype(np.float64),
            "code_outside_box": (~latent.inside(latent.codes))[owners].astype(np.float64),
            "shells": algorithm.shells[owners].astype(np.float64),
        }
        return Answers(rows, owners, distance, status, figures)

    def _more_figures(self, rows: np.ndarray, decided: DecidedPopulation) -> dict[str, np.ndarray]:
        """The share of real rows of the desired class with a lower log-density than each answer (n,)."""
        values = decided.reference.values
        if not len(rows) or not len(values):
            return {"density_rank": np.full(len(rows), np.nan)}
        real = decided.cached("densities", lambda: np.sort(self._log_density(probe_rows(values, _RANKED))))
        return {"density_rank": np.round(np.searchsorted(real, self._log_density(rows)) / len(real), 3)}

    def _log_density(self, rows: np.ndarray) -> np.ndarray:
        """The log-density (n,) of the rows' free features given their immutable ones."""
        return np.asarray(self.autoencoder_.log_density(without_unseen(self.population_.schema, rows), _RANK_SAMPLES))


class Algorithm1:
    """Algorithm 1 of the paper: growing shells around each row's latent code, many rows at once.

    What the paper leaves open is decided here, in one place:

    - The shell of radius r is S(ẑ, r, r + Δr); written S(ẑ, r, Δr) it would be empty once r > Δr.
    - The reconstruction, r = 0, comes first: if it already flips the decision, its latent distance is 0 and it is
      flagged.
    - The component that z̃ is decoded with is a parameter: that of the row (`frozen`), the most probable one at z̃
      (`argmax`), one drawn from p(c | z̃) (`sampled`), or each of them (`all`).
    - Decoding is deterministic: each column's typical value, with the row's own immutable features.
    - A candidate is put into final form, and checked against the rules, before the model is asked. If final form makes
      it equal to the row itself, it is dropped.
    - Latent units that the autoencoder does not use are not moved: they change nothing, and their range in the training
      codes is so small that every sample would fall out of the box.
    - A sample outside the box, the range of the training codes in any dimension, is discarded; the shell is drawn from
      again, a few times, to make up for it. A code that lies outside the box itself is searched all the same, and
      flagged.
    - The search of a row stops when something in the shell flips the decision, when the shells have left the box, when
      the largest number of shells is reached, or when the budget is spent. Shells have left the box when the first, or
      half, of the samples of one lie outside, or when r exceeds the distance from the code to its farthest corner: a
      parameter. In the last case the whole box is sampled once, uniformly, before the search ends.
    - Among the hits, the one with the least latent distance in the chosen norm wins.

    Attributes
    ----------
    pool
        The hits nearest in latent space.
    shells
        How many shells the search of each row took, (n,).
    """

    def __init__(self, settings: CCHVAE, problem: Problem, latent: Latent) -> None:
        self.settings, self.problem, self.latent = settings, problem, latent
        n = problem.options
        self._wanted, self._keep = (1, 1) if n == 1 else (2 * n, _SPARE_OPTIONS * n)
        self.pool = Pool(len(problem), len(problem.region.schema), self._keep)
        self.shells = np.zeros(len(problem), dtype=np.int64)
        self._generators = streams(problem.region.factuals, problem.seed)

    def run(self) -> list[Status]:
        """How the search of each row ended.

        For further options, the search of a row goes on until enough different hits are found or the shells have grown
        to twice the distance of the first.
        """
        settings, pool, shells = self.settings, self.pool, self.shells
        status = np.full(len(pool.size), Status.FOUND, dtype=object)
        self._reconstruct()
        active = np.flatnonzero(pool.size < self._wanted)
        farthest = self.latent.farthest(settings.norm)
        while active.size:
            inner = settings.step * shells[active]
            spent = self.problem.out_of_budget(self._keep)[active]
            beyond, many = inner > farthest[active], shells[active] >= settings.max_shells
            # the first reason that holds; of rows with hits it is not used
            status[active] = _REASONS[np.argmax((spent, beyond, many, np.ones_like(spent)), axis=0)]
            self._sweep_box(active[beyond & ~spent & (pool.size[active] == 0)])
            far_enough = inner > 2 * pool.nearest[active] + settings.step
            active = active[~(spent | beyond | many | far_enough)]
            left = self._search_shells(active)
            status[active[left]] = Status.OUT_OF_REACH
            active = active[~left]
            shells[active] += 1
            active = active[pool.size[active] < self._wanted]
        status[pool.size > 0] = Status.FOUND
        return list(status)

    def _reconstruct(self) -> None:
        """Tries each row's own code."""
        self._try(self.latent.codes, np.arange(len(self.problem)), components=1, reserve=0)

    def _search_shells(self, rows: np.ndarray) -> np.ndarray:
        """Samples the next shell of each of these rows; returns whose shells have left the box, and are not tried."""
        left = np.zeros(len(rows), dtype=bool)
        for part in self._parts(rows, self.settings.samples):
            codes, owners, left[part] = self._draw(rows[part])
            within = ~np.isin(owners, rows[part][left[part]])
            self._try(codes[within], owners[within], self.latent.components, self._keep)
        return left

    def _sweep_box(self, rows: np.ndarray) -> None:
        """Samples the whole box for rows whose shells have left it: far out, shells miss much of it."""
        draws = _SWEEP * self.settings.samples
        for part in self._parts(rows, draws):
            codes, _ = self._uniform_in_box(rows[part], draws)
            codes, owners = codes.reshape(-1, codes.shape[2]), np.repeat(rows[part], draws)
            nearest_first = np.lexsort((norm_of(codes - self.latent.codes[owners], self.settings.norm), owners))
            self._try(codes[nearest_first], owners[nearest_first], self.latent.components, self._keep)

    def _parts(self, rows: np.ndarray, samples: int) -> Iterator[slice]:
        """Parts of the rows whose candidates are held in memory together."""
        size = max(_ROWS_AT_ONCE // samples, 1)
        return (slice(start, start + size) for start in range(0, len(rows), size))

    def _draw(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Codes in each row's shell that lie in the box, and their owners: at least half the `samples`, if possible.

        Far out, most of a shell lies outside the box. Then points are drawn in the box, and those in the shell are
        kept: given that a point lies in both, both ways have the same distribution. The third array says whose shell
        has left the box.
        """
        stop, samples = self.settings.stop, self.settings.samples
        drawn: list[tuple[np.ndarray, np.ndarray]] = []
        left = np.zeros(len(rows), dtype=bool)
        missing = np.full(len(rows), samples)
        for propose in (self._in_shell, *[self._in_box] * _DRAWS):
            short = np.flatnonzero(missing > samples // 2)
            if not short.size:
                break
            codes, good = propose(rows[short])
            if not drawn and stop != "all":
                left = (~good).sum(axis=1) > (0 if stop == "first" else samples // 2)
            good &= np.cumsum(good, axis=1) <= missing[short, None]
            number = good.sum(axis=1)
            drawn.append((codes[good], np.repeat(rows[short], number)))
            missing[short] -= number
        codes, owners = (np.concatenate(part) for part in zip(*drawn, strict=True))
        return codes, owners, left

    def _in_shell(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Codes (rows, samples, k) in each row's shell, and which of them lie in the box."""
        settings, latent = self.settings, self.latent
        generators = [self._generators[i] for i in rows]
        moves = sphere(generators, settings.samples, int(latent.active.sum()), settings.norm)
        inner = settings.step * self.shells[rows, None]
        uniform = uniform_draws(generators, (settings.samples,))
        moves *= radii(uniform, inner, inner + settings.step, moves.shape[2], settings.radius)[:, :, None]
        codes = np.repeat(latent.codes[rows, None, :], settings.samples, axis=1)
        codes[:, :, latent.active] += moves
        return codes, latent.inside(codes)

    def _in_box(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Codes (rows, draws, k) uniform in the box, and which of them lie in each row's shell.

        Uniform in volume, radii ρ have a density proportional to ρ^{k−1}; for radii uniform in length, points are kept
        with a probability proportional to ρ^{1−k}.
        """
        settings, latent = self.settings, self.latent
        codes, chance = self._uniform_in_box(rows, _BOX_DRAWS * settings.samples, further=1)
        length = norm_of((codes - latent.codes[rows, None, :])[:, :, latent.active], settings.norm)
        inner = settings.step * self.shells[rows, None]
        good = (length >= inner) & (length < inner + settings.step)
        if settings.radius == "uniform":
            with np.errstate(divide="ignore", invalid="ignore"):
                good &= chance[:, :, 0] < (np.maximum(inner, 1e-12) / length) ** (latent.active.sum() - 1)
        return codes, good

    def _uniform_in_box(self, rows: np.ndarray, draws: int, further: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Codes (rows, draws, k) uniform in the box, and as many `further` uniform numbers for each."""
        latent, k = self.latent, int(self.latent.active.sum())
        low, high = latent.low[latent.active], latent.high[latent.active]
        uniform = uniform_draws([self._generators[i] for i in rows], (draws, k + further))
        codes = np.repeat(latent.codes[rows, None, :], draws, axis=1)
        codes[:, :, latent.active] = low + uniform[:, :, :k] * (high - low)
        return codes, uniform[:, :, k:]

    def _try(self, codes: np.ndarray, owners: np.ndarray, components: int, reserve: int) -> None:
        """Decodes codes, with each component if all are tried, and adds to the pool what flips the decision."""
        component = np.tile(np.arange(components), len(codes)) if components > 1 else None
        codes, owners = np.repeat(codes, components, axis=0), np.repeat(owners, components)
        found = self.problem.ask(self.latent.decode(codes, owners, component), owners, reserve=reserve)
        rows, codes, owners = found.rows[found.hits], codes[found.hits], owners[found.hits]
        self.pool.add(rows, owners, self._distance(rows, codes, owners))

    def _distance(self, rows: np.ndarray, codes: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """By what one hit is better than another."""
        return norm_of(codes - self.latent.codes[owners], self.settings.norm)
