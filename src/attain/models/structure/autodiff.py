"""Slopes of functions written in JAX and of torch modules, by their own differentiation."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from attain.core.errors import ModelError
from attain.models import torch as torch_modules
from attain.models.goal import GoalLike
from attain.schema import Schema

_SMALLEST = 1e-12
"""Probabilities below this have the same logarithm, so that none is infinite."""


def differentiated(goal: GoalLike, schema: Schema, rows: np.ndarray) -> DifferentiatedScore:
    """The score of a JAX function or a torch module with its slope, or a `ModelError` that says why it has none."""
    model = goal.model.model
    texts = [feature.name for feature in schema if not all(isinstance(level, int | float) for level in feature.levels)]
    if torch_modules.recognises(model) and not texts:
        lead = _torch_lead(goal)
    elif "jax" in sys.modules and callable(model) and goal.model.adapter.accepts == "numpy" and not texts:
        lead = _jax_lead(goal)
    else:
        raise ModelError(
            f"the slope of {goal.model.adapter.title} is not known; it is for linear models and Gaussian or linear "
            "support vector machines, also in pipelines, for torch modules, and for JAX functions wrapped as "
            "Model(function, accepts='numpy'), where levels are numbers"
        )
    score = DifferentiatedScore(goal, schema, lead)
    try:
        score.slope(rows[:1])
    except Exception as error:
        raise ModelError(
            f"{goal.model.adapter.title} cannot be differentiated: {type(error).__name__}: {str(error)[:200]}"
        ) from error
    return score


class DifferentiatedScore:
    """By how much the target class leads the best other one, in log-odds or scores, and its slope."""

    def __init__(
        self, goal: GoalLike, schema: Schema, lead: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    ) -> None:
        self._schema = schema
        self._positions = goal.layout.positions
        self._lead = lead

    def score(self, rows: np.ndarray) -> np.ndarray:
        return self.slope(rows)[0]

    def slope(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if not len(rows):
            return np.empty(0), np.empty(rows.shape)
        values, spacing = rows.copy(), np.ones(rows.shape)
        for j, feature in enumerate(self._schema):
            if feature.levels:
                levels = np.array(feature.levels, dtype=np.float64)
                steps = np.append(np.diff(levels), 0.0) if feature.ordered else np.zeros(len(levels))
                at = np.clip(np.nan_to_num(np.floor(rows[:, j])), 0, max(len(levels) - 2, 0)).astype(np.intp)
                values[:, j] = np.interp(rows[:, j], np.arange(len(levels)), levels)
                spacing[:, j] = steps[at]
            spacing[np.isnan(rows[:, j]) | np.isin(rows[:, j], list(feature.special)), j] = 0.0
        lead, gradient = self._lead(values[:, self._positions])
        slope = np.zeros(rows.shape)
        slope[:, self._positions] = gradient
        return lead.astype(np.float64), np.where(spacing == 0, 0.0, slope * spacing)


def _returns_probabilities(goal: GoalLike) -> bool:
    returns = goal.model.options.returns
    return returns == "probabilities" or (returns is None and not torch_modules.recognises(goal.model.model))


def _jax_lead(goal: GoalLike) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    import jax
    import jax.numpy as jnp

    model, position = goal.model.model, goal.classes.index(goal.target)
    probabilities = _returns_probabilities(goal)

    def lead(array: Any) -> tuple[Any, Any]:
        output = model(array)
        if not jnp.issubdtype(output.dtype, jnp.floating):
            raise TypeError("it returns labels, not probabilities or scores")
        columns = output.reshape(len(array), -1)
        if columns.shape[1] == 1:
            columns = jnp.concatenate([1 - columns if probabilities else jnp.zeros_like(columns), columns], axis=1)
        if probabilities:
            columns = jnp.log(jnp.maximum(columns, _SMALLEST))
        others = jnp.delete(columns, position, axis=1).max(axis=1)
        leads = columns[:, position] - others
        return leads.sum(), leads

    graded = jax.value_and_grad(lead, has_aux=True)

    def answer(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        (_, leads), gradient = graded(jnp.asarray(array))
        return np.asarray(leads), np.asarray(gradient)

    return answer


def _torch_lead(goal: GoalLike) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    import torch

    model, position = goal.model.model, goal.classes.index(goal.target)
    probabilities = _returns_probabilities(goal)
    weights = [*model.parameters(), *model.buffers()]
    dtype = next((tensor.dtype for tensor in weights if tensor.is_floating_point()), torch.float32)
    device = weights[0].device if weights else torch.device("cpu")

    def answer(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        given = torch.as_tensor(array, dtype=dtype, device=device).requires_grad_()
        columns = model(given).reshape(len(array), -1)
        if columns.shape[1] == 1:
            columns = torch.cat([1 - columns if probabilities else torch.zeros_like(columns), columns], dim=1)
        if probabilities:
            columns = torch.log(columns.clamp_min(_SMALLEST))
        kept = [k for k in range(columns.shape[1]) if k != position]
        leads = columns[:, position] - columns[:, kept].max(dim=1).values
        (gradient,) = torch.autograd.grad(leads.sum(), given)
        return leads.detach().float().cpu().numpy(), gradient.float().cpu().numpy()

    return answer
