"""Ray and Spark beside plain Python: `python -m benchmarks.engines`, with the packages of the extra `cluster`.

Applicants of GMSC, drawn with replacement from the data set; of a share of them the decision is to be flipped, by
`Guarded`. The engines run on two cores of this machine, plain Python in one process. Every figure is the CPU time of
all processes of an engine, those that ended meanwhile included.

An engine starts workers for every job, and each learns about the model, so that a job has a fixed cost; it is measured
by jobs about few people, one before and one after the one about many. The
efficiency of an engine once started is the CPU time that more people take in plain Python over what they take there:

    (plain(many) - plain(few)) / (engine(many) - engine(few))
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ENGINES = ("python", "ray", "spark")
SHARES = (0.005, 0.1)
FEW = 4_000
TARGET = 0.8


def made(folder: Path, people: int, share: float) -> tuple[Path, Any]:
    """A Parquet file of people, so many of them refused, and what answers them."""
    import numpy as np
    import pandas as pd

    from attain import Guarded
    from attain.scale import ExplainBatch
    from benchmarks.tasks import paper_task

    task, random = paper_task("GMSC", 0), np.random.default_rng(0)
    refused = task.refused
    accepted = task.test.drop(index=refused.index)
    number = round(share * people)
    drawn = [
        pool.iloc[random.integers(0, len(pool), n)] for pool, n in ((refused, number), (accepted, people - number))
    ]
    frame = pd.concat(drawn).iloc[random.permutation(people)].reset_index(drop=True)
    path = folder / f"{people}-{share}.parquet"
    frame.assign(id=np.arange(people)).to_parquet(path, index=False, row_group_size=10_000)
    explainer = Guarded(task.data.schema).fit(task.train, task.y_train)
    return path, ExplainBatch(explainer, task.model, target=task.data.desired, index="id", integers=True)


def engine(name: str, people: int, share: float) -> dict[str, float]:
    """CPU seconds of a job about few people and of one about many, after a first one."""
    with tempfile.TemporaryDirectory() as folder:
        few, batch = made(Path(folder), FEW, share)
        many, _ = made(Path(folder), people, share)
        job = {"python": _python, "ray": _ray, "spark": _spark}[name](batch, Path(folder))
        clock = _Clock()
        clock.of(job, few, FEW)
        before, found, after = (clock.of(job, *task) for task in ((few, FEW), (many, people), (few, FEW)))
        return {"few": (before + after) / 2, "many": found}


Job = Callable[[Path], int]


def _python(batch: Any, _: Path) -> Job:
    import pyarrow.parquet as pq

    batch.warm_up()

    def job(path: Path) -> int:
        batches = pq.ParquetFile(path).iter_batches(2000)
        return sum(batch(people.to_pandas())["id"].nunique() for people in batches)

    return job


def _ray(batch: Any, _: Path) -> Job:
    import ray

    from attain import scale

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False

    def job(path: Path) -> int:
        answers = scale.ray.explain(ray.data.read_parquet(str(path)), batch, workers=2)
        return sum(table["id"].nunique() for table in answers.iter_batches(batch_size=None, batch_format="pandas"))

    return job


def _spark(batch: Any, folder: Path) -> Job:
    from pyspark.sql import SparkSession

    from attain import scale
    from tests.cluster.java import provide_java

    home = folder / "java"
    home.mkdir()
    provide_java(home)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()

    def job(path: Path) -> int:
        frame = session.read.parquet(str(path)).repartition(8)
        return int(scale.spark.explain(frame, batch).select("id").distinct().count())

    return job


class _Clock:
    """CPU seconds of this process and all its descendants, which it looks at twice a second, without those looks."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, int], float] = {}
        self._looking = 0.0
        threading.Thread(target=self._watch, daemon=True).start()

    def of(self, job: Job, path: Path, people: int) -> float:
        """CPU seconds of a job."""
        before = self._total()
        done = job(path)
        assert done == people, (done, people)
        return self._total() - before

    def _watch(self) -> None:
        while True:
            self._look()
            self._looking = time.thread_time()
            time.sleep(0.5)

    def _total(self) -> float:
        self._look()
        return sum(self._seen.values()) - self._looking

    def _look(self) -> None:
        stats = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                cells = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            # parent, start, time of its own in user and system mode; that of its children is theirs
            stats[int(stat.parent.name)] = (int(cells[1]), int(cells[19]), sum(map(int, cells[11:13])))
        tree = {os.getpid()}
        while more := {pid for pid, (parent, _, _) in stats.items() if parent in tree} - tree:
            tree |= more
        for pid in tree:
            _, started, ticks = stats[pid]
            self._seen[pid, started] = ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measures and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--one", nargs=2, metavar=("ENGINE", "SHARE"))
    given = parser.parse_args()
    if given.one:
        print(json.dumps(engine(given.one[0], given.people, float(given.one[1]))))
        return
    from benchmarks import report

    lines: list[tuple[object, ...]] = []
    for share in SHARES:
        measured = {name: _run(name, given.people, share) for name in ENGINES}
        plain = measured["python"]["many"] - measured["python"]["few"]
        for name, m in measured.items():
            more = m["many"] - m["few"]
            asked = f"{share * given.people:,.0f}"
            lines.append((asked, name, f"{m['few']:.1f}", f"{m['many']:.1f}", f"{more:.1f}", f"{plain / more:.2f}"))
    people = f"{given.people:,} people, CPU s"
    header = ("need an answer", "engine", f"{FEW:,} people, CPU s", people, "difference", "efficiency")
    body = f"Target: an efficiency of {TARGET} at least.\n\n{report.table(header, lines)}"
    report.write("engines", "Ray and Spark beside plain Python", "python -m benchmarks.engines", body)


def _run(name: str, people: int, share: float) -> dict[str, float]:
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.engines", "--people", str(people)]
    alone = {**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")}
    done = subprocess.run([*command, "--one", name, str(share)], stdout=subprocess.PIPE, text=True, env=alone)
    done.check_returncode()
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(name, share, found, flush=True)
    return found


if __name__ == "__main__":
    main()
