"""The command line: `attain COMMAND --help` says more."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from attain.cli.stopping import CODES, stoppable


def program() -> NoReturn:
    """Runs one command as a process of its own."""
    # HiGHS may print a line of its own, whatever its options say: what a library writes goes to standard error
    sys.stdout = os.fdopen(os.dup(1), "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)
    os.dup2(2, 1)
    code = main()
    if code in CODES:
        # Taking the interpreter apart would take a second more, and an interrupted import would change the exit code.
        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(code)
    sys.exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    with stoppable() as stop:

        def run_command() -> int:
            from attain.cli.commands import commands  # Ctrl-C while modules are loaded is answered, too
            from attain.cli.layer import run

            try:
                return run(commands, sys.argv[1:] if arguments is None else arguments, stop)
            except BrokenPipeError:  # the reader of the output has closed it, as `head` does
                sys.stderr.close()
                return 0

        return stop.code_of(run_command)
