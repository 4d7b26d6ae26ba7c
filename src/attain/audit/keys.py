"""The secret key of a log: personal data are stored as HMACs with it, and every line is signed."""

from __future__ import annotations

import hmac
import os
import secrets
from pathlib import Path
from typing import Any, Final

from attain.audit.canonical import canonical
from attain.core.errors import AttainError, FileError
from attain.core.files import write_private

KEY_VARIABLE: Final = "ATTAIN_AUDIT_KEY"
"""The environment variable with the key, where no file is named."""
_SHORTEST: Final = 32
"""The least number of bytes: the length of a SHA-256 hash, as RFC 2104 recommends."""


def read_key(path: str | os.PathLike[str] | None = None) -> bytes | None:
    """The key in a file, or else in the environment variable ATTAIN_AUDIT_KEY; None where that is not set.

    White space around it is not part of the key.
    """
    if path is None:
        text = os.environ.get(KEY_VARIABLE)
        return None if text is None else _checked(text.encode().strip(), f"the environment variable {KEY_VARIABLE}")
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise FileError(f"the key {str(path)!r} could not be read: {error.strerror or error}") from None
    return _checked(content.strip(), f"the key {str(path)!r}")


def new_key(path: str | os.PathLike[str]) -> None:
    """Writes a new random key of 256 bits into a file that only you can read; a file that exists is refused."""
    write_private(path, secrets.token_hex(32).encode() + b"\n")


def check_key(key: object) -> bytes | None:
    """The key of a call, which may be missing."""
    if key is not None and not isinstance(key, bytes):
        raise AttainError(f"key must be bytes, such as attain.audit.read_key(path), got a {type(key).__name__}")
    return None if key is None else _checked(key, "key")


def _checked(key: bytes, name: str) -> bytes:
    if len(key) < _SHORTEST:
        raise AttainError(
            f"{name} must have at least {_SHORTEST} bytes, got {len(key)}; `attain audit key` creates one"
        )
    return key


def hmac_of(key: bytes, purpose: str, value: Any) -> str:
    """The HMAC-SHA-256 of a value as canonical JSON; equal values for different purposes have different ones."""
    return hmac.digest(key, purpose.encode() + b":" + canonical(value), "sha256").hex()


def key_id(key: bytes | None) -> str | None:
    """A short name for a key, which reveals nothing about it."""
    return None if key is None else hmac_of(key, "key", None)[:16]


def named(id: str | None) -> str:
    """A key in messages, by its short name."""
    return "no key" if id is None else f"the key {id}"
