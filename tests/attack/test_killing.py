"""Commands that are killed, interrupted, or find the disk full: the old files or the new ones, and nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.attack.killing import COMMANDS
from tests.counting import PATIENCE

ROOT = Path(__file__).parents[2]


def killed(kills: int, *commands: str) -> str:
    """What the harness prints, run in a process of its own; it ends with 1 where anything went wrong."""
    command = [sys.executable, "-m", "tests.attack.killing", "--kills", str(kills), "--commands", ";".join(commands)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=4 * PATIENCE)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_killed_twenty_times(name: str) -> None:
    assert "5, 0 failed" in killed(20, name)
