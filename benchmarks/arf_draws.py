"""Draws of an adversarial random forest: `PYTHON benchmarks/arf_draws.py IN.npz OUT.npz`, for `benchmarks.densities`.

A script of its own, because arfpy 0.1.1 needs NumPy below 2.4: PYTHON is that of an environment with arfpy.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pandas as pd
from arfpy import arf


def main(source: str, goal: str) -> None:
    """Learns the rows `train`, whose columns `levels` hold levels, and draws `n` rows."""
    given = np.load(source)
    frame = pd.DataFrame(given["train"]).add_prefix("c")
    levels = [f"c{j}" for j in given["levels"]]
    frame[levels] = frame[levels].astype("int").astype("object").astype("category")
    np.random.seed(0)  # noqa: NPY002, what arfpy draws with
    start = time.process_time()
    fitted = arf.arf(x=frame, verbose=False)
    fitted.forde()
    fitting = time.process_time() - start
    drawn = fitted.forge(n=int(given["n"]))[list(frame.columns)].astype("float64")
    np.savez(goal, rows=drawn.to_numpy(), fitting=fitting, drawing=time.process_time() - start - fitting)


if __name__ == "__main__":
    main(*sys.argv[1:])
