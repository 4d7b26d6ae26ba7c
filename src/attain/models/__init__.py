"""The wrapper around any classifier, and a classifier asked for a class or a probability."""

from attain.models.adapter import Adapter, Options, library_name
from attain.models.goal import Goal, JointGoal, Judgement
from attain.models.model import Model, register
from attain.models.reader import probe_rows

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
