"""One file of JSON and arrays with a manifest of sizes and hashes: written atomically, checked before anything is built.

The file is a ZIP archive without compression whose members are `manifest.json`, texts, and one safetensors member for
all arrays. Nothing in it is ever executed or unpickled.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attain.errors import FileError
from attain.files import write_atomically

FORMAT = "attain-explainer-1"
MANIFEST = "manifest.json"
LARGEST = 8 * 2**30
"""Larger files are refused: no explainer needs them, and reading one would fill the memory."""
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Contents:
    """What a container holds: what its manifest says, texts by name, arrays by name."""

    facts: Mapping[str, Any]
    texts: Mapping[str, str]
    arrays: Mapping[str, np.ndarray]


def write(path: str | os.PathLike[str], contents: Contents) -> None:
    """Writes the container; equal contents give equal bytes."""
    from safetensors.numpy import save

    members = {name: text.encode() for name, text in sorted(contents.texts.items())}
    members["arrays.safetensors"] = save({name: np.ascontiguousarray(a) for name, a in sorted(contents.arrays.items())})
    listed = {name: {"size": len(data), "sha256": _hash(data)} for name, data in members.items()}
    manifest = {"format": FORMAT, **contents.facts, "members": listed}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, data in {MANIFEST: _json(manifest).encode(), **members}.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data)
    write_atomically(path, buffer.getvalue())


def manifest(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What the container says of itself, after checking that the file is whole."""
    return _opened(path)[0]


def read(path: str | os.PathLike[str], texts: set[str]) -> Contents:
    """The container's contents, or a `FileError` that says why the file is refused; `texts` are the members it must have."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    facts, members = _opened(path)
    if set(members) != texts | {"arrays.safetensors"}:
        raise _refused(path, f"it has the members {sorted(members)}, not those of an explainer")
    try:
        arrays = load(members.pop("arrays.safetensors"))
        decoded = {name: data.decode() for name, data in members.items()}
    except (SafetensorError, UnicodeDecodeError, ValueError) as error:
        raise _refused(path, f"its content cannot be read ({error})") from None
    return Contents({key: value for key, value in facts.items() if key != "members"}, decoded, arrays)


def _opened(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, bytes]]:
    file = Path(path)
    if not file.is_file():
        raise FileError(f"there is no file {str(file)!r}")
    if file.stat().st_size > LARGEST:
        raise _refused(path, f"it is larger than {LARGEST // 2**30} GiB")
    try:
        with zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
            if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
                raise _refused(path, "its members are compressed, which an explainer's never are")
            if sum(info.file_size for info in infos) > LARGEST:
                raise _refused(path, f"it claims to be larger than {LARGEST // 2**30} GiB")
            data = {info.filename: archive.read(info) for info in infos}
    except (zipfile.BadZipFile, OSError, EOFError, ValueError, NotImplementedError, RuntimeError):
        raise _refused(path, "it is no explainer written by `save`, or it is cut short or altered") from None
    if len(data) != len(infos) or MANIFEST not in data:
        raise _refused(path, "it has no manifest, or members twice")
    facts = parse_json(path, MANIFEST, data.pop(MANIFEST))
    _check_members(path, facts, data)
    return facts, data


def _check_members(path: str | os.PathLike[str], facts: dict[str, Any], data: Mapping[str, bytes]) -> None:
    if facts.get("format") != FORMAT:
        raise _refused(path, f"its format is {facts.get('format')!r}, and this version reads {FORMAT!r}")
    listed = facts.get("members")
    if not isinstance(listed, dict) or set(listed) != set(data):
        raise _refused(path, "its members are not those that its manifest lists")
    for name, content in data.items():
        if listed[name] != {"size": len(content), "sha256": _hash(content)}:
            raise _refused(path, f"its member {name!r} is not what its manifest says: it was altered")


def parse_json(path: str | os.PathLike[str], name: str, content: bytes | str) -> dict[str, Any]:
    """A member as a JSON object."""
    try:
        value = json.loads(content)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        raise _refused(path, f"its member {name!r} is no JSON") from None
    if not isinstance(value, dict):
        raise _refused(path, f"its member {name!r} is no JSON object")
    return value


def check_keys(path: str | os.PathLike[str], where: str, value: Mapping[str, Any], keys: set[str]) -> None:
    """Refuses unknown and missing keys."""
    if set(value) != keys:
        odd = sorted(set(value) ^ keys)
        raise _refused(path, f"{where} has unknown or missing keys: {', '.join(odd)}")


def _refused(path: str | os.PathLike[str], reason: str) -> FileError:
    return FileError(f"{str(path)!r} is refused: {reason}")


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=1)
