"""One writer at a time, also among several processes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attain.core.errors import FileError

if sys.platform == "win32":
    import msvcrt

    def lock(descriptor: int) -> None:
        while True:
            try:
                return msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
            except OSError:  # it gives up after ten seconds
                continue

    def unlock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)

    def unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Waits until no other process or thread holds the lock file `PATH.lock`; one that ends lets go of it."""
    try:
        file = open(f"{path}.lock", "ab")  # noqa: SIM115
    except OSError as error:
        raise FileError(f"the lock file of {str(path)!r} could not be opened: {error.strerror or error}") from None
    with file:
        lock(file.fileno())
        try:
            yield
        finally:
            unlock(file.fileno())
