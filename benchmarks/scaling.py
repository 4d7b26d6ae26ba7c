"""Time and memory of training against columns and rows: `python -m benchmarks.scaling`.

Made-up data of mixed kinds. Columns from 10 to 500 at 20,000 rows; rows from 10³ to 10⁷ at 10 columns, where from 10⁶
on the rows stream through the device in chunks of a million. Each point runs in a process of its own, so that its
peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

COLUMNS = (10, 20, 50, 100, 200, 500)
ROWS = (10**3, 10**4, 10**5, 10**6, 10**7)


def one(columns: int, rows: int) -> dict[str, float]:
    """Seconds to compile and run the first epoch, CPU seconds of a later one, and peak memory in MB."""
    import numpy as np

    from attain import Feature, Schema
    from attain.density import CHVAE

    kinds = ("real", "positive", "count", "ordinal", "categorical")
    features = []
    for j in range(columns):
        kind = kinds[j % len(kinds)]
        levels = (0, 1, 2, 3) if kind in ("ordinal", "categorical") else ()
        features.append(Feature(f"x{j}", kind, levels=levels, immutable=j % 10 == 9))  # type: ignore[arg-type]
    random = np.random.default_rng(0)
    values = np.empty((rows, columns))
    common = random.normal(size=rows)
    for j, feature in enumerate(features):
        base = 0.7 * common + 0.7 * random.normal(size=rows)
        made = {"real": base, "positive": np.exp(base), "count": np.floor(np.exp(base))}
        values[:, j] = made.get(feature.kind, np.clip(np.floor(base + 2), 0, 3))
    schema = Schema(tuple(features))
    batch = 512 if rows >= 10**4 else 64
    marks: list[tuple[float, float]] = []

    class Timed(CHVAE):
        def _train(self, *arguments):  # type: ignore[no-untyped-def]
            marks.append((time.perf_counter(), time.process_time()))
            return super()._train(*arguments)

    settings = {"latent_dim": 6, "components": 3, "batch_size": batch, "rows_on_device": 10**6, "verbose": False}
    seconds = {}
    for name, epochs in (("first", 1), ("second", 2)):
        model = Timed(schema, epochs=epochs, **settings)  # type: ignore[arg-type]
        model.fit(values)
        wall, cpu = marks[-1]
        seconds[name] = time.process_time() - cpu
        seconds[f"{name}_wall"] = time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    epoch = max(seconds["second"] / 2, 0.0)
    return {
        "compile": max(seconds["first"] - epoch, 0.0),
        "epoch": epoch,
        "memory": peak,
        "table": values.nbytes / 2**20,
    }


def main() -> None:
    """Measures every point and writes table and plot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--point", nargs=2, type=int, metavar=("COLUMNS", "ROWS"))
    parser.add_argument("--most-rows", type=int, default=ROWS[-1])
    given = parser.parse_args()
    if given.point:
        print(json.dumps(one(*given.point)))
        return
    from benchmarks import report

    points = [(c, 20_000) for c in COLUMNS] + [(10, r) for r in ROWS if r <= given.most_rows]
    measured = {}
    for columns, rows in points:
        command = [sys.executable, "-m", "benchmarks.scaling", "--point", str(columns), str(rows)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        measured[columns, rows] = json.loads(done.stdout.splitlines()[-1])
        print(columns, rows, measured[columns, rows], flush=True)
    header = ("columns", "rows", "compiling, CPU s", "epoch, CPU s", "peak memory, MB", "of it the float64 table, MB")
    lines = [
        (c, f"{r:,}", f"{m['compile']:.1f}", f"{m['epoch']:.2f}", f"{m['memory']:.0f}", f"{m['table']:.0f}")
        for (c, r), m in measured.items()
    ]
    _plot(measured)
    body = report.table(header, lines) + "\n\n![time and memory](scaling.png)"
    report.write("scaling", "Training: time and memory against columns and rows", "python -m benchmarks.scaling", body)


def _plot(measured: dict[tuple[int, int], dict[str, float]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from benchmarks import report

    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for axis, place, fixed, label in (
        (axes[0], 0, 20_000, "columns (20,000 rows)"),
        (axes[1], 1, 10, "rows (10 columns)"),
    ):
        chosen = {key[place]: value for key, value in measured.items() if key[1 - place] == fixed}
        size = sorted(chosen)
        axis.loglog(size, [chosen[s]["compile"] for s in size], "o-", label="compiling, CPU s")
        axis.loglog(size, [chosen[s]["epoch"] for s in size], "s-", label="one epoch, CPU s")
        axis.loglog(size, [chosen[s]["memory"] / 1000 for s in size], "^-", label="peak memory, GB")
        axis.set_xlabel(label)
        axis.grid(alpha=0.3, which="both")
        axis.legend()
    figure.suptitle("CHVAE: 6 latent dimensions, 3 components, linear")
    figure.savefig(report.RESULTS / "scaling.png", dpi=110)


if __name__ == "__main__":
    main()
