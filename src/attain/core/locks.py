"""One writer at a time, also among several processes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attain.core.errors import FileError

if sys.platform == "win32":
    import msvcrt

    def lock(descriptor: int, wait: bool = True) -> None:
        while True:
            try:
                return msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
            except OSError:  # it gives up after ten seconds
                if not wait:
                    raise

    def unlock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def lock(descriptor: int, wait: bool = True) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)

    def unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


@contextmanager
def locked(path: Path, busy: str | None = None) -> Iterator[None]:
    """Waits until no other process or thread holds the lock file `PATH.lock`; one that ends lets go of it.

    With `busy`, a `FileError` with this sentence is raised instead of waiting.
    """
    try:
        file = open(f"{path}.lock", "ab")  # noqa: SIM115
    except OSError as error:
        raise FileError(f"the lock file of {str(path)!r} could not be opened: {error.strerror or error}") from None
    with file:
        try:
            lock(file.fileno(), busy is None)
        except OSError:
            raise FileError(busy or f"the lock file of {str(path)!r} cannot be locked") from None
        try:
            yield
        finally:
            unlock(file.fileno())
