"""What a version of the package is asked, in a process of its own and by its public interface alone.

`benchmarks.harness.alone` runs this file with the package of another checkout, so nothing else of this one is imported.
A folder that `benchmarks.tasks.hand_over` wrote has the people, the training rows and the fitted model; class 1 is the
desired one. Seconds are CPU seconds of the process and its children.
"""

from __future__ import annotations

import json
import pickle
import re
import resource
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from threading import local
from types import SimpleNamespace
from typing import Any

ALONE = 15
"""People who are asked about in a call each."""
CALL = 10
"""People in each call of a thread."""


def answers(folder: Path, name: str, change: str) -> dict[str, float]:
    """Answers of a fitted search, written to a file; `change` are settings that differ from the defaults, as JSON.

    Milliseconds and rows asked of the model, for each person, are those of a call after a first one about two people.
    """
    model, people, task = _given(folder)
    asked, explainer = _watched(model), _fitted(task, json.loads(change))
    explainer.explain(model, people.iloc[:2], target=1)
    asked.rows, started = 0, _seconds()
    result = explainer.explain(model, people, target=1)
    seconds = _seconds() - started
    level = result.figures["typicality"].to_numpy(dtype=float)
    (folder / f"{name}.answers").write_bytes(pickle.dumps((result.frame, result.found, level)))
    return {"ms": 1000 * seconds / len(people), "rows": asked.rows / len(people)}


def fit(folder: Path, name: str) -> dict[str, float]:
    """Fits the search and saves it, for processes that answer."""
    *_, task = _given(folder)
    started = _seconds()
    explainer = _fitted(task, {})
    seconds = _seconds() - started
    explainer.save(folder / f"{name}.attain")
    return {"fit": seconds}


def first(folder: Path, name: str) -> dict[str, float]:
    """Seconds of importing, reading and answering one person, beyond loading pandas, people and model.

    Then the median milliseconds of people alone, without and with the time that the model itself takes.
    """
    model, people, _ = _given(folder)
    asked, started = _watched(model), _seconds()
    explainer = _loaded(folder, name)
    explainer.explain(model, people.iloc[:1], target=1)
    begun = _seconds() - started
    alone, whole = [], []
    for i in range(1, min(1 + ALONE, len(people))):
        asked.seconds, started = 0.0, _seconds()
        explainer.explain(model, people.iloc[[i]], target=1)
        whole.append(1000 * (_seconds() - started))
        alone.append(whole[-1] - 1000 * asked.seconds)
    return {"first": begun, "alone": statistics.median(alone), "whole": statistics.median(whole)}


def together(folder: Path, name: str) -> dict[str, float]:
    """Milliseconds of each person in the first call of a process and in the same call again; the peak memory, in MB."""
    model, people, _ = _given(folder)
    explainer = _loaded(folder, name)
    times = [_seconds()]
    for _ in range(2):
        result = explainer.explain(model, people, target=1)
        times.append(_seconds())
    call, again = (1000 * (end - begin) / len(people) for begin, end in pairwise(times))
    status = Path("/proc/self/status").read_text(encoding="ascii")  # ru_maxrss starts at that of the parent
    peak = int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) / 1024
    return {"together": call, "again": again, "found": float(result.found.mean()), "memory": peak}


def threads(folder: Path, name: str) -> dict[str, float]:
    """How many times as many people two threads answer as one in the same time, in calls of ten after a first one."""
    model, people, _ = _given(folder)
    explainer = _loaded(folder, name)
    calls = [people.iloc[k : k + CALL] for k in range(0, len(people), CALL)]
    explainer.explain(model, calls[0], target=1)
    times = []
    for number in (1, 2):
        started = time.perf_counter()
        with ThreadPoolExecutor(number) as pool:
            list(pool.map(lambda part: explainer.explain(model, part, target=1).found.sum(), calls))
        times.append(time.perf_counter() - started)
    return {"threads": times[0] / times[1]}


def _given(folder: Path) -> tuple[Any, Any, Any]:
    """The model, the people, and the rest of what was handed over; pandas and the model's library are imported."""
    model = pickle.loads((folder / "model.pkl").read_bytes())
    task = pickle.loads((folder / "task.pkl").read_bytes())
    return model, task["people"], task


def _fitted(task: Any, change: dict[str, Any]) -> Any:
    from dataclasses import replace

    from attain import Guarded, Schema

    if change:
        fields = {name: tuple(value) if isinstance(value, list) else value for name, value in change.items()}
        Guarded._settings = replace(Guarded._settings, **fields)
    schema = Schema.from_toml(task["schema"])
    return Guarded(schema, figures=False, random_state=0).fit(task["train"], task["labels"])


def _loaded(folder: Path, name: str) -> Any:
    import attain

    return attain.load(folder / f"{name}.attain")


def _seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _watched(model: Any) -> SimpleNamespace:
    """Counts the rows that a pipeline is asked to predict, and its CPU seconds, asked as a whole or step by step.

    To be called before an explainer sees the model. Classes are changed, so that the model is recognised as before.
    """
    asked, inside = SimpleNamespace(rows=0, seconds=0.0), local()

    def watched(own: Callable[..., Any], predicts: bool) -> Callable[..., Any]:
        def answer(self: Any, X: Any, *arguments: Any, **options: Any) -> Any:
            if getattr(inside, "call", False):
                return own(self, X, *arguments, **options)
            inside.call, started = True, time.thread_time()
            try:
                return own(self, X, *arguments, **options)
            finally:
                asked.seconds += time.thread_time() - started
                asked.rows += len(X) if predicts else 0
                inside.call = False

        return answer

    steps = [step for _, step in model.steps]
    for kind in {type(part): part for part in (model, *steps)}.values():
        for name in ("transform", "predict", "predict_proba", "decision_function"):
            if hasattr(kind, name):
                setattr(type(kind), name, watched(getattr(type(kind), name), name != "transform"))
    return asked


if __name__ == "__main__":
    what, place, *more = sys.argv[1:]
    asked_for = {function.__name__: function for function in (answers, fit, first, together, threads)}
    found = asked_for[what](Path(place), *more)
    if Path.cwd() not in Path(sys.modules["attain"].__file__ or "").resolve().parents:
        raise SystemExit(f"{sys.modules['attain'].__file__} is not the package of the checkout in {Path.cwd()}")
    print(json.dumps(found))
