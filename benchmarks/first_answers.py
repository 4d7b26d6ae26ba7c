"""The first answers of a process, and answers from several threads: `python -m benchmarks.first_answers`.

HELOC, a logistic regression, `Guarded`, CPU seconds, one thread. The cache on disk has the compiled kernels. A process
imports what it needs, reads explainer and model, loads the kernels (`warm_up`) and answers one person, then another.
The worker is what an actor of Ray runs, without Ray's own start; the service answers by `Service.explain`. The command
`attain explain` for one person loads no kernels; beside it stands a script that only reads the person and the model and
asks for the decision, which pandas and scikit-learn need in any case.

Threads share one explainer and answer 400 people in calls of 10 people each.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

PROCESSES = ("library", "worker", "service")
STAGES = ("imports", "reading", "warm_up", "first person", "second person")
THREADS = (1, 2, 8)
TARGET = 1.0
RUNS = 5


def made(folder: Path) -> None:
    """A saved explainer, a model and refused people."""
    from attain import Guarded
    from attain.scale import ExplainBatch
    from attain.scale.workers import pickled
    from benchmarks.tasks import paper_task

    task = paper_task("HELOC", 0)
    explainer = Guarded(task.data.schema).fit(task.train, task.y_train)
    explainer.save(folder / "e.attain")
    (folder / "model.pkl").write_bytes(pickle.dumps(task.model))
    batch = ExplainBatch(explainer, task.model, target=task.data.desired)
    (folder / "batch.pkl").write_bytes(pickled(batch))
    task.refused.iloc[:400].reset_index(drop=True).to_parquet(folder / "people.parquet")
    task.refused.iloc[:1].to_parquet(folder / "person.parquet")
    explainer.warm_up()


def stages(process: str, folder: Path) -> list[float]:
    """CPU seconds of each stage of a process that has just started."""
    times = [0.0]

    def done() -> None:
        times.append(time.process_time())

    import pandas as pd

    if process == "worker":
        import pyarrow as pa

        from attain.scale import ray

        state = (folder / "batch.pkl").read_bytes()
        done()
        done()
        worker = ray._Answers(state)
        done()
        people = pd.read_parquet(folder / "people.parquet")
        for k in range(2):
            worker(pa.Table.from_pandas(people.iloc[[k]]))
            done()
        return [after - before for before, after in pairwise(times)]
    import attain

    if process == "service":
        from attain.service.questions import Explain
        from attain.service.service import Service
    done()
    people = pd.read_parquet(folder / "people.parquet")
    explainer, model = attain.load(folder / "e.attain"), pickle.loads((folder / "model.pkl").read_bytes())
    if process == "library":
        done()
        explainer.warm_up()
        done()
        for k in range(2):
            explainer.explain(model, people.iloc[[k]], target="Good")
            done()
    else:
        service = Service(explainer, model, target="Good", people=people)
        done()
        service.warm_up()
        service._kernels().join()
        done()
        for k in range(2):
            service.explain(Explain(person=str(k + 1)))
            done()
    return [after - before for before, after in pairwise(times)]


def threads(number: int, folder: Path) -> dict[str, float]:
    """CPU and wall seconds of 400 people in calls of ten, from so many threads."""
    import pandas as pd

    import attain

    people = pd.read_parquet(folder / "people.parquet")
    explainer, model = attain.load(folder / "e.attain"), pickle.loads((folder / "model.pkl").read_bytes())
    explainer.warm_up().explain(model, people.iloc[:10], target="Good")
    cpu, wall = time.process_time(), time.perf_counter()
    with ThreadPoolExecutor(number) as pool:
        calls = [people.iloc[k : k + 10] for k in range(0, len(people), 10)]
        found = sum(pool.map(lambda part: explainer.explain(model, part, target="Good").found.sum(), calls))
    seconds = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    return {**seconds, "people": len(people), "found": int(found)}


def main() -> None:
    """Measures and writes the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, metavar=("WHAT", "FOLDER"))
    given = parser.parse_args()
    if given.one:
        what, folder = given.one[0], Path(given.one[1])
        print(json.dumps(threads(int(what), folder) if what.isdigit() else stages(what, folder)))
        return
    from benchmarks import report

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        made(folder)
        rows: list[tuple[object, ...]] = []
        for process in PROCESSES:
            found = _run(process, place)
            rows.append((process, *(f"{seconds:.2f}" for seconds in found)))
        first = report.table(("process", *(f"{stage}, s" for stage in STAGES)), rows)
        command, script = _seconds(_COMMAND, folder), _seconds(("-c", _SCRIPT), folder)
        first += (
            f"\n\n`attain explain` for one person takes {command:.2f} s in all. A script that reads the person and the "
            f"model with pandas and pickle and asks for the decision takes {script:.2f} s, so that the answer takes "
            f"{command - script:.2f} s more."
        )
        shared = {number: _run(str(number), place) for number in THREADS}
        lines = [
            (number, f"{m['people']}", f"{1000 * m['cpu'] / m['people']:.1f}", f"{m['cpu'] / m['wall']:.2f}")
            for number, m in shared.items()
        ]
        header = ("threads", "people", "CPU ms for each person", "cores in use")
        body = f"Target: the first person in under {TARGET:g} s.\n\n{first}\n\n{report.table(header, lines)}"
    report.write(
        "first_answers", "The first answers of a process, and threads", "python -m benchmarks.first_answers", body
    )


_COMMAND = (
    *("-m", "attain.cli", "explain", "e.attain", "person.parquet"),
    *("--model", "model.pkl", "--trust-pickle", "--target", "Good", "--out", "answers.json"),
)
_SCRIPT = """
import pickle
import pandas as pd
print(pickle.load(open("model.pkl", "rb")).predict(pd.read_parquet("person.parquet")))
"""


def _seconds(arguments: tuple[str, ...], folder: Path) -> float:
    """CPU seconds of Python with these arguments, the median of so many runs."""
    found = []
    for _ in range(RUNS):
        before = os.times()
        command = [sys.executable, "-W", "ignore", *arguments]
        subprocess.run(command, cwd=folder, capture_output=True, check=True, env=_alone())
        after = os.times()
        found.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return statistics.median(found)


def _alone() -> dict[str, str]:
    return {**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")}


def _run(what: str, folder: str) -> Any:
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.first_answers", "--one", what, folder]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=_alone())
    print(what, done.stdout.strip(), flush=True)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
