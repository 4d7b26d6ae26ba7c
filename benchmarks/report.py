"""What every table says of itself: the command, the machine, the date."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Sequence
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def processor() -> str:
    """The CPU's model name, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def write(name: str, title: str, command: str, body: str) -> None:
    """Writes `results/NAME.md`, and prints it."""
    made = f"Made by `{command}` on {datetime.date.today()}; CPU: {processor()}; Python {platform.python_version()}."
    text = f"# {title}\n\n{made}\n\n{body.strip()}\n"
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")
    print(text)
