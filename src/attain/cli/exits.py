"""Exit codes, and the warning about pickles."""

from __future__ import annotations

from typing import Final

MISUSE: Final = 1
NOBODY: Final = 3
DIFFERS: Final = 4
INTERRUPTED: Final = 130

EXIT_CODES: Final = """exit codes:
  0    done
  1    wrong input; the message says what is wrong
       and how to fix it
  2    unknown command, unknown or missing flag
  3    done and written, but nobody who needed an
       answer has one
  4    `audit`: the log was altered, or the
       explanation was not reproduced
  130  interrupted by Ctrl-C; `explain` writes the
       answers found until then
  143  the same, by SIGTERM
"""

RUNS_CODE: Final = "runs whatever code the file contains, with your permissions: only for files you trust like programs"
