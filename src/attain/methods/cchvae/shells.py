"""Algorithm 1 of the paper: growing shells round each person's latent code, many people at once.

The paper leaves open what is decided here, in one place:

- The shell of radius r is S(ẑ, r, r + Δr); written S(ẑ, r, Δr) it would be empty once r > Δr.
- The reconstruction, r = 0, comes first: if it already turns the decision, its latent distance is 0 and it is flagged.
- The component is the most probable one of the person, and stays while z moves.
- Decoding is deterministic: each column's typical value, with the person's own immutable features.
- A candidate is put into final form, and within the rules, before the model is asked. What final form makes of it may
  be the person's own record; then it is no candidate.
- Latent units that the autoencoder does not use are not moved: they change nothing, and their range in the training
  codes is next to nothing, so that every sample would fall out of the box.
- A sample outside the box, the range of the training codes in any dimension, is discarded; the shell is drawn from
  again, a few times, to make up for it. A code that lies outside the box itself is searched all the same, and flagged.
- The search of a person stops when something in the shell turns the decision, when r exceeds the distance from the code
  to the farthest corner of the box, when the largest number of shells is reached, or when the budget is spent.
- Before the search of a person ends because the shells have left the box, the whole box is sampled once more, evenly.
- Among what turns the decision, the least latent distance in the chosen norm wins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from attain.methods.search.latent_space import Latent
from attain.methods.search.pool import Pool
from attain.methods.search.problem import Problem
from attain.methods.search.sphere import Radius, norm_of, radii, sphere
from attain.methods.search.streams import streams, uniforms
from attain.results.status import Status

_DRAWS = 2
_BOX_DRAWS = 5
"""Where samples fall out of the box: how often, and how many times `samples`, points are drawn in it instead."""
_SWEEP = 20
"""How many times `samples` points are drawn in the whole box before a search ends without an answer."""


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
    reconstruction
        Whether the person's own code, r = 0, is tried first.
    """

    samples: int
    step: float
    norm: float
    radius: Radius
    most: int
    rows_at_once: int
    reconstruction: bool = True

    def search(self, problem: Problem, latent: Latent, wanted: int, keep: int) -> tuple[Pool, list[Status], np.ndarray]:
        """The hits nearest in latent space, how each person's search ended, and how many shells it took.

        The search of a person goes on, for further options, until `wanted` different hits are found or the shells have
        grown to twice the distance of the first.
        """
        n = len(problem)
        pool = Pool(n, len(problem.region.schema), keep)
        generators = streams(problem.region.factuals, problem.seed)
        farthest = latent.farthest(self.norm)
        status = np.full(n, Status.FOUND, dtype=object)
        shells = np.zeros(n, dtype=np.int64)
        everybody = np.arange(n)
        if self.reconstruction:
            self._judge(problem, pool, latent, latent.codes, everybody)
        active = everybody[pool.size < wanted]
        while active.size:
            inner = self.step * shells[active]
            spent = problem.spent(keep)[active]
            beyond, many = inner > farthest[active], shells[active] >= self.most
            for reason, ended in (
                (Status.SHELLS_SPENT, many), (Status.OUT_OF_REACH, beyond), (Status.BUDGET_SPENT, spent)
            ):  # fmt: skip
                status[active[ended & (pool.size[active] == 0)]] = reason
            self._sweep(problem, pool, latent, generators, active[beyond & ~spent & (pool.size[active] == 0)], keep)
            status[active[pool.size[active] > 0]] = Status.FOUND
            far_enough = inner > 2 * pool.nearest[active] + self.step
            active = active[~(spent | beyond | many | far_enough)]
            self._look(problem, pool, latent, generators, active, self.step * shells[active], keep)
            shells[active] += 1
            active = active[pool.size[active] < wanted]
        return pool, list(status), shells

    def _look(
        self,
        problem: Problem,
        pool: Pool,
        latent: Latent,
        generators: list[np.random.Generator],
        people: np.ndarray,
        inner: np.ndarray,
        keep: int,
    ) -> None:
        """Samples a shell of each of these people, and adds to the pool what turns the decision."""
        for start in self._starts(people):
            some = people[start]
            own = [generators[i] for i in some]
            codes, owners = self._draw(latent, own, some, inner[start])
            self._judge(problem, pool, latent, codes, owners, reserve=keep)

    def _sweep(
        self,
        problem: Problem,
        pool: Pool,
        latent: Latent,
        generators: list[np.random.Generator],
        people: np.ndarray,
        keep: int,
    ) -> None:
        """Once more the whole box, evenly, for people whose shells have left it: far out, shells miss much of it."""
        low, high = latent.low[latent.active], latent.high[latent.active]
        for some in (people[part] for part in self._starts(people, _SWEEP)):
            uniform = uniforms([generators[i] for i in some], (_SWEEP * self.samples, len(low)))
            codes = np.repeat(latent.codes[some, None, :], _SWEEP * self.samples, axis=1)
            codes[:, :, latent.active] = low + uniform * (high - low)
            codes, owners = codes.reshape(-1, codes.shape[2]), np.repeat(some, _SWEEP * self.samples)
            nearest_first = np.lexsort((norm_of(codes - latent.codes[owners], self.norm), owners))
            self._judge(problem, pool, latent, codes[nearest_first], owners[nearest_first], reserve=keep)

    def _starts(self, people: np.ndarray, shells: int = 1) -> Iterator[slice]:
        """Parts of the people whose candidates are held in memory together."""
        size = max(self.rows_at_once // (shells * self.samples), 1)
        for start in range(0, len(people), size):
            yield slice(start, start + size)

    def _draw(
        self, latent: Latent, generators: list[np.random.Generator], people: np.ndarray, inner: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Codes in each person's shell that lie in the box, and whose they are: half the `samples`, if possible.

        Far out, most of a shell lies outside the box. Then points are drawn in the box, and those in the shell are
        kept: given that a point lies in both, the two ways have the same distribution.
        """
        drawn, owners = [], []
        missing = np.full(len(people), self.samples)
        for propose in (self._in_shell, *[self._in_box] * _DRAWS):
            short = np.flatnonzero(missing > self.samples // 2)
            if not short.size:
                break
            own = [generators[i] for i in short]
            codes, good = propose(latent, own, people[short], inner[short])
            good &= np.cumsum(good, axis=1) <= missing[short, None]
            number = good.sum(axis=1)
            drawn.append(codes[good])
            owners.append(np.repeat(people[short], number))
            missing[short] -= number
        return np.concatenate(drawn), np.concatenate(owners)

    def _in_shell(
        self, latent: Latent, generators: list[np.random.Generator], people: np.ndarray, inner: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Codes (people, samples, k) in each person's shell, and which of them lie in the box."""
        directions = sphere(generators, self.samples, int(latent.active.sum()), self.norm)
        uniform = uniforms(generators, (self.samples,))
        inner = inner[:, None]
        length = radii(uniform, inner, inner + self.step, directions.shape[2], self.radius)
        directions *= length[:, :, None]
        codes = np.repeat(latent.codes[people, None, :], self.samples, axis=1)
        codes[:, :, latent.active] += directions
        return codes, latent.inside(codes)

    def _in_box(
        self, latent: Latent, generators: list[np.random.Generator], people: np.ndarray, inner: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Codes (people, draws, k) uniform in the box, and which of them lie in each person's shell.

        Uniform in volume, radii have a density that rises like ρ^{k−1}; where they shall be uniform in length, points
        are kept with a probability that falls like it.
        """
        k = int(latent.active.sum())
        draws = _BOX_DRAWS * self.samples
        uniform = uniforms(generators, (draws, k + 1))
        codes = np.repeat(latent.codes[people, None, :], draws, axis=1)
        low, high = latent.low[latent.active], latent.high[latent.active]
        codes[:, :, latent.active] = low + uniform[:, :, :k] * (high - low)
        length = norm_of((codes - latent.codes[people, None, :])[:, :, latent.active], self.norm)
        inner = inner[:, None]
        good = (length >= inner) & (length < inner + self.step)
        if self.radius == "uniform":
            with np.errstate(divide="ignore", invalid="ignore"):
                good &= uniform[:, :, k] < (np.maximum(inner, 1e-12) / length) ** (k - 1)
        return codes, good

    def _judge(
        self, problem: Problem, pool: Pool, latent: Latent, codes: np.ndarray, owners: np.ndarray, reserve: int = 0
    ) -> None:
        """Adds to the pool what turns the decision, among candidates that are allowed and affordable."""
        tried = problem.evaluate(latent.decode(codes, owners), owners, reserve=reserve)
        rows, hits = tried.rows, tried.hits
        if latent.measure is None:
            distance = norm_of(codes[hits] - latent.codes[owners[hits]], self.norm)
        else:
            distance = latent.measure(rows[hits], owners[hits])
        pool.add(rows[hits], owners[hits], distance)
