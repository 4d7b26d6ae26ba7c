"""The one wrapper around any classifier, and a classifier asked for a class or a probability."""

from attain.models.goal import Goal, GoalLike, JointGoal, Judgement, probe_rows
from attain.models.model import Model

__all__ = ["Goal", "GoalLike", "JointGoal", "Judgement", "Model", "probe_rows"]
