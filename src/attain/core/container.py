"""One file of JSON and arrays: written atomically, checked before anything is built.

The file is an uncompressed ZIP archive of `manifest.json`, texts, and one safetensors member for all arrays. Its
comment is a seal: the hash of every byte before it. Nothing in the file is ever executed or unpickled.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from attain.core import files
from attain.core.errors import FileError, unread
from attain.core.files import RESULT, file_digest, readable, write_atomically

FORMAT: Final = "attain-explainer-1"
MANIFEST: Final = "manifest.json"
ARRAYS: Final = "arrays.safetensors"
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_SEAL: Final = b"sha256:"
_SEAL_LENGTH: Final = len(_SEAL) + 64


@dataclass(frozen=True)
class Contents:
    """What a container holds: entries of its manifest, texts by name, arrays by name."""

    facts: Mapping[str, Any]
    texts: Mapping[str, str]
    arrays: Mapping[str, np.ndarray]


def write(path: str | os.PathLike[str], contents: Contents) -> None:
    """Writes the container; equal contents give equal bytes."""
    from safetensors.numpy import save

    members = {name: text.encode() for name, text in sorted(contents.texts.items())}
    members[ARRAYS] = save({name: np.ascontiguousarray(a) for name, a in sorted(contents.arrays.items())})
    manifest = {"format": FORMAT, **contents.facts}
    write_atomically(path, sealed({MANIFEST: _json(manifest).encode(), **members}))


def sealed(members: Mapping[str, bytes]) -> bytes:
    """The bytes of an archive of these members, with its seal."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data)
        archive.comment = bytes(_SEAL_LENGTH)
    body = buffer.getvalue()[:-_SEAL_LENGTH]
    return body + _SEAL + file_digest(body).encode()


def read(path: str | os.PathLike[str], texts: set[str]) -> Contents:
    """The contents, or a `FileError` that says why the file is refused; `texts` are the members it must have."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    facts, members = _opened(path)
    if set(members) != texts | {ARRAYS}:
        raise refused(path, f"it has the members {sorted(members)}, not those of an explainer")
    try:
        arrays = load(members.pop(ARRAYS))
        decoded = {name: data.decode() for name, data in members.items()}
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise refused(path, f"its content cannot be read ({error})") from None
    return Contents(facts, decoded, arrays)


def _opened(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, bytes]]:
    content = _content(path)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = archive.infolist()
            if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
                raise refused(path, "its members are compressed, which `save` never does")
            # a size that a member claims is compared with the file before memory is allocated for it
            if sum(max(info.file_size, info.compress_size) for info in infos) > len(content):
                raise refused(path, "its members claim to be larger than the file")
            data = {info.filename: archive.read(info) for info in infos}
    except FileError:
        raise
    except (zipfile.BadZipFile, OSError, EOFError, ValueError, NotImplementedError, RuntimeError):
        raise _foreign(path) from None
    if len(data) != len(infos):
        raise refused(path, "it has two members of the same name")
    if MANIFEST not in data:
        raise refused(path, "it has no manifest, so it was not written by `save`")
    facts = parse_json(path, MANIFEST, data.pop(MANIFEST))
    if facts.get("format") != FORMAT:
        raise refused(path, f"its format is {facts.get('format')!r}, but this version reads {FORMAT!r}")
    return facts, data


def _content(path: str | os.PathLike[str]) -> bytes:
    """The file's bytes, if its seal holds: every byte is the one that was written."""
    try:
        with readable(path, RESULT).open("rb") as file:
            if file.read(2) != b"PK":
                raise _foreign(path)
            size = file.seek(-min(_SEAL_LENGTH, file.seek(0, os.SEEK_END)), os.SEEK_END)
            if not file.read().startswith(_SEAL):
                raise _foreign(path)
            file.seek(0)
            content = file.read(size + _SEAL_LENGTH)
    except OSError as error:
        raise unread(path, error) from None
    if content[size:] != _SEAL + file_digest(memoryview(content)[:size]).encode():
        raise refused(path, "it was altered or damaged after it was written; save the explainer again")
    return content


def _foreign(path: str | os.PathLike[str]) -> FileError:
    return refused(path, "it was not written by `save` or `attain fit`, or it is truncated")


def parse_json(path: str | os.PathLike[str], name: str, content: bytes | str) -> dict[str, Any]:
    """A member as a JSON object."""
    try:
        value = files.parse_json(content)
    except ValueError:
        raise refused(path, f"its member {name!r} is not JSON as `save` writes it") from None
    if not isinstance(value, dict):
        raise refused(path, f"its member {name!r} is not a JSON object")
    return value


def check_keys(path: str | os.PathLike[str], where: str, value: Mapping[str, Any], keys: set[str]) -> None:
    """Refuses unknown and missing keys."""
    if set(value) != keys:
        odd = sorted(set(value) ^ keys)
        raise refused(path, f"{where} has unknown or missing keys: {', '.join(odd)}")


def refused(path: str | os.PathLike[str], reason: str) -> FileError:
    """The error for a file that is not read."""
    return FileError(f"{str(path)!r} is refused: {reason}")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=1)
