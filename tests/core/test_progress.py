"""The progress bar: after two seconds, in a terminal only, and gone at the end."""

import io
import os
import subprocess
import sys

import pytest

from attain.core import progress

SLOW = """
import sys, time
from attain.core import progress
progress.DELAY = float(sys.argv[1])
bar = progress.ProgressBar(4, "searching")
for found in (1, 0, 1, 1):
    time.sleep(0.3)
    bar.update(1, found=found)
time.sleep(0.3)
bar.close()
print("done")
"""


def in_terminal(delay: float, columns: int = 100) -> tuple[str, str]:
    """Standard output, and what a terminal of so many columns got on standard error."""
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm"}
    command = [sys.executable, "-c", SLOW, str(delay)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=slave, env=environment, text=True) as process:
        os.close(slave)
        shown = b""
        while True:
            try:
                part = os.read(master, 1 << 16)
            except OSError:
                break
            if not part:
                break
            shown += part
        out = process.communicate()[0]
    os.close(master)
    return out, shown.decode()


def test_a_terminal_shows_count_rate_and_share_found() -> None:
    out, shown = in_terminal(0.2)
    assert out == "done\n"
    for text in ("searching", "4/4", "people/s", "75% found"):
        assert text in shown
    assert "75% found" not in shown.rsplit("\x1b[2K", 1)[-1]


def test_a_narrow_terminal_shows_all_figures() -> None:
    shown = in_terminal(0.2, columns=60)[1]
    for text in ("4/4", "people/s", "left", "75% found"):
        assert text in shown


def test_all_are_found_only_if_all_are() -> None:
    assert progress._share(2000, 2000) == "100% found"
    assert progress._share(1999, 2000) == "99.9% found"
    assert progress._share(0, 0) == ""


def test_nothing_is_shown_of_short_work() -> None:
    assert in_terminal(9999) == ("done\n", "")


def test_nothing_is_shown_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    bar = progress.ProgressBar(2, "searching")
    bar.update(1, found=1)
    bar.update(1)
    bar.close()
    assert sys.stderr.getvalue() == ""
