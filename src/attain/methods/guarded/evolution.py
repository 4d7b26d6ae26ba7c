"""Starts in latent space: codes around each row's own, and an evolution strategy for rows without a typical start."""

from __future__ import annotations

import numpy as np

from attain.methods.guarded.evaluator import CandidateEvaluator
from attain.methods.search.latent_space import Latent
from attain.methods.search.pool import rank_within
from attain.methods.search.sphere import directions
from attain.methods.search.streams import normals, streams, uniforms

_REFUSED = 1e6
"""The fitness of rows that do not flip the decision, less their score: worse than any that does."""


def latent_starts(evaluator: CandidateEvaluator, latent: Latent) -> tuple[np.ndarray, np.ndarray]:
    """Rows in final form, decoded from codes at uniform distances from each row's own, and their owners."""
    region, settings = evaluator.problem.region, evaluator.settings
    n = settings.n_codes
    generators = streams(region.factuals, evaluator.problem.seed ^ settings.code_stream)
    far = np.sort(uniforms(generators, (n,)), axis=1) * settings.code_radius
    moves = directions(normals(generators, (n, int(latent.active.sum())))) * far[:, :, None]
    codes = np.repeat(latent.codes[:, None, :], n, axis=1)
    codes[:, :, latent.active] += moves
    codes = np.clip(codes, latent.low, latent.high)
    owners = np.repeat(np.arange(len(region)), n)
    rows = latent.decode(codes.reshape(len(owners), -1), owners)
    return region.final_form(rows, owners), owners


def evolved(evaluator: CandidateEvaluator, latent: Latent, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Decoded rows that flip the decision, for some rows of the batch: the last parents, and their owners.

    The fitness of a code is the merit of its row, if that flips the decision; otherwise a larger score is better.
    """
    region, settings = evaluator.problem.region, evaluator.settings
    generators = streams(region.factuals[owners], evaluator.problem.seed ^ settings.evolution_stream)
    codes, rows = latent.codes[owners], region.factuals[owners]
    of, fitness = np.arange(len(owners)), np.full(len(owners), np.inf)
    n, width = settings.n_children, latent.codes.shape[1]
    child_of = np.repeat(np.arange(len(owners)), n)
    for step in np.geomspace(*settings.mutation, settings.n_generations):
        number = np.bincount(of, minlength=len(owners))
        firsts = np.concatenate(([0], np.cumsum(number)[:-1]))
        parent = firsts[:, None] + np.arange(n) % number[:, None]
        moves = step * normals(generators, (n, width)) * latent.active
        children = np.clip(codes[parent] + moves, latent.low, latent.high).reshape(-1, width)
        decoded = region.final_form(latent.decode(children, owners[child_of]), owners[child_of])
        codes, rows = np.concatenate((codes, children)), np.concatenate((rows, decoded))
        of = np.concatenate((of, child_of))
        fitness = np.concatenate((fitness, _fitness(evaluator, decoded, owners[child_of])))
        order = np.lexsort((fitness, of))
        order = order[rank_within(of[order]) < settings.n_parents]
        codes, rows, of, fitness = codes[order], rows[order], of[order], fitness[order]
    won = fitness < _REFUSED / 2
    return rows[won], owners[of[won]]


def _fitness(evaluator: CandidateEvaluator, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
    fitness = np.full(len(rows), np.inf)
    tried = evaluator.problem.evaluate(rows, owners, reserve=evaluator.reserve, in_final_form=True)
    fitness[tried.asked] = _REFUSED - np.round(tried.score, 9)
    fitness[tried.hits] = evaluator.measure(rows[tried.hits], owners[tried.hits]).merit
    return fitness
