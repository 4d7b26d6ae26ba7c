"""Writing files completely or not at all, and what identifies a file."""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

from attain.core.errors import FileError


def check_writable(path: str | os.PathLike[str]) -> Path:
    """The file that writing to `path` will replace, links followed, or a `FileError` if it cannot be written.

    Call it before long work whose result goes there.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise FileError(f"{str(path)!r} is a directory; name a file")
    if not target.parent.is_dir():
        raise FileError(f"the directory {str(target.parent)!r} does not exist; create it first")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise FileError(f"the directory {str(target.parent)!r} is not writable; name a file elsewhere")
    return target


def check_ending(path: str | os.PathLike[str], *endings: str) -> None:
    """Raises unless the name of a file ends with one of `endings`, so that its content is what its name says."""
    if not str(os.fspath(path)).lower().endswith(endings):
        raise FileError(f"{str(path)!r} must end with {' or '.join(endings)}")


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Writes a file; if the process is killed at any moment, either the old or the new file is there, complete."""
    target = check_writable(path)
    temporary = target.parent / f".{target.name}.{secrets.token_hex(8)}.part"
    try:
        try:
            with open(temporary, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise FileError(f"{str(path)!r} could not be written: {error.strerror or error}") from None


def file_digest(file: str | bytes | os.PathLike[str]) -> str:
    """The SHA-256 of a file, given by its path or as its bytes, in hexadecimal."""
    if isinstance(file, bytes):
        return hashlib.sha256(file).hexdigest()
    with open(file, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def write_private(path: str | os.PathLike[str], content: bytes) -> None:
    """Writes a new file that only its owner can read; one that exists is refused."""
    target = check_writable(path)
    try:
        with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
    except FileExistsError:
        raise FileError(f"{str(path)!r} already exists; name a new file") from None
    except OSError as error:
        raise FileError(f"{str(path)!r} could not be written: {error.strerror or error}") from None
