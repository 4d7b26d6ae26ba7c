"""Artifacts of a long run, kept in a folder as they are done, so that an interrupted run can be resumed.

Each artifact is one file of JSON and arrays, written completely or not at all. The folder records the settings of the
run: artifacts of another run are never mixed in.
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
from attain.core.files import make_folder, write_atomically

_SETTINGS: Final = "settings.json"
_ENDING: Final = ".part"
_NAME: Final = 40
"""The number of characters of an artifact's key in its file name, before the hash."""


@dataclass(frozen=True)
class Artifact:
    """What one step of a run gave: facts that fit into JSON (no NaN), and arrays of numbers by name."""

    facts: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]


class Store:
    """The artifacts of one run, in a folder.

    Parameters
    ----------
    folder
        Created if it does not exist.
    settings
        All that the artifacts depend on, as JSON. A folder created with others is refused.
    """

    def __init__(self, folder: str | os.PathLike[str], settings: Mapping[str, Any]) -> None:
        self.folder = make_folder(folder)
        text = json.dumps(settings, indent=1, sort_keys=True, ensure_ascii=False)
        path = self.folder / _SETTINGS
        if not path.exists():
            write_atomically(path, text.encode())
        elif path.read_text(encoding="utf-8") != text:
            raise AttainError(
                f"{self.folder} belongs to a run with other settings (see {_SETTINGS} in it); use another folder, or "
                "delete it to start over"
            )

    @classmethod
    def opened(cls, folder: str | os.PathLike[str]) -> Self:
        """The store in a folder, with the settings it was created with."""
        path = Path(folder) / _SETTINGS
        if not path.is_file():
            raise AttainError(f"{str(folder)!r} is not the folder of a run: there is no {_SETTINGS} in it")
        return cls(folder, json.loads(path.read_text(encoding="utf-8")))

    def __contains__(self, key: str) -> bool:
        return self._path(key).exists()

    def get(self, key: str, compute: Callable[[], Artifact]) -> Artifact:
        """The artifact of this name: as stored, or computed now and stored."""
        if key not in self:
            self.put(key, compute())
        return self.read(key)

    def put(self, key: str, artifact: Artifact) -> None:
        """Stores an artifact, replacing an earlier one of this name."""
        facts = {"facts": dict(artifact.facts), "key": key}
        container.write(self._path(key), container.Contents(facts, {}, artifact.arrays))

    def read(self, key: str) -> Artifact:
        """The artifact of this name, which must be there."""
        return self._read(self._path(key))[1]

    def items(self) -> Iterator[tuple[str, Artifact]]:
        """Every artifact with its name, in the order of the file names."""
        for path in self._files():
            yield self._read(path)

    def merge(self, folder: str | os.PathLike[str]) -> int:
        """Copies the artifacts that another folder has and this one lacks; returns their number."""
        other = type(self).opened(folder)
        if (other.folder / _SETTINGS).read_bytes() != (self.folder / _SETTINGS).read_bytes():
            raise AttainError(f"{other.folder} belongs to a run with other settings than {self.folder}")
        lacking = [path for path in other._files() if not (self.folder / path.name).exists()]
        for path in lacking:
            write_atomically(self.folder / path.name, path.read_bytes())
        return len(lacking)

    def _files(self) -> list[Path]:
        # a name that starts with a dot is an unfinished file
        return sorted(path for path in self.folder.glob(f"*{_ENDING}") if not path.name.startswith("."))

    @staticmethod
    def _read(path: Path) -> tuple[str, Artifact]:
        contents = container.read(path, set())
        return contents.facts["key"], Artifact(contents.facts["facts"], contents.arrays)

    def _path(self, key: str) -> Path:
        name = "".join(letter if letter.isalnum() else "-" for letter in key.lower())[:_NAME]
        return self.folder / f"{name}-{hashlib.blake2b(key.encode(), digest_size=6).hexdigest()}{_ENDING}"
