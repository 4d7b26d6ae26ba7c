"""Starts in latent space: codes around each row's own, and an evolution strategy for rows without a typical start."""

from __future__ import annotations

from typing import Final

import numpy as np

from attain.methods.guarded.trials import Trials
from attain.methods.search.latent_space import Latent
from attain.methods.search.pool import rank_within
from attain.methods.search.problem import Problem
from attain.methods.search.sphere import directions
from attain.methods.search.streams import normals, streams, uniforms

_PARENTS: Final = 4
_CHILDREN: Final = 24
_GENERATIONS: Final = 10
_WIDEST, _NARROWEST = 1.5, 0.2
"""The standard deviation of a step in the first and in the last generation, in latent units."""
_STREAM: Final = 0xE501DED
"""Keeps its random numbers apart from those of the shells."""
_REFUSED: Final = 1e6
_CODES: Final = 16
_FARTHEST: Final = 2.5
"""Codes tried around each row's own, and how far from it, in latent units."""
_START_STREAM: Final = 0x57A2755
"""Keeps their random numbers apart from those of other searches."""


def latent_starts(problem: Problem, latent: Latent) -> tuple[np.ndarray, np.ndarray]:
    """Records decoded from codes around each row's own, evenly far up to a few latent units, in final form."""
    region = problem.region
    generators = streams(region.factuals, problem.seed ^ _START_STREAM)
    units = int(latent.active.sum())
    far = np.sort(uniforms(generators, (_CODES,)), axis=1) * _FARTHEST
    moves = directions(normals(generators, (_CODES, units))) * far[:, :, None]
    codes = np.repeat(latent.codes[:, None, :], _CODES, axis=1)
    codes[:, :, latent.active] += moves
    codes = np.clip(codes, latent.low, latent.high)
    owners = np.repeat(np.arange(len(region)), _CODES)
    rows = latent.decode(codes.reshape(len(owners), -1), owners)
    return region.final_form(rows, owners), owners


def evolved(trials: Trials, latent: Latent, people: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Decoded rows of these people that turn the decision: the last parents, and whose they are.

    A code is better the more usual and the easier its row is, if that turns the decision; if not, the closer its score
    comes to it.
    """
    region = trials.problem.region
    generators = streams(region.factuals[people], trials.problem.seed ^ _STREAM)
    codes, rows = latent.codes[people], region.factuals[people]
    whose, fitness = np.arange(len(people)), np.full(len(people), np.inf)
    width = latent.codes.shape[1]
    for step in np.geomspace(_WIDEST, _NARROWEST, _GENERATIONS):
        if not len(people):
            break
        number = np.bincount(whose, minlength=len(people))
        firsts = np.concatenate(([0], np.cumsum(number)[:-1]))
        parent = firsts[:, None] + np.arange(_CHILDREN) % number[:, None]
        moves = step * normals(generators, (_CHILDREN, width)) * latent.active
        children = np.clip(codes[parent] + moves, latent.low, latent.high).reshape(-1, width)
        owners = np.repeat(np.arange(len(people)), _CHILDREN)
        decoded = region.final_form(latent.decode(children, people[owners]), people[owners])
        codes, rows = np.concatenate((codes, children)), np.concatenate((rows, decoded))
        whose = np.concatenate((whose, owners))
        fitness = np.concatenate((fitness, _fitness(trials, decoded, people[owners])))
        order = np.lexsort((fitness, whose))
        order = order[rank_within(whose[order]) < _PARENTS]
        codes, rows, whose, fitness = codes[order], rows[order], whose[order], fitness[order]
    won = fitness < _REFUSED / 2
    return rows[won], people[whose[won]]


def _fitness(trials: Trials, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
    problem = trials.problem
    fitness = np.full(len(rows), np.inf)
    tried = problem.evaluate(rows, owners, reserve=trials.reserve, in_final_form=True)
    fitness[tried.asked] = _REFUSED - np.round(tried.score, 9)
    turned = tried.hits
    fitness[turned] = trials.measured(rows[turned], owners[turned]).merit
    return fitness
