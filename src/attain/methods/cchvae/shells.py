"""Algorithm 1 of the paper: growing shells around each row's latent code, many rows at once.

What the paper leaves open is decided here, in one place:

- The shell of radius r is S(ẑ, r, r + Δr); written S(ẑ, r, Δr) it would be empty once r > Δr.
- The reconstruction, r = 0, comes first: if it already flips the decision, its latent distance is 0 and it is flagged.
- The component that z̃ is decoded with is a parameter: that of the row (`frozen`), the most probable one at z̃
  (`argmax`), one drawn from p(c | z̃) (`sampled`), or each of them (`all`).
- Decoding is deterministic: each column's typical value, with the row's own immutable features.
- A candidate is put into final form, and checked against the rules, before the model is asked. If final form makes it
  equal to the row itself, it is dropped.
- Latent units that the autoencoder does not use are not moved: they change nothing, and their range in the training
  codes is so small that every sample would fall out of the box.
- A sample outside the box, the range of the training codes in any dimension, is discarded; the shell is drawn from
  again, a few times, to make up for it. A code that lies outside the box itself is searched all the same, and flagged.
- The search of a row stops when something in the shell flips the decision, when the shells have left the box, when the
  largest number of shells is reached, or when the budget is spent. Shells have left the box when the first, or half, of
  the samples of one lie outside, or when r exceeds the distance from the code to its farthest corner: a parameter. In
  the last case the whole box is sampled once, uniformly, before the search ends.
- Among the hits, the one with the least latent distance in the chosen norm wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from attain.methods.latent import Latent, tried
from attain.methods.search.draws import Radius, norm_of, radii, sphere, streams, uniforms
from attain.methods.search.options import Pool
from attain.methods.search.problem import Problem
from attain.results.status import Status

Stop: TypeAlias = Literal["first", "half", "all"]
"""When a search ends without a hit: once the first, half, or all of the samples have left the box."""
_DRAWS = 2
_BOX_DRAWS = 5
"""Where samples fall out of the box: how often, and how many times `samples`, points are drawn in the box instead."""
_SWEEP = 20
"""How many times `samples` points are drawn in the whole box before a search ends without an answer."""
_REASONS = np.array([Status.BUDGET_SPENT, Status.OUT_OF_REACH, Status.SHELLS_SPENT, Status.FOUND], dtype=object)


@dataclass(frozen=True)
class Shells:
    """How shells grow.

    Attributes
    ----------
    samples, step
        Samples in each shell, and its width Δr.
    norm, radius
        The p of the norm, and whether radii are uniform in length or such that samples are uniform in volume.
    most
        The largest number of shells.
    rows_at_once
        Candidates held in memory at a time.
    stop
        When shells have left the box.
    reconstruction
        Whether the row's own code, r = 0, is tried first.
    """

    samples: int
    step: float
    norm: float
    radius: Radius
    most: int
    rows_at_once: int
    stop: Stop = "all"
    reconstruction: bool = True

    def search(self, problem: Problem, latent: Latent, wanted: int, keep: int) -> tuple[Pool, list[Status], np.ndarray]:
        """The hits nearest in latent space, how the search of each row ended, and how many shells it took.

        For further options, the search of a row goes on until `wanted` different hits are found or the shells have
        grown to twice the distance of the first.
        """
        n = len(problem)
        pool = Pool(n, len(problem.region.schema), keep)
        farthest = latent.farthest(self.norm)
        status = np.full(n, Status.FOUND, dtype=object)
        shells = np.zeros(n, dtype=np.int64)
        every = np.arange(n)
        if self.reconstruction:
            self._judge(problem, pool, replace(latent, components=1), latent.codes, every)
        active = every[pool.size < wanted]
        generators = dict(zip(active.tolist(), streams(problem.region.factuals[active], problem.seed), strict=True))
        while active.size:
            inner = self.step * shells[active]
            spent = problem.spent(keep)[active]
            beyond, many = inner > farthest[active], shells[active] >= self.most
            # the first reason that holds; of rows with hits it is not used
            status[active] = _REASONS[np.argmax((spent, beyond, many, np.ones_like(spent)), axis=0)]
            self._sweep(problem, pool, latent, generators, active[beyond & ~spent & (pool.size[active] == 0)], keep)
            far_enough = inner > 2 * pool.nearest[active] + self.step
            active = active[~(spent | beyond | many | far_enough)]
            left = self._look(problem, pool, latent, generators, active, self.step * shells[active], keep)
            status[active[left]] = Status.OUT_OF_REACH
            active = active[~left]
            shells[active] += 1
            active = active[pool.size[active] < wanted]
        status[pool.size > 0] = Status.FOUND
        return pool, list(status), shells

    def _look(
        self,
        problem: Problem,
        pool: Pool,
        latent: Latent,
        generators: Mapping[int, np.random.Generator],
        rows: np.ndarray,
        inner: np.ndarray,
        keep: int,
    ) -> np.ndarray:
        """Samples a shell of each of these rows, and adds to the pool what flips the decision.

        Returns whose shells have left the box: nothing is added for them.
        """
        left = np.zeros(len(rows), dtype=bool)
        for start in self._starts(rows):
            some = rows[start]
            own = [generators[i] for i in some.tolist()]
            codes, owners, left[start] = self._draw(latent, own, some, inner[start])
            here = ~np.isin(owners, some[left[start]]) if left[start].any() else slice(None)
            self._judge(problem, pool, latent, codes[here], owners[here], reserve=keep)
        return left

    def _sweep(
        self,
        problem: Problem,
        pool: Pool,
        latent: Latent,
        generators: Mapping[int, np.random.Generator],
        rows: np.ndarray,
        keep: int,
    ) -> None:
        """Samples the whole box for rows whose shells have left it: far out, shells miss much of it."""
        low, high = latent.low[latent.active], latent.high[latent.active]
        for some in (rows[part] for part in self._starts(rows, _SWEEP)):
            uniform = uniforms([generators[i] for i in some.tolist()], (_SWEEP * self.samples, len(low)))
            codes = np.repeat(latent.codes[some, None, :], _SWEEP * self.samples, axis=1)
            codes[:, :, latent.active] = low + uniform * (high - low)
            codes, owners = codes.reshape(-1, codes.shape[2]), np.repeat(some, _SWEEP * self.samples)
            nearest_first = np.lexsort((norm_of(codes - latent.codes[owners], self.norm), owners))
            self._judge(problem, pool, latent, codes[nearest_first], owners[nearest_first], reserve=keep)

    def _starts(self, rows: np.ndarray, shells: int = 1) -> Iterator[slice]:
        """Parts of the rows whose candidates are held in memory together."""
        size = max(self.rows_at_once // (shells * self.samples), 1)
        for start in range(0, len(rows), size):
            yield slice(start, start + size)

    def _draw(
        self, latent: Latent, generators: list[np.random.Generator], rows: np.ndarray, inner: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Codes in each row's shell that lie in the box, and their owners: at least half the `samples`, if possible.

        Far out, most of a shell lies outside the box. Then points are drawn in the box, and those in the shell are
        kept: given that a point lies in both, both ways have the same distribution. The third array says whose shell
        has left the box.
        """
        drawn: list[np.ndarray] = []
        owners: list[np.ndarray] = []
        left = np.zeros(len(rows), dtype=bool)
        missing = np.full(len(rows), self.samples)
        for propose in (self._in_shell, *[self._in_box] * _DRAWS):
            short = np.flatnonzero(missing > self.samples // 2)
            if not short.size:
                break
            own = [generators[i] for i in short]
            codes, good = propose(latent, own, rows[short], inner[short])
            if not drawn and self.stop != "all":
                outside = (~good).sum(axis=1)
                left = outside > (0 if self.stop == "first" else self.samples // 2)
            good &= np.cumsum(good, axis=1) <= missing[short, None]
            number = good.sum(axis=1)
            drawn.append(codes[good])
            owners.append(np.repeat(rows[short], number))
            missing[short] -= number
        return np.concatenate(drawn), np.concatenate(owners), left

    def _in_shell(
        self, latent: Latent, generators: list[np.random.Generator], rows: np.ndarray, inner: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Codes (rows, samples, k) in each row's shell, and which of them lie in the box."""
        directions = sphere(generators, self.samples, int(latent.active.sum()), self.norm)
        uniform = uniforms(generators, (self.samples,))
        inner = inner[:, None]
        length = radii(uniform, inner, inner + self.step, directions.shape[2], self.radius)
        directions *= length[:, :, None]
        codes = np.repeat(latent.codes[rows, None, :], self.samples, axis=1)
        codes[:, :, latent.active] += directions
        return codes, latent.inside(codes)

    def _in_box(
        self, latent: Latent, generators: list[np.random.Generator], rows: np.ndarray, inner: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Codes (rows, draws, k) uniform in the box, and which of them lie in each row's shell.

        Uniform in volume, radii ρ have a density proportional to ρ^{k−1}; for radii uniform in length, points are kept
        with a probability proportional to ρ^{1−k}.
        """
        k = int(latent.active.sum())
        draws = _BOX_DRAWS * self.samples
        uniform = uniforms(generators, (draws, k + 1))
        codes = np.repeat(latent.codes[rows, None, :], draws, axis=1)
        low, high = latent.low[latent.active], latent.high[latent.active]
        codes[:, :, latent.active] = low + uniform[:, :, :k] * (high - low)
        length = norm_of((codes - latent.codes[rows, None, :])[:, :, latent.active], self.norm)
        inner = inner[:, None]
        good = (length >= inner) & (length < inner + self.step)
        if self.radius == "uniform":
            with np.errstate(divide="ignore", invalid="ignore"):
                good &= uniform[:, :, k] < (np.maximum(inner, 1e-12) / length) ** (k - 1)
        return codes, good

    def _judge(
        self, problem: Problem, pool: Pool, latent: Latent, codes: np.ndarray, owners: np.ndarray, reserve: int = 0
    ) -> None:
        """Adds to the pool what flips the decision, among candidates that are allowed and affordable."""
        rows, hits, _ = tried(problem, latent, codes, owners, reserve)
        if latent.measure is None:
            distance = norm_of(codes[hits] - latent.codes[owners[hits]], self.norm)
        else:
            distance = latent.measure(rows, owners[hits])
        pool.add(rows, owners[hits], distance)
