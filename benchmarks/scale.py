"""Many people in slices: `python -m benchmarks.scale`.

Applicants of GMSC, drawn with replacement from the data set, of whom a logistic regression refuses some. Each run is a
process of its own with one worker and one thread: CPU seconds, and the peak of its memory. Target: at most 1,500 MB
for a million.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

PEOPLE = (10**4, 10**5, 10**6)
METHODS = ("Guarded", "CCHVAE")


def made(folder: Path, method: str, people: int) -> tuple[Path, Any]:
    """A Parquet file of people, and what answers them."""
    import numpy as np

    from attain import methods
    from attain.desk.scale import ExplainBatch
    from benchmarks.tasks import paper_task

    task = paper_task("GMSC", 0)
    options = {"autoencoder": _quick(task.data.schema)} if method == "CCHVAE" else {}
    explainer = getattr(methods, method)(task.data.schema, **options).fit(task.train, task.y_train)
    random, path = np.random.default_rng(0), folder / f"{people}.parquet"
    if not path.exists():
        import pyarrow as pa
        import pyarrow.parquet as pq

        pool = pa.Table.from_pandas(task.test, preserve_index=False)
        with pq.ParquetWriter(path, pool.schema.append(pa.field("id", pa.int64()))) as writer:
            for start in range(0, people, 50_000):
                ids = np.arange(start, min(start + 50_000, people))
                drawn = pool.take(random.integers(0, len(task.test), len(ids)))
                writer.write_table(drawn.append_column("id", pa.array(ids)))
    return path, ExplainBatch(explainer, task.model, target=task.data.desired, index="id", integers=True)


def _quick(schema: Any) -> Any:
    from attain.density import CHVAE

    return CHVAE(schema, likelihoods="paper", hidden=0, epochs=5, verbose=False)


def one(method: str, people: int, folder: str) -> dict[str, float]:
    """CPU seconds, wall seconds and peak memory (MB) of a run, and how many people needed and have an answer."""
    from attain.desk.scale import explain

    path, batch = made(Path(folder), method, people)
    cpu, wall = time.process_time(), time.perf_counter()
    with tempfile.TemporaryDirectory() as out:
        summary = explain(path, Path(out) / "answers", batch, index="id", workers=1)
    return {
        "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - wall,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "asked": summary.asked,
        "found": summary.found,
    }


def main() -> None:
    """Measures and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, nargs="+", default=PEOPLE)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--one", nargs=3, metavar=("METHOD", "PEOPLE", "FOLDER"))
    given = parser.parse_args()
    if given.one:
        method, people, folder = given.one
        print(json.dumps(one(method, int(people), folder)))
        return
    from benchmarks import harness, report

    header = ("method", "people", "needed an answer", "have one", "CPU s", "CPU ms for each answer", "peak, MB")
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for method in given.methods:
            for people in given.people:
                m = harness.alone("scale", "--one", method, people, folder)
                each = f"{1000 * m['cpu'] / max(m['asked'], 1):.2f}"
                counts = (f"{people:,}", f"{m['asked']:,.0f}", f"{m['found']:,.0f}")
                lines.append((method, *counts, f"{m['cpu']:.0f}", each, f"{m['memory']:.0f}"))
    report.write(__doc__, report.table(header, lines))


if __name__ == "__main__":
    main()
