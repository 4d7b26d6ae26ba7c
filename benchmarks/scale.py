"""Many people in slices, and engines beside plain Python: `python -m benchmarks.scale`.

Applicants of GMSC, drawn with replacement from the data set, of whom a logistic regression refuses some. Each run is a
process of its own with one worker and one thread: CPU seconds, and the peak of its memory. `--engines` compares Ray and
Spark, on two cores of this machine, with one process of plain Python: answers for each CPU second of all processes of
an engine, from the moment at which its workers have answered their first batch.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

PEOPLE = (10**4, 10**5, 10**6)
METHODS = ("Guarded", "CCHVAE")
ENGINES = ("python", "ray", "spark")
MOST_MEMORY = 1500
"""MB: the most that a million people may take."""


def made(folder: Path, method: str, people: int) -> tuple[Path, Any]:
    """A Parquet file of people, and what answers them."""
    import numpy as np

    from attain import methods
    from attain.scale import ExplainBatch
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

    return CHVAE(schema, epochs=5, verbose=False)


def one(method: str, people: int, folder: str) -> dict[str, float]:
    """CPU seconds, wall seconds and peak memory (MB) of a run, and how many people needed and have an answer."""
    from attain.scale import explain

    path, batch = made(Path(folder), method, people)
    batch.warm_up()
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


def engine(name: str, people: int, folder: str) -> dict[str, float]:
    """CPU seconds of all processes of an engine for so many people, after it has answered some."""
    import pandas as pd

    from attain import scale

    path, batch = made(Path(folder), "Guarded", people)
    few, _ = made(Path(folder), "Guarded", 4000)
    if name == "python":

        def run(path: Path) -> int:
            frame = pd.read_parquet(path)
            return sum(batch(frame.iloc[k : k + 2000])["id"].nunique() for k in range(0, len(frame), 2000))

    elif name == "ray":
        import ray

        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)

        def run(path: Path) -> int:
            answers = scale.ray.explain(ray.data.read_parquet(str(path)), batch, workers=2)
            return sum(table["id"].nunique() for table in answers.iter_batches(batch_size=None, batch_format="pandas"))

    else:
        os.environ["PYSPARK_PYTHON"] = sys.executable
        from pyspark.sql import SparkSession

        session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()

        def run(path: Path) -> int:
            frame = session.read.parquet(str(path)).repartition(8)
            return int(scale.spark.explain(frame, batch).select("id").distinct().count())

    run(few)
    cpu, wall = _cpu_of_tree(), time.perf_counter()
    done = run(path)
    assert done == people, (done, people)
    return {"cpu": _cpu_of_tree() - cpu, "wall": time.perf_counter() - wall}


def _cpu_of_tree() -> float:
    """CPU seconds of this process and all its descendants, also of those that have ended and were waited for."""
    stats = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        cells = text.rpartition(")")[2].split()
        stats[int(stat.parent.name)] = (int(cells[1]), sum(map(int, cells[11:15])))
    tree = {os.getpid()}
    while more := {pid for pid, (parent, _) in stats.items() if parent in tree} - tree:
        tree |= more
    return sum(stats[pid][1] for pid in tree) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measures and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, nargs="+", default=PEOPLE)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--engines", type=int, metavar="PEOPLE", help="compare engines on so many people")
    parser.add_argument("--one", nargs=3, metavar=("WHAT", "PEOPLE", "FOLDER"))
    given = parser.parse_args()
    if given.one:
        what, people, folder = given.one
        print(json.dumps((engine if what in ENGINES else one)(what, int(people), folder)))
        return
    from benchmarks import report

    with tempfile.TemporaryDirectory() as folder:
        if given.engines:
            measured = {name: _run(name, given.engines, folder) for name in ENGINES}
            plain = measured["python"]["cpu"]
            lines: list[tuple[object, ...]] = [
                (name, f"{m['cpu']:.1f}", f"{m['wall']:.1f}", f"{plain / m['cpu']:.2f}") for name, m in measured.items()
            ]
            header: tuple[str, ...] = ("engine", "CPU s", "wall s", "answers per CPU second over plain Python")
            title, command = "engines", f"python -m benchmarks.scale --engines {given.engines}"
            body = f"{given.engines:,} applicants of GMSC, Guarded.\n\n{report.table(header, lines)}"
        else:
            header = ("method", "people", "needed an answer", "have one", "CPU s", "CPU ms for each answer", "peak, MB")
            lines = []
            for method in given.methods:
                for people in given.people:
                    m = _run(method, people, folder)
                    each = f"{1000 * m['cpu'] / max(m['asked'], 1):.2f}"
                    counts = (f"{people:,}", f"{m['asked']:,.0f}", f"{m['found']:,.0f}")
                    lines.append((method, *counts, f"{m['cpu']:.0f}", each, f"{m['memory']:.0f}"))
            numbers = " ".join(map(str, given.people))
            title, command = "scale", f"python -m benchmarks.scale --people {numbers}"
            body = f"Target: at most {MOST_MEMORY:,} MB for a million.\n\n{report.table(header, lines)}"
    report.write(title, "Many people in slices" if title == "scale" else "Engines beside plain Python", command, body)


def _run(what: str, people: int, folder: str) -> dict[str, float]:
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.scale", "--one", what, str(people), folder]
    alone = {**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=alone)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(what, people, found, flush=True)
    return found


if __name__ == "__main__":
    main()
