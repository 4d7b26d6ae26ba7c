"""Draws of a mixed sum-product network: `PYTHON benchmarks/spn_draws.py IN.npz OUT.npz`, for `benchmarks.densities`.

A script of its own, because SPFlow 0.0.48, the last with networks of mixed columns that need no PyTorch, needs NumPy
below 2: PYTHON is that of an environment with it.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from spn.algorithms.LearningWrappers import learn_mspn
from spn.algorithms.Sampling import sample_instances
from spn.structure.Base import Context
from spn.structure.StatisticalTypes import MetaType


def main(source: str, goal: str) -> None:
    """Learns the rows `train`, whose columns `levels` hold levels, and draws `n` rows."""
    given = np.load(source)
    train, levels = given["train"], set(given["levels"].tolist())
    kinds = [MetaType.DISCRETE if j in levels else MetaType.REAL for j in range(train.shape[1])]
    context = Context(meta_types=kinds)
    context.add_domains(train)
    start = time.process_time()
    network = learn_mspn(train, context, min_instances_slice=200, cpus=1, rand_gen=np.random.RandomState(0))
    fitting = time.process_time() - start
    unknown = np.full((int(given["n"]), train.shape[1]), np.nan)
    drawn = sample_instances(network, unknown, np.random.RandomState(0))
    np.savez(goal, rows=drawn, fitting=fitting, drawing=time.process_time() - start - fitting)


if __name__ == "__main__":
    main(*sys.argv[1:])
