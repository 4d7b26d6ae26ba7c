"""What kernels save: `python -m benchmarks.kernels`.

CPU microseconds a row of the functions that the guarded search calls for every candidate, by NumPy and by kernels, on
the candidates of a search for 200 people; both paths give the same bytes, which is checked. Then CPU seconds until
kernels can be used: compiled, with an empty cache, and read from the cache, each in a process of its own. One thread.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.fixed_costs import ROOT, THREADS

PEOPLE = 200
CASES = (("HELOC", None), ("GMSC", 6_000), ("Adult", 20_000))
REPEATS = 3


def candidates(name: str, rows: int | None) -> tuple[list[Any], Any]:
    """The calls of `Region.settled` in a search, and its objective."""
    import numpy as np

    from attain import Guarded
    from attain.methods.guarded.objective import Objective
    from attain.tables import Region
    from benchmarks.person import task

    data, X, model = task(name, rows, "linear")
    people = data.X[model.predict(data.X) != data.desired].iloc[:PEOPLE]
    explainer = Guarded(data.schema, figures=False).fit(X, data.y.loc[X.index])
    calls: list[Any] = []
    objectives: list[Any] = []
    settled, cost = Region.settled, Objective.cost

    def kept_call(self: Any, rows: Any, owners: Any, guides: Any = None) -> Any:
        calls.append((self, np.array(rows), owners, guides))
        return settled(self, rows, owners, guides)

    def kept_cost(self: Any, rows: Any, owners: Any) -> Any:
        objectives.append(self)
        return cost(self, rows, owners)

    with patch.object(Region, "settled", kept_call), patch.object(Objective, "cost", kept_cost):
        explainer.explain(model, people, target=data.desired)
    return calls, (objectives[-1], explainer.reference(model, data.desired).space)


def measured(name: str, rows: int | None) -> dict[str, Any]:
    """The microseconds a row of each function, by NumPy and by kernels, and how many rows and laws there are."""
    from attain.core import compiled

    calls, (objective, space) = candidates(name, rows)
    number = sum(len(call[1]) for call in calls)
    formed = [(region, region.final_form(rows, owners, guides), owners) for region, rows, owners, guides in calls]
    same = [(rows, owners) for region, rows, owners in formed if len(region) == len(objective.region)]
    functions: dict[str, Callable[[], list[Any]]] = {
        "final form": lambda: [region.final_form(rows, owners, guides) for region, rows, owners, guides in calls],
        "admitted": lambda: [region.admits(rows, owners) for region, rows, owners in formed],
        "both at once": lambda: [region.settled(*given) for region, *given in calls],
        "cost": lambda: [objective.cost(rows, owners) for rows, owners in same],
        "midranks": lambda: [objective.percentiles.interpolated(rows) for _, rows, _ in formed],
        "points": lambda: [space.points(rows) for _, rows, _ in formed],
    }
    counts = {key: number for key in functions} | {"cost": sum(len(rows) for rows, _ in same)}
    paths = []
    for in_use in (False, True):
        with patch.object(compiled, "_in_use", in_use):
            paths.append({key: timed(call) for key, call in functions.items()})
    for key, (_, found) in paths[0].items():
        assert contents(found) == contents(paths[1][key][1]), f"{key} of {name} differs between the two paths"
    micro = {key: [1e6 * path[key][0] / counts[key] for path in paths] for key in functions}
    laws = max(len(region.book.rules) for region, *_ in calls)
    return {"rows": number, "columns": calls[0][1].shape[1], "laws": laws, "micro": micro}


def timed(call: Callable[[], list[Any]]) -> tuple[float, list[Any]]:
    """The fewest CPU seconds of a few calls after a first one, and what it gives."""
    found = call()
    seconds = []
    for _ in range(REPEATS):
        started = time.process_time()
        call()
        seconds.append(time.process_time() - started)
    return min(seconds), found


def contents(found: list[Any]) -> list[bytes]:
    """The bytes of arrays, and of tuples of them."""
    return [part.tobytes() for item in found for part in (item if isinstance(item, tuple) else (item,))]


def loading() -> dict[str, float]:
    """The seconds of importing Numba, and of each kernel module, where the package is imported already."""
    import sklearn.ensemble  # noqa: F401

    from attain import Guarded  # noqa: F401
    from attain.core import compiled

    started = time.process_time()
    import numba  # noqa: F401

    seconds = {"numba": time.process_time() - started}
    package = ROOT / "src" / "attain"
    compiled.load()
    for file in sorted(package.rglob("*_kernels.py")):
        started = time.process_time()
        compiled.kernels(".".join(("attain", *file.relative_to(package).with_suffix("").parts)))
        seconds[str(file.relative_to(package))] = time.process_time() - started
    return seconds


def printed(*arguments: str, cache: str | None = None) -> dict[str, Any]:
    """What a process of this module prints."""
    source = {"PYTHONPATH": str(ROOT / "src"), **({} if cache is None else {"NUMBA_CACHE_DIR": cache})}
    here = {**os.environ, **source, **dict.fromkeys(THREADS, "1")}
    command = [sys.executable, "-m", "benchmarks.kernels", *arguments]
    done = subprocess.run(command, env=here, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def tables() -> str:
    """All figures as Markdown."""
    from benchmarks.report import table

    lines, times = [], []
    with tempfile.TemporaryDirectory() as folder:
        compiling = printed("--load", cache=folder)
        reading = printed("--load", cache=folder)
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()) / 2**20
        for name, rows in CASES:
            found = printed("--cell", name, str(rows or 0), cache=folder)
            about = [name, found["columns"], found["laws"], f"{found['rows']:,}"]
            for key, (numpy, kernel) in found["micro"].items():
                lines.append([*about, key, f"{numpy:.2f}", f"{kernel:.2f}", f"{numpy / kernel:.1f}"])
    for key in compiling:
        times.append([key, f"{compiling[key]:.2f}", f"{reading[key]:.2f}"])
    times.append(["all", f"{sum(compiling.values()):.2f}", f"{sum(reading.values()):.2f}"])
    return "\n\n".join((
        f"CPU microseconds a row, on the candidates of a search for {PEOPLE} people; the fewest of {REPEATS} runs.",
        table(("data", "columns", "laws", "candidates", "function", "NumPy", "kernel", "factor"), lines),
        f"CPU seconds until kernels can be used; a module that another one imports is in that one's figure. The cache "
        f"takes {size:.1f} MB.",
        table(("module", "compiled", "read from the cache"), times),
    ))  # fmt: skip


def main() -> None:
    """Measures one cell, or everything, and writes the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cell", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--load", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.cell:
        print(json.dumps(measured(given.cell[0], int(given.cell[1]) or None)))
    elif given.load:
        print(json.dumps(loading()))
    else:
        from benchmarks import report

        report.write("kernels", "Kernels", "python -m benchmarks.kernels", tables())


if __name__ == "__main__":
    main()
