"""The experiments of the paper, reproduced: `attain paper`."""

from attain.experiments.paper.run import run
from attain.experiments.paper.settings import FULL, QUICK, Settings

__all__ = ["FULL", "QUICK", "Settings", "run"]
