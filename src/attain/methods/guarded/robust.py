"""The other models that answers should be valid under: given ones, or models fitted on resampled rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from attain.core.errors import AttainError
from attain.core.frames import Frame
from attain.models import Goal

Refit: TypeAlias = Callable[[Any, Any, int], Any]
"""From a frame, its labels and a seed to a fitted model."""


def other_goals(
    robust: Sequence[Any] | Refit,
    goal_of: Callable[[Any], Goal],
    frame_of: Callable[[np.ndarray], Frame],
    labels: np.ndarray | None,
    seed: int,
    refits: int,
) -> list[Goal]:
    """The goals of the given models, or of models that a function fits on training rows drawn with replacement."""
    if not callable(robust):
        models = list(robust) if isinstance(robust, Sequence) and not isinstance(robust, str) else []
        if not models:
            found = repr(robust) if isinstance(robust, str | Sequence) else f"a {type(robust).__name__}"
            raise AttainError(
                f"robust must be a list of models, or a function of (X, y, seed) that fits one, got {found}"
            )
        return [goal_of(model) for model in models]
    if labels is None:
        raise AttainError("robust is a function that fits models, but fit had no labels; fit with y, or pass models")
    random = np.random.default_rng(seed)
    goals = []
    for _ in range(refits):
        drawn = random.integers(len(labels), size=len(labels))
        goals.append(goal_of(robust(frame_of(drawn), labels[drawn].tolist(), int(random.integers(2**31 - 1)))))
    return goals
