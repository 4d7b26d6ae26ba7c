"""The one wrapper round any classifier, and a classifier asked for a class or a probability."""

from attain.models.goal import Goal, Judgement
from attain.models.model import Model

__all__ = ["Goal", "Judgement", "Model"]
