"""Experiments: every method on the same people, against the same classifiers, measured the same way.

Each name is imported when it is first used: a process that only performs a task need not know the rest.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attain.experiments.bench import run
    from attain.experiments.classifiers import CLASSIFIERS
    from attain.experiments.methods import METHODS, Factory, Method
    from attain.experiments.report import bench_tables
    from attain.experiments.summary import summarised

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
        raise AttributeError(f"module 'attain.experiments' has no attribute {name!r}")
    value = getattr(import_module(f"attain.experiments.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
