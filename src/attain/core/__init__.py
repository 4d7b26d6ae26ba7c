"""What every room needs: errors, files, containers, checks, text and progress, and data frames of any library."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy(
    package: str, names: Sequence[str], homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for a package with these public names.

    `homes` has the module below the package that each name is imported from; a name without one is such a module.
    """

    def load(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if name in homes:
            value = getattr(__import__(f"{package}.{homes[name]}", fromlist=[name]), name)
        else:
            value = import_module(f"{package}.{name}")
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted(names)
