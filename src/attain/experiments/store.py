"""Parts of a long run, kept in a folder as they are done, so that a run that was stopped goes on where it was.

Each part is one file of JSON and arrays, written whole or not at all. The folder remembers the settings of the run:
parts of another run are never mixed in.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from attain import container
from attain.errors import AttainError
from attain.files import write_atomically

_SETTINGS: Final = "settings.json"
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

    def __contains__(self, key: str) -> bool:
        return self._path(key).exists()

    def get(self, key: str, compute: Callable[[], Part]) -> Part:
        """The part of this name: as it was stored, or computed now and stored."""
        path = self._path(key)
        if not path.exists():
            part = compute()
            container.write(path, container.Contents({"facts": dict(part.facts), "key": key}, {}, part.arrays))
        contents = container.read(path, set())
        return Part(contents.facts["facts"], contents.arrays)

    def _path(self, key: str) -> Path:
        name = "".join(letter if letter.isalnum() else "-" for letter in key.lower())[:_NAME]
        return self.folder / f"{name}-{hashlib.blake2b(key.encode(), digest_size=6).hexdigest()}.part"
