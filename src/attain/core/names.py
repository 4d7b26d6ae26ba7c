"""Column names: unused ones, and those that occur twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable


def free_name(name: str, taken: Collection[str]) -> str:
    """The name, with as many underscores behind it as it takes to be unused."""
    while name in taken:
        name += "_"
    return name


def repeated(names: Iterable[str]) -> list[str]:
    """The names that occur more than once."""
    return [name for name, count in Counter(names).items() if count > 1]
