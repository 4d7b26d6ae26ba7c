"""What each exit code means, and what a pickle does."""

from __future__ import annotations

from typing import Final

MISUSE: Final = 1
NOBODY: Final = 3
INTERRUPTED: Final = 130

EXIT_CODES: Final = """exit codes:
  0    done
  1    misuse or bad input; the message says what
       and how to mend it
  2    unknown command, unknown or missing flag
  3    done and written, but nobody who needed an
       answer has one
  130  stopped by Ctrl-C
"""

RUNS_CODE: Final = "runs whatever code the file holds, with all your rights: only for files you would run as a program"
