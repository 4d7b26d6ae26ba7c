"""The bound a CHVAE reaches against CPU seconds, and what compiling its training costs.

`python -m benchmarks.training_bounds`. The first table is by batch size, epochs and the learning rate at first, which
falls along a cosine to the last epoch; training stops early where the bound on held-out rows has not improved for ten
epochs. The bound is that of 2,000 rows that took no part in training, in nats a row: larger is better. CPU seconds of
one thread are those of the epochs, without compiling. The second table is what a first fit of one epoch costs more than
a second one, by columns (of all six kinds in turn) and levels. Every cell is a process of its own, and two run at a
time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
ROWS = 8_000
DATA = ("HELOC",)
PLANS = ((64, 32, 0.008), (64, 11, 0.008), (64, 11, 0.016), (64, 11, 0.03), (128, 16, 0.016), (512, 32, 0.023),
         (4_096, 64, 0.064))  # fmt: skip
"""Batch size, epochs and learning rate; the first is about the default for so many rows, which has 35 epochs."""
SIZES = ((10, 2), (10, 1_000), (500, 2), (500, 100))
"""Columns, and the most levels that one of them has."""


def main() -> None:
    """Measures every cell and writes the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", nargs=4, help="data set, batch, epochs and learning rate of one cell")
    parser.add_argument("--size", nargs=2, type=int, help="columns and levels of one cell of the second table")
    given = parser.parse_args()
    if given.plan:
        return _train(given.plan[0], int(given.plan[1]), int(given.plan[2]), float(given.plan[3]))
    if given.size:
        return _compile(*given.size)
    from benchmarks import report

    cells = [("--plan", data, *map(str, plan)) for data in DATA for plan in PLANS]
    cells += [("--size", str(columns), str(levels)) for columns, levels in SIZES]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(_cell, cells))
    lines: list[tuple[Any, ...]] = []
    for (_, data, *plan), (bound, seconds) in zip(cells, found[: len(DATA) * len(PLANS)], strict=False):
        first = found[DATA.index(data) * len(PLANS)]
        differ, share = f"{bound - first[0]:+.3f}", f"{seconds / first[1]:.2f}"
        lines.append((data, *plan, f"{bound:.3f}", differ, f"{seconds:.2f}", share))
    header = (
        "data",
        "batch",
        "epochs",
        "learning rate",
        "held-out bound",
        "against the first",
        "CPU s",
        "share of the first",
    )
    body = f"{ROWS:,} training rows.\n\n" + report.table(header, lines) + "\n\n"
    compiled = zip(SIZES, found[len(DATA) * len(PLANS) :], strict=True)
    rows = [
        (columns, levels, f"{first - second:.1f}", f"{second:.2f}") for (columns, levels), (first, second) in compiled
    ]
    body += report.table(("columns", "most levels", "compiling, CPU s", "an epoch of 600 rows, CPU s"), rows)
    report.write("training_bounds", "Training: bound against time", "python -m benchmarks.training_bounds", body)


def _cell(arguments: tuple[str, ...]) -> tuple[float, float]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.training_bounds", *arguments],
        env={**os.environ, "XLA_FLAGS": ONE_THREAD, "JAX_ENABLE_COMPILATION_CACHE": "false"},
        capture_output=True,
        text=True,
        check=True,
    )
    first, second = done.stdout.split()[-2:]
    print(*arguments, first, second, file=sys.stderr, flush=True)
    return float(first), float(second)


def _train(name: str, batch: int, epochs: int, rate: float) -> None:
    """Prints the bound and the CPU seconds."""
    from unittest.mock import patch

    from attain.datasets import load_heloc
    from attain.density import CHVAE, estimator
    from attain.density.training import Trained, train
    from attain.tables import Table

    data = {"HELOC": load_heloc}[name]()
    values = Table.read(data.X.head(ROWS + 2_000), data.schema).values
    ends: list[float] = []

    def timed(*arguments: Any, **named: Any) -> Trained:
        return train(*arguments, **{**named, "progress": lambda *_: ends.append(time.process_time())})

    model = CHVAE(
        data.schema,
        likelihoods="paper",
        hidden=0,
        batch_size=batch,
        epochs=epochs,
        learning_rate=rate,
        patience=10,
        verbose=False,
    )
    with patch.object(estimator, "train", timed):
        model.fit(values[:ROWS])
    seconds = (ends[-1] - ends[0]) * len(ends) / (len(ends) - 1)  # the first epoch compiles
    print(model.log_density(values[ROWS:], 20).mean(), seconds)


def _compile(columns: int, levels: int) -> None:
    """Prints the CPU seconds of a first fit and of a second one."""
    from attain.density import CHVAE
    from attain.tables import Table
    from benchmarks.tasks import random_table

    schema, frame, _ = random_table(columns, levels)
    values, times = Table.read(frame, schema).values, [time.process_time()]
    for _ in range(2):
        CHVAE(schema, likelihoods="paper", hidden=0, epochs=1, verbose=False).fit(values)
        times.append(time.process_time())
    print(times[1] - times[0], times[2] - times[1])


if __name__ == "__main__":
    main()
