"""Constraints of one call, read from a TOML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from attain.core.errors import FileError, listed
from attain.core.files import read_toml

_SIDES: Final = {"range": ("down", "up"), "bounds": ("lower", "upper")}


def read_constraints(path: str | None, people: Sequence[Any]) -> dict[str, Any] | None:
    """The keys of `attain.Constraints` from a file; people are matched by their label as a string.

    TOML has no null for an open side, so limits are written `{ lower = 0 }` and `{ down = -1, up = 2 }`, or as a pair.
    """
    if path is None:
        return None
    given = _limits_read(read_toml(path, "--constraints:"))
    if isinstance(given.get("people"), dict):
        labels = {str(label): label for label in people}
        given["people"] = {labels.get(name, name): _limits_read(own) for name, own in given["people"].items()}
    return given


def _limits_read(content: Any) -> Any:
    if not isinstance(content, Mapping):
        return content
    given = dict(content)
    for key, sides in _SIDES.items():
        if isinstance(given.get(key), Mapping):
            given[key] = {name: _pair(key, name, limits, sides) for name, limits in given[key].items()}
    return given


def _pair(key: str, name: str, limits: Any, sides: tuple[str, str]) -> Any:
    if not isinstance(limits, Mapping):
        return tuple(limits) if isinstance(limits, list) else limits
    unknown = [side for side in limits if side not in sides]
    if unknown:
        raise FileError(f"constraints: {key} of {name!r} has unknown keys {listed(unknown)}; use {' and '.join(sides)}")
    return tuple(limits.get(side) for side in sides)
