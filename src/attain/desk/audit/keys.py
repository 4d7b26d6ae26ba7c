"""Keys of logs, and hashes that only their holder can compute."""

from __future__ import annotations

import hmac
import os
import secrets
from typing import Any, Final, Literal, get_args

from attain.core.errors import AttainError, check_choice
from attain.core.files import TEXT, read_bytes, write_private

KEY_VARIABLE: Final = "ATTAIN_AUDIT_KEY"
"""The environment variable with the key, where no file is named."""
Shown = Literal["hmac", "plain"]
"""Whether personal data are stored in plain text, or as an HMAC that only a holder of the key can compare with."""
_SHORTEST: Final = 32
"""The least number of bytes of a key: the length of a SHA-256 hash, as RFC 2104 recommends."""
ID_DIGITS: Final = 16


def read_key(path: str | os.PathLike[str] | None = None) -> bytes | None:
    """The key in a file, or else in the environment variable ATTAIN_AUDIT_KEY; None where that is not set.

    White space around it is not part of the key.
    """
    if path is None:
        text = os.environ.get(KEY_VARIABLE)
        return checked_key(text and text.encode().strip(), f"the environment variable {KEY_VARIABLE}")
    return checked_key(read_bytes(path, TEXT, "the key").strip(), f"the key {str(path)!r}")


def new_key(path: str | os.PathLike[str]) -> None:
    """Writes a new random key of 256 bits into a file that only you can read; a file that exists is refused."""
    write_private(path, secrets.token_hex(32).encode() + b"\n")


def checked_key(key: Any, name: str = "key") -> bytes | None:
    if not isinstance(key, bytes | None):
        raise AttainError(f"{name} must be bytes, such as attain.audit.read_key(path), got a {type(key).__name__}")
    if key is not None and len(key) < _SHORTEST:
        raise AttainError(
            f"{name} must have at least {_SHORTEST} bytes, got {len(key)}; `attain audit key` creates one"
        )
    return key


def check_shown(key: bytes | None, inputs: Shown) -> None:
    check_choice("inputs", inputs, get_args(Shown))
    if inputs == "hmac" and key is None:
        raise AttainError(
            "records are stored as HMACs, which needs a key: pass key=attain.audit.read_key(path) or --audit-key FILE, "
            f"or set {KEY_VARIABLE}; `attain audit key FILE` creates one"
        )


def keyed_hash(key: bytes, purpose: str, text: bytes) -> str:
    """The HMAC-SHA-256 of a text; equal texts for different purposes have different ones."""
    return hmac.digest(key, purpose.encode() + b":" + text, "sha256").hex()


def key_id(key: bytes | None) -> str | None:
    """A short name for a key, which reveals nothing about it."""
    return None if key is None else keyed_hash(key, "key", b"null")[:ID_DIGITS]
