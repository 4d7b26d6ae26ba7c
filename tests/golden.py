"""Texts that a person has read and found right, as files beside the tests."""

import os
from pathlib import Path


def check_golden(text: str, path: Path) -> None:
    """Fails where a text differs from a file; with ATTAIN_GOLDEN=write the file becomes the text, for review."""
    if os.environ.get("ATTAIN_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    assert text == path.read_text(encoding="utf-8"), f"{path.name} differs; ATTAIN_GOLDEN=write writes it anew"
