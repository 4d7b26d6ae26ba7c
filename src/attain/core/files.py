"""Files: read whole or refused with a `FileError`, written completely or not at all; JSON, hashes and versions."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import stat
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import numpy as np

from attain.core.arrays import as_python
from attain.core.errors import FileError, unread

MOST: Final = "ATTAIN_LARGEST_FILE_MB"
"""The environment variable that raises all limits on the sizes of files."""
TEXT: Final = 16 * 2**20
"""The largest schema, configuration, table of texts or template that is read, in bytes."""
RESULT: Final = 2**30
"""The largest result or saved explainer."""
MODEL: Final = 4 * 2**30
"""The largest file of a model."""
_MOST_PARTS: Final = 8
_LONG_KEY: Final = re.compile(
    rf"""(?<![\w"'-])(?:(?:"[^"\n]*+"|'[^'\n]*+'|[\w-]++)[ \t]*+\.[ \t]*+){{{_MOST_PARTS}}}"""
)
"""Parsing keys such as `a.b.c` takes memory for each of their parts, and time that grows with their square."""
_LONGEST_WAIT: Final = 60.0
"""Seconds to wait for a lock."""
_PAUSE: Final = 0.02
_PLACE: Final = re.compile(r" - at `\$\.?(.*)`$")
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
"""The code of a character that only a pair can stand for."""
_VERSIONED: Final = ("attain", "numpy", "scipy", "scikit-learn", "pandas", "jax", "equinox")
Kind = TypeVar("Kind")

if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _unlock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def readable(path: str | os.PathLike[str], largest: int, what: str = "") -> Path:
    """The path, if it names a regular file of at most `largest` bytes; `what` precedes the name in messages.

    A device or a pipe may have no end, and nothing is read before its size is known.
    """
    try:
        found = os.stat(path)
    except OSError as error:
        raise unread(path, error, what) from None
    name = f"{what} {str(path)!r}".lstrip()
    if not stat.S_ISREG(found.st_mode):
        raise FileError(f"{name} is not a regular file; folders, devices and pipes are not read")
    largest = max(largest, _raised_limit())
    if found.st_size > largest:
        raise FileError(
            f"{name} has {found.st_size / 2**20:,.0f} MB, more than the {largest / 2**20:,.0f} MB that are read; if it "
            f"is yours, set the environment variable {MOST} to a larger number"
        )
    return Path(path)


def _raised_limit() -> int:
    text = os.environ.get(MOST, "0")
    if not text.isdecimal():
        raise FileError(f"the environment variable {MOST} must be a number of megabytes, got {text!r}")
    return int(text) * 2**20


def read_bytes(path: str | os.PathLike[str], largest: int, what: str = "") -> bytes:
    """The content of a regular file that is not too large."""
    try:
        return readable(path, largest, what).read_bytes()
    except OSError as error:
        raise unread(path, error, what) from None


def read_text(path: str | os.PathLike[str], what: str = "", largest: int = TEXT) -> str:
    """The text of a file in UTF-8, with or without a byte order mark; `what` precedes the name in messages."""
    try:
        return read_bytes(path, largest, what).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise FileError(f"{what} {str(path)!r} is not UTF-8 text".lstrip()) from None


def read_toml(path: str | os.PathLike[str], what: str = "") -> dict[str, Any]:
    """The content of a TOML file."""
    text = read_text(path, what)
    try:
        return parse_toml(text)
    except ValueError as error:
        raise FileError(f"{what} {str(path)!r} is not valid TOML: {error}".lstrip()) from None


def parse_toml(text: str) -> dict[str, Any]:
    """The content of a TOML text, or a `ValueError`."""
    if _LONG_KEY.search(text):
        raise ValueError(f"a key has more than {_MOST_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parse_json(content: str | bytes) -> Any:
    """The value of a JSON text, or a `ValueError`: without NaN, keys that occur twice, and halves of characters."""
    try:
        value = json.loads(content, parse_constant=_no_constant, object_pairs_hook=_distinct_keys)
        if _SURROGATE.search(content if isinstance(content, str) else content.decode()):
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value


def as_json(value: Any, *, infinite: Callable[[float], str | None] = str) -> Any:
    """A value as JSON holds it: tuples and arrays as lists, NaN and infinity by `infinite`, what JSON lacks as text."""
    value = value.tolist() if isinstance(value, np.ndarray) else as_python(value)
    if isinstance(value, Mapping):
        return {str(key): as_json(item, infinite=infinite) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted((as_json(item, infinite=infinite) for item in value), key=str)
    if isinstance(value, tuple | list):
        return [as_json(item, infinite=infinite) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return infinite(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def as_kind(value: Any, kind: type[Kind], make: Callable[[type, Any], Any] | None = None) -> Kind:
    """Parsed JSON or TOML as a `msgspec.Struct`, a dataclass or another annotated type.

    `make` gets a type that JSON does not have, such as an array, and the value, and returns one of that type.
    A `ValueError` says where it does not fit, and what was expected there: `rows[0]: expected int, got str`.
    """
    try:
        return msgspec.convert(value, kind, dec_hook=make)
    except msgspec.ValidationError as error:
        place, text = _PLACE.search(str(error)), _PLACE.sub("", str(error)).replace("`", "")
        text = text.replace("Object contains unknown field", "unknown key").replace(
            "Object missing required field", "missing key"
        )
        text = text[:1].lower() + text[1:]
        raise ValueError(f"{place[1]}: {text}" if place else text) from None


def check_writable(path: str | os.PathLike[str]) -> Path:
    """The file that writing to `path` will replace, links followed, or a `FileError` if it cannot be written.

    Call it before long work whose result goes there.
    """
    target = Path(os.path.realpath(path))
    if os.path.isdir(target):
        raise FileError(f"{str(path)!r} is a directory; name a file")
    if not os.path.isdir(target.parent):
        raise FileError(f"the directory {str(target.parent)!r} does not exist; create it first")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise FileError(f"the directory {str(target.parent)!r} is not writable; name a file elsewhere")
    return target


def make_folder(path: str | os.PathLike[str]) -> Path:
    """The folder, which is made if it is not there."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"the folder {str(folder)!r} cannot be made: {error.strerror or error}") from None
    return folder


def check_ending(path: str | os.PathLike[str], *endings: str) -> None:
    """Raises unless the name of a file ends with one of `endings`, so that its content is what its name says."""
    if not str(os.fspath(path)).lower().endswith(endings):
        raise FileError(f"{str(path)!r} must end with {' or '.join(endings)}")


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Writes a file; if the process is killed at any moment, either the old or the new file is there, complete.

    A process that is killed while it writes leaves `.NAME.*.part`.
    """
    _write(path, content, 0o666, os.replace)


def write_private(path: str | os.PathLike[str], content: bytes) -> None:
    """Writes a new file that only its owner can read; one that exists is refused."""
    _write(path, content, 0o600, os.link)


def _write(path: str | os.PathLike[str], content: bytes, mode: int, name: Callable[[Path, Path], None]) -> None:
    target = check_writable(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        try:
            with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            name(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    except FileExistsError:
        raise FileError(f"{str(path)!r} already exists; name a new file") from None
    except OSError as error:
        raise FileError(f"{str(path)!r} could not be written: {error.strerror or error}") from None


def file_digest(file: str | bytes | memoryview | os.PathLike[str]) -> str:
    """The SHA-256 of a file, given by its path or as its bytes, in hexadecimal."""
    if isinstance(file, bytes | memoryview):
        return hashlib.sha256(file).hexdigest()
    with open(file, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def data_digest(facts: Any, arrays: Mapping[str, np.ndarray]) -> str:
    """A hash of JSON and arrays."""
    digest = hashlib.blake2b(digest_size=32)
    digest.update(json.dumps(facts, sort_keys=True, default=str).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name}{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


@cache
def versions() -> dict[str, str]:
    """The versions of this package and of those that its numbers depend on, as far as they are installed."""
    installed = {}
    for name in _VERSIONED:
        with suppress(PackageNotFoundError):
            installed[name] = version(name)
    return installed


@contextmanager
def locked(path: Path, busy: str | None = None) -> Iterator[None]:
    """Holds the lock file `PATH.lock`, for which it waits up to a minute; a process that ends lets go of it.

    With `busy`, a `FileError` with this sentence is raised instead of waiting.
    """
    try:
        file = open(f"{path}.lock", "ab")  # noqa: SIM115
    except OSError as error:
        raise FileError(f"the lock file of {str(path)!r} could not be opened: {error.strerror or error}") from None
    with file:
        _lock(file.fileno(), path, busy)
        try:
            yield
        finally:
            _unlock(file.fileno())


def _lock(descriptor: int, path: Path, busy: str | None) -> None:
    """Waits up to a minute for a lock; with `busy`, it does not wait."""
    latest = time.monotonic() + (_LONGEST_WAIT if busy is None else 0)
    while True:
        try:
            return _try_lock(descriptor)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
                raise FileError(f"{str(path)!r} cannot be locked: {error.strerror or error}") from None
        if time.monotonic() >= latest:
            raise FileError(
                busy
                or f"another process has kept {str(path)!r} locked for {_LONGEST_WAIT:g} seconds, so nothing was "
                "written; wait until it is done, or end it, and try again"
            )
        time.sleep(_PAUSE)


@contextmanager
def memory_limit(most: int) -> Iterator[None]:
    """Limits the memory that this process may add, in bytes, where the system supports it (Linux)."""
    before = None
    with suppress(ImportError, OSError, ValueError):
        import resource

        before = resource.getrlimit(resource.RLIMIT_DATA)
        own = int(Path("/proc/self/statm").read_text("ascii").split()[5]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_DATA, (own + most, before[1]))
    try:
        yield
    finally:
        if before is not None:
            resource.setrlimit(resource.RLIMIT_DATA, before)
