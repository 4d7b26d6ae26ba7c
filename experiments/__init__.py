"""Experiments: every method on the same people, against the same classifiers, measured the same way.

Each name is imported when it is first used: a process that only performs a task need not know the rest.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from experiments.bench.classifiers import CLASSIFIERS
    from experiments.bench.methods import METHODS, Factory, Method
    from experiments.bench.report import bench_tables
    from experiments.bench.run import run
    from experiments.bench.summary import summarised

_HOMES = {
    "CLASSIFIERS": "classifiers",
    "METHODS": "methods",
    "Factory": "methods",
    "Method": "methods",
    "bench_tables": "report",
    "run": "bench",
    "summarised": "summary",
}

__all__ = ["CLASSIFIERS", "METHODS", "Factory", "Method", "bench_tables", "run", "summarised"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'experiments' has no attribute {name!r}")
    value = getattr(import_module(f"experiments.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
