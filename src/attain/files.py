"""Writing files whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from attain.errors import AttainError


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Writes a file: killed at any moment, the old file or the new one is there, whole."""
    target = Path(path)
    if target.is_dir():
        raise AttainError(f"{str(target)!r} is a folder; name a file")
    if not target.parent.is_dir():
        raise AttainError(f"the folder {str(target.parent)!r} does not exist; make it first")
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


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
