"""Parts of a long run, kept in a folder as they are done, so that a run that was stopped goes on where it was.

Each part is one file of JSON and arrays, written whole or not at all. The folder remembers the settings of the run:
parts of another run are never mixed in.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from attain.core import container
from attain.core.errors import AttainError
from attain.core.files import write_atomically

_SETTINGS: Final = "settings.json"
_ENDING: Final = ".part"
_NAME: Final = 40
"""So many letters of a part's key stand in its file's name, before its hash."""


@dataclass(frozen=True)
class Part:
    """What one part of a run gave: facts that fit into JSON (no NaN), and arrays of numbers by name."""

    facts: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]


class Store:
    """The parts of one run, in a folder.

    Parameters
    ----------
    folder
        Made where it does not exist.
    settings
        All that the parts depend on, as JSON holds it. A folder that was made with others is refused.
    """

    def __init__(self, folder: str | os.PathLike[str], settings: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        text = json.dumps(settings, indent=1, sort_keys=True, ensure_ascii=False)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / _SETTINGS
        if not path.exists():
            write_atomically(path, text.encode())
        elif path.read_text(encoding="utf-8") != text:
            raise AttainError(
                f"{self.folder} has parts of a run with other settings ({_SETTINGS} tells which); take another folder, "
                "or delete it to start afresh"
            )

    @classmethod
    def opened(cls, folder: str | os.PathLike[str]) -> Self:
        """The store that is in a folder, with the settings it was made with."""
        path = Path(folder) / _SETTINGS
        if not path.is_file():
            raise AttainError(f"{str(folder)!r} has no parts of a run: there is no {_SETTINGS} in it")
        return cls(folder, json.loads(path.read_text(encoding="utf-8")))

    def __contains__(self, key: str) -> bool:
        return self._path(key).exists()

    def get(self, key: str, compute: Callable[[], Part]) -> Part:
        """The part of this name: as it was stored, or computed now and stored."""
        if key not in self:
            self.put(key, compute())
        return self.read(key)

    def put(self, key: str, part: Part) -> None:
        """Stores a part, in place of an earlier one of this name."""
        facts = {"facts": dict(part.facts), "key": key}
        container.write(self._path(key), container.Contents(facts, {}, part.arrays))

    def read(self, key: str) -> Part:
        """The part of this name, which must be there."""
        return self._read(self._path(key))[1]

    def items(self) -> Iterator[tuple[str, Part]]:
        """Every part with its name, in the order of the files' names."""
        for path in self._files():
            yield self._read(path)

    def take(self, folder: str | os.PathLike[str]) -> int:
        """Copies the parts that another folder has and this one lacks; gives their number."""
        other = type(self).opened(folder)
        if (other.folder / _SETTINGS).read_bytes() != (self.folder / _SETTINGS).read_bytes():
            raise AttainError(f"{other.folder} has parts of a run with other settings than {self.folder}")
        lacking = [path for path in other._files() if not (self.folder / path.name).exists()]
        for path in lacking:
            write_atomically(self.folder / path.name, path.read_bytes())
        return len(lacking)

    def _files(self) -> list[Path]:
        # a name that starts with a dot is a file that was never finished
        return sorted(path for path in self.folder.glob(f"*{_ENDING}") if not path.name.startswith("."))

    @staticmethod
    def _read(path: Path) -> tuple[str, Part]:
        contents = container.read(path, set())
        return contents.facts["key"], Part(contents.facts["facts"], contents.arrays)

    def _path(self, key: str) -> Path:
        name = "".join(letter if letter.isalnum() else "-" for letter in key.lower())[:_NAME]
        return self.folder / f"{name}-{hashlib.blake2b(key.encode(), digest_size=6).hexdigest()}{_ENDING}"
