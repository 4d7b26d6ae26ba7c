"""Tables of results: each says which command made it, of which commit, when and on what machine."""

from __future__ import annotations

import datetime
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def write(told: str | None, *parts: str) -> None:
    """Writes the page of a benchmark to `results/`, and prints it.

    `told` is the benchmark's docstring, "TITLE: `python -m benchmarks.NAME`." and what was measured, which stands above
    the parts.
    """
    head, _, text = (told or "").partition("\n\n")
    title, name = re.findall(r"(.+): `python -m benchmarks\.(\w+)`\.", " ".join(head.split()))[0]
    made = made_by(shlex.join(["python", "-m", f"benchmarks.{name}", *sys.argv[1:]]))
    page = "\n\n".join([f"# {title}", made, *(part.strip() for part in (text, *parts))]) + "\n"
    (RESULTS / f"{name}.md").write_text(page, encoding="utf-8")
    print(page)


def made_by(command: str, date: str | None = None, machine: str | None = None) -> str:
    """The sentence about where figures come from; date and machine are today and this one unless they are given."""
    machine = machine or f"CPU: {_processor()}; Python {platform.python_version()}"
    return f"Made by `{command}`{_commit()} on {date or datetime.date.today()}; {machine}."


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def number(value: float, digits: int = 2) -> str:
    """A number; nothing where it is not known."""
    return "" if np.isnan(value) else f"{value:.{digits}f}"


def percent(value: float, digits: int = 1) -> str:
    """A share as a number of percent; nothing where it is not known."""
    return number(100 * value, digits)


def between(values: Sequence[float], digits: int = 2) -> str:
    """A figure with the two ends of its interval."""
    value, low, high = values
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def _commit() -> str:
    """The commit of this checkout, and whether files differ from it; nothing outside of a repository."""

    def told(*arguments: str) -> str:
        return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True).stdout

    try:
        commit, changed = told("rev-parse", "--short", "HEAD").strip(), told("status", "--porcelain").strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f" of commit {commit}{' with changes' if changed else ''}"


def _processor() -> str:
    """The CPU's model name, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
