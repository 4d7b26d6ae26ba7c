"""CPU seconds per epoch, beside an eager PyTorch model of the same shape: `python -m benchmarks.training`.

Give Me Some Credit (paper's version): 8 free and 2 immutable columns, 5 components, 6 latent dimensions, one hidden
layer of 64, Adam. `relaxed` is the paper's estimator (a Gumbel-softmax draw of the component), `exact` the default
here (the sum over components: five decodes a row instead of one). One thread each. The two are measured in turn,
several times, in one run; the figure is the least of the CPU seconds of an epoch of 120,000 rows. The last lines are
the wall time of the paper's whole training. Needs PyTorch (`make bench` installs it).
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
ROWS = 120_000
COMPONENTS, LATENT, HIDDEN = 5, 6, 64
ROUNDS = 5


def main() -> None:
    """Measures both and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {ONE_THREAD}"
    from attain.datasets import load_gmsc
    from attain.density import CHVAE
    from attain.density.columns import Columns
    from attain.tables import Table
    from benchmarks import report, torch_model

    data = load_gmsc(version="paper")
    values = Table.read(data.X, data.schema).values
    columns = Columns.fit(data.schema, values, likelihoods="paper")
    rows = columns.prepare(values)[:ROWS]
    lines = []
    for estimator in ("relaxed", "exact"):
        for batch in (128, 512):
            ours = _our_epoch(columns, rows, batch, estimator)
            theirs = torch_model.epoch(columns, rows, batch, COMPONENTS, LATENT, HIDDEN, estimator)
            best = _least({"attain": ours, "PyTorch": theirs}, given.rounds)
            ratio = best["attain"] / best["PyTorch"]
            lines.append((estimator, batch, f"{best['attain']:.2f}", f"{best['PyTorch']:.2f}", f"{ratio:.2f}"))
    header = ("estimator", "batch", "attain, CPU s per epoch", "PyTorch eager, CPU s per epoch", "ratio")
    body = report.table(header, lines) + "\n"
    for estimator in ("relaxed", "exact"):
        started = time.perf_counter()
        CHVAE(
            data.schema,
            likelihoods="paper",
            latent_dim=LATENT,
            components=COMPONENTS,
            hidden=HIDDEN,
            estimator=estimator,
            epochs=50,
            batch_size=128,
            patience=50,
        ).fit(values[: int(0.8 * len(values))])
        whole = time.perf_counter() - started
        body += f"\nThe paper's training (50 epochs, 96,000 rows, batch 128), {estimator}, wall seconds: {whole:.1f}\n"
    report.write("training", "Training: CPU seconds per epoch of 120,000 rows", "python -m benchmarks.training", body)


def _least(runs: dict[str, Callable[[], None]], rounds: int) -> dict[str, float]:
    """The least CPU seconds of each, measured in turn after one run of each to compile and warm up."""
    for run in runs.values():
        run()
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            started = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - started)
    return best


def _our_epoch(columns: Any, rows: Any, batch: int, estimator: Any) -> Callable[[], None]:
    import jax
    import numpy as np

    from attain.density.mixture import Mixture
    from attain.density.training import OPTIMISER, Plan, _epoch, _schedule

    model = Mixture.initial(
        columns,
        jax.random.key(0),
        latent_dim=LATENT,
        components=COMPONENTS,
        hidden=(HIDDEN,),
        estimator=estimator,
    )
    moments = OPTIMISER.init(model.weights)
    schedule = _schedule(Plan(batch_size=batch), 20)
    here = jax.device_put(rows)
    steps = len(rows) // batch
    places = np.random.default_rng(0).permutation(len(rows))[: steps * batch].reshape(steps, batch).astype(np.int32)

    def run() -> None:
        jax.block_until_ready(_epoch(model.loss, model.weights, moments, here, places, jax.random.key(1), schedule)[2])

    return run


if __name__ == "__main__":
    main()
