"""Latent refinement under the guard: an evolution strategy round the codes of people without a usual start."""

from __future__ import annotations

from typing import Final

import numpy as np

from attain.methods.guarded.trials import Trials
from attain.methods.search.latent_space import Latent
from attain.methods.search.pool import rank_within
from attain.methods.search.streams import normals, streams

_PARENTS: Final = 4
_CHILDREN: Final = 24
_GENERATIONS: Final = 10
_WIDEST, _NARROWEST = 1.5, 0.2
"""The standard deviation of a step in the first and in the last generation, in latent units."""
_STREAM: Final = 0xE501DED
"""Keeps its random numbers apart from those of the shells."""
_REFUSED: Final = 1e6


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
