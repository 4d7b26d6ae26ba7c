"""Writing files whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from attain.core.errors import FileError


def check_writable(path: str | os.PathLike[str]) -> Path:
    """The file that writing to `path` will replace, links followed; refused in words where it cannot be written.

    Call it before long work whose result goes there.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise FileError(f"{str(path)!r} is a folder; name a file")
    if not target.parent.is_dir():
        raise FileError(f"the folder {str(target.parent)!r} does not exist; make it first")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise FileError(f"the folder {str(target.parent)!r} may not be written to; name a file elsewhere")
    return target


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Writes a file: killed at any moment, the old file or the new one is there, whole."""
    target = check_writable(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise FileError(f"{str(path)!r} could not be written: {error.strerror or error}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
