"""Algorithm 1 with radii that grow geometrically, for scores that change smoothly: few candidates for each row.

Shell after shell, most samples are nowhere near a hit. Here each row has a fixed number of random directions:

1. The score is asked for at one place along each latent unit. The linear estimate that follows, s(ẑ + δ) ≈ s(ẑ) + g·δ,
   says which directions are tried first.
2. A few directions, then twice as many, and so on, are tried where they leave the box, until one flips the decision.
   Rows without a hit go on from the place with the highest score, in small steps along the slopes g.
3. The radius of the nearest hit is closed in by bisection, on the directions that have hits.
4. New directions are drawn round that of the nearest hit, ever closer to it and tilted towards g, and tried at smaller
   radii; what leaves the box is moved onto it. Each score corrects g: g ← g + (s' − s − g·δ) δ / ‖δ‖².

Half the directions are uniform on the sphere; the others point at places uniform in the box, whose corners the former
rarely meet. What `attain.methods.cchvae.shells` decides holds here too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from attain.methods.cchvae.shells import Stop
from attain.methods.search.latent_space import Latent, tried
from attain.methods.search.pool import Pool
from attain.methods.search.problem import Problem
from attain.methods.search.sphere import draw_on_sphere, norm_of, on_sphere
from attain.methods.search.streams import each_stream
from attain.results.status import Status

_BLOCK: Final = 4
"""How many directions are tried at first; each further time, twice as many."""
_SECOND, _SHORTER = 8, 0.9
"""How many directions are tried again after the first hit, and at which radius, relative to its own."""
_ROUNDS: Final = 9
_NEARER: Final = np.array([0.98, 0.95, 0.9, 0.8])
"""How often directions are drawn round the nearest hit, and the radii that they are tried at, relative to its own."""
_WIDTH, _NARROWING, _TILT = 0.5, 0.8, 2.0
"""How far such directions are from that of the hit at first, by how much closer after a round without a hit, and how
much of the way is along the slopes, relative to what is drawn."""
_STEPS, _CLIMBERS, _CLIMB_STREAM = 20, 8, 0x5EEB
_CLIMB_WIDTH, _CLIMB_TILT = 3.0, 1.0
"""How many steps a row without a hit takes at most, the places that it tries in each, how far away they are at first,
and `_TILT` for them."""
_ROUNDING: Final = 1e-9
_NUMBERS: Final = 4_000_000
"""The most random numbers held in memory at a time."""
_MORE: Final = np.array([1.25, 1.5, 2.0])
"""Where further options are looked for, relative to the radius of the first."""


@dataclass(frozen=True)
class Rays:
    """How directions are searched.

    Attributes
    ----------
    samples
        Directions for each row.
    step
        The width at which bisection ends.
    norm
        The p of the norm.
    reach
        The largest radius.
    stop
        The radius at which a search ends: where the first, half or all of its directions have left the box.
    """

    samples: int
    step: float
    norm: float
    reach: float
    stop: Stop

    def search(self, problem: Problem, latent: Latent, wanted: int, keep: int) -> tuple[Pool, list[Status], np.ndarray]:
        """The hits nearest in latent space, how the search of each row ended, and how many shells hold the nearest.

        For further options, all directions are tried at up to twice the radius of the nearest hit, until there are
        `wanted` different ones.
        """
        n = len(problem)
        pool = Pool(n, len(problem.region.schema), keep)
        status = np.full(n, Status.FOUND, dtype=object)
        every = np.arange(n)
        own = tried(problem, replace(latent, components=1), latent.codes, every, reserve=0)
        pool.add(own.rows, own.hits, np.zeros(len(own.hits)))
        left = every[pool.size < wanted]
        numbers = int(latent.active.sum()) * (self.samples + _ROUNDS * len(_NEARER))
        size = max(_NUMBERS // numbers, 1)
        for some in (left[start : start + size] for start in range(0, len(left), size)):
            status[some] = _Search(self, problem, latent, pool, some, own.score[some]).run(wanted)
        status[pool.size > 0] = Status.FOUND
        return pool, list(status), np.where(pool.size > 0, np.ceil(pool.nearest / self.step), 0.0)


class _Search:
    """The search of n rows, together, in the k units that the decoder uses.

    Attributes
    ----------
    own
        The rows' codes, (n, k).
    radius, place, score
        The radius of the nearest hit, infinite without one, (n,), where it lies, (n, k), and its score; without a hit,
        where the score is highest so far.
    """

    def __init__(
        self, settings: Rays, problem: Problem, latent: Latent, pool: Pool, owners: np.ndarray, score: np.ndarray
    ) -> None:
        self._settings, self._problem, self._latent, self._pool = settings, problem, latent, pool
        self._owners, self._score = owners, score
        self._units = np.flatnonzero(latent.active)
        self._low, self._high = latent.low[latent.active], latent.high[latent.active]
        self.own = latent.codes[owners][:, self._units]
        self.radius, self.place = np.full(len(owners), np.inf), self.own.copy()
        self.score = np.where(np.isnan(score), -np.inf, score)

    def run(self, wanted: int) -> np.ndarray:
        """Adds what flips the decision to the pool; says why the search of each row ended, if it found nothing."""
        everybody, stop = np.arange(len(self._owners)), self._settings.stop
        directions, turns = self._drawn()
        far = self._far(everybody, directions)
        if stop != "all":
            half = far[:, : self._settings.samples // 2 + 1]
            limit = half.min(axis=1) if stop == "first" else np.median(half, axis=1)
            far = np.minimum(far, limit[:, None])
        slopes = self._slopes()
        hits = self._find(everybody, directions, far, slopes)
        if stop == "all":
            hits += self._climb(np.flatnonzero(np.isinf(self.radius)), slopes)
        if hits:
            self._bisect(*(np.concatenate(parts) for parts in zip(*hits, strict=True)))
        self._try_again(directions, far, slopes)
        self._turn(turns, slopes)
        if wanted > 1:
            self._widen(directions, far, wanted)
        cut = (far >= self._settings.reach).any(axis=1)
        reasons = np.array([Status.OUT_OF_REACH, Status.SHELLS_SPENT, Status.BUDGET_SPENT], dtype=object)
        return np.asarray(reasons[np.where(self._spent(everybody), 2, cut)])

    def _drawn(self) -> tuple[np.ndarray, np.ndarray]:
        """Directions (n, samples, k), half of them uniform on the sphere, and others for later, (n, rounds, s, k)."""
        n, k = self.own.shape
        samples, norm = self._settings.samples, self._settings.norm
        half, later = samples // 2 + 1, _ROUNDS * len(_NEARER)
        drawn, places = np.empty((n, half + later, k)), np.empty((n, samples - half, k))
        factuals = self._problem.region.factuals[self._owners]
        for i, generator in enumerate(each_stream(factuals, self._problem.seed)):
            draw_on_sphere(generator, drawn[i], norm)
            generator.random(out=places[i])
        drawn = on_sphere(drawn, norm)
        towards = on_sphere(self._moves(np.arange(n), places), norm)
        directions = np.concatenate((drawn[:, :half], towards), axis=1)
        return directions, drawn[:, half:].reshape(n, _ROUNDS, len(_NEARER), k)

    def _moves(self, at: np.ndarray, uniform: np.ndarray) -> np.ndarray:
        """From the codes of rows to places in the box, (m, s, k), given by uniform numbers."""
        return self._low + uniform * (self._high - self._low) - self.own[at, None, :]

    def _far(self, at: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """How far along directions (m, s, k) from the codes of rows the box ends, (m, s); 0 where it is not met."""
        own, far = self.own[at], np.full(directions.shape[:2], self._settings.reach)
        near = np.zeros_like(far) if self._latent.outside[self._owners[at]].any() else None
        with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0 is no limit
            for j in range(directions.shape[2]):
                along, below, above = (
                    directions[:, :, j],
                    self._low[j] - own[:, j, None],
                    self._high[j] - own[:, j, None],
                )
                np.fmin(far, np.where(along > 0, above, below) / along, out=far)
                if near is not None:
                    np.fmax(near, np.where(along > 0, below, above) / along, out=near)
        return np.where(far > (0.0 if near is None else near), far, 0.0)

    def _slopes(self) -> np.ndarray:
        """How the score changes with each unit, (n, k): by differences, from the code half way to the farther bound."""
        n, k = self.own.shape
        up, down = self._high - self.own, self._low - self.own
        moves = 0.5 * np.where(up > -down, up, down)
        places = np.repeat(self.own[:, None, :], k, axis=1)
        places[:, np.arange(k), np.arange(k)] += moves
        scores = self._try(np.repeat(np.arange(n), k), places.reshape(-1, k))[1].reshape(n, k)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num((scores - self._score[:, None]) / moves, posinf=0.0, neginf=0.0)

    def _find(
        self, at: np.ndarray, directions: np.ndarray, radii: np.ndarray, slopes: np.ndarray
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Tries directions (m, s, k) of rows at radii (m, s), those first that seem best, until there is a hit.

        Returns the directions that have hits: in parts, each with the rows that they belong to.
        """
        order = np.argsort(-_gains(directions, slopes, at) * radii, axis=1, kind="stable")
        start, size, found = 0, _BLOCK, []
        going = np.flatnonzero(np.isinf(self.radius[at]))
        while going.size and start < order.shape[1]:
            some = (going[:, None], order[going, start : start + size])
            tried_at, along, length = np.broadcast_to(at[going, None], some[1].shape), directions[some], radii[some]
            flips, scores = self._along(tried_at.ravel(), along.reshape(-1, along.shape[2]), length.ravel())
            hit = flips.reshape(some[1].shape)
            found.append((tried_at[hit], along[hit]))
            places = self.own[at[going], None, :] + length[:, :, None] * along
            self._remember(at[going], places, scores.reshape(some[1].shape))
            start, size = start + size, 2 * size
            going = going[np.isinf(self.radius[at[going]]) & ~self._spent(at[going])]
        return found

    def _remember(self, at: np.ndarray, places: np.ndarray, scores: np.ndarray) -> None:
        """Keeps the best of some places (m, s, k) of rows without a hit, by their scores (m, s)."""
        scores = np.where(np.isnan(scores), -np.inf, scores)
        best = scores.argmax(axis=1)
        highest = np.take_along_axis(scores, best[:, None], axis=1)[:, 0]
        better = np.flatnonzero(np.isinf(self.radius[at]) & (highest > self.score[at]))
        self.score[at[better]], self.place[at[better]] = highest[better], places[better, best[better]]

    def _bisect(self, at: np.ndarray, directions: np.ndarray) -> None:
        """Closes in on the nearest hit of rows, on the directions (m, k) that have hits."""
        below = np.zeros(len(self._owners))
        while at.size:
            nearest = self.radius[at]
            middle = 0.5 * (below[at] + nearest)
            flips, _ = self._along(at, directions, middle)
            closer = np.zeros(len(below), dtype=bool)
            closer[at[flips]] = True
            below[at] = np.where(closer[at], below[at], middle)
            kept = (flips | ~closer[at]) & (self.radius[at] - below[at] > np.maximum(self._settings.step, nearest / 8))
            at, directions = at[kept], directions[kept]

    def _try_again(self, directions: np.ndarray, far: np.ndarray, slopes: np.ndarray) -> None:
        """Tries the directions that seem best, of those that are long enough, a little nearer than the nearest hit."""
        at = np.flatnonzero(np.isfinite(self.radius) & (self.radius > 0))
        directions, shorter = directions[at], _SHORTER * self.radius[at, None]
        gain = np.where(far[at] >= shorter, _gains(directions, slopes, at), -np.inf)
        best = np.argsort(-gain, axis=1, kind="stable")[:, :_SECOND]
        radii = np.where(np.isinf(np.take_along_axis(gain, best, axis=1)), 0.0, shorter)
        at = np.repeat(at, best.shape[1])
        along = np.take_along_axis(directions, best[:, :, None], axis=1).reshape(-1, directions.shape[2])
        flips, _ = self._along(at, along, radii.ravel())
        self._bisect(at[flips], along[flips])

    def _climb(self, at: np.ndarray, slopes: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """From the best place so far to better ones, for rows without a hit, until there is one."""
        k, norm, found = self.own.shape[1], self._settings.norm, []
        size = max(_NUMBERS // (_STEPS * _CLIMBERS * k), 1)
        for some in (at[start : start + size] for start in range(0, len(at), size)):
            drawn = np.empty((len(some), _STEPS, _CLIMBERS, k))
            factuals = self._problem.region.factuals[self._owners[some]]
            for i, generator in enumerate(each_stream(factuals, self._problem.seed ^ _CLIMB_STREAM)):
                generator.standard_normal(out=drawn[i])
            width, going = np.full(len(some), _CLIMB_WIDTH), np.arange(len(some))
            for number in range(_STEPS):
                rows = some[going]
                best, score = self.place[rows], self.score[rows]
                steepest = on_sphere(slopes[rows], norm)[:, None, :]
                moves = width[going, None, None] * (drawn[going, number] + _CLIMB_TILT * steepest)
                places = self._reached(rows, np.clip(best[:, None, :] + moves, self._low, self._high))
                _, scores = self._try(np.repeat(rows, _CLIMBERS), places.reshape(-1, k))
                scores = scores.reshape(len(rows), _CLIMBERS)
                self._remember(rows, places, scores)
                _learn(slopes, rows, places - best[:, None, :], scores - score[:, None])
                width[going] *= np.where(self.score[rows] > score, 1.0, _NARROWING)
                going = going[np.isinf(self.radius[rows]) & ~self._spent(rows)]
            hit = some[np.isfinite(self.radius[some]) & (self.radius[some] > 0)]
            found.append((hit, (self.place[hit] - self.own[hit]) / self.radius[hit, None]))
        return found

    def _reached(self, at: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Places (m, s, k) of rows, moved towards their codes where they are farther than the largest radius."""
        own = self.own[at, None, :]
        length = norm_of(places - own, self._settings.norm)
        share = self._settings.reach / np.maximum(length, self._settings.reach)
        return np.where(share[:, :, None] < 1.0, own + share[:, :, None] * (places - own), places)

    def _turn(self, turns: np.ndarray, slopes: np.ndarray) -> None:
        """Draws directions round that of the nearest hit, tilted towards the slopes, and tries them at smaller radii.

        What the candidates score changes the slopes, which so become those near the hit.
        """
        width = np.full(len(self._owners), _WIDTH)
        for number in range(_ROUNDS):
            at = np.flatnonzero(np.isfinite(self.radius) & (self.radius > 0))
            before, own = self.radius[at], self.own[at, None, :]
            best, score = self.place[at], self.score[at]
            along = (best[:, None, :] - own) / before[:, None, None]
            steepest = on_sphere(slopes[at], self._settings.norm)[:, None, :]
            along = on_sphere(
                along + width[at, None, None] * (turns[at, number] + _TILT * steepest), self._settings.norm
            )
            places = np.clip(own + (before[:, None] * _NEARER)[:, :, None] * along, self._low, self._high)
            scores = self._try(np.repeat(at, len(_NEARER)), places.reshape(-1, places.shape[2]))[1]
            width[at] *= np.where(self.radius[at] < before, 1.0, _NARROWING)
            _learn(slopes, at, places - best[:, None, :], scores.reshape(len(at), len(_NEARER)) - score[:, None])

    def _widen(self, directions: np.ndarray, far: np.ndarray, wanted: int) -> None:
        """Tries all directions a little farther out than the nearest hit, for rows with fewer than `wanted` hits."""
        nearest, samples = self.radius.copy(), directions.shape[1]
        for share in _MORE:
            at = np.flatnonzero((self._pool.size[self._owners] < wanted) & np.isfinite(nearest))
            radii = np.minimum(share * nearest[at, None], far[at])
            self._along(np.repeat(at, samples), directions[at].reshape(-1, directions.shape[2]), radii.ravel())

    def _along(self, at: np.ndarray, directions: np.ndarray, radii: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`_try` at radii (m,) along directions (m, k); outside the box none is tried, and scores are NaN."""
        exact = self.own[at] + radii[:, None] * directions
        places = np.clip(exact, self._low, self._high)
        tries = np.flatnonzero((radii > 0) & (np.abs(places - exact) <= _ROUNDING).all(axis=1))
        flips, scores = np.zeros(len(at), dtype=bool), np.full(len(at), np.nan)
        flips[tries], scores[tries] = self._try(at[tries], places[tries])
        return flips, scores

    def _try(self, at: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which candidates flip the decision, and their scores, (m,) each, for places (m, k) in latent space."""
        if not len(at):
            return np.zeros(0, dtype=bool), np.zeros(0)
        owners = self._owners[at]
        codes = self._latent.codes[owners]
        codes[:, self._units] = places
        found = tried(self._problem, self._latent, codes, owners, reserve=self._pool.keep)
        flips = np.zeros(len(at), dtype=bool)
        flips[found.hits] = True
        length = norm_of(places[found.hits] - self.own[at[found.hits]], self._settings.norm)
        order = np.lexsort((length, at[found.hits]))
        rows = at[found.hits][order]
        order = order[np.concatenate(([True], rows[1:] != rows[:-1]))] if len(order) else order
        nearer = order[length[order] < self.radius[at[found.hits[order]]]]
        self.radius[at[found.hits[nearer]]] = length[nearer]
        self.place[at[found.hits[nearer]]] = places[found.hits[nearer]]
        self.score[at[found.hits[nearer]]] = found.score[found.hits[nearer]]
        added = nearer if self._pool.keep == 1 else slice(None)
        self._pool.add(found.rows[added], owners[found.hits[added]], length[added])
        return flips, found.score

    def _spent(self, at: np.ndarray) -> np.ndarray:
        return self._problem.spent(self._pool.keep)[self._owners[at]]


def _gains(moves: np.ndarray, slopes: np.ndarray, at: np.ndarray) -> np.ndarray:
    """By how much the score seems to change with moves (m, s, k) of rows, (m, s)."""
    gain = np.zeros(moves.shape[:2])
    for j in range(moves.shape[2]):
        gain += moves[:, :, j] * slopes[at, j, None]
    return gain


def _learn(slopes: np.ndarray, at: np.ndarray, moves: np.ndarray, gains: np.ndarray) -> None:
    """Changes the slopes of rows as little as possible, for them to explain the gains (m, s) of moves (m, s, k).

    One move after the other, so that the last is explained exactly; those with a gain of NaN are left out.
    """
    length = (moves * moves).sum(axis=2)
    known = np.isfinite(gains) & (length > 0)
    for one in range(moves.shape[1]):
        missed = gains[:, one] - (slopes[at] * moves[:, one]).sum(axis=1)
        share = np.where(known[:, one], missed, 0.0) / np.where(known[:, one], length[:, one], 1.0)
        slopes[at] += share[:, None] * moves[:, one]
