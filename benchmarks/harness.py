"""How benchmarks run: in processes of their own, in other checkouts, and with figures that are kept in a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import ROOT

ONE_THREAD = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}


def alone(module: str, *arguments: object, source: Path = ROOT) -> Any:
    """What a benchmark prints last, as JSON, in a process of its own on one thread.

    The benchmark's file is this checkout's; what it imports is that of the checkout in `source`. Checkouts that compile
    parts of the search while it runs do not: they are compared by what a first user meets.
    """
    path = os.pathsep.join((str(source / "src"), str(source)))
    here = {**os.environ, **ONE_THREAD, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore", "ATTAIN_COMPILED": "0"}
    command = [sys.executable, "-P", str(ROOT / "benchmarks" / f"{module}.py"), *map(str, arguments)]
    done = subprocess.run(command, env=here, cwd=source, check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads([line for line in done.stdout.splitlines() if line[:1] in "{["][-1])  # solvers may print, too
    print(module, *arguments, found, flush=True)
    return found


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """The folder of the repository at a commit, built and removed again; or a folder that is a checkout already."""
    if Path(commit).is_dir():
        yield Path(commit).resolve()
        return
    git = ["git", "-C", str(ROOT), "worktree"]
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
        try:
            if (tree / "setup.py").exists():  # since then, a part of the package is compiled when it is built
                subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=tree, check=True)
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


class Kept:
    """Arrays by `CELL/METHOD/MEASURE` in a file, so that a run can be resumed, and its tables written again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known: dict[str, np.ndarray] = dict(np.load(path)) if path.exists() else {}

    def __contains__(self, cell: str) -> bool:
        return any(name.startswith(f"{cell}/") for name in self.known)

    def put(self, cell: str, figures: Mapping[str, np.ndarray]) -> None:
        """Adds the figures of a cell, and writes the file."""
        self.known |= {f"{cell}/{name}": values for name, values in figures.items()}
        np.savez_compressed(self.path, **self.known)  # type: ignore[arg-type]

    def of(self, *cells: str) -> Figures | None:
        """The figures of a cell, or of several that are pooled; None where one of them was not measured."""
        if not all(cell in self for cell in cells):
            return None
        names = dict.fromkeys(
            name.removeprefix(f"{cell}/") for cell in cells for name in self.known if name.startswith(f"{cell}/")
        )
        parts = {
            name: [np.atleast_1d(self.known[f"{c}/{name}"]) for c in cells if f"{c}/{name}" in self.known]
            for name in names
        }
        return Figures({name: np.concatenate(values) for name, values in parts.items()})

    def measure(self, cells: Sequence[str], measured: Callable[[str], Mapping[str, np.ndarray]], jobs: int) -> None:
        """Adds the cells that the file lacks, each measured in a process of its own on one thread."""
        os.environ |= ONE_THREAD
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
            waiting = [pool.submit(_timed, measured, cell) for cell in cells if cell not in self]
            for done in as_completed(waiting):
                try:
                    cell, figures, seconds = done.result()
                except Exception as error:  # the other cells go on
                    print(f"a cell failed: {type(error).__name__}: {error}", flush=True)
                    continue
                self.put(cell, figures)
                print(f"{cell}: {seconds:.0f} s", flush=True)


def _timed(measured: Callable[[str], Any], cell: str) -> tuple[str, Any, float]:
    started = time.perf_counter()
    return cell, measured(cell), time.perf_counter() - started


@dataclass(frozen=True)
class Figures:
    """The arrays of a cell by `METHOD/MEASURE`, one number for each row explained; NaN without an answer."""

    arrays: Mapping[str, np.ndarray]

    def has(self, method: str) -> bool:
        return any(name.startswith(f"{method}/") for name in self.arrays)

    def get(self, method: str, measure: str) -> np.ndarray:
        return self.arrays[f"{method}/{measure}"]

    def mean(self, method: str, measure: str, people: np.ndarray | None = None) -> float:
        """The mean over the rows answered, or over those of some people; NaN where it was not measured."""
        known = self.arrays.get(f"{method}/{measure}", np.empty(0))
        values = known if people is None or not len(known) else known[people]
        return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")

    def ratio(self, method: str, other: str, measure: str) -> tuple[float, float, float]:
        """The ratio of two methods' means over the rows both answer, with a bootstrap interval."""
        pairs = np.stack((self.get(method, measure), self.get(other, measure)))
        pairs = pairs[:, ~np.isnan(pairs).any(axis=0)]
        if not pairs.size or not pairs[1].sum():
            return float("nan"), float("nan"), float("nan")
        drawn = np.random.default_rng(0).integers(pairs.shape[1], size=(1000, pairs.shape[1]))
        replicates = pairs[0][drawn].sum(axis=1) / pairs[1][drawn].sum(axis=1)
        return float(pairs[0].sum() / pairs[1].sum()), *map(float, np.quantile(replicates, (0.025, 0.975)))
