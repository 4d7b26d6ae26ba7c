"""The wrapper around any classifier, and a classifier asked for a class or a probability."""

from attain.models.adapter import Adapter, Options, library_name
from attain.models.goal import Goal, Judgement, probe_rows
from attain.models.joint import JointGoal
from attain.models.model import Model, register

__all__ = [
    "Adapter",
    "Goal",
    "JointGoal",
    "Judgement",
    "Model",
    "Options",
    "library_name",
    "probe_rows",
    "register",
]
