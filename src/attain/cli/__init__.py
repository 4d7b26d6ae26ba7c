"""The command line: `attain COMMAND --help` says more."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from attain.cli.stopping import SENTENCE, stoppable


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    with stoppable() as stop:
        try:
            from attain.cli.program import run  # Ctrl-C while modules are loaded is answered, too

            return run(sys.argv[1:] if arguments is None else arguments, stop)
        except KeyboardInterrupt:
            print(SENTENCE, file=sys.stderr)
            return stop.code
        except BrokenPipeError:  # the reader of the output has closed it, as `head` does
            sys.stderr.close()
            return 0
