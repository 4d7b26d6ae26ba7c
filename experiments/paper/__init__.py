"""The experiments of the paper, reproduced: `python -m experiments paper`."""

from experiments.paper.run import run
from experiments.paper.settings import FULL, QUICK, Settings

__all__ = ["FULL", "QUICK", "Settings", "run"]
